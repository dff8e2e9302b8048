//! `toolcrib plugins`: tools from other authors, from the first line of code to the version that runs.

mod new_plugin;
mod servers;

use std::path::Path;

use serde_json::{Value, json};
use toolcrib_core::{Shelf, ToolName, counted, escape};
use toolcrib_plugins::activation::ToolSummary;
use toolcrib_plugins::examination::ProposalFaults;
use toolcrib_plugins::lifecycle::{Lifecycle, PLUGINS_CATALOGUE};
use toolcrib_plugins::plugin_source::PluginSource;
use toolcrib_plugins::program_files::ProgramFiles;
use toolcrib_plugins::propose::{Examined, NewTool};
use toolcrib_plugins::reload::{FoundPlugin, FoundState};
use toolcrib_plugins::source_text::source_text;
use toolcrib_plugins::tool_proposal::ExampleResult;
use toolcrib_plugins::{PluginError, PluginErrorKind};
use toolcrib_serve::PluginFields;

use super::proposals::bare;
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
    let crib = open(global, terminal)?;
    let lifecycle = crib.plugins().lifecycle(&crib.settings);
    let by = user_at_terminal();
    match &args.command {
        PluginsCommand::New { .. } => Ok(Exit::Done),
        PluginsCommand::List { json } => {
            list(&lifecycle, &crib.plugins().shelf(), Format::from(*json))
        }
        PluginsCommand::Show { tool, json } => {
            show(&lifecycle, &crib.plugins().shelf(), tool, Format::from(*json))
        }
        PluginsCommand::Test { path } => Ok(test(&lifecycle, terminal, path)),
        PluginsCommand::Propose { path, why } => {
            let (name, source) = match plugin_at(path) {
                Ok(plugin) => plugin,
                Err(fault) => return Ok(tell_faults(terminal, path, &fault.into())),
            };
            let (description, reasoning) = (String::new(), why.clone());
            let new = NewTool { name, description, source, reasoning };
            match lifecycle.propose(new, &by) {
                Ok(proposal) => {
                    let mut lines = example_lines(&proposal.examples);
                    lines.push(format!("Proposed: {} {}", proposal.name, proposal.hash.short()));
                    lines.push(format!("  read it: toolcrib proposals show {}", proposal.name));
                    lines.push(format!("  load it: toolcrib proposals approve {}", proposal.name));
                    print_lines(&lines);
                    Ok(Exit::Done)
                }
                Err(faults) => Ok(tell_faults(terminal, path, &faults)),
            }
        }
        PluginsCommand::Servers { json } => servers::list(&crib, terminal, Format::from(*json)),
        PluginsCommand::Accept { name } => servers::accept(&crib, global, terminal, name),
        PluginsCommand::Rollback { tool, version } => {
            let back = lifecycle.roll_back(bare(tool), version.as_deref(), &by.principal)?;
            print_lines(&[format!(
                "Rolled back: {} is version {} now",
                back.name,
                back.hash.short()
            )]);
            Ok(Exit::Done)
        }
        PluginsCommand::Disable { tool } => {
            let tool = bare(tool);
            let is_changed = lifecycle.disable(tool, &by.principal)?;
            let told = if is_changed { "Disabled" } else { "Disabled already" };
            print_lines(&[format!("{told}: {tool}")]);
            Ok(Exit::Done)
        }
        PluginsCommand::Enable { tool } => {
            let tool = bare(tool);
            let is_changed = lifecycle.enable(tool, &by.principal)?;
            let told = if is_changed { "Enabled" } else { "Enabled already" };
            print_lines(&[format!("{told}: {tool}")]);
            Ok(Exit::Done)
        }
        PluginsCommand::Reload { json } => {
            let found = lifecycle.reload(&by.principal)?;
            for warning in crib.plugins().mount(&crib.settings, &WhichServers::All) {
                terminal.warn(&warning);
            }
            print_found(&found, Format::from(*json));
            Ok(Exit::Done)
        }
    }
}

