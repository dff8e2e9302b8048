//! `toolcrib complete-words`, which completion scripts call: tools, argument keys, ids and settings, as they are now.
//! What never changes, such as flags, is in the scripts.

use std::path::Path;

use clap::builder::PossibleValue;
use clap::{ArgAction, ValueEnum};
use serde_json::Value;
use toolcrib_core::approval::{ApprovalStatus, ApprovalStore};
use toolcrib_core::change::UndoLog;
use toolcrib_core::toolset::Offer;
use toolcrib_core::{Toolset, escape};
use toolcrib_host::{HeldStore, OutputStore};
use toolcrib_ledger::{Approvals, CallFilter, GrantFile, Journal, StateFolder, find_calls};

use super::layout::fit;
use super::past_call;
use super::setup::open_options;
use super::short_id::{ShortIds, begins_with};
use crate::cli::{self, Global};
use crate::exit::Exit;
use crate::settings::{SettingKind, table};
use crate::terminal::print;
use crate::wiring::Config;

/// The most ids that are offered.
const MOST_IDS: usize = 30;

/// The longest description that is offered beside a word.
const MOST_ABOUT_COLUMNS: usize = 60;

/// Prints what could stand at the place of the word with this index, one a line, each with a tab and a description if
/// there is one. Whatever is wrong, it prints less and does not fail: a person is typing.
pub(super) fn run(global: &Global, index: usize, words: &[String]) -> Exit {
    let typed = Typed::read(index, words);
    let options = open_options(&typed.global(global));
    let sources = Sources { config: Config::read(&options).ok() };
    let mut text = String::new();
    for Completion { word, about } in sources.completions(&typed) {
        text.push_str(&escape::line(&word));
        if !about.is_empty() {
            text.push('\t');
            text.push_str(&fit(&escape::line(&about), Some(MOST_ABOUT_COLUMNS)));
        }
        text.push('\n');
    }
    print(&text);
    Exit::Done
}

/// Something that could be typed.
struct Completion {
    word: String,
    about: String,
}

impl Completion {
    fn new(word: impl Into<String>, about: impl Into<String>) -> Self {
        Self { word: word.into(), about: about.into() }
    }
}

/// What was typed before the word that is completed, and the word.
#[derive(Debug, Default)]
struct Typed {
    /// The subcommands, such as `audit show`.
    command: Vec<String>,
    /// The arguments that are not options.
    arguments: Vec<String>,
    /// Options with their values.
    options: Vec<(String, String)>,
    /// The option whose value is completed.
    open_option: Option<String>,
    /// The key of a `KEY=VALUE` argument whose value is completed.
    open_key: Option<String>,
    /// What is there of the word.
    current: String,
    /// The subcommands that could stand here, if an option stands before them. Without one, the scripts know them.
    subcommands: Vec<(String, String)>,
}

impl Typed {
    fn read(index: usize, words: &[String]) -> Self {
        let mut typed = Self::default();
        let mut command = cli::command();
        command.build();
        let end = index.min(words.len());
        let mut before = words[..end].iter().skip(1);
        while let Some(word) = before.next() {
            let name = word.split('=').next().unwrap_or_default();
            let option = command.get_arguments().find(|arg| {
                arg.get_long().is_some_and(|long| name.strip_prefix("--") == Some(long))
                    || arg.get_short().is_some_and(|short| *name == format!("-{short}"))
            });
            match option {
                Some(arg) if matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) => {
                    let id = arg.get_id().to_string();
                    let value = match word.split_once('=') {
                        Some((_, value)) => Some(value.to_owned()),
                        // Bash gives the sign as a word of its own.
                        None => before.find(|word| *word != "=").cloned(),
                    };
                    match value {
                        Some(value) => typed.options.push((id, value)),
                        None => typed.open_option = Some(id),
                    }
                }
                _ if word.starts_with('-') => {}
                _ => match command.find_subcommand(word).cloned() {
                    Some(sub) if typed.arguments.is_empty() => {
                        typed.command.push(word.clone());
                        command = sub;
                    }
                    _ => typed.arguments.push(word.clone()),
                },
            }
        }
        typed.current = words.get(index).cloned().unwrap_or_default();
        let has_options = end > typed.command.len() + 1;
        if has_options && typed.arguments.is_empty() && typed.open_option.is_none() {
            let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
            let about =
                |it: &clap::Command| it.get_about().map_or(String::new(), ToString::to_string);
            typed.subcommands.extend(shown.map(|it| (it.get_name().to_owned(), about(it))));
        }
        typed.join_pair();
        typed
    }

    /// Puts `KEY`, `=` and the value together, which bash gives as words of their own.
    fn join_pair(&mut self) {
        let sign = "=";
        if self.current == sign {
            self.open_key = self.arguments.pop();
            self.current.clear();
        } else if self.arguments.last().is_some_and(|last| last == sign) {
            self.arguments.pop();
            self.open_key = self.arguments.pop();
        }
        let mut joined: Vec<String> = Vec::new();
        let mut words = std::mem::take(&mut self.arguments).into_iter();
        while let Some(word) = words.next() {
            match joined.last_mut().filter(|_| word == sign) {
                Some(key) => *key = format!("{key}={}", words.next().unwrap_or_default()),
                None => joined.push(word),
            }
        }
        self.arguments = joined;
    }

    /// Returns the options for the whole program that were typed, and those of this process.
    fn global(&self, global: &Global) -> Global {
        let given = |name: &'static str| {
            let is_it = move |it: &&(String, String)| it.0 == name;
            self.options.iter().filter(is_it).map(|it| it.1.clone())
        };
        Global {
            workspace: given("workspace").next_back().map(Into::into).or(global.workspace.clone()),
            toolset: given("toolset").next_back().or(global.toolset.clone()),
            set: global.set.iter().cloned().chain(given("set")).collect(),
            ..global.clone()
        }
    }
}

