//! What the verification of the record found, as people and programs are shown it.

use serde_json::{Value, json};
use toolcrib_core::{counted, escape};
use toolcrib_ledger::{Problem, VerifyReport};

use crate::exit::Exit;
use crate::terminal::{Format, Paint, Terminal, print_json, print_lines};

/// Prints what was found. Returns how the process ends.
pub(super) fn show(terminal: Terminal, report: &VerifyReport, format: Format) -> Exit {
    match format {
        Format::Json => {
            print_json(&report_json(report).to_string());
        }
        Format::Text => print_report(terminal, report),
    }
    if report.problems.is_empty() { Exit::Done } else { Exit::Failed }
}

fn report_json(report: &VerifyReport) -> Value {
    let value =
        |found: &Problem| json!({"file": found.file, "line": found.line, "what": found.what});
    let all = |found: &[Problem]| found.iter().map(value).collect::<Vec<_>>();
    json!({
        "ok": report.problems.is_empty(),
        "lines": report.lines,
        "files": report.files,
        "first": report.first,
        "last": report.last,
        "problems": all(&report.problems),
        "notes": all(&report.notes),
    })
}

fn print_report(terminal: Terminal, report: &VerifyReport) {
    // The names are those of files that others may have put there.
    let with_place = |found: &Problem| {
        let line = found.line.map(|line| format!(":{line}")).unwrap_or_default();
        escape::line(&format!("{}{line}: {}", found.file, found.what)).into_owned()
    };
    for note in &report.notes {
        terminal.note(&format!("note: {}", with_place(note)));
    }
    for problem in &report.problems {
        print_lines(&[format!("{} {}", terminal.paint(Paint::Bad, "✗"), with_place(problem))]);
    }
    let VerifyReport { lines, files, first, last, .. } = report;
    let (lines, files) = (counted(*lines, "line"), counted(*files as u64, "file"));
    let all = format!("{lines} in {files}, numbers {first} to {last}");
    print_lines(&[if report.problems.is_empty() {
        format!("{} The record is intact: {all}.", terminal.paint(Paint::Good, "✓"))
    } else {
        format!("The record is not intact: {all}.")
    }]);
}
