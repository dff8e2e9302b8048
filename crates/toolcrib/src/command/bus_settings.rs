//! What settings say about the bus.

use toolcrib_core::Shelf;
use toolcrib_nats::{BusPrefix, BusServer, Placement};

use crate::error::CliError;
use crate::settings::{SettingKey, Settings, table};
use crate::wiring::Crib;

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

/// Returns where calls are placed. A tool that the operator wants elsewhere must not run here because of a typo.
pub(super) fn placements(crib: &Crib) -> Result<Vec<Placement>, CliError> {
    let wrong = |text: &str, why: &str| {
        let message = format!("`nats.places`: `{}` places no tools: {why}", text.escape_debug());
        CliError::settings(message).hint("write TOOLS=WORKSPACE, such as clemini=app")
    };
    let mut all: Vec<Placement> = Vec::new();
    for text in crib.settings.get(table::NATS_PLACES) {
        let placement = Placement::parse(&text).map_err(|why| wrong(&text, why))?;
        if !is_tool_or_catalogue(&crib.plugins().shelf(), placement.tools()) {
            return Err(wrong(&text, "there is no such catalogue or tool"));
        }
        if all.iter().any(|other| other.tools() == placement.tools()) {
            return Err(wrong(&text, "another entry has the same tools"));
        }
        all.push(placement);
    }
    Ok(all)
}

/// Whether a name is that of a catalogue, or the full name of a tool.
pub(super) fn is_tool_or_catalogue(shelf: &Shelf, name: &str) -> bool {
    shelf.catalogues().any(|it| it.name == name) || shelf.tools().any(|it| it.full_name() == *name)
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
