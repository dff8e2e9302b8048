//! The answer that came with a call from another machine, where people were asked.

use toolcrib_core::policy::Answer;

use crate::approver::{AnswerFuture, Approver};
use crate::call::question::Question;
use crate::call::review::{ConfirmationSource, Review};

/// Answers the question that was answered where the call came from, and no other.
pub struct PermitAnswer {
    /// Where the call came from.
    pub by: String,
    /// What was answered with yes there.
    pub answered: AnsweredElsewhere,
}

/// What was answered with yes where a call came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnsweredElsewhere {
    /// Nothing: nobody was asked.
    Nothing,
    /// The question with this digest.
    Question(String),
    /// Whatever is asked about the call: all that it does is in its arguments.
    Call,
}

impl AnsweredElsewhere {
    fn includes(&self, question: &Question) -> bool {
        match self {
            Self::Nothing => false,
            Self::Question(digest) => *digest == question.digest,
            Self::Call => true,
        }
    }
}

impl Approver for PermitAnswer {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        let answer = if self.answered.includes(question) {
            Answer::Yes(self.by.clone())
        } else {
            let why = "what it would do has changed since it was decided on; repeat the call";
            Answer::No(self.by.clone(), why.to_owned())
        };
        Box::pin(async { answer })
    }

    fn confirmation(&self) -> ConfirmationSource {
        // Whoever made the call was told to confirm it there.
        ConfirmationSource::NotNeeded
    }

    fn review(&self) -> Review {
        Review::Files
    }
}
