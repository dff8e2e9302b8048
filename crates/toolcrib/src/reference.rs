//! The reference: texts about tools and settings, generated from their declarations.

use std::fmt::Write;

use serde_json::Value;
use toolcrib_core::Catalogue;
use toolcrib_core::runs_later::{LaterLevel, LaterPlace, LaterReader, RUNS_LATER};
use toolcrib_core::toolset::{Offer, Toolset};
use toolcrib_tools::CATALOGUES;

use crate::settings::{Project, SettingKind, table};

/// Describes one tool for a person.
pub fn describe(offer: &Offer) -> String {
    let declaration = offer.tool.declaration();
    let mut text = format!("{}\n\n{}\n\n", offer.full_name(), declaration.summary);
    let _ = writeln!(
        text,
        "Tier {} ({}), effect: {}; at most {} ms and {} bytes of reply.",
        declaration.tier.number(),
        declaration.tier.risk().as_str(),
        declaration.effect.as_str(),
        offer.limits.deadline_ms,
        offer.limits.output_bytes
    );
    text.push_str("\nArguments:\n");
    let schema = offer.tool.schema();
    let arguments = arguments(&schema);
    if arguments.is_empty() {
        text.push_str("  none\n");
    }
    let width = arguments.iter().map(|it| it.name.len() + it.kind.len() + 1).max().unwrap_or(0);
    for argument in &arguments {
        let head = format!("{} {}", argument.name, argument.kind);
        let need = if argument.is_required { "required" } else { "optional" };
        let _ = writeln!(text, "  {head:<width$}  {need}  {}", argument.about);
    }
    let examples = offer.tool.examples();
    if !examples.is_empty() {
        text.push_str("\nExamples:\n");
    }
    for example in examples {
        let _ = writeln!(text, "  {}", example.about);
        for (path, _) in example.files {
            let _ = writeln!(text, "    with {path}");
        }
        let args = toolcrib_core::json::parse(example.args.as_bytes()).unwrap_or_default();
        let args = args.to_string().replace('\'', r"'\''");
        let _ = writeln!(text, "    toolcrib call {} '{args}'", offer.full_name());
        let reply = toolcrib_core::json::parse(example.reply.as_bytes()).unwrap_or_default();
        let _ = writeln!(text, "    → {reply}");
    }
    text
}

struct Argument {
    name: String,
    kind: String,
    is_required: bool,
    about: String,
}

fn arguments(schema: &Value) -> Vec<Argument> {
    let required = schema["required"].as_array();
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    let properties = schema["properties"].as_object();
    let kind = |property: &Value| {
        let kind = property["type"].as_str().unwrap_or("any");
        match property["enum"].as_array() {
            Some(words) => {
                let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
                words.join("|")
            }
            None => kind.to_owned(),
        }
    };
    properties
        .into_iter()
        .flatten()
        .map(|(name, property)| Argument {
            name: name.clone(),
            kind: kind(property),
            is_required: is_required(name),
            about: property["description"].as_str().unwrap_or_default().replace('\n', " "),
        })
        .collect()
}

/// Returns the reference of all tools.
pub fn tools() -> String {
    let mut text = String::from(
        "# Tools\n\nGenerated from the declarations of the tools by `cargo xtask docs`. Every example is \
         run as a test.\n",
    );
    for catalogue in CATALOGUES {
        tools_of(catalogue, &mut text);
    }
    text
}

fn tools_of(catalogue: &'static Catalogue, text: &mut String) {
    let _ = write!(text, "\n## {}\n\n{}.\n", catalogue.name, catalogue.about);
    for offer in Toolset::everything(CATALOGUES).offers() {
        if offer.catalogue.name != catalogue.name {
            continue;
        }
        let declaration = offer.tool.declaration();
        let _ = write!(
            text,
            "\n### {}\n\n{}\n\nTier {}, {}. Effect: {}.\n\n",
            offer.full_name(),
            declaration.summary,
            declaration.tier.number(),
            declaration.tier.risk().as_str(),
            declaration.effect.as_str()
        );
        let schema = offer.tool.schema();
        let arguments = arguments(&schema);
        if !arguments.is_empty() {
            text.push_str("| argument | type | | |\n| --- | --- | --- | --- |\n");
        }
        for argument in arguments {
            let need = if argument.is_required { "required" } else { "optional" };
            let kind = argument.kind.replace('|', " \\| ");
            let about = argument.about.replace('|', "\\|");
            let _ = writeln!(text, "| `{}` | {kind} | {need} | {about} |", argument.name);
        }
        for example in offer.tool.examples() {
            let args = toolcrib_core::json::parse(example.args.as_bytes()).unwrap_or_default();
            let reply = toolcrib_core::json::parse(example.reply.as_bytes()).unwrap_or_default();
            let _ = write!(text, "\n{}\n\n```json\n{args}\n{reply}\n```\n", example.about);
        }
    }
}

