//! The examples of a rule, which are tried when its file is read.

use jiff::Timestamp;
use serde::Deserialize;

use crate::command_reading::ReadShell;
use crate::hosts::{hosts_in, hosts_named};
use crate::tool_name::ToolName;

use super::decision::Verdict;
use super::rule::{Layer, Rule, RuleEffect};
use super::rules::Policy;
use super::rules_error::{RuleFault, RulesErrorKind};
use super::subject::Subject;
use super::tier::{Mode, Tier};

/// An example of a call that a rule applies to, or spares: a command, a path, a host, or arguments.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum RawExample {
    Text(String),
    Args(toml::Table),
}

/// The examples of a rule.
pub(super) struct RuleExamples {
    pub(super) covers: Vec<RawExample>,
    pub(super) spares: Vec<RawExample>,
}

impl RuleExamples {
    /// Returns how many bytes they have.
    pub(super) fn size(&self) -> usize {
        let all = self.covers.iter().chain(&self.spares);
        all.map(|example| match example {
            RawExample::Text(text) => text.len(),
            RawExample::Args(args) => args.to_string().len(),
        })
        .sum()
    }

    /// Fails if the rule does not cover, or does not spare, one of its examples.
    pub(super) fn try_on(self, rule: &Rule, shell: &dyn ReadShell) -> Result<(), RuleFault> {
        for (examples, expect) in [(&self.covers, true), (&self.spares, false)] {
            for example in examples {
                let (shown, covers) = match example {
                    RawExample::Text(text) => (text.clone(), covers_text(rule, text, shell)?),
                    RawExample::Args(args) => {
                        let text = canonical(args)?;
                        let covers = covers_args(rule, &text, args, shell);
                        (text, covers)
                    }
                };
                if covers != expect {
                    let verb = if expect { "does not cover" } else { "does not spare" };
                    let message = format!("`{}` {verb} its example `{shown}`", rule.id);
                    return Err(RuleFault::new(RulesErrorKind::Example, message));
                }
            }
        }
        Ok(())
    }
}

fn covers_text(rule: &Rule, text: &str, shell: &dyn ReadShell) -> Result<bool, RuleFault> {
    let (own, tool) = ([text.to_owned()], tool_of(rule));
    let when = &rule.when;
    if when.is_about_commands() {
        let reading = shell.read(text);
        let mut hosts = hosts_in(&serde_json::Value::Null, Some(&reading));
        hosts.extend(hosts_named(&reading).unwrap_or_default());
        let subject = Subject { reading: Some(&reading), hosts: &hosts, ..nothing(&tool, "") };
        return Ok(covers(rule, &subject));
    }
    let subject = match (when.paths.is_empty() && when.writes.is_empty(), when.hosts.is_empty()) {
        (false, _) if when.paths.is_empty() => Subject { writes: &own, ..nothing(&tool, "") },
        (false, _) => Subject { reads: &own, ..nothing(&tool, "") },
        (true, false) => Subject { hosts: &own, ..nothing(&tool, "") },
        (true, true) if when.args.is_some() => return Ok(covers(rule, &nothing(&tool, text))),
        (true, true) => {
            let message =
                format!("`{}` has examples, but no condition that an example could match", rule.id);
            return Err(RuleFault::new(RulesErrorKind::Example, message));
        }
    };
    Ok(covers(rule, &subject))
}

fn covers_args(rule: &Rule, text: &str, args: &toml::Table, shell: &dyn ReadShell) -> bool {
    let command = args.get("command").and_then(toml::Value::as_str).map(|text| shell.read(text));
    let path = args.get("path").or_else(|| args.get("file_path")).and_then(toml::Value::as_str);
    let paths: Vec<String> = path.map(str::to_owned).into_iter().collect();
    let tool = tool_of(rule);
    let subject = Subject {
        reads: &paths,
        writes: &paths,
        reading: command.as_ref(),
        ..nothing(&tool, text)
    };
    covers(rule, &subject)
}

/// Whether a rule, if it were the only one, would decide a call.
fn covers(rule: &Rule, subject: &Subject<'_>) -> bool {
    let rule = Rule { layer: Layer::Operator, expires: None, ..rule.clone() };
    if rule.effect == RuleEffect::Allow {
        let alone = Policy::new(Mode::Standard, vec![rule]);
        return alone.decide(subject, Timestamp::UNIX_EPOCH, &[]).verdict() == Verdict::Allow;
    }
    rule.applies_to(subject)
}

/// Returns a name that the rule is about.
fn tool_of(rule: &Rule) -> ToolName {
    rule.tools.first().map_or("", String::as_str).into()
}

/// Returns a call that does nothing, and would be asked about.
fn nothing<'a>(tool: &'a ToolName, canonical: &'a str) -> Subject<'a> {
    Subject {
        tool,
        tier: Tier::Restricted,
        canonical,
        root: "",
        reads: &[],
        writes: &[],
        only_edits_text: false,
        hosts: &[],
        reading: None,
    }
}

/// Returns arguments as canonical text, with the keys in the order in which they are written.
pub(super) fn canonical(args: &toml::Table) -> Result<String, RuleFault> {
    let json = serde_json::to_value(args).map_err(|err| RuleFault::field(err.to_string()))?;
    Ok(json.to_string())
}
