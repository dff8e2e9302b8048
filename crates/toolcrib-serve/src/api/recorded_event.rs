//! An event of the record, as readers are told it.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use toolcrib_core::command::End;
use toolcrib_core::{Principal, ToolName};
use toolcrib_ledger::{CallOutcome, EventKind, RecordEntry};

use super::event_name;

/// How many characters of arguments and messages an event has.
const LONGEST_SHOWN_TEXT: usize = 300;

/// An event, as it is told to readers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct RecordedEvent {
    /// The number of its line in the record.
    pub(super) seq: u64,
    /// What happened, such as `call.ended`.
    pub(super) event: String,
    pub(super) at: String,
    /// The call it happened to.
    pub(super) call: Option<String>,
    pub(super) tool: Option<ToolName>,
    pub(super) session: Option<String>,
    pub(super) principal: Option<String>,
    pub(super) role: Option<String>,
    pub(super) decision: Option<String>,
    pub(super) rule: Option<String>,
    #[serde(flatten)]
    pub(super) facts: EventFacts,
    #[serde(flatten)]
    pub(super) end: EventEnd,
    /// Who sees it, besides those who see everything.
    #[serde(skip)]
    pub(super) owner: Option<Principal>,
    /// The line itself, for readers that want it.
    #[serde(skip)]
    pub(super) line: String,
}

/// What lists of calls show of an event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct EventFacts {
    pub(super) door: Option<String>,
    pub(super) client: Option<String>,
    /// What its tool does: `none`, `compute`, `read` or `write`.
    pub(super) effect: Option<String>,
    /// The beginning of the arguments.
    pub(super) args: Option<String>,
    /// The person who answered.
    pub(super) by: Option<String>,
    /// Whether it names files that are about to change, or that have changed.
    pub(super) names_files: bool,
}

/// How a call ended, and anything else about an event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct EventEnd {
    pub(super) status: Option<String>,
    /// The outcome of a call that ended, as searches of the record name it.
    pub(super) outcome: Option<&'static str>,
    pub(super) error: Option<String>,
    pub(super) message: Option<String>,
    /// How its command ended.
    pub(super) end: Option<End>,
    pub(super) elapsed_ms: Option<f64>,
    pub(super) detail: Option<Value>,
}

impl RecordedEvent {
    pub(super) fn of(entry: &RecordEntry<'_>, line: &[u8], principal: Option<&Principal>) -> Self {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let tool = entry.tool();
        Self {
            seq: entry.seq,
            event: event_name::of(entry),
            at: format!("{:.3}", entry.at),
            call: text(&entry.call.id),
            tool: (!tool.is_empty()).then_some(tool),
            session: text(&entry.call.conversation),
            owner: principal.cloned(),
            principal: principal.map(|it| it.name.clone()),
            role: principal.map(|it| it.role.as_str().to_owned()),
            decision: entry.decision.verdict.as_deref().map(str::to_owned),
            rule: entry.decision.rule.as_deref().map(str::to_owned),
            facts: EventFacts::of(entry),
            end: EventEnd {
                status: entry.end.status.as_deref().map(str::to_owned),
                outcome: matches!(entry.event, EventKind::Ended | EventKind::TaskEnded)
                    .then(|| CallOutcome::of_end(entry).as_str()),
                error: entry.end.error.as_deref().map(str::to_owned),
                message: entry.end.message.as_deref().map(beginning),
                end: entry.end.command_end,
                elapsed_ms: entry.end.elapsed_ms(),
                detail: entry.detail.clone(),
            },
            line: String::from_utf8_lossy(line).trim_end().to_owned(),
        }
    }
}

impl EventFacts {
    fn of(entry: &RecordEntry<'_>) -> Self {
        let caller = &entry.call.caller;
        let touched = entry.end.changed_files.as_ref().is_some_and(|files| !files.is_empty());
        Self {
            door: caller.door.as_deref().map(str::to_owned),
            client: caller.client.as_deref().map(str::to_owned),
            effect: entry.call.effect.as_deref().map(str::to_owned),
            args: entry.preview.args.as_deref().map(beginning),
            by: entry.decision.by.as_deref().or(entry.answered_by()).map(str::to_owned),
            names_files: touched || !entry.start.places.is_empty(),
        }
    }
}

/// Returns as much of a text as a row of a list has room for.
fn beginning(text: &str) -> String {
    let end = text.char_indices().nth(LONGEST_SHOWN_TEXT).map_or(text.len(), |(at, _)| at);
    text[..end].to_owned()
}
