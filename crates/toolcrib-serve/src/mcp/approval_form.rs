//! A question as the form that a client shows, and the answer that comes back.

use std::fmt::Write as _;

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Value, json};
use toolcrib_core::approval::{ApprovalQuestion, ExpectedChange, ExpectedChangeKind, GrantOffer};
use toolcrib_core::policy::Wish;
use toolcrib_core::{counted, escape};

use super::server::TrustedAnswers;
use crate::api::{FileDifference, LineKind, PlannedEdit};

/// The most lines of a command or a difference that a form shows.
const MOST_LINES: usize = 200;

/// The longest reason of a person.
const LONGEST_REASON: usize = 1000;

/// The field of the form that says yes or no.
const DECISION: &str = "decision";

/// The field of the form that says why.
const REASON: &str = "reason";

/// A question about a call, as far as a client shows it.
pub(super) struct FormQuestion<'a> {
    /// The id of the call, under which the terminal shows all of it.
    pub(super) id: &'a str,
    /// Who asks.
    pub(super) asker: &'a str,
    /// The workspace.
    pub(super) root: &'a str,
    /// The arguments.
    pub(super) args: &'a Value,
    /// What the person is shown.
    pub(super) shown: &'a ApprovalQuestion,
    /// What the call would change in files.
    pub(super) edits: &'a [PlannedEdit],
    /// Which answers count.
    pub(super) answers: TrustedAnswers,
}

/// The answer of a person.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormAnswer {
    Once,
    Always(Wish),
    No(String),
    /// The form was closed without an answer. Clients without a person do so at once.
    Dismissed,
    /// The client sent something that is no answer to the question.
    Unclear,
}

impl FormQuestion<'_> {
    /// Returns the form.
    pub(super) fn form(&self) -> ElicitRequestParams {
        ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: self.message(),
            requested_schema: self.schema(),
        }
    }

    /// Reads the answer.
    pub(super) fn answer(&self, result: &ElicitResult) -> FormAnswer {
        let field = |name: &str| result.content.as_ref().and_then(|it| it[name].as_str());
        let reason: String =
            field(REASON).unwrap_or_default().trim().chars().take(LONGEST_REASON).collect();
        match result.action {
            ElicitationAction::Decline => FormAnswer::No(reason),
            ElicitationAction::Cancel => FormAnswer::Dismissed,
            ElicitationAction::Accept => match field(DECISION) {
                Some("once") => FormAnswer::Once,
                Some("no") => FormAnswer::No(reason),
                Some(word) => self.grant(word).map_or(FormAnswer::Unclear, FormAnswer::Always),
                None => FormAnswer::Unclear,
            },
            _ => FormAnswer::Unclear,
        }
    }

    /// Returns the grant that a word of the form stands for.
    fn grant(&self, word: &str) -> Option<Wish> {
        let number: usize = word.strip_prefix("always_")?.parse().ok()?;
        self.grants().get(number.checked_sub(1)?).map(|offer| offer.wish.clone())
    }

    /// Returns the grants that can be made here.
    fn grants(&self) -> &[GrantOffer] {
        if self.answers == TrustedAnswers::Always { &self.shown.grants } else { &[] }
    }

    fn schema(&self) -> ElicitationSchema {
        let mut words = vec![json!({"const": "once", "title": "Yes, this once"})];
        for (at, offer) in self.grants().iter().enumerate() {
            let title = format!("Always: {}", escape::line(&offer.words));
            words.push(json!({"const": format!("always_{}", at + 1), "title": title}));
        }
        words.push(json!({"const": "no", "title": "No"}));
        let schema = json!({
            "type": "object",
            "properties": {
                DECISION: {"type": "string", "title": if self.shown.host.is_some() { "May it connect?" } else { "May it run?" }, "oneOf": words},
                REASON: {
                    "type": "string",
                    "title": "If not, why?",
                    "description": "The agent is told.",
                    "maxLength": LONGEST_REASON,
                },
            },
            "required": [DECISION],
        });
        // The parts are fixed, so they always make a schema.
        serde_json::from_value(schema)
            .unwrap_or_else(|_| ElicitationSchema::new(std::collections::BTreeMap::new()))
    }

    /// Appends lines, and says how many are not shown. `left_out` of them are not in `lines`.
    fn push_lines(&self, text: &mut String, lines: impl Iterator<Item = String>, left_out: usize) {
        let all: Vec<String> = lines.collect();
        for line in all.iter().take(MOST_LINES) {
            let _ = writeln!(text, "{line}");
        }
        let hidden = all.len().saturating_sub(MOST_LINES) + left_out;
        if hidden > 0 {
            let hidden = counted(hidden as u64, "more line");
            let id = self.id;
            let _ = writeln!(
                text,
                "    NOT SHOWN: {hidden}. A yes is for these too; `toolcrib approvals show {id}` has the whole call."
            );
        }
    }

    fn push_edit(&self, text: &mut String, edit: &PlannedEdit) {
        let _ = writeln!(text, "\n{}", edit.place);
        match &edit.difference {
            None => {}
            Some(FileDifference::Note(note)) => {
                let _ = writeln!(text, "    ({note})");
            }
            Some(FileDifference::Lines(difference)) => {
                let lines = difference.lines.iter().map(|line| match line.kind {
                    LineKind::Added => format!("  + {}", line.text),
                    LineKind::Removed => format!("  - {}", line.text),
                    LineKind::Same => format!("    {}", line.text),
                    LineKind::Gap => "    …".to_owned(),
                });
                self.push_lines(text, lines, difference.left_out);
            }
        }
    }

    /// Returns everything that a person needs to decide.
    fn message(&self) -> String {
        let shown = self.shown;
        let here = || self.root.rsplit('/').next().unwrap_or(self.root);
        let place = shown.place.as_deref().unwrap_or_else(here);
        let mut text = format!("{} wants to {} in {place}.\n", self.asker, shown.what);
        if let Some(command) = self.args["command"].as_str() {
            text.push('\n');
            let lines = command.trim_end().lines().map(|line| format!("    {line}"));
            self.push_lines(&mut text, lines, 0);
        }
        for edit in self.edits {
            self.push_edit(&mut text, edit);
        }
        text.push('\n');
        if let Some(runs) = &shown.runs {
            let _ = writeln!(text, "It {runs}.");
        }
        for change in &shown.changes {
            let _ = writeln!(text, "{}", change_words(change));
        }
        match shown.network.as_deref() {
            None => {}
            Some([]) => text.push_str("It cannot reach the network.\n"),
            Some(hosts) => {
                let _ = writeln!(text, "It can reach {}.", hosts.join(", "));
            }
        }
        let _ = writeln!(text, "Why you are asked: {}", shown.why);
        for unpinned in &shown.unpinned {
            let _ = match shown.host {
                None => writeln!(text, "A yes does not cover changes of {unpinned}."),
                Some(_) => writeln!(text, "A yes covers {unpinned}, whatever it is."),
            };
        }
        for (at, offer) in self.grants().iter().enumerate() {
            let _ =
                writeln!(text, "Always, choice {}: {}\n    {}", at + 1, offer.words, offer.rule);
        }
        escape::lines(&text).into_owned()
    }
}

fn change_words(change: &ExpectedChange) -> String {
    let verb = match change.kind {
        ExpectedChangeKind::Create => "It creates",
        ExpectedChangeKind::Change => "It changes",
        ExpectedChangeKind::Delete => "It deletes",
    };
    match change.files {
        Some(files) if files > 1 => format!("{verb} {} ({files} files).", change.path),
        _ => format!("{verb} {}.", change.path),
    }
}
