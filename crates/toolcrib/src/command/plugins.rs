//! `toolcrib plugins`: tools from other authors, from the first line of code to the version that runs.

mod new_plugin;
mod plugin_path;
mod served;
mod servers;
mod view;

use std::path::Path;

use plugin_path::plugin_at;
use serde_json::json;
use toolcrib_core::{counted, escape};
use toolcrib_plugins::examination::ProposalFaults;
use toolcrib_plugins::lifecycle::Lifecycle;
use toolcrib_plugins::propose::{Examined, NewTool};
use toolcrib_plugins::{PluginError, PluginErrorKind};
use toolcrib_serve::{ExampleFields, PluginDetailFields, PluginFields, ProposalFields};
use view::FoundView;

use super::plugin_name::bare;
use super::remote;
use super::setup::open;
use crate::cli::{Global, PluginsArgs, PluginsCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Format, Terminal, print_json, print_lines};
use crate::wiring::{WhichServers, user_at_terminal};

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &PluginsArgs,
) -> Result<Exit, CliError> {
    if let PluginsCommand::New { name, program, .. } = &args.command {
        return if *program {
            new_plugin::write_program(name)
        } else {
            new_plugin::write_module(name)
        };
    }
    if let Some(client) = remote::chosen(global, terminal)? {
        return served::run(&client, terminal, &args.command);
    }
    let crib = open(global, terminal)?;
    let lifecycle = crib.plugins().lifecycle(&crib.settings);
    let by = user_at_terminal();
    match &args.command {
        PluginsCommand::New { .. } => Ok(Exit::Done),
        PluginsCommand::List { json } => {
            let all: Vec<PluginFields> = lifecycle.tools()?.iter().map(PluginFields::of).collect();
            match Format::from(*json) {
                Format::Json => {
                    print_json(&json!(all).to_string());
                }
                Format::Text => view::print_plugins(&all),
            }
            Ok(Exit::Done)
        }
        PluginsCommand::Show { tool, json } => show(&lifecycle, bare(tool), Format::from(*json)),
        PluginsCommand::Test { path } => Ok(test(&lifecycle, terminal, path)),
        PluginsCommand::Propose { path, why } => Ok(propose(&lifecycle, terminal, path, why)),
        PluginsCommand::Servers { json } => servers::list(&crib, terminal, Format::from(*json)),
        PluginsCommand::Accept { name } => servers::accept(&crib, global, terminal, name),
        PluginsCommand::Rollback { tool, version } => {
            let back = lifecycle.roll_back(bare(tool), version.as_deref(), &by.principal)?;
            view::print_rolled_back(&back.name, back.hash.as_str());
            Ok(Exit::Done)
        }
        PluginsCommand::Disable { tool } => {
            let tool = bare(tool);
            let is_changed = lifecycle.disable(tool, &by.principal)?;
            view::print_switched(if is_changed { "Disabled" } else { "Disabled already" }, tool);
            Ok(Exit::Done)
        }
        PluginsCommand::Enable { tool } => {
            let tool = bare(tool);
            let is_changed = lifecycle.enable(tool, &by.principal)?;
            view::print_switched(if is_changed { "Enabled" } else { "Enabled already" }, tool);
            Ok(Exit::Done)
        }
        PluginsCommand::Reload { json } => {
            let found = lifecycle.reload(&by.principal)?;
            for warning in crib.plugins().mount(&crib.settings, &WhichServers::All) {
                terminal.warn(&warning);
            }
            let found: Vec<FoundView> = found.iter().map(FoundView::of).collect();
            match Format::from(*json) {
                Format::Json => {
                    print_json(&json!(found).to_string());
                }
                Format::Text => view::print_found(&found),
            }
            Ok(Exit::Done)
        }
    }
}

/// Proposes a plugin, and tells what its examples did.
fn propose(lifecycle: &Lifecycle, terminal: Terminal, path: &Path, why: &str) -> Exit {
    let (name, source) = match plugin_at(path) {
        Ok(plugin) => plugin,
        Err(fault) => return tell_faults(terminal, path, &fault.into()),
    };
    let (description, reasoning) = (String::new(), why.to_owned());
    let new = NewTool { name, description, source, reasoning };
    match lifecycle.propose(new, &user_at_terminal()) {
        Ok(proposal) => {
            view::print_proposed(&ProposalFields::of(&proposal, "pending"));
            Exit::Done
        }
        Err(faults) => tell_faults(terminal, path, &faults),
    }
}

/// Checks a plugin and runs its examples.
fn test(lifecycle: &Lifecycle, terminal: Terminal, path: &Path) -> Exit {
    let examined = plugin_at(path).map_err(ProposalFaults::from).and_then(|(name, source)| {
        lifecycle.examine(&name, source).map(|examined| (name, examined))
    });
    let (name, Examined { declaration, examples, .. }) = match examined {
        Ok(examined) => examined,
        Err(faults) => return tell_faults(terminal, path, &faults),
    };
    let mut lines =
        view::example_lines(&examples.iter().map(ExampleFields::of).collect::<Vec<_>>());
    let failures = examples.iter().filter(|it| !it.is_ok).count();
    let asks = if declaration.permissions.is_empty() {
        "it asks for nothing".to_owned()
    } else {
        let asked = declaration.permissions.entries();
        let asked: Vec<String> =
            asked.iter().map(|it| format!("{} {}", it.list, escape::line(&it.entry))).collect();
        format!("it asks for {}", asked.join(", "))
    };
    let tier = declaration.tier.number();
    if failures == 0 {
        let ran = match examples.len() {
            0 => "it has no examples".to_owned(),
            count => format!("{} passed", counted(count as u64, "example")),
        };
        lines.push(format!("{name} can be proposed: {ran}, tier {tier}, {asks}"));
        lines.push(format!("  propose it: toolcrib plugins propose {}", path.display()));
    } else {
        lines.push(format!("{} of {name} failed", counted(failures as u64, "example")));
    }
    print_lines(&lines);
    if failures == 0 { Exit::Done } else { Exit::Failed }
}

/// Tells everything that is wrong with a plugin, with the places.
fn tell_faults(terminal: Terminal, file: &Path, faults: &ProposalFaults) -> Exit {
    for fault in &faults.0 {
        // A message about a place begins with it.
        let file = match fault.place {
            Some(_) => String::new(),
            None => format!("{}: ", file.display()),
        };
        terminal.fail(&format!("{file}{}", fault.message), fault.hint.as_deref());
    }
    let is_our_trouble =
        |it: &PluginError| matches!(it.kind, PluginErrorKind::Store | PluginErrorKind::Busy);
    if faults.0.iter().any(is_our_trouble) { Exit::Failed } else { Exit::BadArgs }
}

fn show(lifecycle: &Lifecycle, tool: &str, format: Format) -> Result<Exit, CliError> {
    let tools = lifecycle.tools()?;
    let Some(found) = tools.iter().find(|it| it.name == tool) else {
        let message = format!("there is no plugin `{}`", escape::line(tool));
        return Err(CliError::usage(message).hint("`toolcrib plugins list` lists all of them"));
    };
    match format {
        Format::Json => {
            print_json(&json!(PluginFields::of(found)).to_string());
        }
        Format::Text => view::print_plugin(&PluginDetailFields::of(found)),
    }
    Ok(Exit::Done)
}