/// Where completions come from.
struct Sources {
    /// The settings and folders, if they can be read.
    config: Option<Config>,
}

impl Sources {
    fn completions(&self, typed: &Typed) -> Vec<Completion> {
        let command: Vec<&str> = typed.command.iter().map(String::as_str).collect();
        let first = typed.arguments.is_empty();
        let all = match (typed.open_option.as_deref(), &command[..]) {
            (Some("tool"), _) => self.tools(),
            (Some("toolset"), _) => self.tools().into_iter().chain(catalogues()).collect(),
            (Some("set"), _) => settings("="),
            (
                None,
                ["call"]
                | ["policy", "explain"]
                | ["rules", "test"]
                | ["stats", "errors" | "regression" | "resources"],
            ) if first => self.tools(),
            (None, ["call"] | ["policy", "explain"] | ["rules", "test"]) => self.arguments(typed),
            (None, ["tools"]) if first => self.tools().into_iter().chain(catalogues()).collect(),
            (None, ["stats", "clear"]) if typed.arguments.len() == 1 => self.tools(),
            (None, ["config", "get" | "set" | "unset"]) if first => settings(""),
            (None, ["config", "set"]) => values(typed.arguments.first()),
            (None, ["mcp", "install" | "uninstall"]) if first => clients(),
            (None, _) if !typed.subcommands.is_empty() => {
                typed.subcommands.iter().map(|it| Completion::new(&*it.0, &*it.1)).collect()
            }
            (None, _) if first => self.ids(&command),
            _ => Vec::new(),
        };
        let fits = |it: &Completion| begins_with(&it.word, &typed.current);
        all.into_iter().filter(fits).collect()
    }

    fn toolset(&self) -> Toolset {
        let chosen = self.config.as_ref().and_then(|config| config.toolset().ok());
        chosen.unwrap_or_else(|| Toolset::everything(toolcrib_tools::catalogues()))
    }

    fn tools(&self) -> Vec<Completion> {
        let tool = |offer: &Offer| {
            let summary = offer.tool.declaration().summary;
            let about = summary.split(". ").next().unwrap_or_default();
            Completion::new(offer.full_name().as_str(), about)
        };
        self.toolset().offers().iter().map(tool).collect()
    }

    /// Returns the keys of a tool that were not typed yet, or the values that a key can have.
    fn arguments(&self, typed: &Typed) -> Vec<Completion> {
        let toolset = self.toolset();
        let Some(offer) =
            typed.arguments.first().and_then(|it| toolset.find(&it.as_str().into()).ok())
        else {
            return Vec::new();
        };
        let schema = offer.tool.schema();
        let properties = schema["properties"].as_object();
        if let Some(key) = &typed.open_key {
            let property = properties.and_then(|all| all.get(key));
            return property.map(words_of).unwrap_or_default();
        }
        if let Some((key, _)) = typed.current.split_once('=') {
            let property = properties.and_then(|all| all.get(key));
            let words = property.map(words_of).unwrap_or_default();
            return words
                .into_iter()
                .map(|it| Completion::new(format!("{key}={}", it.word), it.about))
                .collect();
        }
        let is_given = |key: &str| {
            typed.arguments.iter().skip(1).any(|word| {
                word.split_once('=').is_some_and(|(given, _)| given.trim_end_matches(':') == key)
            })
        };
        properties
            .into_iter()
            .flatten()
            .filter(|(key, _)| !is_given(key))
            .map(|(key, property)| {
                let about = property["description"].as_str().unwrap_or_default();
                Completion::new(format!("{key}="), about.replace('\n', " "))
            })
            .collect()
    }

