//! A call and its entries as data, in the fields that all front ends share.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use toolcrib_core::command::End;
use toolcrib_core::{ToolName, Usage};

use crate::figures::report;
use crate::record::entry::RecordEntry;
use crate::record::event_kind::EventKind;
use crate::record::history::CallHistory;

/// A call in the fields that all its formats share.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the fields are those of the record's entries")]
pub struct CallSummary {
    pub call: String,
    /// The number of its first line.
    pub seq: u64,
    pub at: String,
    pub session: Option<String>,
    pub user: Option<u32>,
    #[serde(flatten)]
    pub caller: CallerSummary,
    pub tool: ToolName,
    /// What its tool does: `none`, `compute`, `read` or `write`.
    pub effect: Option<String>,
    /// The beginning of the arguments.
    pub args: Option<String>,
    #[serde(flatten)]
    pub decision: DecisionSummary,
    /// Whether a person was asked about it.
    pub asked_person: bool,
    /// Whether its tool was started.
    pub started: bool,
    /// `ok`, `command_failed`, `error`, `refused`, `unknown` or `open`.
    pub outcome: &'static str,
    #[serde(flatten)]
    pub end: EndSummary,
}

/// Who asked for a call.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the fields are those of the record's entries")]
pub struct CallerSummary {
    pub principal: Option<String>,
    pub role: Option<String>,
    pub door: Option<String>,
    pub client: Option<String>,
    /// The connection that the caller chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
}

/// What was decided about a call.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the fields are those of the record's entries")]
pub struct DecisionSummary {
    pub decision: Option<String>,
    pub rule: Option<String>,
    /// The person who answered.
    pub by: Option<String>,
}

/// How a call ended.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the fields are those of the record's entries")]
pub struct EndSummary {
    /// The kind of the error.
    pub error: Option<String>,
    /// How its command ended.
    pub end: Option<End>,
    pub message: Option<String>,
    pub elapsed_ms: Option<f64>,
    pub version: Option<String>,
    pub used: Option<Usage>,
}

/// One entry about a call.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the fields are those of the record's entries")]
pub struct EntrySummary {
    /// The number of its line.
    pub seq: u64,
    pub event: String,
    pub at: String,
    #[serde(flatten)]
    pub decision: DecisionSummary,
    /// The sandbox and the limits of its command.
    pub terms: Option<String>,
    pub status: Option<String>,
    pub error: Option<String>,
    pub detail: Option<Value>,
}

/// Returns a call in the fields that all its formats share.
pub fn call_summary(call: &CallHistory) -> CallSummary {
    let asked = call.first();
    let decided = call.last(&EventKind::Decided);
    let ended = call.last(&EventKind::Ended);
    let answered = call.entries.iter().rev().find_map(RecordEntry::answered_by);
    let text = |text: &std::borrow::Cow<'static, str>| text.clone().into_owned();
    let of_caller = |field: fn(&RecordEntry<'static>) -> Option<String>| asked.and_then(field);
    CallSummary {
        call: call.id().to_owned(),
        seq: call.seq(),
        at: report::stamp(call.at()),
        session: asked.map(|entry| text(&entry.call.conversation)),
        user: asked.and_then(|entry| entry.call.user),
        caller: CallerSummary {
            principal: of_caller(|entry| Some(entry.call.caller.principal.clone()?.into_owned())),
            role: of_caller(|entry| Some(entry.call.caller.role.clone()?.into_owned())),
            door: of_caller(|entry| Some(entry.call.caller.door.clone()?.into_owned())),
            client: of_caller(|entry| Some(entry.call.caller.client.clone()?.into_owned())),
            connection: of_caller(|entry| Some(entry.call.caller.connection.clone()?.into_owned())),
        },
        tool: call.tool(),
        effect: asked.and_then(|entry| entry.call.effect.as_ref()).map(text),
        args: asked.and_then(|entry| entry.preview.args.as_ref()).map(text),
        decision: DecisionSummary {
            decision: decided.and_then(|entry| entry.decision.verdict.as_ref()).map(text),
            rule: decided.and_then(|entry| entry.decision.rule.as_ref()).map(text),
            by: decided
                .and_then(|entry| entry.decision.by.as_deref())
                .or(answered)
                .map(str::to_owned),
        },
        asked_person: call.asked_person(),
        started: call.last(&EventKind::Started).is_some(),
        outcome: call.outcome().as_str(),
        end: EndSummary {
            error: ended.and_then(|entry| entry.end.error.as_ref()).map(text),
            end: ended.and_then(|entry| entry.end.command_end),
            message: ended.and_then(|entry| entry.end.message.as_ref()).map(text),
            elapsed_ms: ended.and_then(|entry| entry.end.elapsed_ms()),
            version: ended.and_then(|entry| entry.call.version.as_ref()).map(text),
            used: ended.and_then(|entry| entry.end.used),
        },
    }
}

/// Returns one entry of a call, for programs.
pub(crate) fn entry_summary(entry: &RecordEntry<'_>) -> EntrySummary {
    let text = |text: &std::borrow::Cow<'_, str>| text.clone().into_owned();
    let by = entry.decision.by.as_deref().or(entry.answered_by());
    EntrySummary {
        seq: entry.seq,
        event: entry.event.as_str().to_owned(),
        at: report::stamp(entry.at),
        decision: DecisionSummary {
            decision: entry.decision.verdict.as_ref().map(text),
            rule: entry.decision.rule.as_ref().map(text),
            by: by.map(str::to_owned),
        },
        terms: entry.start.terms.as_ref().map(text),
        status: entry.end.status.as_ref().map(text),
        error: entry.end.error.as_ref().map(text),
        detail: entry.detail.clone(),
    }
}
