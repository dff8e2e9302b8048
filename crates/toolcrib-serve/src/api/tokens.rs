//! `/api/tokens`: who has tokens. Only admins make them, because a token can have any role.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_core::{Caller, Note, Principal, Role};
use toolcrib_ledger::{Act, EventKind, StoredToken, TokenError, TokenErrorKind, TokenFile};

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::fields::BodyFields;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use crate::reply::ApiError;

/// The operations about tokens.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/tokens", "list_tokens", list)
            .about(AccessRight::Administer, "Lists who has tokens, without the tokens.")
            .replies::<TokenList>(),
        Operation::post("/api/tokens", "add_token", add)
            .about(AccessRight::Administer, "Makes a token, and shows it this once.")
            .body::<TokenBody>()
            .replies::<NewToken>()
            .fails(StatusCode::UNPROCESSABLE_ENTITY, "Nobody can have this name.")
            .fails(StatusCode::CONFLICT, "The name is taken, or was revoked."),
        Operation::post("/api/tokens/{name}/rotate", "rotate_token", rotate)
            .about(
                AccessRight::Administer,
                "Gives the owner of a token a new one. The old one counts no more.",
            )
            .replies::<NewToken>()
            .fails(StatusCode::NOT_FOUND, "There is no token with this name.")
            .fails(StatusCode::CONFLICT, "The token was revoked."),
        Operation::delete("/api/tokens/{name}", "revoke_token", revoke)
            .about(AccessRight::Administer, "Revokes a token. What runs with it ends.")
            .replies::<RevokedToken>()
            .fails(StatusCode::NOT_FOUND, "There is no token with this name."),
    ]
}

/// The role of a token.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TokenRole {
    Agent,
    Approver,
    Admin,
}

/// A token to make.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TokenBody {
    /// The name of its owner.
    #[schemars(extend("pattern" = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"))]
    name: String,
    role: TokenRole,
}

/// The tokens.
#[derive(Serialize, JsonSchema)]
struct TokenList {
    ok: bool,
    count: usize,
    tokens: Vec<ShownToken>,
}

/// Who has a token.
#[derive(Serialize, JsonSchema)]
struct ShownToken {
    name: String,
    role: &'static str,
    created_at: Timestamp,
    rotated_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
}

/// A new token. It is not stored, and cannot be shown again.
#[derive(Serialize, JsonSchema)]
struct NewToken {
    ok: bool,
    name: String,
    role: &'static str,
    token: String,
}

/// A token that was revoked.
#[derive(Serialize, JsonSchema)]
struct RevokedToken {
    ok: bool,
    revoked: String,
    /// What the one who revoked it should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl TokenRole {
    fn role(self) -> Role {
        match self {
            Self::Agent => Role::Agent,
            Self::Approver => Role::Approver,
            Self::Admin => Role::Admin,
        }
    }
}

async fn list(State(api): State<Arc<Api>>) -> Reply {
    let tokens = blocking(move || TokenFile::new(&api.state).all()).await?;
    let shown = |it: StoredToken| ShownToken {
        name: it.principal.name,
        role: it.principal.role.as_str(),
        created_at: it.created_at,
        rotated_at: it.rotated_at,
        revoked_at: it.revoked_at,
    };
    let tokens: Vec<ShownToken> =
        tokens.map_err(|err| refusal(&err))?.into_iter().map(shown).collect();
    JsonReply::ok(&TokenList { ok: true, count: tokens.len(), tokens })
}

async fn add(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    BodyFields(body): BodyFields<TokenBody>,
) -> Reply {
    let TokenBody { name, role } = body;
    let made = blocking(move || {
        let (role, tokens) = (role.role(), TokenFile::new(&api.state));
        let token =
            tokens.add(&name, role, api.answers.clock.now()).map_err(|err| refusal(&err))?;
        let owner = Principal { name, role };
        if let Err(err) = note(&api, &EventKind::Added, &owner.name, Some(role), &caller) {
            // Nobody has seen it yet, and none that the record does not know may count.
            let _ = tokens.revoke(&owner.name, api.answers.clock.now());
            return Err(err);
        }
        Ok((owner, token))
    });
    made.await?.and_then(|(owner, token)| shown_once(owner, token))
}

async fn rotate(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Reply {
    let made = blocking(move || {
        let rotated = TokenFile::new(&api.state).rotate(&name, api.answers.clock.now());
        let Some((owner, token)) = rotated.map_err(|err| refusal(&err))? else {
            return Err(no_token(&name));
        };
        note(&api, &EventKind::Rotated, &name, Some(owner.role), &caller)?;
        Ok((owner, token))
    });
    made.await?.and_then(|(owner, token)| shown_once(owner, token))
}

async fn revoke(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Reply {
    let revoked = blocking(move || {
        let revoked = TokenFile::new(&api.state).revoke(&name, api.answers.clock.now());
        if !revoked.map_err(|err| refusal(&err))? {
            return Err(no_token(&name));
        }
        // The token is refused now, also if the disk is too full for the record.
        let noted = note(&api, &EventKind::Revoked, &name, None, &caller);
        let warnings = noted.err().map(|_| "the token was revoked, but that could not be recorded");
        let warnings = warnings.into_iter().map(str::to_owned).collect();
        Ok(RevokedToken { ok: true, revoked: name, warnings })
    });
    JsonReply::ok(&revoked.await??)
}

fn shown_once(owner: Principal, token: String) -> Reply {
    JsonReply::ok(&NewToken { ok: true, name: owner.name, role: owner.role.as_str(), token })
}

/// Records what was done to a token, and who did it.
fn note(
    api: &Api,
    event: &EventKind,
    name: &str,
    role: Option<Role>,
    caller: &Caller,
) -> Result<(), ApiError> {
    let Principal { name: by, role: actor } = &caller.principal;
    let note = Note {
        at: api.answers.clock.now(),
        actor: actor.as_str(),
        act: Act::Token.as_str(),
        event: event.as_str(),
        tool: None,
        call: "",
        detail: json!({"name": name, "role": role.map(Role::as_str), "by": by}),
    };
    api.runtime.current().recorder.note(&note).map_err(|err| {
        let message = format!("that could not be recorded: {err}");
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unrecorded", message)
    })
}

fn no_token(name: &str) -> ApiError {
    let message = format!("there is no token with the name `{name}`; GET /api/tokens lists them");
    ApiError::new(StatusCode::NOT_FOUND, "token_not_found", message)
}

fn refusal(err: &TokenError) -> ApiError {
    let (status, code) = match err.kind {
        TokenErrorKind::BadName => (StatusCode::UNPROCESSABLE_ENTITY, "bad_name"),
        TokenErrorKind::NameTaken => (StatusCode::CONFLICT, "name_taken"),
        TokenErrorKind::NameRevoked => (StatusCode::CONFLICT, "name_revoked"),
        TokenErrorKind::Store => return ApiError::unavailable(err.message.clone()),
    };
    ApiError::new(status, code, err.message.clone())
}
