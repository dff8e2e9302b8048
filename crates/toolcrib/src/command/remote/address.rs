//! Where a server is.

use std::fmt;
use std::path::PathBuf;

use crate::error::CliError;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerAddress {
    /// A host, with its port. `authority` is both as the address has them, which the server compares.
    Host { scheme: HttpScheme, host: String, port: u16, authority: String },
    /// A Unix socket.
    Unix(PathBuf),
}

/// How a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HttpScheme {
    /// HTTP that everyone on the way can read.
    Plain,
    /// HTTP over TLS.
    Tls,
}

impl HttpScheme {
    const ALL: [Self; 2] = [Self::Plain, Self::Tls];

    /// Returns what its addresses begin with.
    fn prefix(self) -> &'static str {
        match self {
            Self::Plain => "http://",
            Self::Tls => "https://",
        }
    }

    fn usual_port(self) -> u16 {
        match self {
            Self::Plain => 80,
            Self::Tls => 443,
        }
    }
}

const FORMS: &str =
    "write http://HOST:PORT, https://HOST:PORT or unix:PATH, as `toolcrib serve` printed it";

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
        let known = |scheme: HttpScheme| Some((scheme, text.strip_prefix(scheme.prefix())?));
        let Some((scheme, rest)) = HttpScheme::ALL.into_iter().find_map(known) else {
            return Err(wrong("it begins with none of `http://`, `https://` and `unix:`"));
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#', '@']) || authority.chars().any(char::is_whitespace) {
            return Err(wrong("it has more than a host and a port"));
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let port = match port.map(str::parse::<u16>) {
            None => scheme.usual_port(),
            Some(Ok(port)) if port > 0 => port,
            Some(_) => return Err(wrong("its port is no number from 1 to 65535")),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() {
            return Err(wrong("it has no host"));
        }
        Ok(Self::Host { scheme, host: host.to_owned(), port, authority: authority.to_owned() })
    }

    /// Returns the value of the header `Host`.
    pub(super) fn authority(&self) -> &str {
        match self {
            Self::Host { authority, .. } => authority,
            Self::Unix(_) => "localhost",
        }
    }

    /// Whether the server is spoken to over TLS.
    pub(super) fn is_tls(&self) -> bool {
        matches!(self, Self::Host { scheme: HttpScheme::Tls, .. })
    }

    /// Returns the address with the other scheme; nothing for a Unix socket.
    pub(super) fn with_other_scheme(&self) -> Option<String> {
        match self {
            Self::Host { scheme, authority, .. } => {
                let other = match scheme {
                    HttpScheme::Plain => HttpScheme::Tls,
                    HttpScheme::Tls => HttpScheme::Plain,
                };
                Some(format!("{}{authority}", other.prefix()))
            }
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { scheme, authority, .. } => write!(f, "{}{authority}", scheme.prefix()),
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
            ("https://crib.example", "crib.example", 443),
            ("https://crib.example:7766/", "crib.example", 7766),
        ] {
            let ServerAddress::Host { host: got, port: at, .. } =
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
            "http://a:0",
            "https://",
            "HTTPS//a",
            "http://a/api",
            "http://user@a",
            "http://a b",
            "unix:",
        ] {
            assert!(ServerAddress::parse(wrong).is_err(), "{wrong}");
        }
    }
}
