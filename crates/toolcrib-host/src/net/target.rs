//! The target of a request: a URL that was parsed once and checked.

use std::net::IpAddr;

use toolcrib_core::{ErrorKind, ToolError, escape};
use url::{Host, Position, Url};

use super::global_address::is_global;
use crate::sandbox::is_host_name;

/// The longest URL, in bytes.
const MAX_URL_BYTES: usize = 8 << 10;

/// The ports that a URL may name.
#[derive(Clone, Copy, Debug)]
pub(super) enum AllowedPorts<'a> {
    /// These.
    Only(&'a [u16]),
    /// Every port but 0.
    Every,
}

impl AllowedPorts<'_> {
    /// Fails if the port is not among them.
    fn check(self, port: u16) -> Result<(), ToolError> {
        let hint = match self {
            Self::Only(ports) if ports.contains(&port) => return Ok(()),
            Self::Every if port != 0 => return Ok(()),
            Self::Only(ports) => {
                let allowed: Vec<String> = ports.iter().map(u16::to_string).collect();
                format!("allowed are {}", allowed.join(" and "))
            }
            Self::Every => "name the port that the host listens at".to_owned(),
        };
        let message = format!("the port {port} is not allowed");
        Err(ToolError::new(ErrorKind::BadArgs, message)
            .with("reason", "port_not_allowed")
            .hint(hint))
    }
}

/// A URL that can be asked for: http or https, without a user, at a port that is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FetchTarget {
    url: Url,
    host: String,
    address: Option<IpAddr>,
    port: u16,
}

impl FetchTarget {
    /// Parses a URL.
    pub(super) fn parse(text: &str, ports: AllowedPorts<'_>) -> Result<Self, ToolError> {
        check_text(text)?;
        let url =
            Url::parse(text).map_err(|err| invalid(&format!("it cannot be parsed: {err}")))?;
        let target = Self::check(url, ports)?;
        target.require_plain_host(text)?;
        Ok(target)
    }

    /// Fails if the host is written in another way than it is reached. Policy reads the text of a call, and must see the
    /// host that is dialled. An address that is refused anyway may be spelt as it likes.
    fn require_plain_host(&self, text: &str) -> Result<(), ToolError> {
        if self.address.is_some_and(|address| !is_global(address)) {
            return Ok(());
        }
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
        let is_plain = scheme.eq_ignore_ascii_case(self.url.scheme())
            && authority.bytes().all(|it| it.is_ascii_alphanumeric() || b"-._:[]".contains(&it))
            && authority
                .to_ascii_lowercase()
                .strip_prefix(self.url.host_str().unwrap_or_default())
                .is_some_and(|port| port.is_empty() || port.starts_with(':'));
        if is_plain {
            return Ok(());
        }
        Err(invalid("its host is not written plainly").hint(format!("write {}", self.url)))
    }

    /// Parses the URL that a redirect leads to.
    pub(super) fn join(&self, text: &str, ports: AllowedPorts<'_>) -> Result<Self, ToolError> {
        check_text(text)?;
        let url = self.url.join(text);
        let url = url.map_err(|err| invalid(&format!("the redirect cannot be parsed: {err}")))?;
        Self::check(url, ports)
    }

