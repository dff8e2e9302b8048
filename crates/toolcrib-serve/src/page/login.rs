//! Logging in to the page with a token or with the printed link, and out of it.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequest, Request, State};
use axum::http::header::SET_COOKIE;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Value, json};
use toolcrib_core::Principal;

use crate::body::JsonBody;
use crate::identity::{CSRF_HEADER, Identifier};
use crate::observation::RequestFindings;
use crate::page_session::{BegunSession, PageDoor, PageSession};
use crate::presented_token::TokenOwner;
use crate::reply::{ApiError, json_response};

/// Where somebody logs in.
pub(crate) const LOGIN_PATH: &str = "/page/login";

const SESSION_PATH: &str = "/page/session";
const LOGOUT_PATH: &str = "/page/logout";

/// How somebody proves who they are.
enum Proof {
    Token(String),
    Link(String),
}

/// Finds out whom the body of a request logs in.
pub(crate) async fn log_in(
    identifier: &Identifier,
    request: Request,
) -> Result<TokenOwner, ApiError> {
    if request.method() != Method::POST {
        return Err(ApiError::method_not_allowed("POST"));
    }
    let JsonBody(body) = JsonBody::from_request(request, &()).await?;
    match proof_in(body)? {
        Proof::Token(token) => identifier.owner_of(token.trim()).await,
        Proof::Link(code) => identifier.owner_of_link(code.trim()),
    }
}

fn proof_in(body: Value) -> Result<Proof, ApiError> {
    let proof = match body {
        Value::Object(fields) if fields.len() == 1 => fields.into_iter().next(),
        _ => None,
    };
    match proof {
        Some((name, Value::String(token))) if name == "token" => Ok(Proof::Token(token)),
        Some((name, Value::String(code))) if name == "link" => Ok(Proof::Link(code)),
        _ => {
            let message = r#"the body must be `{"token": "TOKEN"}` or `{"link": "CODE"}`"#;
            Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", message))
        }
    }
}

/// Begins a session, and gives the browser its two secrets.
pub(crate) fn begin_session(page: &PageDoor, owner: TokenOwner) -> Result<Response, ApiError> {
    let begun = page.sessions.begin(owner);
    let BegunSession { session, id, csrf } =
        begun.map_err(|err| ApiError::unavailable(err.to_string()))?;
    let mut response = session_reply(&session, &csrf);
    if let Some(cookie) = page.cookie.set(&id) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Returns the routes of a session that has begun.
pub(crate) fn page_routes(page: Arc<PageDoor>) -> Router {
    Router::new()
        .route(SESSION_PATH, get(show_session))
        .route(LOGOUT_PATH, post(log_out))
        .with_state(page)
}

async fn show_session(request: Request) -> Result<Response, ApiError> {
    let session = session_of(&request, SESSION_PATH)?;
    // It was compared before.
    let csrf = request.headers().get(CSRF_HEADER).and_then(|value| value.to_str().ok());
    Ok(session_reply(&session, csrf.unwrap_or_default()))
}

async fn log_out(
    State(page): State<Arc<PageDoor>>,
    request: Request,
) -> Result<Response, ApiError> {
    let session = session_of(&request, LOGOUT_PATH)?;
    page.sessions.end(&session);
    let mut response = json_response(StatusCode::OK, r#"{"ok":true}"#.to_owned());
    if let Some(cookie) = page.cookie.clear() {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Returns the session that a request is one of.
fn session_of(request: &Request, route: &'static str) -> Result<Arc<PageSession>, ApiError> {
    let found = request.extensions();
    if let Some(findings) = found.get::<Arc<RequestFindings>>() {
        findings.found_route(route);
    }
    found.get::<Arc<PageSession>>().cloned().ok_or_else(|| {
        let message = "this request has a token and no session of the page; log in with `POST /page/login`, and send no `Authorization`";
        ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    })
}

fn session_reply(session: &PageSession, csrf: &str) -> Response {
    let Principal { name, role } = &session.owner.principal;
    let reply = json!({
        "ok": true,
        "name": name,
        "role": role.as_str(),
        "csrf": csrf,
        "expires_in_s": session.seconds_left(),
    });
    json_response(StatusCode::OK, reply.to_string())
}
