//! A question in the form that the contract of the catalogue `wink` has.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;
use toolcrib_core::{counted, escape};
use toolcrib_runtime::Question;

use super::text::{block, without_gaps};
use crate::command::difference::{LEFT_OUT, texts};
use crate::command::screen::Screen;
use crate::terminal::{Paint, Terminal};

/// The last row of a question, behind which the answer is typed.
pub(super) const QUESTION: &str = "Approve? (y/n/always): ";

/// The longest argument that is not folded.
const MOST_ARGUMENT_BYTES: usize = 4000;

/// Returns the rows at the end: what is asked about in a few words, since what stands further up may have been pushed
/// out of sight, and the question.
pub(super) fn keys(screen: Screen, question: &Question) -> Vec<String> {
    let edits = &question.plan.edits;
    let what = match (&question.plan.command, &edits[..]) {
        (Some(command), _) => command.text.clone(),
        (None, [edit, others @ ..]) => {
            let more = if others.is_empty() {
                String::new()
            } else {
                format!(" and {} more", others.len())
            };
            format!("{}{more}", edit.path)
        }
        (None, []) => question.plan.reads.join(", "),
    };
    let colon = if what.is_empty() { "" } else { ": " };
    let target = without_gaps(&format!("{}{colon}{}", question.tool, escape::line(&what)));
    vec![screen.one_row(&target), QUESTION.to_owned()]
}

/// Returns what the contract shows above the question, and below it what else a person should know.
pub(super) fn body(question: &Question, terminal: Terminal) -> String {
    let tool = terminal.paint_err(Paint::Strong, "Tool:");
    let mut text = format!("{tool} {}\nParameters:\n", question.tool.tool());
    let edits = &question.plan.edits;
    for (key, value) in question.args.as_object().into_iter().flatten() {
        // The difference below shows this text line by line, so only its size is shown here.
        let is_below =
            value.is_string() && edits.iter().any(|edit| edit.after.as_deref() == value.as_str());
        let shown = match value {
            Value::String(text) if is_below => format!("<{}>", counted(text.len() as u64, "byte")),
            Value::String(text) => folded(&block(text)).into_owned(),
            other => folded(&escape::line(&other.to_string())).into_owned(),
        };
        let _ = writeln!(text, "  {}: {shown}", escape::line(key));
    }
    if !edits.is_empty() {
        let paths: Vec<_> = edits.iter().map(|edit| escape::line(&edit.path)).collect();
        let _ = writeln!(text, "Files affected: {}", paths.join(", "));
        for place in &question.shown.files {
            let _ = writeln!(text, "Location: {}", escape::line(place));
        }
    }
    let _ = writeln!(text, "Risk level: {}", question.tier.risk().as_str());
    let _ = writeln!(text, "Asked because: {}", escape::line(&question.shown.why));
    if let Some(reading) = &question.shown.runs {
        let _ = writeln!(text, "Reading: {}", folded(&escape::line(&reading.to_string())));
    }
    for unpinned in &question.shown.unpinned {
        let _ = writeln!(text, "Your approval does not pin: {}", escape::line(unpinned));
    }
    for edit in edits {
        let (before, after) = (edit.before.as_deref(), edit.after.as_deref());
        text.push_str(&texts(terminal, before.unwrap_or_default(), after.unwrap_or_default()));
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// Returns a long text with its middle replaced by a count, so that its end is not pushed out of sight.
fn folded(text: &str) -> Cow<'_, str> {
    let most = MOST_ARGUMENT_BYTES;
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(most / 4 * 3);
    let tail = text.ceil_char_boundary(text.len() - most / 4);
    let hidden = tail - head;
    Cow::Owned(format!("{} [… {hidden} bytes {LEFT_OUT} …] {}", &text[..head], &text[tail..]))
}
