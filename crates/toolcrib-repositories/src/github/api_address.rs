//! The address of a REST API: which URLs belong to it, and so may be sent the token.

use toolcrib_core::net::AllowedAddresses;
use toolcrib_core::{ErrorKind, ToolError};
use url::{Host, Url};

/// The host of the API of github.com.
const PUBLIC_API_HOST: &str = "api.github.com";

/// The address of a REST API.
#[derive(Clone, Debug)]
pub(crate) struct ApiAddress {
    url: Url,
    /// The text of the URL, without a slash at its end.
    base: String,
}

impl ApiAddress {
    /// Parses an address that a setting names.
    pub(crate) fn parse(text: &str) -> Result<Self, ToolError> {
        let refuse = |why: &str| {
            let text: String = text.chars().take(200).collect();
            let message = format!("the API address `{}` {why}", text.escape_debug());
            Err(ToolError::new(ErrorKind::BadArgs, message).hint(
                "write `https://api.github.com`, or `https://HOST/api/v3` for an Enterprise server",
            ))
        };
        let Ok(url) = Url::parse(text) else { return refuse("is not a URL") };
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return refuse("is not one of https");
        }
        let has_user = !url.username().is_empty() || url.password().is_some();
        if has_user || url.query().is_some() || url.fragment().is_some() {
            return refuse("has more than a host and a path");
        }
        let base = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { url, base })
    }

    /// Returns the URL of a path of the API, which begins with a slash.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// The host of the API, as errors name it.
    pub(crate) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Returns the host at which people open the same repositories in a browser.
    pub(super) fn web_host(&self) -> &str {
        self.host().strip_prefix("api.").unwrap_or(self.host())
    }

    /// Fails if a token would be sent so that others can read it.
    pub(super) fn check_token(&self, token: &str) -> Result<(), ToolError> {
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ToolError::new(ErrorKind::BadArgs, "the token for GitHub is not one")
                .hint("set GITHUB_TOKEN to the token itself, without spaces or quotes"));
        }
        if self.url.scheme() == "http" && !self.is_loopback() {
            let message = format!("the token for `{}` would be sent without TLS", self.host());
            return Err(ToolError::new(ErrorKind::Refused, message)
                .hint("write the API address with https"));
        }
        Ok(())
    }

    fn is_loopback(&self) -> bool {
        match self.url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// Which addresses a request to the API may reach. Another API than that of github.com was named by the operator.
    pub(super) fn api_addresses(&self) -> AllowedAddresses {
        match self.host() {
            PUBLIC_API_HOST => AllowedAddresses::OpenInternet,
            _ => AllowedAddresses::Operator,
        }
    }

    /// Whether a URL is one of the API, so that the token may be sent there.
    pub(super) fn has(&self, url: &str) -> bool {
        Url::parse(url).is_ok_and(|url| url.origin() == self.url.origin())
    }

    /// Returns the path below the API's address that a URL of it has.
    pub(super) fn path_of<'a>(&self, url: &'a str) -> Option<&'a str> {
        url.strip_prefix(&self.base).filter(|path| path.starts_with('/'))
    }

    /// Returns which addresses may be reached to get an archive at a URL that the API named; nothing if it is not to
    /// be asked for. An Enterprise server has its archives on its own host, or on one beside it.
    pub(super) fn archive_addresses(&self, url: &str) -> Option<AllowedAddresses> {
        let url = Url::parse(url).ok()?;
        let is_downgrade = self.url.scheme() == "https" && url.scheme() != "https";
        if is_downgrade || !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let host = url.host_str()?;
        let is_beside =
            host == self.host() || host.strip_prefix("codeload.") == Some(self.web_host());
        Some(if is_beside { self.api_addresses() } else { AllowedAddresses::OpenInternet })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_api_is_of_the_open_internet_and_has_its_own_origin() {
        let public = ApiAddress::parse("https://api.github.com/").unwrap();
        assert_eq!(public.url("/repos/a/b"), "https://api.github.com/repos/a/b");
        assert_eq!(
            (public.api_addresses(), public.web_host()),
            (AllowedAddresses::OpenInternet, "github.com")
        );
        assert!(public.has("https://api.github.com/repositories/1"));
        for url in [
            "http://api.github.com/x",
            "https://api.github.com:444/x",
            "https://api.github.com.evil.example/x",
            "https://codeload.github.com/x",
            "nothing",
        ] {
            assert!(!public.has(url), "{url}");
        }
        let own = ApiAddress::parse("https://ghe.example/api/v3").unwrap();
        assert_eq!(
            (own.api_addresses(), own.web_host()),
            (AllowedAddresses::Operator, "ghe.example")
        );
        assert_eq!(own.path_of("https://ghe.example/api/v3/x?page=2"), Some("/x?page=2"));
        assert_eq!(own.path_of("https://ghe.example/api/v30/x"), None);
    }

    #[test]
    fn archives_come_from_the_host_or_from_the_open_internet_and_never_without_tls() {
        let own = ApiAddress::parse("https://ghe.example/api/v3").unwrap();
        let addresses = |url: &str| own.archive_addresses(url);
        assert_eq!(addresses("https://ghe.example/_codeload/x"), Some(AllowedAddresses::Operator));
        assert_eq!(addresses("https://codeload.ghe.example/x"), Some(AllowedAddresses::Operator));
        assert_eq!(addresses("https://evil.example/x"), Some(AllowedAddresses::OpenInternet));
        assert_eq!(addresses("http://ghe.example/x"), None);
        assert_eq!(addresses("file:///etc/passwd"), None);
    }

    #[test]
    fn a_token_needs_tls_beyond_this_machine() {
        let check = |url: &str, token: &str| {
            let checked = ApiAddress::parse(url).unwrap().check_token(token);
            checked.map_err(|err| err.kind)
        };
        assert_eq!(check("https://ghe.example/api/v3", "t"), Ok(()));
        assert_eq!(check("http://127.0.0.1:80", "t"), Ok(()));
        assert_eq!(check("http://ghe.example/api/v3", "t"), Err(ErrorKind::Refused));
        assert_eq!(check("https://ghe.example", "a b"), Err(ErrorKind::BadArgs));
        for url in ["", "ghe", "ftp://x", "https://u:p@x", "https://x/?q", "https://x/#f"] {
            assert!(ApiAddress::parse(url).is_err(), "{url}");
        }
    }
}
