//! Tools from other authors on a terminal. They come from the state folder or from a server, whose texts may be anything.

use serde::Serialize;
use toolcrib_core::escape;
use toolcrib_plugins::reload::{FoundPlugin, FoundState};
use toolcrib_serve::{
    ExampleFields, PluginDetailFields, PluginFields, ProposalFields, VersionFields,
};

use crate::command::proposals::{permission_lines, short, to_second};
use crate::terminal::print_lines;

/// What became of a file of the tools folder.
#[derive(Serialize)]
pub(super) struct FoundView {
    pub(super) name: String,
    pub(super) path: String,
    /// `active`, `loaded`, `inactive`, `waiting` or `broken`.
    pub(super) state: &'static str,
    /// The version, or what is wrong.
    pub(super) detail: String,
}

impl FoundView {
    pub(super) fn of(found: &FoundPlugin) -> Self {
        let (state, detail) = match &found.state {
            FoundState::Active(hash) => ("active", hash.short().to_owned()),
            FoundState::Loaded(hash) => ("loaded", hash.short().to_owned()),
            FoundState::Inactive(hash) => ("inactive", hash.short().to_owned()),
            FoundState::Waiting(hash) => ("waiting", hash.short().to_owned()),
            FoundState::Broken(err) => ("broken", err.to_string()),
        };
        Self { name: found.name.clone(), path: found.path.display().to_string(), state, detail }
    }
}

/// Prints the tools.
pub(super) fn print_plugins(all: &[PluginFields]) {
    if all.is_empty() {
        let none = "No tools from other authors. `toolcrib plugins new NAME` writes one.";
        print_lines(&[none.to_owned()]);
        return;
    }
    print_lines(&all.iter().map(headline).collect::<Vec<String>>());
}

/// Prints one tool with its code.
pub(super) fn print_plugin(detail: &PluginDetailFields) {
    let PluginDetailFields { plugin, description, version_before, code } = detail;
    let mut lines = vec![headline(plugin)];
    lines.extend(description.iter().map(|text| format!("  {}", escape::line(text))));
    lines.extend(plugin.permissions.iter().flat_map(permission_lines));
    lines.push("  Versions, the newest last:".to_owned());
    let is_active = |it: &&VersionFields| Some(&it.version) == plugin.version.as_ref();
    let active = plugin.history.iter().rposition(|it| is_active(&it));
    for (number, it) in plugin.history.iter().enumerate() {
        let active = if active == Some(number) { "  active" } else { "" };
        let (how, by) = (escape::line(&it.how).replace('_', " "), escape::line(&it.by));
        let (version, at) = (short(&it.version), to_second(&it.at));
        lines.push(format!("    {version}  {how} by {by} at {at}{active}"));
    }
    if version_before.is_some() {
        lines.push(format!("  go back: toolcrib plugins rollback {}", escape::line(&plugin.name)));
    }
    if let Some(code) = code {
        lines.push(String::new());
        lines.extend(escape::lines(code).lines().map(|line| format!("    {line}")));
    }
    print_lines(&lines);
}

/// Prints that a tool was proposed, and what its examples did.
pub(super) fn print_proposed(proposal: &ProposalFields) {
    let mut lines = example_lines(&proposal.examples);
    let name = escape::line(&proposal.tool_name);
    lines.push(format!("Proposed: {name} {}", short(&proposal.hash)));
    lines.push(format!("  read it: toolcrib proposals show {name}"));
    lines.push(format!("  load it: toolcrib proposals approve {name}"));
    print_lines(&lines);
}

/// Prints that an earlier version is active.
pub(super) fn print_rolled_back(name: &str, version: &str) {
    let (name, version) = (escape::line(name), short(version));
    print_lines(&[format!("Rolled back: {name} is version {version} now")]);
}

/// Prints that a tool is on offer or off it.
pub(super) fn print_switched(told: &str, name: &str) {
    print_lines(&[format!("{told}: {}", escape::line(name))]);
}

/// Prints what is in the tools folder.
pub(super) fn print_found(found: &[FoundView]) {
    if found.is_empty() {
        print_lines(&["The tools folder has no tools.".to_owned()]);
        return;
    }
    let mut lines = Vec::new();
    for FoundView { name, path, state, detail } in found {
        lines.push(format!("{}  {state}  {}", escape::line(name), escape::line(detail)));
        if *state == "waiting" {
            let path = escape::line(path);
            lines.push(format!("    nobody has approved it: toolcrib plugins propose {path}"));
        }
    }
    print_lines(&lines);
}

/// Returns what examples did, a line for each.
pub(super) fn example_lines(examples: &[ExampleFields]) -> Vec<String> {
    let line = |example: &ExampleFields| {
        let about = if example.about.is_empty() { "example" } else { &example.about };
        let about = escape::line(about);
        match &example.message {
            None if example.ok => format!("ok      {about}"),
            None => format!("FAILED  {about}"),
            Some(message) => format!("FAILED  {about}: {}", escape::line(message)),
        }
    };
    examples.iter().map(line).collect()
}

fn headline(plugin: &PluginFields) -> String {
    let PluginFields { name, enabled, on_offer, version, problem, pending, .. } = plugin;
    let version = version.as_deref().map_or("none".to_owned(), short);
    let state = match problem {
        Some(problem) => format!("does not run: {}", escape::line(problem)),
        None if !enabled => "disabled".to_owned(),
        None if *on_offer => "on offer".to_owned(),
        None => "not loaded: the `plugins.` settings do not allow it".to_owned(),
    };
    let waits = if pending.is_some() { "; another version waits for an answer" } else { "" };
    format!("plugins/{}  {version}  {state}{waits}", escape::line(name))
}
