//! Who is asked when policy asks.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;
use toolcrib_core::policy::Answer;
use toolcrib_core::{CallId, Decision, Declaration, Plan};

use crate::judge::Choice;

/// A call that waits for a person's answer.
#[derive(Clone)]
pub struct Question {
    /// The call.
    pub call: CallId,
    /// What an answer is bound to: tool, arguments, and what becomes of which files.
    pub digest: String,
    /// What that does not hold fast, in words for people.
    pub loose: Vec<String>,
    /// The catalogue.
    pub catalogue: &'static str,
    /// The tool.
    pub declaration: &'static Declaration,
    /// What it would be called with, to the letter.
    pub args: Value,
    /// What it would do.
    pub plan: Plan,
    /// The absolute places of the files it would change, in the plan's order.
    pub places: Vec<String>,
    /// Why it is asked.
    pub decision: Decision,
    /// What "always" could be said to.
    pub choices: Vec<Choice>,
    /// The session that asks.
    pub session: String,
    /// The workspace.
    pub root: String,
}

/// Asks a person.
pub trait Approver: Send + Sync {
    /// Returns what the person answered.
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a>;

    /// What an agent has to do before it is asked about what it is to confirm.
    fn confirms(&self) -> Confirms {
        Confirms::WhatItWasTold
    }

    /// Whether the answer is about the files as they are now. If so, the call is refused when they
    /// are something else by the time it runs.
    fn looks(&self) -> bool {
        true
    }
}

/// What an agent has to confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirms {
    /// A call that it was told to confirm, in the same session.
    WhatItWasTold,
    /// Any call: there is no session to be told in.
    Anything,
    /// Nothing: a person made the call and sees it.
    Nothing,
}

/// An answer to come.
pub type AnswerFuture<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// A person who said yes beforehand, as with `--yes`. Says who.
pub struct AlwaysYes(pub String);

impl Approver for AlwaysYes {
    fn ask<'a>(&'a self, _: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async { Answer::Yes(self.0.clone()) })
    }

    fn looks(&self) -> bool {
        false
    }
}

/// No one: a call that needs approval is refused at once.
pub struct Nobody;

impl Approver for Nobody {
    fn ask<'a>(&'a self, _: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async { Answer::Nobody })
    }
}
