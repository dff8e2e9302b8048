//! Stage five: the call is over. It is counted, answered in its catalogue's form, and recorded.

use std::time::Duration;

use serde_json::{Map, Value, json};
use toolcrib_core::catalogue::Failure;
use toolcrib_core::json_text::json_text;
use toolcrib_core::{
    Call, Catalogue, Clock, Durability, ErrorKind, Moment, Outcome, Recorder, ToolError, ToolName,
};

use super::changed::tell_changes;
use super::scope::{CallScope, event};
use crate::decide::judge::Judge;
use crate::decide::quota::Charge;

/// A call that is over, and what came of it.
pub(crate) struct Ended<'a> {
    pub(crate) call: &'a Call,
    /// `catalogue/tool`, or the name as it was asked for.
    pub(crate) tool: &'a ToolName,
    /// The catalogue that forms the reply, if one is known.
    pub(crate) catalogue: Option<&'static Catalogue>,
    /// What the stages of the call shared, if its tool was found.
    pub(crate) scope: Option<&'a CallScope>,
    pub(crate) result: Result<Value, ToolError>,
    /// The call's own time, without the time a person took to answer.
    pub(crate) elapsed: Duration,
}

impl<'a> Ended<'a> {
    /// Returns the end of a call whose tool was found.
    pub(crate) fn of(
        scope: &'a CallScope,
        result: Result<Value, ToolError>,
        elapsed: Duration,
    ) -> Self {
        let (call, tool) = (&scope.call, &scope.tool);
        let catalogue = Some(scope.offer.catalogue);
        Self { call, tool, catalogue, scope: Some(scope), result, elapsed }
    }

    /// Counts the call against its quotas, records its end, and returns its outcome.
    pub(crate) fn close(
        self,
        judge: &Judge,
        recorder: &dyn Recorder,
        clock: &dyn Clock,
    ) -> Outcome {
        let (call, tool, elapsed) = (self.call, self.tool, self.elapsed);
        let charge = Charge { call: &call.id.0, session: &call.session.0, tool, planned: 0 };
        judge.spend(charge, self.written_bytes(), elapsed, clock);
        let (scope, catalogue) = (self.scope, self.catalogue);
        let outcome = self.outcome();
        let saved_as = save_reply(catalogue, scope, call, &outcome.text);
        let network = scope.and_then(|scope| scope.ctx.meter.network());
        let error = outcome.error.as_ref();
        let moment = Moment::Ended {
            touched: outcome.touched.as_ref(),
            network: network.as_ref(),
            error: error.map(|err| (err.kind, told(catalogue, &outcome.reply, err))),
            elapsed_us: elapsed.as_micros() as u64,
            version: scope.map(|scope| scope.offer.version()),
            reply: &outcome.text,
            saved_as,
            usage: outcome.usage,
            command_end: outcome.command_end,
            has_task: scope.is_some_and(|scope| scope.ctx.commands.is_under_way(&call.id.0)),
        };
        // The call is over: if this cannot be recorded, there is nothing left to refuse.
        let recorded = recorder.record(&event(clock, call, tool, moment), Durability::Written);
        Outcome { unrecorded: recorded.err(), ..outcome }
    }

