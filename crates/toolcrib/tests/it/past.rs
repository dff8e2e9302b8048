//! Calls of the past, put on the record as if they had been made then.

use toolcrib_core::{
    Caller, Durability, Effect, ErrorKind, Event, Moment, Recorder, SessionId, Usage,
};
use toolcrib_ledger::RecordWriter;

/// Records calls of one tool in one hour of the past, as if they had been made then.
pub(crate) fn record_calls(
    recorder: &RecordWriter,
    hours_ago: i64,
    count: u64,
    elapsed_us: u64,
    version: &str,
) {
    let hour = jiff::SignedDuration::from_hours(hours_ago);
    let at = jiff::Timestamp::now().checked_sub(hour).unwrap();
    for number in 0..count {
        let (id, session) = (toolcrib_ledger::new_call_id(), SessionId("past".to_owned()));
        let tool = "nachos/calculator".into();
        let event =
            |moment| Event { at, call: &id, session: &session, trace: None, tool: &tool, moment };
        let asked = Moment::Asked {
            args: "{}",
            digest: "d".to_owned(),
            effect: Effect::None,
            caller: &Caller::at_terminal("user 0"),
        };
        recorder.record(&event(asked), Durability::Buffered).unwrap();
        let error = (number % 50 == 0).then_some((ErrorKind::Failed, "it failed"));
        // No two calls take exactly as long.
        let elapsed_us = elapsed_us + number * elapsed_us / count / 4;
        let ended = Moment::Ended {
            touched: None,
            network: None,
            has_task: false,
            command_end: None,
            error,
            elapsed_us,
            version: Some(version),
            reply: "{}",
            saved_as: None,
            usage: Usage::default(),
        };
        recorder.record(&event(ended), Durability::Written).unwrap();
    }
}
