//! `toolcrib call TOOL --help`: what a tool does, what it takes, and a call to paste.

use std::fmt::Write;

use serde_json::{Map, Value};
use toolcrib_core::toolset::Offer;

use super::layout::wrapped;
use super::remote;
use super::setup::read_config;
use crate::cli::{CallArgs, Global, call_help};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, print, width};

/// The widest that help is printed.
const MOST_HELP_COLUMNS: usize = 100;

pub(super) fn run(global: &Global, terminal: Terminal, args: &CallArgs) -> Result<Exit, CliError> {
    let Some(tool) = &args.tool else {
        print(&call_help());
        return Ok(Exit::Done);
    };
    let toolset = match remote::chosen(global, terminal)? {
        Some(client) => remote::toolset(&client, terminal)?,
        None => read_config(global, terminal)?.toolset()?,
    };
    match toolset.find(&tool.as_str().into()) {
        Ok(offer) => {
            print(&tool_help(offer, width().unwrap_or(MOST_HELP_COLUMNS).min(MOST_HELP_COLUMNS)));
            Ok(Exit::Done)
        }
        Err(err) => {
            terminal.fail(&err.message, err.hint.as_deref());
            Ok(Exit::of(err.kind))
        }
    }
}

/// Returns the help of a tool.
fn tool_help(offer: &Offer, width: usize) -> String {
    let declaration = offer.tool.declaration();
    let schema = offer.tool.schema();
    let arguments = arguments(&schema);
    let mut text = wrapped(declaration.summary, "", width);
    let words: Vec<String> = arguments.iter().map(HelpArgument::usage).collect();
    let usage = format!("Usage: toolcrib call {} {}", offer.full_name(), words.join(" "));
    let _ = write!(text, "\n{}", wrapped(usage.trim_end(), "       ", width));
    if !arguments.is_empty() {
        text.push_str("\nArguments:\n");
    }
    for argument in &arguments {
        let _ = writeln!(text, "  {}", argument.head());
        if !argument.about.is_empty() {
            text.push_str(&wrapped(&format!("      {}", argument.about), "      ", width));
        }
    }
    if let Some(example) = offer.tool.examples().first() {
        let args = toolcrib_core::json::parse(example.args.as_bytes()).unwrap_or_default();
        // Not wrapped, so that it can be pasted.
        let _ = write!(
            text,
            "\nExample:\n  toolcrib call {}{}\n",
            offer.full_name(),
            as_words(&args, &schema)
        );
    }
    let name = offer.full_name();
    let _ = write!(
        text,
        "\nLimits and more examples: toolcrib tools {name}\nOptions of `call`: toolcrib call --help\n"
    );
    text
}

struct HelpArgument {
    name: String,
    kind: String,
    is_required: bool,
    /// What the schema says besides the type: the range and the default.
    notes: Vec<String>,
    about: String,
}

impl HelpArgument {
    fn usage(&self) -> String {
        let word = format!("{}={}", self.name, self.kind);
        if self.is_required { word } else { format!("[{word}]") }
    }

    fn head(&self) -> String {
        let need = if self.is_required { "required" } else { "optional" };
        let notes: Vec<&str> =
            [need].into_iter().chain(self.notes.iter().map(String::as_str)).collect();
        format!("{}={}  ({})", self.name, self.kind, notes.join(", "))
    }
}

fn arguments(schema: &Value) -> Vec<HelpArgument> {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let properties = schema["properties"].as_object();
    let mut all: Vec<HelpArgument> = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| HelpArgument {
            name: name.clone(),
            kind: kind(property),
            is_required: is_required(name),
            notes: notes(property),
            about: property["description"].as_str().unwrap_or_default().replace('\n', " "),
        })
        .collect();
    all.sort_by_key(|argument| !argument.is_required);
    all
}

/// Returns what to write for an argument: its words, or the name of its type.
fn kind(property: &Value) -> String {
    if let Some(words) = property["enum"].as_array() {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return words.join("|");
    }
    let kind = match &property["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).find(|it| *it != "null"),
        kind => kind.as_str(),
    };
    match kind.unwrap_or_default() {
        "string" => "TEXT",
        "integer" => "N",
        "number" => "NUMBER",
        "boolean" => "true|false",
        _ => "JSON",
    }
    .to_owned()
}

/// Returns the range and the default of an argument, as far as its schema has them.
fn notes(property: &Value) -> Vec<String> {
    let range = match (property["minimum"].as_i64(), property["maximum"].as_i64()) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}")),
        (Some(least), None) => Some(format!("{least} or more")),
        (None, Some(most)) => Some(format!("{most} or less")),
        (None, None) => None,
    };
    // Where the description names the default, it is not said twice.
    let is_told = property["description"].as_str().is_some_and(|it| it.contains("default"));
    let default = property.get("default").filter(|_| !is_told).map(|value| match value {
        Value::String(text) => format!("default: {text}"),
        other => format!("default: {other}"),
    });
    range.into_iter().chain(default).collect()
}

/// Returns arguments as words of a shell: pairs if all of them can be pairs, else JSON.
fn as_words(args: &Value, schema: &Value) -> String {
    let pairs = args.as_object().and_then(|args| as_pairs(args, &schema["properties"]));
    match pairs {
        Some(pairs) => [vec![String::new()], pairs].concat().join(" "),
        None => format!(" {}", quoted(&args.to_string())),
    }
}

fn as_pairs(args: &Map<String, Value>, properties: &Value) -> Option<Vec<String>> {
    args.iter()
        .map(|(key, value)| match value {
            // An example of one line is easier to paste.
            Value::String(text) if !text.contains('\n') => Some(format!("{key}={}", quoted(text))),
            Value::Number(_) | Value::Bool(_) if properties[key]["type"] != "string" => {
                Some(format!("{key}={value}"))
            }
            _ => None,
        })
        .collect()
}

/// Returns a word as a shell takes it.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./,:@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use toolcrib_core::Toolset;
    use toolcrib_tools::CATALOGUES;

    use super::*;

    #[test]
    fn help_of_tools_is_this() {
        let toolset = Toolset::everything(CATALOGUES);
        let all: Vec<String> = toolset
            .offers()
            .iter()
            .map(|offer| format!("# {}\n{}", offer.full_name(), tool_help(offer, 80)))
            .collect();
        insta::assert_snapshot!("tool_help", all.join("\n"));
        for line in all.iter().flat_map(|it| it.lines()) {
            let is_pasted = line.starts_with("  toolcrib call");
            assert!(is_pasted || line.chars().count() <= 80, "{line}");
        }
    }
}
