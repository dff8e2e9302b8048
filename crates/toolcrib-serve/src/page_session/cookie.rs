//! The cookie that has the id of a session.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};

use crate::config::{ListenAddress, Scheme};

/// The cookie of a server.
pub(crate) struct SessionCookie {
    name: String,
    scheme: Scheme,
}

/// What a request has of our cookie.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PresentedCookie<'h> {
    Absent,
    /// The value.
    Once(&'h str),
    /// Somebody else has set one too, and nobody knows which is ours.
    Repeated,
}

impl SessionCookie {
    /// Makes the cookie of a server at `address`, which has its real port.
    pub(crate) fn new(address: &ListenAddress, scheme: Scheme) -> Self {
        // A browser does not tell the ports of a host apart, and there may be a server at several of them.
        let port = match address {
            ListenAddress::Tcp(address) => format!("_{}", address.port()),
            ListenAddress::Unix(_) => String::new(),
        };
        let prefix = match scheme {
            Scheme::Http => "",
            Scheme::Https => "__Host-",
        };
        Self { name: format!("{prefix}toolcrib_page{port}"), scheme }
    }

    /// Finds the cookie in the headers of a request.
    pub(crate) fn presented<'h>(&self, headers: &'h HeaderMap) -> PresentedCookie<'h> {
        let pairs =
            headers.get_all(COOKIE).iter().flat_map(|it| it.as_bytes().split(|it| *it == b';'));
        // Other programs at this host may have cookies that are no text.
        let values = pairs.filter_map(|pair| {
            let (name, value) = std::str::from_utf8(pair).ok()?.split_once('=')?;
            (name.trim() == self.name).then(|| value.trim())
        });
        let mut values = values.peekable();
        match (values.next(), values.peek()) {
            (None, _) => PresentedCookie::Absent,
            (Some(value), None) => PresentedCookie::Once(value),
            (Some(_), Some(_)) => PresentedCookie::Repeated,
        }
    }

    /// Returns the header that gives a browser the id of its session.
    pub(crate) fn set(&self, id: &str) -> Option<HeaderValue> {
        self.header(id, "")
    }

    /// Returns the header that makes a browser forget the cookie.
    pub(crate) fn clear(&self) -> Option<HeaderValue> {
        self.header("", "; Max-Age=0")
    }

    fn header(&self, value: &str, more: &str) -> Option<HeaderValue> {
        let secure = match self.scheme {
            Scheme::Http => "",
            Scheme::Https => "; Secure",
        };
        let name = &self.name;
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}");
        let mut header = HeaderValue::from_str(&text).ok()?;
        header.set_sensitive(true);
        Some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_found_among_others_and_only_once() {
        let address = ListenAddress::Tcp("127.0.0.1:7766".parse().unwrap());
        let cookie = SessionCookie::new(&address, Scheme::Http);
        let check = |lines: &[&'static [u8]], expect: PresentedCookie<'_>| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(COOKIE, HeaderValue::from_bytes(line).unwrap());
            }
            assert_eq!(cookie.presented(&headers), expect, "{lines:?}");
        };
        check(&[], PresentedCookie::Absent);
        check(&[b"toolcrib_page_7766=abc"], PresentedCookie::Once("abc"));
        check(&[b"a=b; toolcrib_page_7766=abc ;c=d"], PresentedCookie::Once("abc"));
        check(&[b"a=\xff\xfe; toolcrib_page_7766=abc"], PresentedCookie::Once("abc"));
        check(&[b"toolcrib_page_7766="], PresentedCookie::Once(""));
        check(&[b"toolcrib_page_7767=abc; toolcrib_page=abc"], PresentedCookie::Absent);
        check(&[b"Toolcrib_page_7766=abc; x=toolcrib_page_7766"], PresentedCookie::Absent);
        check(&[b"toolcrib_page_7766=a; toolcrib_page_7766=b"], PresentedCookie::Repeated);
        check(&[b"toolcrib_page_7766=a", b"toolcrib_page_7766=a"], PresentedCookie::Repeated);
    }
}