    fn check(url: Url, ports: AllowedPorts<'_>) -> Result<Self, ToolError> {
        let refused = |reason: &str, message: String, hint: &str| {
            ToolError::new(ErrorKind::BadArgs, message).with("reason", reason).hint(hint)
        };
        if !matches!(url.scheme(), "http" | "https") {
            let message = format!("the scheme `{}` is not allowed", url.scheme());
            return Err(refused("scheme_not_allowed", message, "use http or https"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let message = "a URL with a user name or a password is not allowed".to_owned();
            let hint = "leave them out; a header can carry what the host wants";
            return Err(refused("userinfo_not_allowed", message, hint));
        }
        let (host, address) = match url.host() {
            Some(Host::Domain(name)) => (name.trim_end_matches('.').to_owned(), None),
            Some(Host::Ipv4(address)) => (address.to_string(), Some(IpAddr::V4(address))),
            Some(Host::Ipv6(address)) => (address.to_string(), Some(IpAddr::V6(address))),
            None => return Err(invalid("it has no host")),
        };
        if address.is_none() && !is_host_name(&host) {
            return Err(invalid("its host is no name"));
        }
        let port = url.port_or_known_default().unwrap_or_default();
        ports.check(port)?;
        Ok(Self { url, host, address, port })
    }

    pub(super) fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Returns the host, as the resolver and the certificate name it.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the address, if the URL names one instead of a host.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Returns the scheme, the host and the port.
    pub(super) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Whether both have the same scheme, host and port.
    pub(super) fn has_origin_of(&self, other: &Self) -> bool {
        self.url.origin() == other.url.origin()
    }

    /// Returns what the request line names.
    pub(super) fn path_and_query(&self) -> &str {
        &self.url[Position::BeforePath..Position::AfterQuery]
    }

    /// Returns what the header `Host` names.
    pub(super) fn authority(&self) -> &str {
        &self.url[Position::BeforeHost..Position::AfterPort]
    }
}

/// Refuses what a parser would quietly take out or read in its own way.
fn check_text(text: &str) -> Result<(), ToolError> {
    if text.len() > MAX_URL_BYTES {
        return Err(invalid(&format!("it is longer than {MAX_URL_BYTES} bytes")));
    }
    let is_bad = |it: char| it.is_control() || it.is_whitespace();
    if text.chars().any(is_bad) {
        return Err(invalid("it has white space or control characters"));
    }
    Ok(())
}

fn invalid(why: &str) -> ToolError {
    ToolError::new(ErrorKind::BadArgs, format!("the URL is not valid: {}", escape::line(why)))
        .with("reason", "invalid_url")
        .hint("give a whole URL, such as https://host.example/path")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> String {
        let err = FetchTarget::parse(text, AllowedPorts::Only(&[80, 443])).unwrap_err();
        err.context["reason"].as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_url_is_parsed_once_and_checked() {
        let good = FetchTarget::parse("https://Host.Example:443/a?b#c", AllowedPorts::Only(&[443]))
            .unwrap();
        assert_eq!((good.host(), good.port(), good.is_tls()), ("host.example", 443, true));
        assert_eq!((good.path_and_query(), good.authority()), ("/a?b", "host.example"));
        for (text, expected) in [
            ("file:///etc/passwd", "scheme_not_allowed"),
            ("data:text/html,x", "scheme_not_allowed"),
            ("gopher://127.0.0.1:6379/_x", "scheme_not_allowed"),
            ("http://user:pw@host.example/", "userinfo_not_allowed"),
            ("http://good.example@127.0.0.1/", "userinfo_not_allowed"),
            ("http://host.example:22/", "port_not_allowed"),
            ("http://host.example:0/", "port_not_allowed"),
            ("http://good.example%00.evil.example/", "invalid_url"),
            ("http://a b.example/", "invalid_url"),
            ("http://a.example/\r\nX: y", "invalid_url"),
            ("//host.example/", "invalid_url"),
            ("", "invalid_url"),
        ] {
            assert_eq!(reason(text), expected, "{text}");
        }
        assert_eq!(reason(&format!("http://a.example/{}", "x".repeat(9000))), "invalid_url");
    }

    #[test]
    fn every_spelling_of_an_address_is_that_address() {
        for text in [
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://127.0.0.1#@good.example/",
            "http:\\\\127.0.0.1/",
            "http:127.0.0.1/",
            "http:///127.0.0.1/",
            "http://\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}/",
            "http://127\u{3002}0\u{3002}0\u{3002}1/",
        ] {
            let target = FetchTarget::parse(text, AllowedPorts::Only(&[80])).unwrap();
            assert_eq!(target.address(), Some(IpAddr::from([127, 0, 0, 1])), "{text}");
        }
    }

    #[test]
    fn a_host_is_written_as_it_is_reached() {
        for text in [
            "http:evil.example/?x=http://good.example/",
            "http:\\\\93.184.216.34/#http://93.184.216.99/",
            "http:/evil.example/",
            "http:///evil.example/",
            "http://\u{ff45}vil.example/",
            "http://e\u{ad}vil.example/",
            "http://evil\u{3002}example/",
            "http://%65vil.example/",
            "http://0x5db8d822/",
            "http://b\u{fc}cher.example/",
        ] {
            assert_eq!(reason(text), "invalid_url", "{text}");
        }
        for text in [
            "HTTP://Evil.Example:80/x",
            "https://xn--bcher-kva.example",
            "http://93.184.216.34/",
            "http://[2606:2800:220:1::1]/",
            "https://evil.example./",
        ] {
            assert!(FetchTarget::parse(text, AllowedPorts::Only(&[80, 443])).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_redirect_is_checked_like_a_url() {
        let from =
            FetchTarget::parse("https://host.example/a/b", AllowedPorts::Only(&[80, 443])).unwrap();
        assert_eq!(
            from.join("c", AllowedPorts::Only(&[443])).unwrap().as_str(),
            "https://host.example/a/c"
        );
        assert_eq!(
            from.join("//other.example/", AllowedPorts::Only(&[443])).unwrap().host(),
            "other.example"
        );
        assert!(
            from.join("\\\\127.0.0.1\\", AllowedPorts::Only(&[443])).unwrap().address().is_some()
        );
        assert!(from.join("file:///etc/passwd", AllowedPorts::Only(&[443])).is_err());
    }
}