/// Reads a plugin. A module has the name of its file; a program has the one that its manifest says.
fn plugin_at(path: &Path) -> Result<(String, PluginSource), PluginError> {
    if path.is_dir() {
        let files = ProgramFiles::read(path)?;
        return Ok((files.manifest()?.declaration.name, PluginSource::Program(files)));
    }
    if !path.exists() {
        let message = "there is no such file or folder";
        return Err(PluginError::new(PluginErrorKind::NotFound, message)
            .hint("`toolcrib plugins new NAME` writes a plugin to start from"));
    }
    if path.extension().is_none_or(|extension| extension != "mjs") {
        let message = "it is no folder, and its name does not end in `.mjs`";
        return Err(PluginError::new(PluginErrorKind::BadModule, message)
            .hint("a plugin is an ES module, or a folder with a `manifest.json`"));
    }
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
    Ok((name, PluginSource::of_module_file(path)?))
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
    let mut lines = example_lines(&examples);
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

fn example_lines(examples: &[ExampleResult]) -> Vec<String> {
    let line = |example: &ExampleResult| {
        let about = if example.about.is_empty() { "example" } else { &example.about };
        let about = escape::line(about);
        match &example.message {
            None => format!("ok      {about}"),
            Some(message) => format!("FAILED  {about}: {}", escape::line(message)),
        }
    };
    examples.iter().map(line).collect()
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

fn list(lifecycle: &Lifecycle, shelf: &Shelf, format: Format) -> Result<Exit, CliError> {
    let tools = lifecycle.tools()?;
    match format {
        Format::Json => {
            let all: Vec<PluginFields> = tools.iter().map(PluginFields::of).collect();
            print_json(&json!(all).to_string());
        }
        Format::Text if tools.is_empty() => print_lines(&[
            "No tools from other authors. `toolcrib plugins new NAME` writes one.".to_owned(),
        ]),
        Format::Text => {
            let lines: Vec<String> = tools.iter().map(|tool| headline(tool, shelf)).collect();
            print_lines(&lines);
        }
    }
    Ok(Exit::Done)
}

fn show(
    lifecycle: &Lifecycle,
    shelf: &Shelf,
    tool: &str,
    format: Format,
) -> Result<Exit, CliError> {
    let tools = lifecycle.tools()?;
    let tool = bare(tool);
    let Some(found) = tools.iter().find(|it| it.name == tool) else {
        let message = format!("there is no plugin `{}`", escape::line(tool));
        return Err(CliError::usage(message).hint("`toolcrib plugins list` lists all of them"));
    };
    if format == Format::Json {
        print_json(&json!(PluginFields::of(found)).to_string());
        return Ok(Exit::Done);
    }
    let mut lines = vec![headline(found, shelf)];
    if let Ok(Some(version)) = &found.running {
        let declared = &version.declaration;
        lines.push(format!("  {}", escape::line(&declared.description)));
        let asked = declared.permissions.entries();
        let may = |list: &str| match list {
            "tools" => "may call",
            "hosts" => "may reach",
            "secrets" => "gets the secret",
            "volumes" => "has the volume",
            "read" => "may read",
            _ => "may write",
        };
        let asked =
            asked.iter().map(|it| format!("  {} {}", may(&it.list), escape::line(&it.entry)));
        lines.extend(asked);
    }
    lines.push("  Versions, the newest last:".to_owned());
    for it in &found.state.history {
        let is_active = found.state.last_activation().is_some_and(|last| last == it);
        let active = if is_active { "  active" } else { "" };
        let how = it.how.as_str().replace('_', " ");
        let by = escape::line(&it.by);
        lines.push(format!("    {}  {how} by {by} at {:.0}{active}", it.hash.short(), it.at));
    }
    if found.state.version_before().is_some() {
        lines.push(format!("  go back: toolcrib plugins rollback {tool}"));
    }
    if let Ok(Some(version)) = &found.running {
        lines.push(String::new());
        let code = source_text(&version.source);
        let code = escape::lines(&code);
        lines.extend(code.lines().map(|line| format!("    {line}")));
    }
    print_lines(&lines);
    Ok(Exit::Done)
}

fn headline(tool: &ToolSummary, shelf: &Shelf) -> String {
    let version = tool.state.active.as_ref().map_or("none", |hash| hash.short());
    let state = match (&tool.running, tool.state.is_enabled) {
        (Err(err), _) => format!("does not run: {}", escape::line(&err.message)),
        (Ok(_), false) => "disabled".to_owned(),
        (Ok(_), true) if shelf.has(&ToolName::new(PLUGINS_CATALOGUE, &tool.name)) => {
            "on offer".to_owned()
        }
        (Ok(_), true) => "not loaded: the `plugins.` settings do not allow it".to_owned(),
    };
    let waits = if tool.pending.is_some() { "; another version waits for an answer" } else { "" };
    format!("plugins/{}  {version}  {state}{waits}", tool.name)
}

fn print_found(found: &[FoundPlugin], format: Format) {
    let state = |it: &FoundPlugin| match &it.state {
        FoundState::Active(hash) => ("active", hash.short().to_owned()),
        FoundState::Loaded(hash) => ("loaded", hash.short().to_owned()),
        FoundState::Inactive(hash) => ("inactive", hash.short().to_owned()),
        FoundState::Waiting(hash) => ("waiting", hash.short().to_owned()),
        FoundState::Broken(err) => ("broken", err.to_string()),
    };
    if format == Format::Json {
        let fields = |it: &FoundPlugin| {
            let (word, detail) = state(it);
            json!({"name": it.name, "path": it.path, "state": word, "detail": detail})
        };
        let all: Vec<Value> = found.iter().map(fields).collect();
        print_json(&json!(all).to_string());
        return;
    }
    if found.is_empty() {
        print_lines(&["The tools folder has no tools.".to_owned()]);
        return;
    }
    let mut lines = Vec::new();
    for it in found {
        let (word, detail) = state(it);
        lines.push(format!("{}  {word}  {}", it.name, escape::line(&detail)));
        if matches!(it.state, FoundState::Waiting(_)) {
            let path = it.path.display();
            lines.push(format!("    nobody has approved it: toolcrib plugins propose {path}"));
        }
    }
    print_lines(&lines);
}
