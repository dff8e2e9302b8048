//! What may run: tiers, modes and rules, the decision about a call, and the permit that running needs.

mod book;
mod decision;
mod file;
pub mod grant;
mod pattern;
mod permit;
mod rule;
mod tier;

pub use book::{Policy, Subject};
pub use decision::{Confirmation, Decision, Verdict, by_tier};
pub use file::{RulesError, Said, rules_in};
pub use grant::{Covers, Grant, Scope, Wish};
pub use pattern::{PathGlob, Pattern};
pub use permit::{Answer, Permit};
pub use rule::{Layer, Rule, Says, Source, When, without_detours};
pub use tier::{Mode, Risk, Tier};
