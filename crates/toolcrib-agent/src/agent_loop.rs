//! The loop: one turn of the model, the calls that it wants, their replies, and so on.

use std::collections::HashMap;
use std::thread;

use serde_json::{Value, json};
use toolcrib_core::canonical::Digest;
use toolcrib_core::nearest::nearest;
use toolcrib_core::{Cancel, ErrorKind, InnerCalls, Meter, Outcome, ToolError};

use crate::budget::{BudgetExceeded, LoopBudget};
use crate::conversation::{AnswerLength, Message, ModelTurn, WantedCall};
use crate::endpoint::{AgentModel, TurnRequest};
use crate::loop_tools::{LoopTool, LoopTools};

/// How many calls that only read run side by side.
const MOST_SIDE_BY_SIDE: usize = 8;

/// How many calls of one turn are made. The others are not even kept.
const MOST_CALLS_PER_TURN: usize = 32;

/// The most bytes of a whole conversation.
const MOST_CONVERSATION_BYTES: usize = 16 << 20;

/// After how many failures of the same call the model is told to do something else.
const NOTICED_FAILURES: u32 = 3;

/// After how many failures of the same call the loop ends.
const MOST_FAILURES: u32 = 6;

/// How often a model may say nothing at all before the loop ends.
const MOST_SILENT_TURNS: u32 = 2;

/// A loop and what it works with.
pub(crate) struct AgentLoop<'a> {
    pub(crate) model: &'a dyn AgentModel,
    pub(crate) calls: &'a dyn InnerCalls,
    pub(crate) tools: LoopTools,
    pub(crate) budget: LoopBudget,
    pub(crate) meter: &'a Meter,
    pub(crate) cancel: &'a Cancel,
    pub(crate) progress: LoopProgress,
}

/// How far a loop is.
#[derive(Default)]
pub(crate) struct LoopProgress {
    pub(crate) messages: Vec<Message>,
    /// How often each call failed, by its digest.
    failures: HashMap<Digest, u32>,
    silent_turns: u32,
}

/// How a loop ended.
#[derive(Clone, Debug)]
pub(crate) enum LoopEnd {
    /// The model wants no more calls.
    Completed(String),
    Spent(BudgetExceeded),
    /// The same call failed again and again.
    Stuck(String),
    Failed(ToolError),
}

/// How a step ended.
enum TurnEnd {
    Acted,
    Over(LoopEnd),
}

impl LoopProgress {
    /// Returns the beginning of a conversation.
    pub(crate) fn begin(instructions: String, request: String) -> Self {
        let messages = vec![Message::Instructions(instructions), Message::Request(request)];
        Self { messages, ..Self::default() }
    }

    /// Returns what the model last said.
    pub(crate) fn last_words(&self) -> &str {
        let said = self.messages.iter().rev().find_map(|message| match message {
            Message::Turn { text, .. } if !text.is_empty() => Some(text.as_str()),
            _ => None,
        });
        said.unwrap_or_default()
    }
}

