//! What may run: tiers, modes and rules, the decision about a call, and the permit that running needs.

mod decision;
mod denied_paths;
mod denied_place;
mod file;
pub mod grant;
mod later_rules;
mod path_index;
mod pattern;
mod permit;
mod policy_text;
mod rule;
mod rule_draft;
mod rule_example;
mod rule_shape;
mod rules;
mod rules_error;
mod shared_policy;
mod subject;
mod tier;

pub use decision::{Confirmation, Decision, Verdict, by_tier};
pub use denied_paths::{DeniedPaths, PathAccess};
pub use denied_place::DeniedPlace;
pub use file::{ParsedRules, rules_in};
pub use grant::{Covers, Grant, GrantError, GrantErrorKind, Scope, Wish};
pub use later_rules::later_rules;
pub use pattern::{PathGlob, Pattern, PatternError};
pub use permit::{Answer, NOBODY, Permit};
pub use policy_text::{PolicyText, RulesText};
pub use rule::{Callers, Layer, Rule, RuleEffect, Source, When, without_detours};
pub use rule_draft::{DraftedCall, RuleDraft};
pub use rules::Policy;
pub use rules_error::{RulesError, RulesErrorKind};
pub use shared_policy::DecidedElsewhere;
pub use subject::Subject;
pub use tier::{Mode, Risk, Tier};