/// Returns the page about what other programs run or obey on their own.
pub fn runs_later() -> String {
    let mut text = String::from(
        "# What other programs run on their own\n\nGenerated from the list in `toolcrib-core` by `cargo xtask docs`.\n\n\
         Git, editors, shells, agents, build servers and package managers run or obey these files without being \
         told to. Where a section names a rule, Toolcrib asks about a file tool that writes or removes such a file, in \
         every mode; `policy.without` switches the rule off. A name counts in any folder and in any letter case, unless the \
         table says otherwise. A name that ends in `/` is a folder with everything in it.\n\n\
         For commands, the table says what happens:\n\n\
         - *refused*: neither commands nor file tools can change it, wherever it is. In `.git`, commands can change \
         only what does not make git run a program.\n\
         - *protected*: commands cannot change it at the root of the workspace (`sandbox.protected`). If they change \
         it elsewhere, the reply names it.\n\
         - *reported*: commands can change it, and the reply names it.\n",
    );
    for reader in LaterReader::ALL {
        let title = reader.title();
        let rule = reader.rule_id().map_or_else(
            || "No rule: you start these programs yourself.".to_owned(),
            |id| format!("Rule: `{id}`"),
        );
        let _ = write!(
            text,
            "\n## {title}\n\n{rule}\n\n| name | commands | why |\n| --- | --- | --- |\n"
        );
        for row in RUNS_LATER.iter().filter(|row| row.reader == reader) {
            let name = row.name;
            let name = match row.place {
                LaterPlace::File => format!("`{name}`"),
                LaterPlace::FileAtRoot => format!("`{name}` at the root"),
                LaterPlace::Folder => format!("`{name}/`"),
            };
            let level = match row.level {
                LaterLevel::Told => "reported",
                LaterLevel::Protected => "protected",
                LaterLevel::Refused => "refused",
            };
            let _ = writeln!(text, "| {name} | {level} | {} |", row.why);
        }
    }
    text
}

/// Returns the reference of all settings.
pub fn settings() -> String {
    let mut text = String::from(
        "# Settings\n\nGenerated from the table of settings by `cargo xtask docs`.\n\n\
         Each setting is read from these places, and a later place wins:\n\n\
         1. the built-in default\n\
         2. `/etc/toolcrib/config.toml`\n\
         3. `$XDG_CONFIG_HOME/toolcrib/config.toml`\n\
         4. the project's `.toolcrib/config.toml`, which can only tighten\n\
         5. the environment, which can only tighten `mode`, `policy.*` and `sandbox.*`\n\
         6. flags\n\n\
         `toolcrib config show --origin` shows every value and where it comes from. An unknown name is \
         an error.\n",
    );
    for setting in table::settings() {
        let kind = match setting.kind {
            SettingKind::Choice(words) => {
                words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
            }
            SettingKind::Count(min, max) => format!("{} from {min} to {max}", number(setting.name)),
            SettingKind::Names => {
                "a list of strings (in the environment: separated by commas)".to_owned()
            }
            SettingKind::Text => "a string".to_owned(),
            SettingKind::Servers => {
                "a table for each server, `[mcp.NAME]`; see [plugins](../plugins.md)".to_owned()
            }
            SettingKind::Schemas => {
                "a table of JSON Schemas, inline or as paths of files".to_owned()
            }
        };
        let project = match setting.project {
            Project::OperatorOnly => "may not change it".to_owned(),
            Project::Stricter => "may choose a stricter value (one further left)".to_owned(),
            Project::Smaller => "may lower it".to_owned(),
            Project::Subset(_) => "may narrow it".to_owned(),
            Project::More => "may add to the list".to_owned(),
            Project::Only(word) => format!("may set it to `{word}`"),
        };
        let names = match setting.contract_name {
            _ if matches!(setting.kind, SettingKind::Schemas | SettingKind::Servers) => {
                "none; only a file can set it".to_owned()
            }
            Some(name) => format!("`{}` or `{name}`", setting.variable()),
            None => format!("`{}`", setting.variable()),
        };
        let _ = write!(
            text,
            "\n## `{}`\n\n{}\n\n- Values: {kind}\n- Default: `{}`\n- Environment: {names}\n- A project {project}.\n",
            setting.name,
            setting.about(),
            setting.default
        );
        if setting.needs_restart {
            text.push_str("- A server that runs applies a change after a restart.\n");
        }
    }
    text
}

/// Returns what the number of a setting is, and how it can be written.
fn number(setting: &str) -> &'static str {
    match setting {
        name if name.ends_with("_bytes") => "bytes (or `512M`, `4G`),",
        name if name.ends_with("_seconds") => "seconds (or `15m`, `2h`),",
        name if name.ends_with("_ms") => "milliseconds (or `500ms`, `15m`),",
        _ => "a whole number",
    }
}
