//! Asks the person at a client by a request of the server, as clients before 2026-07-28 want it.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ServerRequest};
use rmcp::service::{Peer, ServiceError};
use toolcrib_core::counted;
use toolcrib_core::policy::Answer;
use toolcrib_runtime::{AnswerFuture, Approver, Preview, Prompt, Question};

use super::approval_form::{FormAnswer, FormQuestion};
use super::client_request::ask_client;
use super::server::{McpServer, TrustedAnswers};
use crate::api::{DifferenceLength, PlannedEdit};

/// Asks the person at a client.
pub(super) struct ClientPrompt {
    pub(super) server: Arc<McpServer>,
    pub(super) peer: Peer<RoleServer>,
    /// Who answers.
    pub(super) by: String,
    pub(super) answers: TrustedAnswers,
    /// The tier up to which calls can be approved in the client.
    pub(super) highest_tier: u8,
}

impl Prompt for ClientPrompt {
    // The request to the client is withdrawn when its future is dropped.
    fn dismiss(&self, _: &Question) {}
}

impl Approver for ClientPrompt {
    fn asks_about_hosts(&self) -> bool {
        true
    }

    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move {
            // The tool that the client has called may make calls of a higher tier than its own.
            if question.tier.number() > self.highest_tier {
                return Answer::Nobody;
            }
            let edits = self.edits(question);
            let form = FormQuestion {
                id: &question.id,
                asker: question.asker.caller.client.as_deref().unwrap_or("The agent"),
                root: &question.root,
                args: &question.args,
                shown: &question.shown,
                edits: &edits,
                answers: self.answers,
            };
            let by = self.by.clone();
            match self.send(form.form()).await {
                Ok(result) => match form.answer(&result) {
                    FormAnswer::Once => Answer::Yes(by),
                    FormAnswer::Always(wish) => Answer::Always(by, wish),
                    FormAnswer::No(words) => Answer::No(by, words),
                    FormAnswer::Dismissed => Answer::Nobody,
                    FormAnswer::Unclear => {
                        let words = "the client sent an answer that is none of the choices";
                        Answer::No(by, words.to_owned())
                    }
                },
                Err(ServiceError::Timeout { timeout }) => {
                    let time = counted(timeout.as_secs(), "second");
                    let words = format!("nobody answered within {time}");
                    Answer::No("nobody".to_owned(), words)
                }
                // It said that it can ask a person, and cannot.
                Err(ServiceError::McpError(_) | ServiceError::UnexpectedResponse) => Answer::Nobody,
                Err(_) => Answer::No("nobody".to_owned(), "the client went away".to_owned()),
            }
        })
    }
}

impl ClientPrompt {
    fn edits(&self, question: &Question) -> Vec<PlannedEdit> {
        let preview = Preview {
            tool: question.tool.clone(),
            decision: question.decision.clone(),
            question: question.clone(),
            commands: Vec::new(),
            trouble: None,
        };
        self.server.api.ports.backend.planned_edits(&preview, DifferenceLength::Usual)
    }

    /// Sends the form, and waits for what comes back.
    async fn send(&self, form: ElicitRequestParams) -> Result<ElicitResult, ServiceError> {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
        let result = ask_client(&self.peer, request, self.server.config.answer_time).await;
        match result? {
            ClientResult::ElicitResult(result) => Ok(result),
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }
}
