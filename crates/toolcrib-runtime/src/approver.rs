//! Who is asked when policy asks.

use std::future::Future;
use std::pin::Pin;

use toolcrib_core::policy::Answer;

use crate::call::question::Question;
use crate::call::review::{ConfirmationSource, Review, SessionKind};

/// Asks a person.
pub trait Approver: Send + Sync {
    /// Returns what the person answered.
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a>;

    /// Returns how an agent confirms a call that rules want confirmed.
    fn confirmation(&self) -> ConfirmationSource {
        ConfirmationSource::WhenTold
    }

    /// Returns whether the session goes on after the call, so that an answer for the session is worth something.
    fn session(&self) -> SessionKind {
        SessionKind::ManyCalls
    }

    /// Returns whether a person can be asked about hosts while a command runs. A yes that was given before is not for
    /// hosts that nobody knew of.
    fn asks_about_hosts(&self) -> bool {
        false
    }

    /// Returns what the one who answers looks at. If that is the files, the call is refused when they are
    /// something else by the time it runs.
    fn review(&self) -> Review {
        Review::Files
    }
}

/// An answer to come.
pub type AnswerFuture<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// A person who said yes beforehand to a call of their own, as with `--yes`. Says who.
pub struct AlwaysYes(pub String);

impl Approver for AlwaysYes {
    fn ask<'a>(&'a self, _: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async { Answer::Yes(self.0.clone()) })
    }

    fn confirmation(&self) -> ConfirmationSource {
        ConfirmationSource::NotNeeded
    }

    fn review(&self) -> Review {
        Review::Nothing
    }
}

/// A person who said yes beforehand to all calls of an agent. Their yes is not the agent's confirmation. Says who.
pub struct YesToAgent(pub String);

impl Approver for YesToAgent {
    fn ask<'a>(&'a self, _: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async { Answer::Yes(self.0.clone()) })
    }

    fn review(&self) -> Review {
        Review::Nothing
    }
}

/// No one: a call that needs approval is refused at once.
pub struct Nobody;

impl Approver for Nobody {
    fn ask<'a>(&'a self, _: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async { Answer::Nobody })
    }
}
