//! What a person's "always" leaves behind: a rule of their own, exactly as wide as it was shown to them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::reading::{ONLY_LOOK, Step};

use super::pattern::PathGlob;
use super::rule::{Layer, Rule, Says, Source, When};

/// A standing yes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its name.
    pub id: String,
    /// `catalogue/tool`.
    pub tool_name: String,
    /// The rule as text that people can read.
    pub param_pattern: String,
    /// What it is for.
    pub description: String,
    /// When it was given.
    pub created_at: Timestamp,
    /// When it last let a call through.
    pub last_used_at: Option<Timestamp>,
    /// How many calls it has let through.
    pub use_count: u64,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
    /// Whether it holds.
    pub enabled: bool,
    /// Where it holds.
    pub scope: Scope,
    /// What it covers.
    pub covers: Covers,
    /// Who gave it.
    pub by: String,
}

/// Where a grant holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// In one session.
    Session(String),
    /// In one workspace, by its path.
    Project(String),
    /// Wherever the user works.
    User,
}

/// What a grant covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Covers {
    /// One call, to the letter.
    Call {
        /// Its arguments as canonical text.
        args: String,
        /// The links among the paths that it names, each with where it led: a call is another one when they
        /// lead elsewhere.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        links: Vec<(String, String)>,
    },
    /// Commands that begin with these words.
    Argv(Vec<String>),
    /// Calls that touch nothing but this path.
    Path(String),
}

/// Keeps grants.
pub trait Grants: Send + Sync {
    /// Every grant.
    fn current(&self) -> Result<Vec<Grant>, String>;

    /// Adds one.
    fn add(&self, grant: Grant) -> Result<(), String>;

    /// Notes that one let a call through.
    fn used(&self, id: &str, at: Timestamp);
}

/// What someone wants to be a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// What it is to cover.
    pub covers: Covers,
    /// Where it is to hold.
    pub scope: Scope,
    /// For how long, in minutes; until it is revoked without.
    pub minutes: Option<u32>,
}

impl Covers {
    /// The rule as text.
    pub fn text(&self) -> String {
        match self {
            Self::Call { args, links } => {
                let links: Vec<String> =
                    links.iter().map(|(path, end)| format!("{path:?} leads to {end:?}")).collect();
                let while_so = if links.is_empty() { "" } else { ", while " };
                format!("call = {args}{while_so}{}", links.join(", "))
            }
            Self::Argv(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                format!("argv = [{}]", words.join(", "))
            }
            Self::Path(path) => format!("paths = [{path:?}]"),
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
        })
    }
}

impl Grant {
    /// Whether it holds now, in this session and workspace.
    pub fn holds(&self, now: Timestamp, session: &str, root: &str) -> bool {
        let is_here = match &self.scope {
            Scope::Session(id) => id == session,
            Scope::Project(path) => path == root,
            Scope::User => true,
        };
        self.enabled && is_here && self.expires_at.is_none_or(|expires| now < expires)
    }

    /// The rule that it is.
    pub fn rule(&self) -> Option<Rule> {
        Some(Rule {
            id: self.id.clone(),
            source: Source { file: "grants".to_owned(), line: 0 },
            layer: Layer::Grant,
            tools: vec![self.tool_name.clone()],
            when: self.covers.when()?,
            says: Says::Allow,
            because: format!("{} said always", self.by),
            expires: self.expires_at,
            confirm: false,
        })
    }
}

/// Further programs whose first word says what they do. Of all others it takes a second.
const SAY_ENOUGH: &[&str] = &[
    "cal",
    "cloc",
    "fd",
    "fmt",
    "free",
    "hostname",
    "lsof",
    "mkdir",
    "nproc",
    "pgrep",
    "printenv",
    "shellcheck",
    "sleep",
    "tokei",
    "touch",
    "tty",
    "uptime",
    "xxd",
    "yes",
    "zcat",
];

fn says_enough(program: &str) -> bool {
    ONLY_LOOK.contains(&program) || SAY_ENOUGH.contains(&program)
}

/// Flags that have no value behind them, whichever program they are of.
const WITHOUT_VALUE: &[&str] = &[
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

/// Whether words behind a program say what it is to do: one that is neither a flag nor could be a flag's value.
fn says_what(words: &[String]) -> bool {
    let is_flag = |word: &str| word.starts_with(['-', '+']);
    let is_alone =
        |word: &str| !word.starts_with('-') || word.contains('=') || WITHOUT_VALUE.contains(&word);
    (1..words.len()).any(|at| !is_flag(&words[at]) && is_alone(&words[at - 1]))
}

/// What a standing yes to a step of a command could cover: each beginning of its words, from all of them to
/// the fewest that still say what is run. With each, why it may not be given, if so. `asks` is the rule that asks
/// about it, if one does: only all of its words answer that.
pub fn beginnings(step: &Step, asks: Option<&str>) -> Vec<(Vec<String>, Option<String>)> {
    let words = &step.words;
    let mut all = Vec::new();
    for count in (1..=words.len()).rev() {
        let beginning = words[..count].to_vec();
        let refused = if let Some(why) = step.is_said_elsewhere() {
            Some(why.to_owned())
        } else if count == words.len() && step.caveat.is_some() {
            // With a caveat it holds for these words and no more.
            None
        } else if !says_enough(&words[0]) && !says_what(&words[..count]) {
            let said = words[..count].join(" ");
            Some(format!("`{said}` alone does not say what it does"))
        } else if count == words.len() {
            None
        } else if let Some(rule) = asks {
            Some(format!("rule `{rule}` asks about it, whatever it begins with"))
        } else {
            step.caveat.clone()
        };
        all.push((beginning, refused));
    }
    all
}
