//! The first check of every request, before its token and its path are considered. It keeps web pages out that a
//! browser on this machine shows, and requests that two programs could read in two ways.

use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};

use crate::config::{ListenAddress, Scheme};
use crate::page;
use crate::query;
use crate::reply::ApiError;

/// What a request must look like.
pub(crate) struct RequestCheck {
    hosts: AcceptedHosts,
    scheme: Scheme,
}

enum AcceptedHosts {
    /// Nobody can make a browser connect to a Unix socket, so the name does not matter.
    Any,
    /// The names with their ports, in lower case.
    Listed(Vec<String>),
}

/// Whether a request has a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyPresence {
    Absent,
    Present,
}

impl RequestCheck {
    /// Makes the check of a server at `address`, which has its real port.
    pub(crate) fn new(address: &ListenAddress, scheme: Scheme, more_names: &[String]) -> Self {
        let hosts = match address {
            ListenAddress::Unix(_) => AcceptedHosts::Any,
            ListenAddress::Tcp(address) => {
                let port = address.port();
                let own = ["127.0.0.1", "localhost", "[::1]"];
                let mut names: Vec<String> =
                    own.iter().map(|name| format!("{name}:{port}")).collect();
                // No client connects to the address that stands for all of them.
                if !address.ip().is_unspecified() {
                    names.push(address.to_string());
                }
                if port == scheme.default_port() {
                    let bare: Vec<String> =
                        names.iter().filter_map(|it| without_port(it)).collect();
                    names.extend(bare);
                }
                names.extend(more_names.iter().map(|name| name.to_ascii_lowercase()));
                AcceptedHosts::Listed(names)
            }
        };
        Self { hosts, scheme }
    }

    /// Refuses a request that a client of this server would not make.
    pub(crate) fn check(&self, request: &Parts, body: BodyPresence) -> Result<(), ApiError> {
        if request.method == Method::TRACE || request.method == Method::CONNECT {
            return Err(ApiError::method_not_allowed("").closing());
        }
        if request.uri.authority().is_some() {
            let message =
                "the request line names a host; send the path alone, and the host as `Host`";
            return Err(ApiError::bad_request(message).closing());
        }
        check_query(request.uri.query())?;
        let host = self.check_host(&request.headers)?;
        self.check_origin(&request.headers, &host)?;
        check_fetch_site(request)?;
        match body {
            BodyPresence::Present => check_content_type(&request.headers),
            BodyPresence::Absent => Ok(()),
        }
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<String, ApiError> {
        let mut values = headers.get_all(HOST).iter();
        let (Some(host), None) = (values.next(), values.next()) else {
            return Err(ApiError::bad_request("exactly one `Host` is needed").closing());
        };
        let host = host.to_str().unwrap_or_default().to_ascii_lowercase();
        match &self.hosts {
            AcceptedHosts::Any => Ok(host),
            AcceptedHosts::Listed(names) if names.contains(&host) => Ok(host),
            AcceptedHosts::Listed(names) => {
                let known = names.first().map_or("", String::as_str);
                let message = format!(
                    "`Host` does not name this server; use `{known}`, or let the operator add the name with its port to `serve.host_names`"
                );
                Err(forbidden("host_not_allowed", message))
            }
        }
    }

    fn check_origin(&self, headers: &HeaderMap, host: &str) -> Result<(), ApiError> {
        let own = match self.hosts {
            AcceptedHosts::Any => None,
            AcceptedHosts::Listed(_) => Some(format!("{}://{host}", self.scheme.as_str())),
        };
        let is_own =
            |value: &HeaderValue| Some(value.as_bytes()) == own.as_ref().map(String::as_bytes);
        if headers.get_all(ORIGIN).iter().all(is_own) {
            Ok(())
        } else {
            let message = "web pages of other origins cannot use this server; `Origin` must be absent or its own";
            Err(forbidden("origin_not_allowed", message.to_owned()))
        }
    }
}

/// Refuses a token in the address, because addresses are logged and remembered along the way.
fn check_query(query: Option<&str>) -> Result<(), ApiError> {
    if !query::has_name(query, "access_token") {
        return Ok(());
    }
    let message = "a token does not belong in the address; send `Authorization: Bearer TOKEN`, and get a new token, because others may have seen this one";
    Err(ApiError::bad_request(message).closing())
}

fn without_port(name: &str) -> Option<String> {
    name.rsplit_once(':').map(|(name, _)| name.to_owned())
}

/// Refuses what a browser sends for another web page, except that a person follows a link to the page of this server. The
/// files of the page are the same for everybody.
fn check_fetch_site(request: &Parts) -> Result<(), ApiError> {
    let is_own = |value: &HeaderValue| value == "same-origin" || value == "none";
    let headers = &request.headers;
    let says = |name: &str, word: &str| headers.get(name).is_some_and(|value| value == word);
    let is_link = request.method == Method::GET
        && says("sec-fetch-mode", "navigate")
        && says("sec-fetch-dest", "document")
        && page::has_file(request.uri.path());
    if is_link || headers.get_all("sec-fetch-site").iter().all(is_own) {
        Ok(())
    } else {
        let message =
            "a browser sent this request for another web page; only pages of this server may do so";
        Err(forbidden("cross_site", message.to_owned()))
    }
}

fn forbidden(code: &'static str, message: String) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, code, message).closing()
}

fn check_content_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let refuse = |message: &str| {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Err(ApiError::new(status, "unsupported_media_type", message).closing())
    };
    if headers.get_all(CONTENT_ENCODING).iter().any(|value| value != "identity") {
        return refuse("the body is compressed; send it as it is, without `Content-Encoding`");
    }
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    match (values.next(), values.next()) {
        (Some(value), None) if is_json(value) => Ok(()),
        _ => refuse("the body must be JSON; send it with `Content-Type: application/json`"),
    }
}

