//! Grants: a person's "always" becomes a rule, exactly as wide as it was shown to them.

use std::{fmt, io};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::{Caller, Principal};
use crate::command_reading::Step;
use crate::host_access::HostRequest;
use crate::program::{self, Fact};
use crate::tool_name::ToolName;

use super::pattern::PathGlob;
use super::rule::{Callers, Layer, Rule, RuleEffect, Source, When};

/// A person's standing approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// The name of the grant.
    pub id: String,
    /// `catalogue/tool`.
    pub tool_name: ToolName,
    /// A regular expression that matches the arguments of the granted call, if the grant covers one call. Other grants
    /// have the condition of a rule here. Only people and programs read it: [`Grant::covers`] decides.
    pub param_pattern: String,
    /// What the grant is for.
    pub description: String,
    /// When the grant was given.
    pub created_at: Timestamp,
    /// When the grant last allowed a call.
    pub last_used_at: Option<Timestamp>,
    /// How many calls the grant has allowed.
    pub use_count: u64,
    /// When the grant ends.
    pub expires_at: Option<Timestamp>,
    /// Whether the grant is in force.
    pub enabled: bool,
    /// Where the grant holds.
    pub scope: Scope,
    /// Which calls the grant covers.
    pub covers: Covers,
    /// Who gave the grant.
    pub by: String,
    /// Whose calls the grant covers. Without a principal, they are those of the user at the terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Principal>,
    /// The scripts of the call, and its programs that were none of the system, as they were when the grant was given.
    /// Grants from before they were stored have no list.
    #[serde(rename = "programs", default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<GrantedFile>>,
}

/// A program or script as it was when a grant was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantedFile {
    /// The name in the command.
    pub name: String,
    /// The absolute path of its file.
    pub path: String,
    /// What tells one state of the file from another.
    pub state: String,
}

/// Where a grant holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// In one session.
    Session(String),
    /// In one workspace, by its path.
    Project(String),
    /// Wherever the user works.
    User,
}

/// Which calls a grant covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Covers {
    /// One call, to the letter.
    Call {
        /// Its arguments as canonical text.
        args: String,
        /// The symbolic links among the paths of the call, each with its target. If a target changes, it is another
        /// call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        links: Vec<(String, String)>,
    },
    /// Commands that begin with these words.
    Argv(Vec<String>),
    /// Calls that touch nothing but this path.
    Path(String),
    /// Calls of any tool that do nothing but change the text of files below this folder. They answer no rule that asks.
    Edits(String),
    /// No calls, but connections of commands to this host.
    Host(HostRequest),
}

/// Why the store of grants cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantError {
    /// What is wrong with the store.
    pub kind: GrantErrorKind,
    /// What went wrong, as one sentence.
    pub message: String,
}

/// What is wrong with a store of grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantErrorKind {
    /// Other users can change the grants, so none of them counts.
    Untrusted,
    /// The grants cannot be parsed, so none of them counts.
    Malformed,
    /// The system refused to read or write the grants.
    Io,
}

impl GrantError {
    /// Makes an error of this kind.
    pub fn new(kind: GrantErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for GrantError {}

impl From<io::Error> for GrantError {
    fn from(err: io::Error) -> Self {
        Self::new(GrantErrorKind::Io, err.to_string())
    }
}

/// A store of grants.
pub trait Grants: Send + Sync {
    /// Returns every grant.
    fn current(&self) -> Result<Vec<Grant>, GrantError>;

    /// Adds a grant.
    fn add(&self, grant: Grant) -> Result<(), GrantError>;

    /// Records that a grant allowed a call.
    fn used(&self, id: &str, at: Timestamp);
}

/// Nothing is granted, and nothing can be.
pub struct NoGrants;

impl Grants for NoGrants {
    fn current(&self) -> Result<Vec<Grant>, GrantError> {
        Ok(Vec::new())
    }

    fn add(&self, _: Grant) -> Result<(), GrantError> {
        Err(GrantError::new(GrantErrorKind::Io, "nothing is granted here"))
    }

    fn used(&self, _: &str, _: Timestamp) {}
}

/// The grant that a person asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wish {
    /// Which calls it is to cover.
    pub covers: Covers,
    /// Where it is to hold.
    pub scope: Scope,
    /// How long it is to hold, in minutes; without a number, until it is revoked.
    pub minutes: Option<u32>,
}

impl Wish {
    /// Returns the grant that a person gives now.
    pub fn granted(&self, id: String, tool: &ToolName, by: &str, now: Timestamp) -> Grant {
        let minutes = |minutes: u32| now.checked_add(jiff::Span::new().minutes(minutes)).ok();
        Grant {
            id,
            tool_name: tool.clone(),
            param_pattern: self.covers.param_pattern(),
            description: format!("always, said {by}"),
            created_at: now,
            last_used_at: None,
            use_count: 0,
            expires_at: self.minutes.and_then(minutes),
            enabled: true,
            scope: self.scope.clone(),
            covers: self.covers.clone(),
            by: by.to_owned(),
            principal: None,
            files: None,
        }
    }
}

impl Covers {
    /// Returns the rule as text.
    pub fn text(&self) -> String {
        match self {
            Self::Call { args, links } => {
                let links: Vec<String> =
                    links.iter().map(|(path, end)| format!("{path:?} leads to {end:?}")).collect();
                let while_so = if links.is_empty() { "" } else { ", while " };
                format!("call = {args}{while_so}{}", links.join(", "))
            }
            Self::Argv(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                let but = if self.asks_about_new_flags() { ", without new flags" } else { "" };
                format!("argv = [{}]{but}", quoted.join(", "))
            }
            Self::Path(path) => format!("paths = [{path:?}]"),
            Self::Edits(folder) => format!("edits below {folder:?}, by any tool"),
            Self::Host(host) => format!("connections to {host}, by any command"),
        }
    }