    /// Returns the outcome in the catalogue's form, not recorded yet.
    pub(crate) fn outcome(self) -> Outcome {
        let Self { call, tool, catalogue, scope, result, elapsed } = self;
        let formed = result.and_then(|reply| match (catalogue, scope) {
            (Some(catalogue), Some(scope)) => success(catalogue, scope, reply, elapsed),
            _ => Ok((json_text(&reply), reply)),
        });
        let (text, reply, error) = match formed {
            Ok((text, reply)) => (text, reply, None),
            Err(err) => {
                let (tool, args, error) = (call.tool.last_part(), &call.args, &err);
                let mut reply = failure_reply(catalogue, &Failure { tool, args, error, elapsed });
                // What a person wrote and then did not want is theirs.
                let is_wanted =
                    !matches!(err.kind, ErrorKind::Declined | ErrorKind::ApprovalNeeded);
                if let Some(scope) = scope.filter(|_| is_wanted) {
                    tell_changes(&mut reply, scope);
                }
                (json_text(&reply), reply, Some(err))
            }
        };
        Outcome {
            call: call.id.clone(),
            tool: tool.clone(),
            text,
            reply,
            error,
            decision: scope.and_then(|scope| scope.decision.get().cloned()),
            usage: scope.map(|scope| scope.ctx.meter.total()).unwrap_or_default(),
            changes: scope.map(|scope| scope.ctx.files.changes()).unwrap_or_default(),
            touched: scope.and_then(|scope| scope.ctx.meter.touched()),
            elapsed,
            command_end: scope.and_then(|scope| scope.ctx.meter.command_end()),
            unrecorded: None,
        }
    }

    /// Returns how many bytes the call wrote. Bytes that its command sent to hosts count too.
    fn written_bytes(&self) -> u64 {
        self.scope.map_or(0, |scope| {
            let sent = scope.ctx.meter.network().map_or(0, |network| network.total().bytes_up);
            let changes = scope.ctx.files.changes();
            let sizes = changes.iter().filter_map(|change| Some(change.after.as_ref()?.size));
            // For a small file, the disk is given more than the file.
            let written: u64 = if changes.is_empty() {
                scope.ctx.meter.total().written_bytes
            } else {
                sizes.sum()
            };
            written.saturating_add(sent)
        })
    }
}

/// Returns what the caller was told of an error: the record and its statistics have the contract's words too.
fn told<'a>(catalogue: Option<&Catalogue>, reply: &'a Value, error: &'a ToolError) -> &'a str {
    let told = catalogue.map_or("", |catalogue| (catalogue.view.render_error)(reply).message);
    if told.is_empty() { &error.message } else { told }
}

/// Saves the whole reply if the catalogue's contract wants that. Returns the id to read it by.
fn save_reply<'a>(
    catalogue: Option<&Catalogue>,
    scope: Option<&CallScope>,
    call: &'a Call,
    text: &str,
) -> Option<&'a str> {
    let longest = catalogue?.saves_replies_above?;
    let is_saved = text.len() > longest && scope?.ctx.commands.save_reply(&call.id.0, text);
    is_saved.then_some(call.id.0.as_str())
}

/// Forms a reply as the catalogue does, within the limit of the tool. Returns it as text and as a value.
fn success(
    catalogue: &Catalogue,
    scope: &CallScope,
    reply: Value,
    elapsed: Duration,
) -> Result<(String, Value), ToolError> {
    let limits = &scope.offer.limits;
    let mut reply = (catalogue.reply)(scope.tool.tool(), reply, elapsed);
    tell_changes(&mut reply, scope);
    let text = json_text(&reply);
    let limit = limits.output_bytes;
    // What was done is told as done, at any length: an error would be a lie.
    if text.len() <= limit || !scope.ctx.files.changes().is_empty() {
        return Ok((text, reply));
    }
    let message = format!("the reply has {} bytes, and the limit is {limit}", text.len());
    Err(ToolError::new(ErrorKind::OutputTooLarge, message)
        .hint("ask for less: a range of lines, a smaller directory")
        .with("limit_bytes", limit)
        .with("actual_bytes", text.len()))
}

/// Forms a failure as the catalogue does, or plainly where none is known.
pub fn failure_reply(catalogue: Option<&Catalogue>, failure: &Failure<'_>) -> Value {
    if let Some(catalogue) = catalogue {
        return (catalogue.error_reply)(failure);
    }
    let error = failure.error;
    let mut body = Map::new();
    body.insert("code".to_owned(), error.kind.as_str().into());
    body.insert("message".to_owned(), error.message.as_str().into());
    if let Some(hint) = &error.hint {
        body.insert("hint".to_owned(), hint.as_str().into());
    }
    json!({"error": body})
}
