//! A call that waits for an answer, as the prompt of its own process shows it: the stored question, with what the call
//! would do now.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use toolcrib_core::Cancel;
use toolcrib_core::approval::PendingApproval;
use toolcrib_core::policy::{Answer, Wish};
use toolcrib_runtime::{Approver, Nobody, Question};
use toolcrib_serve::{DifferenceLength, PlannedEdit};

use super::difference;
use super::event_loop::{block_on, interrupted};
use super::prompt::{AskManner, ChangeOffer, TerminalPrompt, page_of};
use super::setup::open;
use crate::cli::Global;
use crate::error::CliError;
use crate::terminal::Terminal;

/// A call that waits for an answer.
#[derive(Default)]
pub(super) struct WaitingCall {
    /// What changed in its workspace since the question.
    pub(super) changes: Vec<String>,
    /// What it would change in files.
    pub(super) edits: Vec<PlannedEdit>,
    /// The question, if its workspace can be opened.
    question: Option<AskedQuestion>,
}

struct AskedQuestion {
    question: Question,
    manner: AskManner,
}

/// What a person who looked at a waiting call decided.
pub(super) enum Reviewed {
    /// It may run. If there is a grant, such calls may from now on.
    Approved(Option<Wish>),
    /// It may not run, for this reason.
    Denied(String),
    /// They did not answer, so it still waits.
    NotAnswered,
}

impl WaitingCall {
    pub(super) fn find(
        global: &Global,
        terminal: Terminal,
        pending: &PendingApproval,
    ) -> Result<Self, CliError> {
        let workspace = Some(PathBuf::from(&pending.workspace));
        let crib = match open(&Global { workspace, ..global.clone() }, terminal) {
            Ok(crib) => crib,
            Err(err) => {
                let changes = vec![format!("the workspace cannot be opened: {err}")];
                return Ok(Self { changes, ..Self::default() });
            }
        };
        let left = pending.expires_at.duration_since(Timestamp::now());
        let left = Duration::try_from(left).unwrap_or_default();
        let manner = AskManner::of(&crib.settings);
        let manner =
            AskManner { time: left.min(manner.time), change: ChangeOffer::NotOffered, ..manner };
        // What a call would do on another machine, that machine said when it was asked.
        if pending.question.host.is_some() || pending.question.place.is_some() {
            let question = Some(AskedQuestion { question: Question::stored(pending), manner });
            return Ok(Self { question, ..Self::default() });
        }
        let runtime = crib.runtime(Arc::new(Nobody))?;
        let changes = block_on(runtime.changes_since_question(pending))?;
        let Ok(preview) = block_on(runtime.explain(pending.to_call(), Cancel::default()))? else {
            return Ok(Self { changes, ..Self::default() });
        };
        Ok(Self {
            changes,
            edits: difference::of_preview(&preview, DifferenceLength::Usual),
            question: Some(AskedQuestion {
                // What was asked stays what it was, though rules may have changed since.
                question: Question {
                    shown: pending.question.clone(),
                    digest: pending.digest.clone(),
                    ..preview.question
                },
                manner,
            }),
        })
    }

    /// Returns the question as the prompt shows it, without the keys.
    pub(super) fn page(&self, terminal: Terminal) -> Option<String> {
        let AskedQuestion { question, manner } = self.question.as_ref()?;
        Some(page_of(question, terminal, manner.style))
    }

    /// Asks the person at the terminal. Returns nothing if the question cannot be shown here.
    pub(super) fn review(&self, terminal: Terminal) -> Result<Option<Reviewed>, CliError> {
        let Some(AskedQuestion { question, manner }) = &self.question else { return Ok(None) };
        let Some(prompt) = TerminalPrompt::on_terminal(terminal, *manner) else {
            return Ok(None);
        };
        for change in &self.changes {
            terminal.warn(&format!(
                "since the question, {change}; if you approve the call, it is refused"
            ));
        }
        // An interrupt takes the question away, so that the terminal is put back.
        let answer = block_on(async {
            tokio::select! {
                answer = prompt.ask(question) => answer,
                () = interrupted() => Answer::Nobody,
            }
        })?;
        Ok(Some(match answer {
            Answer::Yes(_) => Reviewed::Approved(None),
            Answer::Always(_, wish) => Reviewed::Approved(Some(wish)),
            Answer::No(by, words) if TerminalPrompt::is_person(&by) => Reviewed::Denied(words),
            Answer::No(..)
            | Answer::Changed { .. }
            | Answer::Nobody
            | Answer::Parked(_)
            | Answer::RanElsewhere(_) => Reviewed::NotAnswered,
        }))
    }
}