    /// Returns the pattern that the contract stores: for one call, a regular expression that matches its arguments and
    /// nothing else.
    pub fn param_pattern(&self) -> String {
        match self {
            Self::Call { args, .. } => format!("^{}$", regex::escape(args)),
            Self::Argv(_) | Self::Path(_) | Self::Edits(_) | Self::Host(_) => self.text(),
        }
    }

    /// Whether a command with these words and a new flag is asked about, because the program's flags are not known.
    pub fn asks_about_new_flags(&self) -> bool {
        match self {
            Self::Argv(words) => words.first().is_some_and(|name| !program::knows_flags(name)),
            Self::Call { .. } | Self::Path(_) | Self::Edits(_) | Self::Host(_) => false,
        }
    }

    fn when(&self) -> Option<When> {
        let when = When::default();
        Some(match self {
            Self::Call { args, .. } => When { call: Some(args.clone()), ..when },
            Self::Argv(words) => {
                let argv = words.iter().map(|word| vec![word.clone()]).collect();
                When { argv: Some(argv), ..when }
            }
            Self::Path(path) => When { paths: vec![PathGlob::exactly(path).ok()?], ..when },
            Self::Edits(folder) => When { edits_below: Some(folder.clone()), ..when },
            // It allows no call.
            Self::Host(_) => return None,
        })
    }
}

impl Grant {
    /// Returns the grant for the calls of this caller and of nobody else.
    pub fn for_caller(self, caller: &Caller) -> Self {
        let principal = (!caller.is_local_user()).then(|| caller.principal.clone());
        Self { principal, ..self }
    }

    /// Whether the grant covers calls of this caller.
    pub fn is_for(&self, caller: &Caller) -> bool {
        match &self.principal {
            None => caller.is_local_user(),
            Some(principal) => *principal == caller.principal,
        }
    }

    /// Whether the grant holds now, in this session and workspace.
    pub fn holds(&self, now: Timestamp, session: &str, root: &str) -> bool {
        let is_here = match &self.scope {
            Scope::Session(id) => id == session,
            Scope::Project(path) => path == root,
            Scope::User => true,
        };
        self.enabled && is_here && self.expires_at.is_none_or(|expires| now < expires)
    }

    /// Whether the grant is about this tool.
    pub fn is_about(&self, tool: &ToolName) -> bool {
        matches!(self.covers, Covers::Edits(_)) || self.tool_name == *tool
    }

    /// Returns the rule of the grant.
    pub fn rule(&self) -> Option<Rule> {
        Some(Rule {
            id: self.id.clone(),
            source: Source { file: "grants".to_owned(), line: 0 },
            layer: Layer::Grant,
            tools: match self.covers {
                Covers::Edits(_) => Vec::new(),
                _ => vec![self.tool_name.to_string()],
            },
            callers: Callers::default(),
            when: self.covers.when()?,
            effect: RuleEffect::Allow,
            because: format!("{} answered \"always\"", self.by),
            expires: self.expires_at,
            confirm: false,
            text: String::new(),
        })
    }
}

/// Whether the name of a program alone says what it does. Of other programs, a second word is needed.
fn name_says_enough(name: &str) -> bool {
    program::is(name, Fact::ReadOnly) || program::is(name, Fact::NameSaysEnough)
}

/// Flags that take no value, whichever program they are of.
const FLAGS_WITHOUT_VALUE: &[&str] = &[
    "--all",
    "--debug",
    "--force",
    "--frozen",
    "--locked",
    "--no-pager",
    "--offline",
    "--quiet",
    "--release",
    "--silent",
    "--verbose",
    "--yes",
    "-P",
    "-q",
    "-s",
    "-v",
    "-vv",
    "-y",
];

/// Whether a word behind the program's name says what it does: one that is no flag and cannot be a flag's value.
fn says_what(words: &[String]) -> bool {
    let is_flag = |word: &str| word.starts_with(['-', '+']);
    let is_alone = |word: &str| {
        !word.starts_with('-') || word.contains('=') || FLAGS_WITHOUT_VALUE.contains(&word)
    };
    (1..words.len()).any(|at| !is_flag(&words[at]) && is_alone(&words[at - 1]))
}

/// Returns what a grant for a step of a command could cover: each beginning of its words, from all of them down to
/// the first. Beside each stands why it cannot be granted, if so. `asks` is the rule that asks about the step, if one
/// does: only all of the words answer such a rule.
pub fn beginnings(step: &Step, asks: Option<&str>) -> Vec<(Vec<String>, Option<String>)> {
    let words = &step.words;
    let mut all = Vec::new();
    for count in (1..=words.len()).rev() {
        let beginning = words[..count].to_vec();
        let refused = if let Some(why) = step.is_said_elsewhere() {
            Some(why.to_owned())
        } else if count == words.len() && step.caveat.is_some() {
            // For a step with a caveat, the grant holds for exactly these words.
            None
        } else if !name_says_enough(&words[0]) && !says_what(&words[..count]) {
            Some("such commands can do many other things".to_owned())
        } else if count == words.len() {
            None
        } else if let Some(rule) = asks {
            Some(format!(
                "rule `{rule}` asks about every such command, so a grant must name all words of the command"
            ))
        } else {
            step.caveat.clone()
        };
        all.push((beginning, refused));
    }
    all
}
