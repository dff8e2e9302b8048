//! The difference that a change makes to a file: found once, and shown to people.

use std::fmt::Write;

use similar::{ChangeTag, TextDiff};
use toolcrib_core::change::UndoLog;
use toolcrib_core::{Change, ChangeKind, counted, escape};
use toolcrib_ledger::{Journal, Redactor};
use toolcrib_runtime::Preview;
use toolcrib_serve::{
    DifferenceLength, DifferenceLine, FileDifference, LineKind, PlannedEdit, TextDifference,
};

use crate::terminal::{Paint, Terminal};

/// The most lines of one difference that are shown.
const MOST_DIFF_LINES: usize = 200;

/// The most bytes of one line of a difference that are shown.
const MOST_LINE_BYTES: usize = 1000;

/// The words that mark a part of a difference that is not shown.
pub(super) const LEFT_OUT: &str = "left out";

/// The largest text whose difference is computed, in bytes.
const MOST_DIFF_BYTES: usize = 1 << 20;

/// Finds the difference that a change made to a file. There is none for a directory, for a new or removed file, and for
/// a change whose result is not known.
pub(super) fn of_change(
    journal: &Journal,
    redactor: &Redactor,
    change: &Change,
) -> Option<FileDifference> {
    // The content of a new file needs no difference: the arguments of the call show it. The result of a change is not
    // always known.
    if change.kind != ChangeKind::Replaced || change.after.is_none() {
        return None;
    }
    let load = |hash: &str| journal.content(hash).ok();
    let before = match &change.before {
        Some(image) if image.size <= MOST_DIFF_BYTES as u64 => load(&image.sha256),
        Some(_) => None,
        None => Some(Vec::new()),
    };
    let path = toolcrib_host::root_path(&change.place());
    let after = match &change.after {
        // If the file was changed again, the later change holds a copy of this content.
        Some(image) if image.size <= MOST_DIFF_BYTES as u64 => std::fs::read(path)
            .ok()
            .filter(|bytes| toolcrib_ledger::hash_of(bytes) == image.sha256)
            .or_else(|| load(&image.sha256)),
        Some(_) => None,
        None => Some(Vec::new()),
    };
    let note = |text: &str| Some(FileDifference::Note(text.to_owned()));
    let (Some(before), Some(after)) = (before, after) else {
        return note("no copy of the old content, or too large to compare");
    };
    if before == after {
        return note("content unchanged");
    }
    let (Ok(before), Ok(after)) = (String::from_utf8(before), String::from_utf8(after)) else {
        return note("not text");
    };
    match of_texts(&redactor.clean(&before), &redactor.clean(&after), DifferenceLength::Usual) {
        Some(difference) => Some(difference),
        None => note("differs only in redacted secrets"),
    }
}

/// Returns the difference of a change, with the path of its file, for people.
pub(super) fn show_change(terminal: Terminal, change: &Change, found: &FileDifference) -> String {
    let path = escape::line(&change.path);
    format!("  {path}{}", show(terminal, found).replacen("  ", " ", 1))
}

/// Finds what a call would change, file by file.
pub(super) fn of_preview(preview: &Preview, length: DifferenceLength) -> Vec<PlannedEdit> {
    let edits = preview.question.plan.edits.iter().zip(&preview.question.shown.files);
    let planned = edits.map(|(edit, place)| {
        let (before, after) = (edit.before.as_deref(), edit.after.as_deref());
        let difference = of_texts(before.unwrap_or_default(), after.unwrap_or_default(), length);
        PlannedEdit { place: place.clone(), difference }
    });
    planned.collect()
}

/// Returns what a call would change, for people.
pub(super) fn show_edits(terminal: Terminal, edits: &[PlannedEdit]) -> String {
    let mut text = String::new();
    for PlannedEdit { place, difference } in edits {
        let _ = writeln!(text, "  Would change: {}", escape::line(place));
        if let Some(found) = difference {
            text.push_str(&show(terminal, found));
        }
    }
    text
}

/// Returns the difference of two texts, for people. It is empty if they are equal.
pub(super) fn texts(terminal: Terminal, before: &str, after: &str) -> String {
    of_texts(before, after, DifferenceLength::Usual)
        .map(|found| show(terminal, &found))
        .unwrap_or_default()
}

