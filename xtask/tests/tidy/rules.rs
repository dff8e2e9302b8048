//! The rules about code. Every source file is parsed once for all of them, because parsing is what
//! takes the time.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::source::{SourceFile, compiled};
use crate::{circles, known, names, retired, signatures, sizes};

/// Returns the offenders against one rule, each as a line of text.
type Rule = fn(&[SourceFile]) -> Vec<String>;

/// The name of each rule as it stands in `known.txt`, and what finds its offenders.
const RULES: [(&str, Rule); 7] = [
    ("bare constant", names::bare_constants),
    ("bool parameter", signatures::bool_parameters),
    ("circle", circles::circles),
    ("large struct", sizes::large_structs),
    ("retired word", retired::retired_words),
    ("shared type name", names::shared_types),
    ("text error", signatures::text_errors),
];

/// Returns the offenders against the rule `name`.
fn offenders(name: &str) -> &'static [String] {
    static OFFENDERS: OnceLock<BTreeMap<&str, Vec<String>>> = OnceLock::new();
    let all = OFFENDERS.get_or_init(|| {
        let files = compiled();
        RULES.iter().map(|(name, rule)| (*name, rule(&files))).collect()
    });
    all.get(name).unwrap_or_else(|| panic!("`{name}` is not in the table of rules"))
}

/// Fails unless the offenders against the rule `name` are those that are known.
#[track_caller]
pub(crate) fn check(name: &str, advice: &str) {
    known::check(name, advice, offenders(name).iter().cloned());
}