fn is_json(value: &HeaderValue) -> bool {
    let text = value.to_str().unwrap_or_default().to_ascii_lowercase();
    let mut parts = text.split(';').map(str::trim);
    let is_utf8 = |part: &str| matches!(part, "charset=utf-8" | "charset=\"utf-8\"");
    parts.next() == Some("application/json") && parts.all(is_utf8)
}

/// The paths below which a segment is the name that an agent gave its session, which can have separators.
const SESSIONS: &str = "/api/sessions/";

/// Whether a path means the same to everybody who reads it: no empty, `.` or `..` segment, no encoded separator or
/// control character. Every other path leads nowhere.
pub(crate) fn is_plain_path(path: &str) -> bool {
    match path.strip_prefix('/') {
        None => false,
        Some("") => true,
        Some(rest) => {
            let separators: &[char] = if path.starts_with(SESSIONS) { &[] } else { &['/', '\\'] };
            rest.split('/').all(|segment| is_plain_segment(segment, separators))
        }
    }
}

/// Returns whether a segment is a name: no way to another folder, no control character, and none of `separators`.
fn is_plain_segment(segment: &str, separators: &[char]) -> bool {
    let Some(bytes) = percent_decoded(segment) else { return false };
    let Ok(text) = String::from_utf8(bytes) else { return false };
    let is_separator = |it: char| separators.contains(&it) || it.is_control();
    !matches!(text.as_str(), "" | "." | "..") && !text.contains(is_separator)
}

fn percent_decoded(segment: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        let decoded = match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                (digit(rest.next())? * 16 + digit(rest.next())?) as u8
            }
            byte => byte,
        };
        bytes.push(decoded);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_paths_are_routed() {
        for path in
            ["/", "/api/tools", "/api/tools/execute/read_file", "/a/%C3%A9", "/a/b%20c", "/a/..b"]
        {
            assert!(is_plain_path(path), "{path}");
        }
        for path in [
            "",
            "*",
            "a",
            "//",
            "//a",
            "/a//b",
            "/a/",
            "/./a",
            "/a/..",
            "/a/%2e%2e/b",
            "/a/.%2E",
            "/a/b%2fc",
            "/a/b%2Fc",
            "/a/b%5cc",
            "/a/b\\c",
            "/a/%00",
            "/a/%0a",
            "/a/%",
            "/a/%2",
            "/a/%zz",
            "/a/%ff",
            "/a/%+2f",
        ] {
            assert!(!is_plain_path(path), "{path}");
        }
        // Agents name their sessions as they like.
        assert!(is_plain_path("/api/sessions/team%2Fa%5cb/changes"));
        assert!(!is_plain_path("/api/sessions/%2e%2e/x") && !is_plain_path("/api/sessions/%00"));
    }

    #[test]
    fn json_is_the_only_content_type() {
        let check = |text: &'static str| is_json(&HeaderValue::from_static(text));
        assert!(["application/json", "Application/JSON; charset=UTF-8"].into_iter().all(check));
        let others =
            ["text/plain", "application/jsonp", "application/json, text/plain", "text/json", ""];
        assert!(!others.into_iter().any(check));
        assert!(!check("application/json; charset=utf-16"));
    }
}