/// Finds the difference of two texts, with three lines of context around each change; nothing if they are equal.
pub(super) fn of_texts(
    before: &str,
    after: &str,
    length: DifferenceLength,
) -> Option<FileDifference> {
    let (most_lines, most_line_bytes) = match length {
        DifferenceLength::Usual => (MOST_DIFF_LINES, MOST_LINE_BYTES),
        DifferenceLength::Whole => (usize::MAX, usize::MAX),
    };
    if before.len() + after.len() > 2 * MOST_DIFF_BYTES {
        return Some(FileDifference::Note(TOO_LARGE.to_owned()));
    }
    // Lines end at line feeds alone, so that a carriage return shows like any other character.
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let diff = TextDiff::from_slices(&old, &new);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    if added + removed == 0 {
        return None;
    }
    let mut found = TextDifference { added, removed, ..TextDifference::default() };
    let mut shown = 0;
    for (index, group) in diff.grouped_ops(3).iter().enumerate() {
        if index > 0 {
            found.lines.push(DifferenceLine {
                number: 0,
                kind: LineKind::Gap,
                text: String::new(),
            });
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            shown += 1;
            if shown <= most_lines {
                let number = change.new_index().or(change.old_index()).unwrap_or_default() + 1;
                let told = line(number, change.tag(), change.value(), most_line_bytes);
                found.lines.push(told);
            }
        }
    }
    found.left_out = shown.saturating_sub(most_lines);
    Some(FileDifference::Lines(found))
}

const TOO_LARGE: &str = "difference left out: too large to show";

fn line(number: usize, tag: ChangeTag, value: &str, most_bytes: usize) -> DifferenceLine {
    let (line, end) = match value.strip_suffix('\n') {
        Some(line) => (line, ""),
        None => (value, " (no newline at end)"),
    };
    // A carriage return at the end of a line matters only where the line changes.
    let line = if tag == ChangeTag::Equal { line.trim_end_matches('\r') } else { line };
    let line = escape::line(line);
    let cut = line.floor_char_boundary(most_bytes);
    let more = match line.len() - cut {
        0 => String::new(),
        more => format!(" [… {} {LEFT_OUT}]", counted(more as u64, "byte")),
    };
    let kind = match tag {
        ChangeTag::Insert => LineKind::Added,
        ChangeTag::Delete => LineKind::Removed,
        ChangeTag::Equal => LineKind::Same,
    };
    DifferenceLine { number, kind, text: format!("{}{more}{end}", &line[..cut]) }
}

/// Returns a difference, for people.
fn show(terminal: Terminal, found: &FileDifference) -> String {
    let found = match found {
        FileDifference::Note(note) => return format!("  ({})\n", escape::line(note)),
        FileDifference::Lines(found) => found,
    };
    let mut text = format!("  (+{} -{})\n", found.added, found.removed);
    for DifferenceLine { number, kind, text: line } in &found.lines {
        let line = escape::line(line);
        let shown = match kind {
            LineKind::Gap => "      ⋮".to_owned(),
            LineKind::Added => terminal.paint(Paint::Added, &format!("{number:>5} + {line}")),
            LineKind::Removed => terminal.paint(Paint::Removed, &format!("{number:>5} - {line}")),
            LineKind::Same => format!("{number:>5}   {line}"),
        };
        let _ = writeln!(text, "{shown}");
    }
    if found.left_out > 0 {
        let _ = writeln!(text, "      … {} more lines left out", found.left_out);
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn terminal() -> Terminal {
        Terminal::new(&Cli::parse_from(["toolcrib", "--color", "never", "tour"]).global)
    }

    #[test]
    fn differences_are_shown_as_these() {
        let all = [
            ("a line changed", "one\ntwo\nthree\n", "one\n2\nthree\n"),
            ("the last line end removed", "one\ntwo\n", "one\ntwo"),
            ("carriage returns", "a\r\nb\r\n", "a\nb\r\n"),
            ("a control character", "a\n", "a\u{1b}[31m\n"),
            ("nothing", "same\n", "same\n"),
        ]
        .map(|(about, before, after)| format!("# {about}\n{}", texts(terminal(), before, after)));
        insta::assert_snapshot!("differences", all.concat());
    }
}
