//! What settings say about the bus.

use toolcrib_nats::{BusPrefix, BusServer, Placement};

use crate::error::CliError;
use crate::settings::{SettingKey, Settings, table};

/// Returns the NATS server: the command line wins over the settings. Nothing if no server is named.
pub(super) fn bus_server(
    settings: &Settings,
    given: Option<&str>,
) -> Result<Option<BusServer>, CliError> {
    let set = settings.get(table::NATS_URL);
    let url = given.unwrap_or(&set);
    if url.is_empty() {
        return Ok(None);
    }
    if !(url.starts_with("nats://") || url.starts_with("tls://")) {
        let message = format!("`{}` is not the URL of a NATS server", without_password(url));
        return Err(CliError::usage(message).hint("write nats://HOST:PORT, or tls://HOST:PORT"));
    }
    let credentials = settings.get(table::NATS_CREDENTIALS);
    let credentials = Some(credentials).filter(|path| !path.is_empty()).map(Into::into);
    Ok(Some(BusServer { url: url.to_owned(), credentials }))
}

/// Returns what subjects begin with.
pub(super) fn bus_prefix(settings: &Settings) -> Result<BusPrefix, CliError> {
    prefix(settings, table::NATS_PREFIX)
}

/// Returns what the subjects of runners begin with, if the settings name tools of runners.
pub(super) fn runners_prefix(
    settings: &Settings,
    own: &BusPrefix,
) -> Result<Option<BusPrefix>, CliError> {
    if settings.get(table::NATS_TOOLS).is_empty() {
        return Ok(None);
    }
    let prefix = prefix(settings, table::NATS_TOOLS_PREFIX)?;
    if prefix == *own {
        let message = format!(
            "`nats.tools_prefix` and `nats.prefix` are both `{own}`, so agents could reach the tools past the gateway"
        );
        let hint = "choose another prefix for agents, such as `nats.prefix` = agents";
        return Err(CliError::settings(message).hint(hint));
    }
    Ok(Some(prefix))
}

fn prefix(settings: &Settings, key: SettingKey<String>) -> Result<BusPrefix, CliError> {
    let prefix = settings.get(key);
    BusPrefix::new(&prefix).ok_or_else(|| {
        let (name, prefix) = (key.setting.name, prefix.escape_debug());
        let message = format!("`{name}` is `{prefix}`, which cannot begin subjects");
        let hint = "write up to 128 letters, digits, `-` and `_`, with dots between words; the contract has `nachos`";
        CliError::usage(message).hint(hint)
    })
}

/// Returns where calls are placed.
pub(super) fn placements(settings: &Settings) -> Result<Vec<Placement>, CliError> {
    let parse = |text: &String| {
        Placement::parse(text).map_err(|why| {
            let message =
                format!("`nats.places`: `{}` places no tools: {why}", text.escape_debug());
            CliError::settings(message).hint("write TOOLS=WORKSPACE, such as clemini=app")
        })
    };
    settings.get(table::NATS_PLACES).iter().map(parse).collect()
}

/// Returns an address as it may be shown and logged.
pub(super) fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        assert_eq!(without_password("nats://user:p@ss@host:4222"), "nats://host:4222");
        assert_eq!(without_password("tls://host:4222"), "tls://host:4222");
    }
}
