//! `toolcrib tools`: lists the tools on offer, or describes one.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use toolcrib_core::nearest::{either, nearest};
use toolcrib_core::toolset::Offer;
use toolcrib_core::{ToolError, ToolName, Toolset};
use toolcrib_runtime::dialect::{Dialect, Names, declare};

use super::layout::fit_all;
use super::remote;
use super::setup::read_config;
use crate::cli::{Global, ToolsArgs, ToolsFormat};
use crate::error::CliError;
use crate::exit::Exit;
use crate::reference::describe;
use crate::terminal::{Paint, Terminal, print, print_lines, width};
use crate::wiring::unmounted_servers;

pub(super) fn run(global: &Global, terminal: Terminal, args: &ToolsArgs) -> Result<Exit, CliError> {
    let toolset = if let Some(client) = remote::chosen(global, terminal)? {
        remote::toolset(&client, terminal)?
    } else {
        let config = read_config(global, terminal)?;
        let state = config.state.as_deref().unwrap_or(Path::new(""));
        for server in unmounted_servers(&config.settings, state) {
            terminal.note(&format!(
                "the MCP server {server} was never mounted: `toolcrib plugins servers` mounts it"
            ));
        }
        config.toolset()?
    };
    let offers = match &args.name {
        None => toolset.offers().to_vec(),
        Some(name) => match chosen(&toolset, name) {
            Ok(offers) => offers,
            Err(err) => {
                terminal.fail(&err.message, err.hint.as_deref());
                return Ok(Exit::of(err.kind));
            }
        },
    };
    let dialect = match args.format {
        ToolsFormat::Text => {
            let text = text(terminal, args, &offers);
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            // The description of one tool has examples, which are pasted.
            let is_list = args.name.is_none() || offers.len() > 1;
            print_lines(&if is_list { fit_all(&lines, width()) } else { lines });
            return Ok(Exit::Done);
        }
        ToolsFormat::Json => {
            let tools: Value = offers.iter().map(whole).collect();
            print_pretty(&tools);
            return Ok(Exit::Done);
        }
        ToolsFormat::Openai => Dialect::OpenAi,
        ToolsFormat::Anthropic => Dialect::Anthropic,
        ToolsFormat::Gemini => Dialect::Gemini,
        ToolsFormat::Mcp => Dialect::Mcp,
    };
    let names = match twins(&offers) {
        None => Names::Plain,
        Some((one, other)) => {
            terminal.note(&format!(
                "`{one}` and `{other}` share a name, so every name begins with its catalogue; choose one \
                 catalogue with --toolset for plain names"
            ));
            Names::Full
        }
    };
    print_pretty(&declare(dialect, names, &offers));
    Ok(Exit::Done)
}

/// Returns the tools that `name` means: those of a catalogue, or those with that name.
fn chosen(toolset: &Toolset, name: &str) -> Result<Vec<Offer>, ToolError> {
    let is_meant = |offer: &&Offer| {
        offer.catalogue.name == name
            || *offer.full_name() == *name
            || offer.tool.declaration().name == name
    };
    let offers: Vec<Offer> = toolset.offers().iter().filter(is_meant).cloned().collect();
    if offers.is_empty() {
        let catalogues = toolset.offers().iter().map(|offer| offer.catalogue.name);
        let near = nearest(name, catalogues, 2);
        return toolset.find(&name.into()).map(|offer| vec![offer.clone()]).map_err(|err| {
            if near.is_empty() { err } else { err.hint(format!("did you mean {}?", either(&near))) }
        });
    }
    Ok(offers)
}

/// Returns the full names of two tools that share a bare name, if there are such.
fn twins(offers: &[Offer]) -> Option<(&ToolName, &ToolName)> {
    offers.iter().enumerate().find_map(|(index, one)| {
        let name = one.tool.declaration().name;
        let other = offers[index + 1..].iter().find(|other| other.tool.declaration().name == name);
        other.map(|other| (one.full_name(), other.full_name()))
    })
}

/// Returns everything that is known of a tool, as JSON.
fn whole(offer: &Offer) -> Value {
    let declaration = offer.tool.declaration();
    let examples: Vec<Value> = offer
        .tool
        .examples()
        .iter()
        .map(|example| {
            let json = |text: &str| toolcrib_core::json::parse(text.as_bytes()).unwrap_or_default();
            json!({"about": example.about, "args": json(example.args), "reply": json(example.reply)})
        })
        .collect();
    json!({
        "name": declaration.name,
        "title": declaration.title(),
        "catalogue": offer.catalogue.name,
        "summary": declaration.summary,
        "tier": declaration.tier.number(),
        "risk": declaration.tier.risk().as_str(),
        "effect": declaration.effect.as_str(),
        "limits": {
            "deadline_ms": offer.limits.deadline_ms,
            "output_bytes": offer.limits.output_bytes,
        },
        "schema": offer.tool.schema(),
        "examples": examples,
    })
}

/// Returns the list of tools by catalogue, or the description of the one that was named.
fn text(terminal: Terminal, args: &ToolsArgs, offers: &[Offer]) -> String {
    if let (Some(_), [one]) = (&args.name, offers) {
        return describe(one);
    }
    let width =
        offers.iter().map(|offer| offer.full_name().as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    let mut catalogue = "";
    for offer in offers {
        if offer.catalogue.name != catalogue {
            catalogue = offer.catalogue.name;
            let title = terminal.paint(Paint::Strong, catalogue);
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{title}  {}", offer.catalogue.about);
        }
        let declaration = offer.tool.declaration();
        let first = declaration.summary.split(". ").next().unwrap_or_default();
        let risk = format!("{:<10}", declaration.tier.risk().as_str());
        let risk = terminal.paint(Paint::Dim, &risk);
        let _ = writeln!(text, "  {:<width$}  {risk}  {first}", offer.full_name());
    }
    let _ = writeln!(text, "\nDetails of one tool: toolcrib tools NAME");
    text
}

fn print_pretty(value: &Value) {
    let text = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
    print(&format!("{}\n", toolcrib_core::escape::json(&text)));
}

#[cfg(test)]
mod tests {
    use toolcrib_tools::CATALOGUES;

    use super::*;

    #[test]
    fn tools_are_declared_to_model_providers_as_these() {
        for catalogue in CATALOGUES {
            let offers = Toolset::choose(CATALOGUES, &[catalogue.name.to_owned()]).unwrap();
            for (name, dialect) in [
                ("openai", Dialect::OpenAi),
                ("anthropic", Dialect::Anthropic),
                ("gemini", Dialect::Gemini),
                ("mcp", Dialect::Mcp),
            ] {
                let declared = declare(dialect, Names::Plain, offers.offers());
                let declared = serde_json::to_string_pretty(&declared).unwrap();
                insta::assert_snapshot!(format!("{}_for_{name}", catalogue.name), declared);
            }
        }
    }
}
