//! What would become of which files, for the person who is asked.

use std::collections::BTreeSet;

use similar::{ChangeTag, TextDiff};
use toolcrib_core::Ctx;
use toolcrib_core::ProposedEdit;
use toolcrib_core::approval::{ExpectedChange, ExpectedChangeKind};
use toolcrib_core::policy::DeniedPaths;

use super::affected_files::count_removed;
use super::command_paths::below;
use super::proposal::Proposal;

/// The most words of a command whose files are looked at.
const MOST_WORDS: usize = 50;

/// The largest text whose changed lines are counted, in bytes.
const MOST_COMPARED_BYTES: usize = 1 << 20;

/// Returns what would become of the files that a call edits, and of those that its command is known to write or
/// delete.
pub(crate) fn expected_changes(
    proposal: &Proposal,
    ctx: &Ctx,
    denied: Option<&DeniedPaths>,
) -> Vec<ExpectedChange> {
    let exists = |path: &str| ctx.files.stat(path).is_ok();
    let places = Places { proposal, root: format!("{}/", proposal.paths.root()) };
    let edits = proposal.plan.edits.iter().map(|edit| {
        let kind = match (&edit.before, &edit.after) {
            (Some(_), None) => ExpectedChangeKind::Delete,
            _ if exists(&edit.path) => ExpectedChangeKind::Change,
            _ => ExpectedChangeKind::Create,
        };
        let (path, spelt) = places.of(&edit.path, &edit.path, kind);
        ExpectedChange { kind, path, spelt, files: None, lines: changed_lines(edit) }
    });
    let mut all: Vec<ExpectedChange> = edits.collect();
    let Some(reading) = &proposal.reading else { return all };
    let start = proposal.start_directory();
    let removes: BTreeSet<&String> = reading.removes.iter().collect();
    let writes: BTreeSet<&String> = reading.writes.iter().collect();
    for word in removes.into_iter().take(MOST_WORDS) {
        let files = count_removed(word, proposal, ctx, denied);
        let kind = ExpectedChangeKind::Delete;
        let (path, spelt) = places.of(&below(start, word), word, kind);
        add(&mut all, ExpectedChange { kind, path, spelt, files, lines: None });
    }
    for word in writes.into_iter().take(MOST_WORDS) {
        let kind = if exists(&below(start, word)) {
            ExpectedChangeKind::Change
        } else {
            ExpectedChangeKind::Create
        };
        let (path, spelt) = places.of(&below(start, word), word, kind);
        add(&mut all, ExpectedChange { kind, path, spelt, files: None, lines: None });
    }
    all
}

/// Finds the files that paths stand for.
struct Places<'p> {
    proposal: &'p Proposal,
    /// The path of the workspace, with a slash.
    root: String,
}

impl Places<'_> {
    /// Returns the path that is changed, relative to the workspace if it is in it, and the spelling of the caller if
    /// that is not the same. A link that is deleted is not followed.
    fn of(&self, path: &str, spelt: &str, kind: ExpectedChangeKind) -> (String, Option<String>) {
        let paths = &self.proposal.paths;
        let real = match kind {
            ExpectedChangeKind::Delete => paths.absolute(path).ok(),
            ExpectedChangeKind::Create | ExpectedChangeKind::Change => {
                Some(paths.resolve(path).path)
            }
        };
        // What cannot be resolved, such as a name with wildcards, is shown as it is.
        let real = real.unwrap_or_else(|| spelt.to_owned());
        let real = real.strip_prefix(&self.root).unwrap_or(&real).to_owned();
        let is_same = spelt == real || spelt.strip_prefix(&self.root) == Some(&real);
        (real, (!is_same).then(|| spelt.to_owned()))
    }
}

/// Adds a change, unless the same file is there already under another name.
fn add(all: &mut Vec<ExpectedChange>, change: ExpectedChange) {
    let is_known = |it: &&mut ExpectedChange| it.kind == change.kind && it.path == change.path;
    match all.iter_mut().find(is_known) {
        Some(known) => known.spelt = known.spelt.take().or(change.spelt),
        None => all.push(change),
    }
}

/// Returns how many lines an edit adds and removes, if its text is known and not too large.
fn changed_lines(edit: &ProposedEdit) -> Option<(usize, usize)> {
    let (before, after) = (edit.before.as_deref(), edit.after.as_deref());
    if before.is_none() && after.is_none() {
        return None;
    }
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    if before.len().max(after.len()) > MOST_COMPARED_BYTES {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let diff = TextDiff::from_slices(&old, &new);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    Some((count(ChangeTag::Insert), count(ChangeTag::Delete)))
}
