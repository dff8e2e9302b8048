//! The files of the page. They are the same for everybody, and nothing of a request is in them.

use std::io::Write;
use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    REFERRER_POLICY, VARY,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::write::GzEncoder;
use ring::digest::{SHA256, digest};

use crate::reply::ApiError;

/// The first words of the paths at which the page shows something. The page itself reads what follows.
const VIEWS: [&str; 8] =
    ["/approvals", "/tools", "/proposals", "/audit", "/sessions", "/rules", "/connect", "/login"];

/// The page loads its own files, talks to its own server, and is shown in no frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// What a page could ask a browser for, and this one does not.
const PERMISSIONS: &str = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), \
                           magnetometer=(), microphone=(), midi=(), payment=(), publickey-credentials-get=(), \
                           screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=()";

const HEADERS: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), PERMISSIONS),
    (VARY, "accept-encoding"),
];

static INDEX: LazyLock<PageFile> = LazyLock::new(|| {
    PageFile::new("text/html; charset=utf-8", include_bytes!("../../page/dist/index.html"))
});

static SCRIPT: LazyLock<PageFile> = LazyLock::new(|| {
    PageFile::new("text/javascript; charset=utf-8", include_bytes!("../../page/dist/page.js"))
});

static STYLE: LazyLock<PageFile> = LazyLock::new(|| {
    PageFile::new("text/css; charset=utf-8", include_bytes!("../../page/dist/page.css"))
});

static ICON: LazyLock<PageFile> =
    LazyLock::new(|| PageFile::new("image/svg+xml", include_bytes!("../../page/dist/icon.svg")));

/// A file of the page, as it is sent.
struct PageFile {
    media_type: &'static str,
    bytes: &'static [u8],
    compressed: Bytes,
    /// Says which content this is, however it is encoded.
    tag: String,
}

impl PageFile {
    fn new(media_type: &'static str, bytes: &'static [u8]) -> Self {
        let hash = digest(&SHA256, bytes);
        let tag = format!("W/\"{}\"", URL_SAFE_NO_PAD.encode(&hash.as_ref()[..16]));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let compressed = encoder.write_all(bytes).and_then(|()| encoder.finish());
        // Writing to memory does not fail.
        Self { media_type, bytes, compressed: compressed.unwrap_or_default().into(), tag }
    }

    fn reply(&self, request: &HeaderMap) -> Response {
        let mut response = Response::default();
        let headers = response.headers_mut();
        headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        if let Ok(tag) = HeaderValue::from_str(&self.tag) {
            headers.insert(ETAG, tag);
        }
        if self.is_known(request) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        if accepts_gzip(request) {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            *response.body_mut() = Body::from(self.compressed.clone());
        } else {
            *response.body_mut() = Body::from(self.bytes);
        }
        response
    }

    /// Whether the client has the content already.
    fn is_known(&self, request: &HeaderMap) -> bool {
        let strong = self.tag.trim_start_matches("W/");
        members(request, &IF_NONE_MATCH)
            .any(|tag| tag == "*" || tag.trim_start_matches("W/") == strong)
    }
}

/// Answers a request for a file of the page. Returns `None` for any other path, and otherwise the name of the path too.
pub(crate) fn answer(request: &Parts) -> Option<(&'static str, Response)> {
    let (route, file) = find(request.uri.path())?;
    if request.method != Method::GET && request.method != Method::HEAD {
        return Some((route, ApiError::method_not_allowed("GET, HEAD").into_response()));
    }
    Some((route, file.reply(&request.headers)))
}

/// Whether there is a file of the page at a path.
pub(crate) fn has_file(path: &str) -> bool {
    find(path).is_some()
}

fn find(path: &str) -> Option<(&'static str, &'static PageFile)> {
    match path {
        "/" => Some(("/", &*INDEX)),
        "/assets/page.js" => Some(("/assets/page.js", &*SCRIPT)),
        "/assets/page.css" => Some(("/assets/page.css", &*STYLE)),
        "/assets/icon.svg" => Some(("/assets/icon.svg", &*ICON)),
        _ => {
            let is_in = |view: &&&str| {
                path.strip_prefix(**view)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            VIEWS.iter().find(is_in).map(|view| (*view, &*INDEX))
        }
    }
}

/// Returns the members of a header that is a list.
fn members<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|text| text.split(',').map(str::trim))
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    members(headers, &ACCEPT_ENCODING).any(|member| {
        let mut parts = member.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        let is_refused = weight.is_some_and(|it| it.trim().parse() == Ok(0.0));
        is_gzip && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_and_what_is_below_them_are_the_page() {
        for (path, route) in [
            ("/", "/"),
            ("/approvals", "/approvals"),
            ("/tools/clemini/edit", "/tools"),
            ("/tools/", "/tools"),
            ("/login", "/login"),
            ("/assets/page.js", "/assets/page.js"),
        ] {
            assert_eq!(find(path).map(|(route, _)| route), Some(route), "{path}");
        }
        for path in ["", "//", "/toolsmith", "/Tools", "/assets", "/assets/", "/index.html", "/api"]
        {
            assert!(find(path).is_none(), "{path}");
        }
    }

    #[test]
    fn the_first_view_is_at_most_120_kilobytes() {
        let files = [&INDEX, &SCRIPT, &STYLE, &ICON];
        let bytes: usize = files.iter().map(|file| file.compressed.len()).sum();
        assert!(bytes <= 120 * 1024, "{bytes}");
        assert!(SCRIPT.compressed.len() < SCRIPT.bytes.len(), "it is compressed");
    }

    #[test]
    fn a_client_gets_gzip_if_it_asks_for_it() {
        let accepts = |text: &'static str| {
            let header = (ACCEPT_ENCODING, HeaderValue::from_static(text));
            accepts_gzip(&HeaderMap::from_iter([header]))
        };
        for text in ["gzip", "deflate, GZIP;q=0.5, br", "br;q=1, gzip; q=0.001"] {
            assert!(accepts(text), "{text}");
        }
        for text in ["", "br", "gzip;q=0", "gzip; q=0.000", "xgzip", "identity"] {
            assert!(!accepts(text), "{text}");
        }
    }
}
