//! Where a server is.

use std::fmt;
use std::path::PathBuf;

use crate::error::CliError;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerAddress {
    /// A host, with its port. `authority` is both as the address has them, which the server compares.
    Http { host: String, port: u16, authority: String },
    /// A Unix socket.
    Unix(PathBuf),
}

const FORMS: &str = "write http://HOST:PORT or unix:PATH, as `toolcrib serve` printed it";

impl ServerAddress {
    /// Reads an address as people write it.
    pub(super) fn parse(text: &str) -> Result<Self, CliError> {
        let wrong = |why: &str| {
            CliError::usage(format!("`{text}` is no address of a server: {why}")).hint(FORMS)
        };
        if let Some(path) = text.strip_prefix("unix:") {
            if path.is_empty() {
                return Err(wrong("it has no path"));
            }
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let Some(rest) = text.strip_prefix("http://") else {
            return Err(wrong("it begins with neither `http://` nor `unix:`"));
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#', '@']) || authority.chars().any(char::is_whitespace) {
            return Err(wrong("it has more than a host and a port"));
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let port = match port.map(str::parse) {
            None => 80,
            Some(Ok(port)) => port,
            Some(Err(_)) => return Err(wrong("its port is no number from 1 to 65535")),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() {
            return Err(wrong("it has no host"));
        }
        Ok(Self::Http { host: host.to_owned(), port, authority: authority.to_owned() })
    }

    /// Returns the value of the header `Host`.
    pub(super) fn authority(&self) -> &str {
        match self {
            Self::Http { authority, .. } => authority,
            Self::Unix(_) => "localhost",
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { authority, .. } => write!(f, "http://{authority}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_a_host_and_a_port() {
        for (text, host, port) in [
            ("http://127.0.0.1:7766", "127.0.0.1", 7766),
            ("http://crib.example:80/", "crib.example", 80),
            ("http://crib.example", "crib.example", 80),
            ("http://[::1]:7766", "::1", 7766),
            ("http://[::1]", "::1", 80),
        ] {
            let ServerAddress::Http { host: got, port: at, .. } =
                ServerAddress::parse(text).unwrap()
            else {
                panic!("{text}")
            };
            assert_eq!((got.as_str(), at), (host, port), "{text}");
        }
        let unix = ServerAddress::parse("unix:/run/crib.sock").unwrap();
        assert_eq!(unix, ServerAddress::Unix(PathBuf::from("/run/crib.sock")));
        for wrong in [
            "",
            "127.0.0.1:7766",
            "ftp://a",
            "http://",
            "http://:80",
            "http://a:b",
            "http://a:70000",
            "http://a/api",
            "http://user@a",
            "http://a b",
            "unix:",
        ] {
            assert!(ServerAddress::parse(wrong).is_err(), "{wrong}");
        }
    }
}
