//! The cookie that has the id of a session.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};

use crate::config::{ListenAddress, Scheme};

/// The cookie of a server.
pub(crate) struct SessionCookie {
    name: String,
    scheme: Scheme,
}

/// How many cookies of our name are looked at. Another program at this host can set some, too.
const MOST_PRESENTED: usize = 8;

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

    /// Finds the values that a request has of the cookie. There can be more than ours: browsers do not tell the ports of a
    /// host apart, so every program at this host can set one.
    pub(crate) fn presented<'h>(&self, headers: &'h HeaderMap) -> Vec<&'h str> {
        let pairs =
            headers.get_all(COOKIE).iter().flat_map(|it| it.as_bytes().split(|it| *it == b';'));
        // Other programs at this host may have cookies that are no text.
        let values = pairs.filter_map(|pair| {
            let (name, value) = std::str::from_utf8(pair).ok()?.split_once('=')?;
            (name.trim() == self.name).then(|| value.trim())
        });
        values.take(MOST_PRESENTED).collect()
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
    fn the_cookie_is_found_among_others() {
        let address = ListenAddress::Tcp("127.0.0.1:7766".parse().unwrap());
        let cookie = SessionCookie::new(&address, Scheme::Http);
        let check = |lines: &[&'static [u8]], expect: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(COOKIE, HeaderValue::from_bytes(line).unwrap());
            }
            assert_eq!(cookie.presented(&headers), expect, "{lines:?}");
        };
        check(&[], &[]);
        check(&[b"toolcrib_page_7766=abc"], &["abc"]);
        check(&[b"a=b; toolcrib_page_7766=abc ;c=d"], &["abc"]);
        check(&[b"a=\xff\xfe; toolcrib_page_7766=abc"], &["abc"]);
        check(&[b"toolcrib_page_7766="], &[""]);
        check(&[b"toolcrib_page_7767=abc; toolcrib_page=abc"], &[]);
        check(&[b"Toolcrib_page_7766=abc; x=toolcrib_page_7766"], &[]);
        check(&[b"toolcrib_page_7766=a; toolcrib_page_7766=b"], &["a", "b"]);
        check(&[b"toolcrib_page_7766=a", b"toolcrib_page_7766=c"], &["a", "c"]);
    }
}