    /// Returns the ids that a subcommand takes.
    fn ids(&self, command: &[&str]) -> Vec<Completion> {
        let Some(config) = &self.config else { return Vec::new() };
        // A state folder is not made for a completion.
        let folder = config.state.as_ref().ok().filter(|folder| folder.is_dir());
        let Some(state) = folder.and_then(|folder| StateFolder::open(folder).ok()) else {
            return Vec::new();
        };
        let here = config.root.path();
        let all: Vec<Completion> = match command {
            ["undo"] => changed_calls(&state, here),
            ["output"] => saved_outputs(&state, here),
            ["audit", "show"] => recorded_calls(&state),
            ["approvals", "show" | "approve" | "deny"] => pending(&state),
            ["grants", "revoke"] => grants(&state),
            ["held", "show" | "release" | "discard"] => held(&state),
            _ => Vec::new(),
        };
        let ids = ShortIds::of(all.iter().map(|it| it.word.as_str()));
        let short = |it: Completion| Completion::new(ids.short(&it.word), it.about);
        all.into_iter().map(short).take(MOST_IDS).collect()
    }
}

fn catalogues() -> Vec<Completion> {
    toolcrib_tools::catalogues().iter().map(|it| Completion::new(it.name, it.about)).collect()
}

fn clients() -> Vec<Completion> {
    let all = cli::ClientName::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let about = |it: &PossibleValue| it.get_help().map_or(String::new(), ToString::to_string);
    all.map(|it| Completion::new(it.get_name(), about(&it))).collect()
}

fn settings(after: &str) -> Vec<Completion> {
    table::settings().map(|it| Completion::new(format!("{}{after}", it.name), it.about())).collect()
}

