//! The server as an OAuth 2.1 resource server: it accepts the access tokens of one authorization server (RFC 9068), and
//! says where that is (RFC 9728). It never passes a token on.

mod issuer_key;
mod jwt;
mod key_store;
mod oauth_config;
mod token_fault;

use std::sync::Arc;

use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use toolcrib_core::{Clock, Principal, Role};

pub use issuer_key::KeySetError;
pub use key_store::KeyLoadError;
pub use oauth_config::{OAuthConfig, OAuthConfigError, PublishedKeys};
pub(crate) use token_fault::TokenFault;

use crate::reply::{ApiError, json_response};
use jwt::{Claims, UnverifiedToken};
use key_store::KeyStore;
use oauth_config::read_url;

/// Where a client finds out which authorization server to use.
const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// The path of MCP, for which clients ask on its own.
const MCP_PATH: &str = "/mcp";

/// How far the clocks of two machines may differ, in seconds.
const LEEWAY_SECONDS: i64 = 30;

/// How long the name of a token's owner may be.
const LONGEST_OWNER: usize = 255;

/// Accepts the access tokens of one authorization server.
pub struct ResourceServer {
    config: OAuthConfig,
    /// The authorization server as the names of principals have it.
    issuer_name: String,
    /// The texts that may stand in `aud`.
    audiences: Vec<String>,
    metadata: String,
    metadata_url: String,
    /// The paths at which the metadata is.
    metadata_paths: Vec<String>,
    keys: KeyStore,
    clock: Arc<dyn Clock>,
}

/// Whom a token lets in.
pub(crate) struct AccessGrant {
    /// The owner, with the strongest role.
    pub(crate) principal: Principal,
    /// Another role that the strongest one does not include.
    pub(crate) other_role: Option<Role>,
    /// The second in which the token expires.
    pub(crate) expires_at: i64,
}

/// Why a token lets nobody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessDenial {
    /// The token does not count.
    Fault(TokenFault),
    /// The token counts, but gives no role.
    NoRole,
    /// No keys could be loaded, so nothing can be said about any token.
    NoKeys,
}

impl From<TokenFault> for AccessDenial {
    fn from(fault: TokenFault) -> Self {
        Self::Fault(fault)
    }
}

impl ResourceServer {
    /// Makes a resource server. No keys are loaded yet.
    pub fn new(config: OAuthConfig, clock: Arc<dyn Clock>) -> Result<Self, OAuthConfigError> {
        config.check()?;
        let issuer = read_url(&config.issuer).map_err(OAuthConfigError::Issuer)?;
        let audience = read_url(&config.audience).map_err(OAuthConfigError::Audience)?;
        let keys = KeyStore::new(config.key_source()?, Arc::clone(&clock));
        let host = issuer.authority().map_or("", |it| it.as_str());
        let origin = config.audience.strip_suffix(audience.path()).unwrap_or(&config.audience);
        let own_path = audience.path().trim_end_matches('/');
        // An empty path and `/` are the same place, and clients write both.
        let mut audiences = vec![config.audience.clone()];
        if own_path.is_empty() {
            audiences = vec![origin.to_owned(), format!("{origin}/")];
        }
        let scopes: Vec<&str> = config.scopes.iter().map(|(scope, _)| scope.as_str()).collect();
        let metadata = json!({
            "resource": config.audience,
            "authorization_servers": [config.issuer],
            "scopes_supported": scopes,
            "bearer_methods_supported": ["header"],
        });
        Ok(Self {
            issuer_name: format!("{host}{}", issuer.path().trim_end_matches('/')),
            audiences,
            metadata: metadata.to_string(),
            metadata_url: format!("{origin}{METADATA_PATH}{own_path}"),
            metadata_paths: ["", MCP_PATH, own_path]
                .map(|path| format!("{METADATA_PATH}{path}"))
                .to_vec(),
            keys,
            clock,
            config,
        })
    }

    /// Loads the keys at once, and then again and again.
    pub(crate) async fn keep_keys_fresh(&self) {
        self.keys.keep_fresh(self.config.key_interval).await;
    }

    /// Answers a request for the metadata. Returns `None` for any other path.
    pub(crate) fn answer(&self, method: &Method, path: &str) -> Option<Response> {
        self.metadata_paths.iter().find(|it| *it == path)?;
        if *method != Method::GET && *method != Method::HEAD {
            return Some(ApiError::method_not_allowed("GET, HEAD").into_response());
        }
        Some(json_response(StatusCode::OK, self.metadata.clone()))
    }

