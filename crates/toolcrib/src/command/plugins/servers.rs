//! `toolcrib plugins servers` and `accept`: the mounted MCP servers, and what of their tools waits.

use std::io::IsTerminal;

use serde_json::json;
use toolcrib_core::{counted, escape};
use toolcrib_plugins::mcp::imported_servers::ImportedServer;
use toolcrib_plugins::mcp::pin_store::ServerPins;
use toolcrib_plugins::mcp::server_spec::ServerSpec;
use toolcrib_serve::ServerFields;

use crate::cli::Global;
use crate::command::question::is_wanted;
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Format, Terminal, print_json, print_lines};
use crate::wiring::{Crib, WhichServers, user_at_terminal};

/// Lists the servers. One that was never mounted is mounted first.
pub(super) fn list(crib: &Crib, terminal: Terminal, format: Format) -> Result<Exit, CliError> {
    for warning in crib.plugins().mount(&crib.settings, &WhichServers::New) {
        terminal.warn(&warning);
    }
    let mut servers = Vec::new();
    for spec in crib.plugins().servers(&crib.settings) {
        let pins = crib.plugins().pins().pins(&spec.name)?;
        servers.push((pins.filter(|pins| pins.are_of(&spec)), spec));
    }
    match format {
        Format::Json => {
            let all: Vec<ServerFields> = servers
                .iter()
                .map(|(pins, spec)| ServerFields::of(spec, pins.as_ref(), None))
                .collect();
            print_json(&json!(all).to_string());
        }
        Format::Text if servers.is_empty() => print_lines(&[
            "No MCP servers. A table `[mcp.NAME]` with `command` or `url` in your settings file is one."
                .to_owned(),
        ]),
        Format::Text => {
            let lines = servers.iter().flat_map(|(pins, spec)| {
                let pins = pins.as_ref();
                lines_of(spec, pins).into_iter().chain(way_to_accept(spec, pins))
            });
            print_lines(&lines.collect::<Vec<String>>());
        }
    }
    Ok(Exit::Done)
}

/// Shows what waits, and accepts it if the person at the terminal wants to.
pub(super) fn accept(
    crib: &Crib,
    global: &Global,
    terminal: Terminal,
    server: &str,
) -> Result<Exit, CliError> {
    if !global.yes && !std::io::stdin().is_terminal() {
        // An agent has no terminal, so it cannot accept what a server has brought it to.
        let hint = "run this command on a terminal, or add --yes if you are the person who decides";
        terminal
            .fail("only a person can accept tools, and there is no terminal to ask on", Some(hint));
        return Ok(Exit::Failed);
    }
    let waiting = crib.plugins().waiting_imports(&crib.settings);
    if let Some(import) = waiting.iter().find(|import| import.name() == server) {
        return accept_import(crib, global, terminal, import);
    }
    let specs = crib.plugins().servers(&crib.settings);
    let Some(spec) = specs.iter().find(|spec| spec.name == server) else {
        let message = format!("there is no MCP server `{}`", escape::line(server));
        return Err(CliError::usage(message).hint("`toolcrib plugins servers` lists all of them"));
    };
    let store = crib.plugins().pins();
    let pins = store.pins(server)?.unwrap_or_default();
    if pins.waiting.is_empty() {
        print_lines(&[format!("Nothing of {server} waits.")]);
        return Ok(Exit::Done);
    }
    if !global.yes {
        print_lines(&lines_of(spec, Some(&pins)));
        if !is_wanted("\nAccept this? [y/N] ")? {
            terminal.note("Not accepted: it still waits.");
            return Ok(Exit::NeedsApproval);
        }
    }
    let names = store.accept(server, &pins, &user_at_terminal().principal.name)?;
    let names: Vec<_> = names.iter().map(|name| escape::line(name)).collect();
    print_lines(&[format!("Accepted: {}", names.join(", "))]);
    Ok(Exit::Done)
}

/// Shows what a file says about a server, and accepts it if the person at the terminal wants to.
fn accept_import(
    crib: &Crib,
    global: &Global,
    terminal: Terminal,
    import: &ImportedServer,
) -> Result<Exit, CliError> {
    let (name, file) = (import.name(), import.file.display());
    if !global.yes {
        let mut lines = vec![format!("{file} has this server {name}:")];
        lines.extend(import.written().lines().map(|line| format!("  {}", escape::line(line))));
        print_lines(&lines);
        if !is_wanted("\nAccept this? [y/N] ")? {
            terminal.note("Not accepted: it still waits.");
            return Ok(Exit::NeedsApproval);
        }
    }
    crib.plugins().pins().accept_import(import, &user_at_terminal().principal.name)?;
    print_lines(&[format!("Accepted: {name} of {file}")]);
    Ok(Exit::Done)
}

fn lines_of(spec: &ServerSpec, pins: Option<&ServerPins>) -> Vec<String> {
    let command = escape::line(&spec.way.written()).into_owned();
    let Some(pins) = pins else {
        return vec![format!("{}  not mounted", spec.name), format!("  {command}")];
    };
    let on_offer = counted(pins.on_offer().count() as u64, "tool");
    let tier = spec.tier.number();
    let mut lines =
        vec![format!("{}  {on_offer} on offer, tier {tier}", spec.name), format!("  {command}")];
    for waiting in pins.waiting.values() {
        let accepted = pins.accepted.get(&waiting.name);
        let what = if accepted.is_some() { "has changed" } else { "is new" };
        lines.push(format!("  {} {what} and waits:", escape::line(&waiting.name)));
        let difference = waiting.difference(accepted);
        lines.extend(difference.lines().map(|line| format!("    {line}")));
    }
    lines
}

/// Returns how to accept what waits of a server, if anything does.
fn way_to_accept(spec: &ServerSpec, pins: Option<&ServerPins>) -> Option<String> {
    let has_waiting = pins.is_some_and(|pins| !pins.waiting.is_empty());
    has_waiting.then(|| format!("  accept it: toolcrib plugins accept {}", spec.name))
}