/// Returns the values that a setting can have.
fn values(name: Option<&String>) -> Vec<Completion> {
    let setting = table::settings().find(|it| Some(it.name) == name.map(String::as_str));
    match setting.map(|it| it.kind) {
        Some(SettingKind::Choice(words)) => {
            words.iter().map(|word| Completion::new(*word, "")).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the values that a property of a schema can have, if they are few.
fn words_of(property: &Value) -> Vec<Completion> {
    if property["type"] == "boolean" {
        return ["true", "false"].map(|word| Completion::new(word, "")).into();
    }
    let words = property["enum"].as_array();
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    words.map(|word| Completion::new(word, "")).collect()
}

fn changed_calls(state: &StateFolder, here: &Path) -> Vec<Completion> {
    let Ok((changes, _)) = Journal::new(state).history() else { return Vec::new() };
    let mut all: Vec<Completion> = Vec::new();
    for change in changes.iter().rev() {
        let is_new = all.last().is_none_or(|last| last.word != change.call.0);
        if is_new && Path::new(&change.place()).starts_with(here) {
            let at = past_call::shown_time(&change.at);
            let about = format!("{at}  {}  {}", change.tool, change.path);
            all.push(Completion::new(change.call.0.as_str(), about));
        }
    }
    all
}

fn saved_outputs(state: &StateFolder, here: &Path) -> Vec<Completion> {
    let all = OutputStore::of_person(state.folder()).all().into_iter();
    all.filter(|it| Path::new(&it.workspace) == here)
        .map(|it| {
            let at = past_call::shown_time(&it.started);
            Completion::new(it.call, format!("{at}  {}", it.command))
        })
        .collect()
}

fn recorded_calls(state: &StateFolder) -> Vec<Completion> {
    let calls = find_calls(state, &CallFilter::default(), MOST_IDS).unwrap_or_default();
    let about = |at: String, tool: &str, what: &str| format!("{at}  {tool}  {what}");
    calls
        .iter()
        .map(|call| {
            let at = past_call::shown_time(&call.at().to_string());
            let what = past_call::what_of(call);
            Completion::new(call.id(), about(at, call.tool().as_str(), &what))
        })
        .collect()
}

fn pending(state: &StateFolder) -> Vec<Completion> {
    let store = Approvals::new(state);
    let now = jiff::Timestamp::now();
    let all = store.all().unwrap_or_default().into_iter();
    all.filter(|it| store.status(it, now).is_ok_and(|status| status == ApprovalStatus::Pending))
        .map(|it| Completion::new(it.id, it.tool.as_str()))
        .collect()
}

fn grants(state: &StateFolder) -> Vec<Completion> {
    let all = GrantFile::new(state).all().unwrap_or_default().into_iter();
    all.map(|it| Completion::new(it.id, format!("{}  {}", it.tool_name, it.covers.text())))
        .collect()
}

fn held(state: &StateFolder) -> Vec<Completion> {
    let all = HeldStore::new(state.folder()).all().unwrap_or_default().into_iter();
    all.map(|it| Completion::new(it.id.clone(), format!("{}  {}", it.whole_path(), it.what)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: &[&str]) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let typed = Typed::read(words.len() - 1, &words);
        let found = Sources { config: None }.completions(&typed);
        let found: Vec<&str> = found.iter().map(|it| it.word.as_str()).collect();
        assert_eq!(found, expect, "{line}: {typed:?}");
    }

    #[test]
    fn tools_keys_and_values_are_completed() {
        check("toolcrib call wink/cr", &["wink/create_file", "wink/create_directory"]);
        check("toolcrib -C /x --yes call wink/read_f", &["wink/read_file"]);
        check("toolcrib call wink/read_file ", &["path=", "start_line=", "end_line="]);
        check("toolcrib call wink/read_file path=a st", &["start_line="]);
        check("toolcrib call wink/read_file path = a st", &["start_line="]);
        check(
            "toolcrib call clemini/edit replace_all=",
            &["replace_all=true", "replace_all=false"],
        );
        check("toolcrib call clemini/edit replace_all = t", &["true"]);
        check("toolcrib call clemini/edit replace_all =", &["true", "false"]);
        check("toolcrib policy explain nachos/filesystem action = re", &["read"]);
        check("toolcrib config get sandbox.proc", &["sandbox.processes"]);
        check("toolcrib config set mode s", &["strict", "standard"]);
        check("toolcrib audit search --tool nachos/c", &["nachos/calculator"]);
        check("toolcrib mcp install c", &["claude-code", "codex", "cursor"]);
        check("toolcrib -C /x mcp uninstall z", &["zed"]);
        check("toolcrib -c sandbox.proc", &["sandbox.processes="]);
        check("toolcrib --mode=strict tools nachos/f", &["nachos/filesystem"]);
        check("toolcrib --mode = strict tools nachos/f", &["nachos/filesystem"]);
    }

    #[test]
    fn subcommands_are_completed_behind_options() {
        check("toolcrib --toolset wink gra", &["grants"]);
        check("toolcrib --toolset=wink gra", &["grants"]);
        check("toolcrib --toolset = wink gra", &["grants"]);
        check("toolcrib -C /x rules ad", &["add"]);
        check("toolcrib --yes approvals sh", &["show"]);
        // Without an option, the scripts know them.
        check("toolcrib gra", &[]);
        check("toolcrib rules ad", &[]);
    }

    #[test]
    fn options_that_were_typed_hold_for_the_completion() {
        let words = ["toolcrib", "--toolset", "wink", "-C", "/x", "-c", "mode=strict", "call", ""];
        let words: Vec<String> = words.map(str::to_owned).into();
        let global = Typed::read(words.len() - 1, &words);
        let none = <cli::Cli as clap::Parser>::parse_from(["toolcrib", "tools"]).global;
        let global = global.global(&none);
        assert_eq!(global.toolset.as_deref(), Some("wink"));
        assert_eq!(global.workspace.as_deref(), Some(Path::new("/x")));
        assert_eq!(global.set, ["mode=strict"]);
    }

    #[test]
    fn what_the_scripts_know_themselves_is_left_to_them() {
        for line in [
            "toolcrib",
            "toolcrib ca",
            "toolcrib call --",
            "toolcrib --mode s",
            "toolcrib call nope/x a",
            "",
            "x y z",
        ] {
            check(line, &[]);
        }
        assert!(Sources { config: None }.completions(&Typed::read(99, &[])).is_empty());
    }
}