    /// Says whom a token lets in.
    pub(crate) async fn verify(&self, token: &str) -> Result<AccessGrant, AccessDenial> {
        let token = UnverifiedToken::parse(token)?;
        let (algorithm, id) = (token.algorithm, token.key_id.as_deref());
        let keys = self.keys.keys_for(algorithm, id).await.ok_or(AccessDenial::NoKeys)?;
        let key = keys.find(algorithm, id).ok_or(TokenFault::UnknownKey)?;
        if !key.has_signed(token.message, &token.signature) {
            return Err(TokenFault::Signature.into());
        }
        let claims = token.into_claims()?;
        let expires_at = self.check(&claims)?;
        let name = self.owner(&claims)?;
        let roles = self.roles(&claims)?;
        let strongest = roles.last().copied().ok_or(AccessDenial::NoRole)?;
        let has_both = strongest == Role::Approver && roles.contains(&Role::Agent);
        let other_role = has_both.then_some(Role::Agent);
        let principal = Principal::of_oauth(&self.issuer_name, name, strongest);
        Ok(AccessGrant { principal, other_role, expires_at })
    }

    /// Whether a token that expires in this second has expired by now.
    pub(crate) fn has_expired(&self, expires_at: i64) -> bool {
        self.clock.now().as_second() >= expires_at.saturating_add(LEEWAY_SECONDS)
    }

    /// Returns the header that tells a client where to get a token, and what was wrong with the one it sent.
    pub(crate) fn challenge(&self, fault: Option<TokenFault>) -> HeaderValue {
        let error = match fault {
            Some(fault) => {
                format!("error=\"invalid_token\", error_description=\"{}\", ", fault.words())
            }
            None => String::new(),
        };
        let scope = self.config.scopes.first().map_or("", |(scope, _)| scope);
        self.header(&error, scope)
    }

    /// Returns the header that tells a client which scope would have been enough. The roles are those of which one is
    /// needed, the weakest first.
    pub(crate) fn scope_challenge(&self, needed: &[Role]) -> HeaderValue {
        let scope = needed.iter().find_map(|role| self.config.scope_of(*role)).unwrap_or_default();
        self.header("error=\"insufficient_scope\", ", scope)
    }

    fn header(&self, error: &str, scope: &str) -> HeaderValue {
        let text =
            format!("Bearer {error}scope=\"{scope}\", resource_metadata=\"{}\"", self.metadata_url);
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("Bearer"))
    }

    /// Checks who made a token, for whom, and when it counts. Returns the second in which it expires.
    fn check(&self, claims: &Claims) -> Result<i64, TokenFault> {
        if claims.text("iss")? != Some(&self.config.issuer) {
            return Err(TokenFault::Issuer);
        }
        let named = claims.texts("aud")?;
        if !named.iter().any(|it| self.audiences.iter().any(|own| own == it)) {
            return Err(TokenFault::Audience);
        }
        // Without its proof, such a token may have been stolen.
        if claims.has("cnf") {
            return Err(TokenFault::Bound);
        }
        let expires_at = claims.second("exp")?.ok_or(TokenFault::Malformed)?;
        if self.has_expired(expires_at) {
            return Err(TokenFault::Expired);
        }
        let begins_at = claims.second("nbf")?.unwrap_or_default();
        if self.clock.now().as_second() < begins_at.saturating_sub(LEEWAY_SECONDS) {
            return Err(TokenFault::NotYet);
        }
        Ok(expires_at)
    }

    /// Returns the name of the owner. It goes into the record, rules and messages, so it is plain.
    fn owner<'c>(&self, claims: &'c Claims) -> Result<&'c str, TokenFault> {
        let name = claims.text(&self.config.name_claim)?.unwrap_or_default();
        let is_plain = name.bytes().all(|byte| byte.is_ascii_graphic());
        let is_sound = is_plain && (1..=LONGEST_OWNER).contains(&name.len());
        if is_sound { Ok(name) } else { Err(TokenFault::Owner) }
    }

    /// Returns the roles that the scopes of a token give, the weakest first.
    fn roles(&self, claims: &Claims) -> Result<Vec<Role>, TokenFault> {
        let texts = claims.texts(&self.config.scope_claim)?;
        let scopes: Vec<&str> = texts.iter().flat_map(|text| text.split(' ')).collect();
        let has = |role: &Role| {
            let gives =
                |(scope, it): &(String, Role)| it == role && scopes.contains(&scope.as_str());
            self.config.scopes.iter().any(gives)
        };
        Ok(Role::OF_TOKENS.into_iter().filter(has).collect())
    }
}