impl AgentLoop<'_> {
    /// Takes step after step until the loop ends. `after_step` is called between them.
    pub(crate) fn run(&mut self, after_step: &dyn Fn(&LoopProgress)) -> LoopEnd {
        loop {
            match self.step() {
                Ok(TurnEnd::Acted) => after_step(&self.progress),
                Ok(TurnEnd::Over(end)) => return end,
                Err(err) => return LoopEnd::Failed(err),
            }
        }
    }

    /// Asks the model, makes the calls that it wants, and adds the replies.
    fn step(&mut self) -> Result<TurnEnd, ToolError> {
        self.cancel.check()?;
        if let Err(spent) = self.budget.check() {
            return Ok(TurnEnd::Over(LoopEnd::Spent(spent)));
        }
        let request = TurnRequest {
            messages: &self.progress.messages,
            tools: &self.tools.declared,
            time: self.budget.left(),
            meter: self.meter,
        };
        let turn = match self.model.turn(&request, self.cancel) {
            Err(err) if err.kind == ErrorKind::Timeout && self.budget.left().is_zero() => {
                return Ok(TurnEnd::Over(LoopEnd::Spent(BudgetExceeded::Time)));
            }
            turn => turn?,
        };
        let ModelTurn { text, mut calls, tokens, length } = turn;
        let left_out = calls.len().saturating_sub(MOST_CALLS_PER_TURN);
        calls.truncate(MOST_CALLS_PER_TURN);
        self.budget.add_turn(tokens);
        self.progress.messages.push(Message::Turn { text: text.clone(), calls: calls.clone() });
        if calls.is_empty() {
            return Ok(self.ended_turn(text, length));
        }
        self.progress.silent_turns = 0;
        // Checked inside the turn too: the calls of one turn can cost as much as many turns.
        if let Err(spent) = self.budget.check_turn() {
            return Ok(TurnEnd::Over(LoopEnd::Spent(spent)));
        }
        let stuck = self.make_calls(&calls)?;
        if let Some(tool) = stuck {
            return Ok(TurnEnd::Over(LoopEnd::Stuck(tool)));
        }
        if left_out > 0 {
            let text = format!(
                "{left_out} further calls were left out: a turn has {MOST_CALLS_PER_TURN} at most. Make them in your next turn."
            );
            self.progress.messages.push(Message::Request(text));
        }
        self.check_size()?;
        if let Some(warning) = self.budget.warning() {
            self.progress.messages.push(Message::Request(warning));
        }
        Ok(TurnEnd::Acted)
    }

    /// Fails if the conversation is larger than any model reads.
    fn check_size(&self) -> Result<(), ToolError> {
        let bytes: usize = self.progress.messages.iter().map(Message::bytes).sum();
        if bytes <= MOST_CONVERSATION_BYTES {
            return Ok(());
        }
        let message =
            format!("the conversation has {bytes} bytes; it may have {MOST_CONVERSATION_BYTES}");
        Err(ToolError::new(ErrorKind::TooLarge, message)
            .hint("give the subagent less to do at a time"))
    }

    /// Ends a turn in which the model wants nothing.
    fn ended_turn(&mut self, text: String, length: AnswerLength) -> TurnEnd {
        let is_cut = length == AnswerLength::Cut;
        if !text.is_empty() && !is_cut {
            return TurnEnd::Over(LoopEnd::Completed(text));
        }
        self.progress.silent_turns += 1;
        if self.progress.silent_turns >= MOST_SILENT_TURNS {
            let message = if is_cut {
                "the model's answers are cut: the endpoint allows fewer tokens than they have"
            } else {
                "the model says nothing and makes no call"
            };
            let err = ToolError::new(ErrorKind::Failed, message);
            return TurnEnd::Over(LoopEnd::Failed(err));
        }
        let ask = if is_cut {
            "Your answer was cut because it was too long. Answer again, and shorter."
        } else {
            "You said nothing. Go on with the task, or report what is done."
        };
        self.progress.messages.push(Message::Request(ask.to_owned()));
        TurnEnd::Acted
    }

    /// Makes the calls of a turn, and adds their replies in the order of the calls: those that only read side by side,
    /// the others one after the other. Returns the tool of a call that failed too often.
    fn make_calls(&mut self, wanted: &[WantedCall]) -> Result<Option<String>, ToolError> {
        let mut stuck = None;
        let mut rest = wanted;
        while let Some(first) = rest.first() {
            let reads =
                |call: &WantedCall| self.tools.find(&call.tool).is_none_or(|it| it.is_read_only);
            let together = if reads(first) {
                rest.iter().take(MOST_SIDE_BY_SIDE).take_while(|call| reads(call)).count()
            } else {
                1
            };
            let (now, later) = rest.split_at(together);
            rest = later;
            self.cancel.check()?;
            let replies = if self.budget.left().is_zero() {
                now.iter().map(|_| CallReply::not_made()).collect()
            } else {
                self.make_together(now)
            };
            for (call, reply) in now.iter().zip(replies) {
                let (text, is_stuck) = self.count_failure(call, reply);
                stuck = stuck.or(is_stuck.then(|| call.tool.clone()));
                self.progress.messages.push(Message::Reply { id: call.id.clone(), text });
            }
        }
        Ok(stuck)
    }

    fn make_together(&self, wanted: &[WantedCall]) -> Vec<CallReply> {
        if let [one] = wanted {
            return vec![self.make(one)];
        }
        thread::scope(|scope| {
            let made: Vec<_> =
                wanted.iter().map(|call| scope.spawn(move || self.make(call))).collect();
            let joined = made.into_iter().map(thread::ScopedJoinHandle::join);
            joined
                .map(|reply| reply.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }

    fn make(&self, wanted: &WantedCall) -> CallReply {
        let Some(LoopTool { name, .. }) = self.tools.find(&wanted.tool) else {
            return CallReply::failed(self.no_such_tool(&wanted.tool));
        };
        match &wanted.args {
            Ok(args) => CallReply::of(self.calls.call(name.clone(), args.clone(), None)),
            Err(err) => CallReply::failed(json!({"error": err.message, "hint": err.hint})),
        }
    }

    fn no_such_tool(&self, name: &str) -> Value {
        let shown: String = name.chars().take(100).collect();
        let names = self.tools.names();
        let near = nearest(name, names.iter().copied(), 3);
        let known = if near.is_empty() { &names } else { &near };
        let hint = format!("the tools are {}", known.join(", "));
        let message = match shown.as_str() {
            "" => "the call names no tool".to_owned(),
            name => format!("there is no tool `{name}`"),
        };
        json!({"error": message, "hint": hint})
    }

    /// Counts how often this call failed. Returns the text for the model, and whether the loop must end.
    fn count_failure(&mut self, call: &WantedCall, reply: CallReply) -> (String, bool) {
        let args = call.args.as_ref().unwrap_or(&Value::Null);
        let digest = Digest::of(&call.tool, args);
        if !reply.is_failure {
            self.progress.failures.remove(&digest);
            return (reply.text, false);
        }
        let count = self.progress.failures.entry(digest).or_default();
        *count += 1;
        let count = *count;
        if count < NOTICED_FAILURES {
            return (reply.text, false);
        }
        let notice = format!("This very call has failed {count} times. Do something else.");
        (format!("{}\n\n{notice}", reply.text), count >= MOST_FAILURES)
    }
}

/// The reply to a call, as the model reads it.
struct CallReply {
    text: String,
    is_failure: bool,
}

impl CallReply {
    fn of(outcome: Outcome) -> Self {
        let is_failure = outcome.error.is_some();
        let hint = outcome.error.and_then(|err| err.hint);
        // The forms of some catalogues have no place for a hint.
        let told = hint.filter(|hint| !outcome.text.contains(hint.as_str()));
        let text = match told {
            Some(hint) => format!("{}\nhint: {hint}", outcome.text),
            None => outcome.text,
        };
        Self { text, is_failure }
    }

    fn failed(reply: Value) -> Self {
        Self { text: reply.to_string(), is_failure: true }
    }

    /// Returns the reply to a call for which there was no time. The call did not fail: it was not made.
    fn not_made() -> Self {
        let text = json!({"error": "the call was not made: the time is up"}).to_string();
        Self { text, is_failure: false }
    }
}
