//! A rule as the API shows it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_core::policy::{Callers, Layer, PathGlob, Pattern, Rule, When};
use toolcrib_core::runs_later::LaterReader;

/// A rule.
#[derive(Serialize, JsonSchema)]
pub(super) struct ShownRule {
    id: String,
    /// `allow`, `ask`, `deny` or `audit`.
    effect: &'static str,
    /// Catalogues, tools or `catalogue/tool`; empty for all.
    tools: Vec<String>,
    because: String,
    expires: Option<Timestamp>,
    confirm: bool,
    file: String,
    line: usize,
    /// Who wrote it: `shipped`, `operator` or `project`.
    layer: &'static str,
    /// What else a call must be, so that the rule is about it.
    matches: RuleMatches,
    /// The rule as it is written; empty if it is in no file.
    text: String,
}

/// The conditions of a rule. All that are there must hold.
#[derive(Default, Serialize, JsonSchema)]
struct RuleMatches {
    /// The first words of a command, each with the words that it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    argv: Option<Vec<Vec<String>>>,
    /// Whether `argv` are all words of the command.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    exact: bool,
    /// A pattern for all words of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<String>,
    /// Signs of an attack.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    danger: Vec<&'static str>,
    /// Paths that are read or written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    /// Paths that are written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    writes: Vec<String>,
    /// Hosts that are reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<String>,
    /// A pattern for the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<String>,
    /// The arguments to the letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// What runs the written files on its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs_later: Option<&'static str>,
    /// Whose calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    principals: Vec<String>,
    /// Calls of these roles and through these doors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    callers: Vec<&'static str>,
}

impl ShownRule {
    pub(super) fn of(rule: &Rule) -> Self {
        Self {
            id: rule.id.clone(),
            effect: rule.effect.as_str(),
            tools: rule.tools.clone(),
            because: rule.because.clone(),
            expires: rule.expires,
            confirm: rule.confirm,
            file: rule.source.file.clone(),
            line: rule.source.line,
            layer: match rule.layer {
                Layer::Shipped => "shipped",
                Layer::Operator => "operator",
                Layer::Project => "project",
                Layer::Grant => "grant",
            },
            matches: RuleMatches::of(&rule.when, &rule.callers),
            text: rule.text.clone(),
        }
    }
}

impl RuleMatches {
    fn of(when: &When, callers: &Callers) -> Self {
        let globs = |globs: &[PathGlob]| globs.iter().map(|it| it.as_str().to_owned()).collect();
        let pattern = |it: &Option<Pattern>| it.as_ref().map(|it| it.as_str().to_owned());
        let roles = callers.roles.iter().map(|role| role.as_str());
        let doors = callers.doors.iter().map(|door| door.as_str());
        Self {
            argv: when.argv.clone(),
            exact: when.exact,
            words: pattern(&when.words),
            danger: when.dangers.iter().map(|danger| danger.as_str()).collect(),
            paths: globs(&when.paths),
            writes: globs(&when.writes),
            hosts: when.hosts.clone(),
            args: pattern(&when.args),
            call: when.call.clone(),
            runs_later: when.runs_later.map(LaterReader::title),
            principals: callers.principals.clone(),
            callers: roles.chain(doors).collect(),
        }
    }
}
