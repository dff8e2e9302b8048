//! `/docs`: a page that shows the specification. It needs no token, and shows nothing without one: it asks for a token,
//! keeps it in the page only, and gets the specification with it.

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, Method};
use axum::response::{IntoResponse, Response};

use crate::reply::ApiError;

/// The files of the page.
const FILES: [(&str, &str, &str); 3] = [
    ("/docs", "text/html; charset=utf-8", include_str!("viewer/index.html")),
    ("/docs/viewer.js", "text/javascript; charset=utf-8", include_str!("viewer/viewer.js")),
    ("/docs/viewer.css", "text/css; charset=utf-8", include_str!("viewer/viewer.css")),
];

/// The page loads its own two files and the specification, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Answers a request for a file of the page. Returns `None` for any other path.
pub(crate) fn answer(method: &Method, path: &str) -> Option<Response> {
    let (_, media_type, text) = FILES.iter().find(|(known, ..)| *known == path)?;
    if *method != Method::GET && *method != Method::HEAD {
        return Some(ApiError::method_not_allowed("GET, HEAD").into_response());
    }
    let mut response = (*text).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    Some(response)
}
