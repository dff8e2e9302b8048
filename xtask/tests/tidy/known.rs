//! Offenders that are known and still to be mended. The list may only shrink: a new offender fails,
//! and so does an entry that offends no longer.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use xtask::docs::root;

/// Set to drop the entries that offend no longer. New offenders are never added by it.
const SHRINK: &str = "TIDY_SHRINK";

fn path() -> PathBuf {
    root().join("xtask/tests/tidy/known.txt")
}

/// Returns the entries of one rule. A line is the rule's name, a colon and the offender.
fn entries(list: &str, rule: &str) -> BTreeSet<String> {
    let entry = |line: &str| line.strip_prefix(rule)?.strip_prefix(": ").map(str::to_owned);
    list.lines().filter_map(entry).collect()
}

/// Says which offenders are new and which entries are stale; nothing if the list is exact.
fn difference(known: &BTreeSet<String>, found: &BTreeSet<String>) -> Option<String> {
    let new: Vec<String> = found.difference(known).map(|it| format!("  new: {it}")).collect();
    let stale: Vec<String> = known
        .difference(found)
        .map(|it| format!("  mended, take it out of known.txt: {it}"))
        .collect();
    let lines = [new, stale].concat();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Fails unless the offenders against `rule` are those that are known. `advice` says what to do
/// about a new one.
#[track_caller]
pub(crate) fn check(rule: &str, advice: &str, found: impl IntoIterator<Item = String>) {
    let found: BTreeSet<String> = found.into_iter().collect();
    let list = fs::read_to_string(path()).unwrap_or_default();
    let known = entries(&list, rule);
    if std::env::var_os(SHRINK).is_some() {
        shrink(rule, &known, &found);
        return;
    }
    if let Some(difference) = difference(&known, &found) {
        panic!("{rule}: {advice}\n{difference}\n(`{SHRINK}=1` drops entries that were mended)");
    }
}

/// Takes stale entries out of the list. Tests run at the same time, so the list is read again under
/// a lock.
fn shrink(rule: &str, known: &BTreeSet<String>, found: &BTreeSet<String>) {
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _held = ONE_AT_A_TIME.lock();
    let stale: BTreeSet<String> =
        known.difference(found).map(|it| format!("{rule}: {it}")).collect();
    let list = fs::read_to_string(path()).unwrap_or_default();
    let left = list.lines().filter(|line| !stale.contains(*line));
    fs::write(path(), left.collect::<Vec<_>>().join("\n") + "\n").unwrap();
}

#[test]
fn new_offenders_and_stale_entries_both_fail() {
    let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let known = entries("size: a.rs\nsize: b.rs\nsizes: c.rs\n# size: d.rs\n", "size");
    assert_eq!(known, set(&["a.rs", "b.rs"]));
    assert_eq!(difference(&known, &set(&["a.rs", "b.rs"])), None);
    let said = difference(&known, &set(&["b.rs", "e.rs"])).unwrap();
    assert!(said.contains("new: e.rs") && said.contains("mended, take it out of known.txt: a.rs"));
}
