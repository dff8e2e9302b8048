//! What an operator says about the authorization server whose tokens count.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::Uri;
use axum::http::uri::Scheme;
use toolcrib_core::Role;

use super::key_store::{KeyLoadError, KeySource};
use crate::http_client::{HttpTarget, PlainText, TargetError, is_this_machine};

/// How often the keys are loaded again.
const KEY_INTERVAL: Duration = Duration::from_mins(10);

/// The authorization server whose tokens count, and what they must say.
#[derive(Clone, Debug)]
pub struct OAuthConfig {
    /// The authorization server, exactly as its tokens name it in `iss`.
    pub issuer: String,
    /// This server, as tokens must name it in `aud`.
    pub audience: String,
    /// Where the public keys of the authorization server are.
    pub keys: PublishedKeys,
    /// The claim with the name of a token's owner.
    pub name_claim: String,
    /// The claim with the scopes of a token.
    pub scope_claim: String,
    /// Which scope gives which role.
    pub scopes: Vec<(String, Role)>,
    /// How often the keys are loaded again.
    pub key_interval: Duration,
}

/// Where the public keys of an authorization server are.
#[derive(Clone, Debug)]
pub enum PublishedKeys {
    /// At a URL.
    Url(String),
    /// In a file of this machine.
    File(PathBuf),
}

impl OAuthConfig {
    /// Returns the usual configuration.
    pub fn new(issuer: String, audience: String, keys: PublishedKeys) -> Self {
        Self {
            issuer,
            audience,
            keys,
            name_claim: "sub".to_owned(),
            scope_claim: "scope".to_owned(),
            scopes: Role::OF_TOKENS
                .map(|role| (format!("toolcrib:{}", role.as_str()), role))
                .to_vec(),
            key_interval: KEY_INTERVAL,
        }
    }

    /// Says whether tokens could be accepted with this, as far as that shows without asking another server.
    pub fn check(&self) -> Result<(), OAuthConfigError> {
        read_url(&self.issuer).map_err(OAuthConfigError::Issuer)?;
        read_url(&self.audience).map_err(OAuthConfigError::Audience)?;
        self.check_scopes()?;
        if self.name_claim.is_empty() || self.scope_claim.is_empty() {
            return Err(OAuthConfigError::NoClaim);
        }
        self.key_source().map(drop)
    }

    pub(super) fn key_source(&self) -> Result<KeySource, OAuthConfigError> {
        let source = match &self.keys {
            PublishedKeys::Url(url) => KeySource::Url(
                HttpTarget::parse(url, PlainText::ToThisMachine)
                    .map_err(OAuthConfigError::KeyUrl)?,
            ),
            PublishedKeys::File(path) => KeySource::File(path.clone()),
        };
        source.check().map_err(OAuthConfigError::KeyFile)?;
        Ok(source)
    }

    /// Returns the scope that gives a role.
    pub(super) fn scope_of(&self, role: Role) -> Option<&str> {
        self.scopes.iter().find(|(_, it)| *it == role).map(|(scope, _)| scope.as_str())
    }

    fn check_scopes(&self) -> Result<(), OAuthConfigError> {
        let is_plain = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\';
        let is_scope = |scope: &str| !scope.is_empty() && scope.chars().all(is_plain);
        if self.scopes.is_empty() {
            return Err(OAuthConfigError::NoScope);
        }
        for (at, (scope, _)) in self.scopes.iter().enumerate() {
            if !is_scope(scope) {
                return Err(OAuthConfigError::BadScope(scope.clone()));
            }
            if self.scopes[..at].iter().any(|(other, _)| other == scope) {
                return Err(OAuthConfigError::SharedScope(scope.clone()));
            }
        }
        Ok(())
    }
}

/// What is wrong with a configuration.
#[derive(Debug)]
pub enum OAuthConfigError {
    /// The issuer cannot be one.
    Issuer(&'static str),
    /// The audience cannot be one.
    Audience(&'static str),
    /// No keys can come from the URL.
    KeyUrl(TargetError),
    /// The file has no keys.
    KeyFile(KeyLoadError),
    /// No scope gives a role.
    NoScope,
    /// A text cannot be a scope.
    BadScope(String),
    /// One scope would give two roles.
    SharedScope(String),
    /// The name of a claim is empty.
    NoClaim,
}

impl fmt::Display for OAuthConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Issuer(why) => write!(f, "the issuer cannot be used: {why}"),
            Self::Audience(why) => write!(f, "the audience cannot be used: {why}"),
            Self::KeyUrl(why) => write!(f, "the URL of the keys cannot be used: {why}"),
            Self::KeyFile(why) => write!(f, "the file of the keys cannot be used: {why}"),
            Self::NoScope => f.write_str("no scope gives a role, so no token could be used"),
            Self::BadScope(scope) => {
                write!(f, "`{scope}` is no scope: it has a space, a quotation mark or a backslash")
            }
            Self::SharedScope(scope) => write!(f, "`{scope}` would give two roles"),
            Self::NoClaim => f.write_str("the name of a claim is empty"),
        }
    }
}

impl std::error::Error for OAuthConfigError {}

/// Reads the URL of an authorization server or of this one. Returns it with its parts.
pub(super) fn read_url(text: &str) -> Result<Uri, &'static str> {
    let uri: Uri = text.parse().map_err(|_| "it is no URL")?;
    let authority = uri.authority().ok_or("it has no host; write a whole URL")?;
    if authority.as_str().contains('@') {
        return Err("it has a user in it");
    }
    if text.contains(['?', '#', '"', '\\']) {
        return Err("it has a query, a `#`, a quotation mark or a backslash");
    }
    let host = authority.host().trim_matches(['[', ']']);
    match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTPS => Ok(uri),
        Some(scheme) if *scheme == Scheme::HTTP && is_this_machine(host) => Ok(uri),
        Some(scheme) if *scheme == Scheme::HTTP => {
            Err("it begins with http://, which only a loopback address may; use https://")
        }
        _ => Err("it does not begin with https://"),
    }
}
