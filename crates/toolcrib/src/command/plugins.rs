//! `toolcrib plugins`: tools from other authors, from the first line of code to the version that runs.

mod new_plugin;

use std::path::Path;

use serde_json::{Value, json};
use toolcrib_core::{Shelf, ToolName, counted, escape};
use toolcrib_plugins::activation::ToolSummary;
use toolcrib_plugins::examination::ProposalFaults;
use toolcrib_plugins::lifecycle::{Lifecycle, PLUGINS_CATALOGUE};
use toolcrib_plugins::plugin_source::PluginSource;
use toolcrib_plugins::propose::{Examined, NewTool};
use toolcrib_plugins::reload::{FoundPlugin, FoundState};
use toolcrib_plugins::tool_proposal::ExampleResult;
use toolcrib_plugins::{PluginError, PluginErrorKind};

use super::setup::open;
use crate::cli::{Global, PluginsArgs, PluginsCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Format, Terminal, print_json, print_lines};
use crate::wiring::user_at_terminal;

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &PluginsArgs,
) -> Result<Exit, CliError> {
    if let PluginsCommand::New { name } = &args.command {
        return new_plugin::write(name);
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
        PluginsCommand::Test { file } => test(&lifecycle, terminal, file),
        PluginsCommand::Propose { file, why } => {
            let new = NewTool { reasoning: why.clone(), ..module_in(file)? };
            match lifecycle.propose(new, &by) {
                Ok(proposal) => {
                    let mut lines = example_lines(&proposal.examples);
                    lines.push(format!("Proposed: {} {}", proposal.name, proposal.hash.short()));
                    lines.push(format!("  read it: toolcrib proposals show {}", proposal.name));
                    lines.push(format!("  load it: toolcrib proposals approve {}", proposal.name));
                    print_lines(&lines);
                    Ok(Exit::Done)
                }
                Err(faults) => Ok(tell_faults(terminal, file, &faults)),
            }
        }
        PluginsCommand::Rollback { tool, version } => {
            let back = lifecycle.roll_back(tool, version.as_deref(), &by.principal)?;
            print_lines(&[format!(
                "Rolled back: {} is version {} now",
                back.name,
                back.hash.short()
            )]);
            Ok(Exit::Done)
        }
        PluginsCommand::Disable { tool } => {
            let is_changed = lifecycle.disable(tool, &by.principal)?;
            let told = if is_changed { "Disabled" } else { "Disabled already" };
            print_lines(&[format!("{told}: {tool}")]);
            Ok(Exit::Done)
        }
        PluginsCommand::Enable { tool } => {
            let is_changed = lifecycle.enable(tool, &by.principal)?;
            let told = if is_changed { "Enabled" } else { "Enabled already" };
            print_lines(&[format!("{told}: {tool}")]);
            Ok(Exit::Done)
        }
        PluginsCommand::Reload { json } => {
            let found = lifecycle.reload(&by.principal)?;
            print_found(&found, Format::from(*json));
            Ok(Exit::Done)
        }
    }
}

/// Reads a module, and takes its name from the file's.
fn module_in(file: &Path) -> Result<NewTool, CliError> {
    let shown = file.display();
    let name = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
    if file.extension().is_none_or(|extension| extension != "mjs") {
        let message = format!("`{shown}` is no module: its name does not end in `.mjs`");
        return Err(CliError::usage(message).hint("`toolcrib plugins new NAME` writes one"));
    }
    let code = PluginSource::of_module_file(file)?.code().to_owned();
    Ok(NewTool { name, description: String::new(), code, reasoning: String::new() })
}

/// Checks a module and runs its examples.
fn test(lifecycle: &Lifecycle, terminal: Terminal, file: &Path) -> Result<Exit, CliError> {
    let NewTool { name, code, .. } = module_in(file)?;
    let Examined { declaration, examples, .. } = match lifecycle.examine(&name, code) {
        Ok(examined) => examined,
        Err(faults) => return Ok(tell_faults(terminal, file, &faults)),
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
        lines.push(format!("  propose it: toolcrib plugins propose {}", file.display()));
    } else {
        lines.push(format!("{} of {name} failed", counted(failures as u64, "example")));
    }
    print_lines(&lines);
    Ok(if failures == 0 { Exit::Done } else { Exit::Failed })
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

/// Tells everything that is wrong with a module, with the places.
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
            let all: Vec<Value> = tools.iter().map(tool_json).collect();
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
    let tool = tool.strip_prefix("plugins/").unwrap_or(tool);
    let Some(found) = tools.iter().find(|it| it.name == tool) else {
        let message = format!("there is no plugin `{}`", escape::line(tool));
        return Err(CliError::usage(message).hint("`toolcrib plugins list` lists all of them"));
    };
    if format == Format::Json {
        print_json(&tool_json(found).to_string());
        return Ok(Exit::Done);
    }
    let mut lines = vec![headline(found, shelf)];
    if let Ok(Some(version)) = &found.running {
        let declared = &version.declaration;
        lines.push(format!("  {}", escape::line(&declared.description)));
        let asked = declared.permissions.entries();
        let may = |list: &str| if list == "tools" { "call".to_owned() } else { list.to_owned() };
        let asked =
            asked.iter().map(|it| format!("  may {} {}", may(&it.list), escape::line(&it.entry)));
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
        let code = escape::lines(version.source.code());
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

fn tool_json(tool: &ToolSummary) -> Value {
    let permissions = match &tool.running {
        Ok(Some(version)) => json!(version.declaration.permissions),
        Ok(None) | Err(_) => Value::Null,
    };
    json!({
        "name": tool.name,
        "enabled": tool.state.is_enabled,
        "version": tool.state.active,
        "permissions": permissions,
        "problem": tool.running.as_ref().err().map(ToString::to_string),
        "pending": tool.pending,
        "history": tool.state.history,
    })
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
