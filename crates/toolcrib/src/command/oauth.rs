//! The authorization server whose access tokens count, as the settings say.

use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_core::{Clock, Role};
use toolcrib_serve::{OAuthConfig, OAuthConfigError, PublishedKeys, ResourceServer};

use crate::error::CliError;
use crate::settings::{SettingKey, Settings, table};

/// Returns what accepts the tokens of an authorization server, if the settings name one.
pub(super) fn resource_server(
    settings: &Settings,
    clock: &Arc<dyn Clock>,
) -> Result<Option<ResourceServer>, CliError> {
    let Some(config) = config(settings)? else { return Ok(None) };
    let server = ResourceServer::new(config, Arc::clone(clock));
    server.map(Some).map_err(|err| unusable(&err))
}

/// Says whether the settings are complete, as far as that shows without asking another server. Returns the URL of the
/// authorization server, if they name one.
pub(super) fn check(settings: &Settings) -> Result<Option<String>, CliError> {
    let Some(config) = config(settings)? else { return Ok(None) };
    config.check().map_err(|err| unusable(&err))?;
    Ok(Some(config.issuer))
}

fn unusable(err: &OAuthConfigError) -> CliError {
    let key = match err {
        OAuthConfigError::Issuer(_) => table::OAUTH_ISSUER,
        OAuthConfigError::Audience(_) => table::OAUTH_AUDIENCE,
        OAuthConfigError::KeyUrl(_) => table::OAUTH_JWKS_URL,
        OAuthConfigError::KeyFile(_) => table::OAUTH_JWKS_FILE,
        OAuthConfigError::NoScope
        | OAuthConfigError::BadScope(_)
        | OAuthConfigError::SharedScope(_) => table::OAUTH_AGENT_SCOPE,
        OAuthConfigError::NoClaim => table::OAUTH_NAME_CLAIM,
    };
    refused(err.to_string()).hint(format!("change `{}`", key.setting.name))
}

fn config(settings: &Settings) -> Result<Option<OAuthConfig>, CliError> {
    let text = |key: SettingKey<String>| Some(settings.get(key)).filter(|text| !text.is_empty());
    let (issuer, audience) = (text(table::OAUTH_ISSUER), text(table::OAUTH_AUDIENCE));
    let (url, file) = (text(table::OAUTH_JWKS_URL), text(table::OAUTH_JWKS_FILE));
    if issuer.is_none() && audience.is_none() && url.is_none() && file.is_none() {
        return Ok(None);
    }
    let issuer =
        issuer.ok_or_else(|| missing(table::OAUTH_ISSUER, "it names the authorization server"))?;
    let audience = audience.ok_or_else(|| {
        missing(table::OAUTH_AUDIENCE, "it is the URL of this server, which tokens must name")
    })?;
    let keys = match (url, file) {
        (Some(url), None) => PublishedKeys::Url(url),
        (None, Some(file)) => PublishedKeys::File(PathBuf::from(file)),
        (None, None) => {
            return Err(missing(
                table::OAUTH_JWKS_URL,
                "it has the keys of the authorization server",
            ));
        }
        (Some(_), Some(_)) => {
            let (url, file) =
                (table::OAUTH_JWKS_URL.setting.name, table::OAUTH_JWKS_FILE.setting.name);
            let message = format!("both `{url}` and `{file}` are set, and the keys come from one");
            return Err(refused(message)
                .hint(format!("unset one of them, such as with `toolcrib config unset {file}`")));
        }
    };
    let mut config = OAuthConfig::new(issuer, audience, keys);
    config.name_claim = settings.get(table::OAUTH_NAME_CLAIM);
    config.scope_claim = settings.get(table::OAUTH_SCOPE_CLAIM);
    let scopes = [
        (table::OAUTH_AGENT_SCOPE, Role::Agent),
        (table::OAUTH_APPROVER_SCOPE, Role::Approver),
        (table::OAUTH_ADMIN_SCOPE, Role::Admin),
    ];
    config.scopes = scopes.into_iter().filter_map(|(key, role)| Some((text(key)?, role))).collect();
    Ok(Some(config))
}

fn missing(key: SettingKey<String>, what: &str) -> CliError {
    let name = key.setting.name;
    refused(format!("`{name}` is not set; {what}"))
        .hint(format!("`toolcrib config set {name} URL` sets it"))
}

fn refused(why: String) -> CliError {
    CliError::usage(format!("access tokens of OAuth cannot be accepted: {why}"))
}
