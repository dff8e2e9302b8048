//! `tools/call`: makes a call.

use std::pin::pin;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, MetaObject,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use toolcrib_core::approval::KeptOutcome;
use toolcrib_core::{Call, CallTrace, Caller, ErrorKind, Outcome, Principal};
use toolcrib_ledger::new_call_id;
use toolcrib_runtime::{AnswerFuture, Approver, ConfirmationSource, Prompt, Question, Runtime};

use super::client_connection::{McpHandler, is_stateless};
use super::client_prompt::ClientPrompt;
use super::progress::CallProgress;
use super::server::TrustedAnswers;
use super::tool_list::OfferedTool;
use crate::api::Outliving;

/// The key of a reply's metadata that has the id of the call, for the record.
const CALL_KEY: &str = "dev.toolcrib/call";

/// How a person who sits at the client can be asked about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientQuestion {
    /// By a request of the server, while the call waits.
    Request,
    /// By a reply that asks, after which the client makes the call again.
    Reply,
    /// Not at all: the question waits in the queue.
    None,
}

/// Parks a question for a client that is asked by the reply. A person looks at the call, so the agent need not confirm
/// it before.
struct AskedByReply(Arc<dyn Approver>);

impl Approver for AskedByReply {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        self.0.ask(question)
    }

    fn confirmation(&self) -> ConfirmationSource {
        ConfirmationSource::NotNeeded
    }
}

impl McpHandler {
    /// Makes a call. If a person must approve it, they are asked in the client if that is possible.
    pub(super) async fn make_call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = self.server.find_tool(&request.name)?;
        let who = self.caller(&context)?;
        let args = Value::Object(request.arguments.unwrap_or_default());
        let call = Call {
            trace: trace_of(&context),
            ..Call::new(
                new_call_id(),
                who.session.clone(),
                Arc::clone(&who.caller),
                tool.offer.full_name().clone(),
                args,
            )
        };
        let question = self.client_question(&tool, &context);
        if let Some(state) = &request.request_state {
            if question != ClientQuestion::Reply {
                let message =
                    "answers of this client do not count; make the call without `requestState`";
                return Err(ErrorData::invalid_params(message, None));
            }
            let responses = request.input_responses.unwrap_or_default();
            return self.resume(call, state, &responses, &context).await;
        }
        let prompt = (question == ClientQuestion::Request).then(|| {
            let prompt = ClientPrompt {
                server: Arc::clone(&self.server),
                peer: context.peer.clone(),
                by: person_at_client(&who.caller).name,
                answers: self.trust().answers,
            };
            Arc::new(prompt) as Arc<dyn Prompt>
        });
        let mut approver = (self.server.approver)(prompt);
        if question == ClientQuestion::Reply {
            approver = Arc::new(AskedByReply(approver));
        }
        let asked = call.clone();
        let made = self.run(call, approver, &context).await?;
        if question == ClientQuestion::Reply
            && let Some(id) = parked_id(&made)
            && let Some(reply) = self.ask_by_reply(&asked, id).await
        {
            return Ok(reply.into());
        }
        Ok(result_of(&made).into())
    }

    /// Runs a call to its end, or until the client cancels it.
    pub(super) async fn run(
        &self,
        call: Call,
        approver: Arc<dyn Approver>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Outcome, ErrorData> {
        let api = &self.server.api;
        let runtime = Runtime { approver, ..api.runtime.current().as_ref().clone() };
        let id = call.id.clone();
        let progress = CallProgress::wanted(api, &id, context);
        let running = api.running.start(&id, &call.caller.principal);
        let cancel = running.cancel();
        let _cancel_guard = running.cancel_on_drop();
        // A call whose client went away ends and is recorded as any other.
        let mut made = pin!(Outliving::new(async move {
            let made = runtime.call(call, running.cancel()).await;
            drop(running);
            made
        }));
        let telling = async {
            match progress {
                Some(progress) => progress.tell().await,
                None => std::future::pending().await,
            }
        };
        let made = tokio::select! {
            made = &mut made => made,
            () = telling => made.await,
            () = context.ct.cancelled() => {
                cancel.cancel();
                made.await
            }
        };
        made.map_err(|_| {
            let message =
                format!("the call {id} ended without an outcome; see `toolcrib audit show {id}`");
            ErrorData::internal_error(message, None)
        })
    }

    /// Returns how a person can be asked about calls of this tool.
    fn client_question(
        &self,
        tool: &OfferedTool,
        context: &RequestContext<RoleServer>,
    ) -> ClientQuestion {
        let trust = self.trust();
        let tier = tool.offer.tool.declaration().tier.number();
        if trust.answers == TrustedAnswers::None || tier > trust.highest_tier || !has_forms(context)
        {
            return ClientQuestion::None;
        }
        if is_stateless(context) { ClientQuestion::Reply } else { ClientQuestion::Request }
    }
}

/// Returns who answers a question in the client: the person at the client of this caller, as far as is known.
pub(super) fn person_at_client(caller: &Caller) -> Principal {
    let client = caller.client.as_deref().unwrap_or("an MCP client");
    let name = format!("{} in {client}", caller.principal.name);
    Principal { name, role: caller.principal.role }
}

/// Whether the client shows forms to a person. One that does not say which kind of question it shows means forms.
fn has_forms(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities().unwrap_or_default();
    capabilities.elicitation.is_some_and(|it| it.form.is_some() || it.url.is_none())
}

/// Returns where the client places the call in its own work.
fn trace_of(context: &RequestContext<RoleServer>) -> Option<CallTrace> {
    let parent = context.meta.get_traceparent()?;
    let id = parent.split('-').nth(1).filter(|id| id.len() == 32)?;
    Some(CallTrace { id: Some(id.to_owned()), iteration: 0 })
}

/// Returns the id of the question about a call that was parked.
fn parked_id(made: &Outcome) -> Option<&str> {
    let error = made.error.as_ref().filter(|err| err.kind == ErrorKind::ApprovalNeeded)?;
    error.context.get("approval_id")?.as_str()
}

/// Returns the outcome of a call as clients get it: the catalogue's reply, as text and as structured content.
pub(super) fn result_of(made: &Outcome) -> CallToolResult {
    let content = vec![ContentBlock::text(made.text.clone())];
    let result = if made.error.is_some() {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    with_call(result, &made.reply, &made.call.0)
}

/// Returns the outcome of a call that waited for an answer.
pub(super) fn kept_result(call: &str, kept: &KeptOutcome) -> CallToolResult {
    let content = vec![ContentBlock::text(kept.reply.to_string())];
    let result = if kept.error.is_some() {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    with_call(result, &kept.reply, call)
}

fn with_call(mut result: CallToolResult, reply: &Value, call: &str) -> CallToolResult {
    result.structured_content = Some(reply.clone()).filter(Value::is_object);
    let mut meta = MetaObject::new();
    meta.insert(CALL_KEY.to_owned(), json!(call));
    result.meta = Some(meta);
    result
}
