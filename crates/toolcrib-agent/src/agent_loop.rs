//! The loop: one turn of the model, the calls that it wants, their replies, and so on.

use std::collections::HashMap;
use std::thread;

use serde_json::{Map, Value, json};
use toolcrib_core::canonical::Digest;
use toolcrib_core::nearest::nearest;
use toolcrib_core::{Cancel, ErrorKind, InnerCalls, Meter, Outcome, ToolError};

use crate::budget::{Budget, BudgetExceeded};
use crate::conversation::{Message, ModelTurn, WantedCall};
use crate::endpoint::{AgentModel, TurnRequest};
use crate::loop_tools::{LoopTool, LoopTools};

/// How many calls that only read run side by side.
const MOST_SIDE_BY_SIDE: usize = 8;

/// How many calls of one turn are made. The others are answered with a request to ask again.
const MOST_CALLS_PER_TURN: usize = 32;

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
    pub(crate) budget: Budget,
    pub(crate) meter: &'a Meter,
    pub(crate) cancel: &'a Cancel,
    pub(crate) progress: Progress,
}

/// How far a loop is.
#[derive(Default)]
pub(crate) struct Progress {
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
enum StepEnd {
    Acted,
    Over(LoopEnd),
}

impl Progress {
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
    pub(crate) fn run(&mut self, after_step: &dyn Fn(&Progress)) -> LoopEnd {
        loop {
            match self.step() {
                Ok(StepEnd::Acted) => after_step(&self.progress),
                Ok(StepEnd::Over(end)) => return end,
                Err(err) => return LoopEnd::Failed(err),
            }
        }
    }

    /// Asks the model, makes the calls that it wants, and adds the replies.
    fn step(&mut self) -> Result<StepEnd, ToolError> {
        self.cancel.check()?;
        if let Err(spent) = self.budget.check() {
            return Ok(StepEnd::Over(LoopEnd::Spent(spent)));
        }
        let request = TurnRequest {
            messages: &self.progress.messages,
            tools: &self.tools.declared,
            time: self.budget.left(),
            meter: self.meter,
        };
        let turn = match self.model.turn(&request, self.cancel) {
            Err(err) if err.kind == ErrorKind::Timeout && self.budget.left().is_zero() => {
                return Ok(StepEnd::Over(LoopEnd::Spent(BudgetExceeded::Time)));
            }
            turn => turn?,
        };
        let ModelTurn { text, calls, tokens, is_cut } = turn;
        self.budget.add_turn(tokens);
        self.progress.messages.push(Message::Turn { text: text.clone(), calls: calls.clone() });
        if calls.is_empty() {
            return Ok(self.ended_turn(text, is_cut));
        }
        self.progress.silent_turns = 0;
        // Checked inside the turn too: the calls of one turn can cost as much as many turns.
        if let Err(spent) = self.budget.check_turn() {
            return Ok(StepEnd::Over(LoopEnd::Spent(spent)));
        }
        let stuck = self.make_calls(&calls)?;
        if let Some(tool) = stuck {
            return Ok(StepEnd::Over(LoopEnd::Stuck(tool)));
        }
        if let Some(warning) = self.budget.warning() {
            self.progress.messages.push(Message::Request(warning));
        }
        Ok(StepEnd::Acted)
    }

    /// Ends a turn in which the model wants nothing.
    fn ended_turn(&mut self, text: String, is_cut: bool) -> StepEnd {
        if !text.is_empty() && !is_cut {
            return StepEnd::Over(LoopEnd::Completed(text));
        }
        self.progress.silent_turns += 1;
        if self.progress.silent_turns >= MOST_SILENT_TURNS {
            let message = if is_cut {
                "the model's answers are cut: the endpoint allows fewer tokens than they have"
            } else {
                "the model says nothing and makes no call"
            };
            let err = ToolError::new(ErrorKind::Failed, message);
            return StepEnd::Over(LoopEnd::Failed(err));
        }
        let ask = if is_cut {
            "Your answer was cut because it was too long. Answer again, and shorter."
        } else {
            "You said nothing. Go on with the task, or report what is done."
        };
        self.progress.messages.push(Message::Request(ask.to_owned()));
        StepEnd::Acted
    }

    /// Makes the calls of a turn, and adds their replies in the order of the calls: those that only read side by side,
    /// the others one after the other. Returns the tool of a call that failed too often.
    fn make_calls(&mut self, wanted: &[WantedCall]) -> Result<Option<String>, ToolError> {
        let mut stuck = None;
        let mut rest = wanted;
        let mut room = MOST_CALLS_PER_TURN;
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
            let replies = if room < now.len() || self.budget.left().is_zero() {
                now.iter().map(|_| CallReply::not_made()).collect()
            } else {
                room -= now.len();
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
            Err(why) => {
                let message = format!("the arguments are not JSON that can be read: {why}");
                let hint = "send one JSON object that fits the schema of the tool";
                CallReply::failed(json!({"error": message, "hint": hint}))
            }
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

    /// Returns the reply to a call beyond what one turn may have. The call did not fail: it was not made.
    fn not_made() -> Self {
        let mut reply = Map::new();
        let why = format!(
            "the call was not made: a turn has {MOST_CALLS_PER_TURN} calls at most, and an end"
        );
        reply.insert("error".to_owned(), why.into());
        reply.insert("hint".to_owned(), "make it in your next turn".into());
        Self { text: Value::Object(reply).to_string(), is_failure: false }
    }
}
