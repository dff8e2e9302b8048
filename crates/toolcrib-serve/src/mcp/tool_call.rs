//! `tools/call`: makes a call.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, InputRequiredResult,
    MetaObject,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::approval::KeptOutcome;
use toolcrib_core::calling_client::{Answers, CallingClient, ClientQuestion, MessageLevel};
use toolcrib_core::toolset::Offer;
use toolcrib_core::{Call, CallId, CallTrace, Caller, ErrorKind, Outcome, Principal};
use toolcrib_ledger::new_call_id;
use toolcrib_runtime::{AnswerFuture, Approver, ConfirmationSource, Prompt, Question, Runtime};

use super::call_client::CallClient;
use super::call_state::CallState;
use super::client_connection::{ClientConnection, asks_by_reply};
use super::client_prompt::ClientPrompt;
use super::client_question::{input_requests, shows_forms};
use super::offered_tool::OfferedTool;
use super::progress::CallProgress;
use super::reader_thread::OwnThreadCall;
use super::running_task::RunningTask;
use super::server::{McpServer, ToolListing, TrustedAnswers};
use super::tasks::{created, no_outcome};
use super::tool_search::{FIND_TOOLS, USE_TOOL, found_call};
use crate::api::{Outliving, Panicked, RunningCall};

/// The key of a reply's metadata that has the id of the call, for the record.
const CALL_KEY: &str = "dev.toolcrib/call";

/// The key of a failed reply's metadata that has the catalogue's reply as data.
const ERROR_KEY: &str = "dev.toolcrib/error";

/// How long a client has to bring an answer to a question of a tool.
const TOOL_ANSWER_TIME: Duration = Duration::from_hours(1);

/// How a person who sits at the client can be asked about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ApprovalWay {
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

/// How far a call came.
pub(super) enum CallEnd {
    /// It has ended.
    Ended(Box<Outcome>),
    /// It goes on without its client.
    Task(Arc<RunningTask>),
    /// The tool asks the client, which has given these answers before.
    Asks { questions: BTreeMap<String, ClientQuestion>, answers: Answers },
}

impl ClientConnection {
    /// Makes a call. If a person must approve it, they are asked in the client if that is possible.
    pub(super) async fn make_call(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.server.config.listing == ToolListing::Search {
            match &*request.name {
                FIND_TOOLS => return Ok(self.server.find_tools(request).into()),
                USE_TOOL => match found_call(request) {
                    Ok(found) => request = found,
                    Err(refused) => return Ok((*refused).into()),
                },
                // A client may know the name of a tool that was not listed.
                _ => {}
            }
        }
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
        let way = self.approval_way(&tool, &context);
        let mut answers = Answers::new();
        if let Some(state) = &request.request_state {
            let responses = request.input_responses.unwrap_or_default();
            match self.server.open_state(state, &call)? {
                CallState::Approval(_) if way != ApprovalWay::Reply => {
                    let message =
                        "answers of this client do not count; make the call without `requestState`";
                    return Err(ErrorData::invalid_params(message, None));
                }
                CallState::Approval(id) => {
                    return self.resume(call, &id, &responses, &context).await;
                }
                CallState::Answers(before) => {
                    answers = before;
                    answers.extend(responses);
                }
            }
        } else if let Some(told) = self.outcome_of_parked(&call) {
            return Ok(told.into());
        }
        let prompt = (way == ApprovalWay::Request).then(|| {
            let trust = self.trust();
            let prompt = ClientPrompt {
                server: Arc::clone(&self.server),
                peer: context.peer.clone(),
                by: person_at_client(&who.caller).name,
                answers: trust.answers,
                highest_tier: trust.highest_tier,
            };
            Arc::new(prompt) as Arc<dyn Prompt>
        });
        let mut approver = (self.server.approver)(prompt);
        if way == ApprovalWay::Reply {
            approver = Arc::new(AskedByReply(approver));
        }
        let asked = call.clone();
        let end = self.run(call, approver, answers, &context).await?;
        if way == ApprovalWay::Reply
            && let CallEnd::Ended(made) = &end
            && let Some(id) = parked_id(made)
            && self.may_approve(id)
            && let Some(reply) = self.ask_approval_by_reply(&asked, id).await
        {
            return Ok(reply.into());
        }
        self.response(&asked, end)
    }

    /// Returns what a client gets when its call has come to an end, for now or for good.
    pub(super) fn response(
        &self,
        call: &Call,
        end: CallEnd,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(match end {
            CallEnd::Ended(made) => self.server.result_of(&made).into(),
            CallEnd::Task(task) => created(&task).into(),
            CallEnd::Asks { questions, answers } => {
                let state = CallState::Answers(answers);
                let state = self.server.seal_state(&state, call, TOOL_ANSWER_TIME);
                InputRequiredResult::new(Some(input_requests(questions)?), Some(state)).into()
            }
        })
    }

    /// Runs a call to its end, until the client cancels it, until the tool asks the client, or until it goes on without the
    /// client.
    pub(super) async fn run(
        &self,
        call: Call,
        approver: Arc<dyn Approver>,
        answers: Answers,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallEnd, ErrorData> {
        if let Some(own) = context.extensions.get::<OwnThreadCall>() {
            return self.run_here(own, call, approver, answers, context).await;
        }
        let api = &self.server.api;
        let id = call.id.clone();
        let progress = CallProgress::wanted(api, &id, context);
        let running = api.running.start(&id, &call.caller.principal);
        let cancel = running.cancel();
        let cancel_guard = running.cancel_on_drop();
        let client = Arc::new(CallClient::new(self, &call, cancel.clone(), answers, context));
        let current = api.runtime.current();
        let may_detach = client.knows_tasks() && runs_commands(&current, &call);
        let runtime =
            Runtime { approver, client: Arc::clone(&client) as _, ..current.as_ref().clone() };
        // A call whose client went away ends and is recorded as any other.
        let mut made = Outliving::new(async move {
            let made = runtime.call(call, running.cancel()).await;
            (made, running)
        });
        let telling = async {
            match progress {
                Some(progress) => progress.tell().await,
                None => std::future::pending().await,
            }
        };
        let task = tokio::select! {
            made = &mut made => return self.ended(&client, made, &id).await,
            task = client.detached() => task,
            task = detached_later(&client, self.server.config.detach_after), if may_detach => task,
            () = telling => return self.ended(&client, made.await, &id).await,
            () = context.ct.cancelled() => {
                cancel.cancel();
                return self.ended(&client, made.await, &id).await;
            }
        };
        let (server, finished) = (Arc::clone(&self.server), Arc::clone(&task));
        tokio::spawn(async move {
            let (made, running) = match made.await {
                Ok((made, running)) => (Some(made), Some(running)),
                Err(_) => (None, None),
            };
            server.keep_task_end(&finished, made).await;
            // Whoever stops the process waits until the end is written.
            drop((running, cancel_guard));
        });
        Ok(CallEnd::Task(task))
    }

    /// Whether calls of a tool may run on the reader thread. A command may take as long as it wants.
    pub(super) fn may_run_on_reader(&self, name: &str) -> bool {
        self.server.find_tool(name).is_ok_and(|tool| !tool.offer.runs_commands())
    }

    /// Runs a call to its end on this thread, the reader thread.
    async fn run_here(
        &self,
        own: &OwnThreadCall,
        call: Call,
        approver: Arc<dyn Approver>,
        answers: Answers,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallEnd, ErrorData> {
        let api = &self.server.api;
        let id = call.id.clone();
        let running = api.running.start(&id, &call.caller.principal);
        let cancel = running.cancel();
        own.set_cancel(cancel.clone());
        let client = Arc::new(CallClient::new(self, &call, cancel.clone(), answers, context));
        let runtime = Runtime {
            approver,
            client: Arc::clone(&client) as _,
            ..api.runtime.current().as_ref().clone()
        };
        let late = Arc::clone(&own.late);
        let Some(made) = runtime.call_here(call, &cancel, &own.watchdog, late) else {
            own.abandon();
            return Err(ErrorData::internal_error(no_outcome(&id.0), None));
        };
        self.ended(&client, Ok((made, running)), &id).await
    }

    /// Returns how a call ended that its client waited for.
    async fn ended(
        &self,
        client: &CallClient,
        made: Result<(Outcome, RunningCall), Panicked>,
        id: &CallId,
    ) -> Result<CallEnd, ErrorData> {
        let (made, _) = made.map_err(|_| ErrorData::internal_error(no_outcome(&id.0), None))?;
        if let Some(error) = client.lacking() {
            return Err(error);
        }
        if made.error.as_ref().is_some_and(|err| err.kind == ErrorKind::InputNeeded) {
            let (questions, answers) = (client.asked(), client.given().clone());
            return Ok(CallEnd::Asks { questions, answers });
        }
        log_end(client, &made).await;
        Ok(CallEnd::Ended(Box::new(made)))
    }

    /// Whether the client can approve the call that waits under this id. It may be one that its tool has made, of a
    /// higher tier.
    fn may_approve(&self, id: &str) -> bool {
        let api = &self.server.api;
        let Ok((pending, _)) = api.answers.find(id) else { return false };
        let current = api.runtime.current();
        let highest = self.trust().highest_tier;
        let tier = |offer: &Offer| offer.tool.declaration().tier.number();
        current.toolset.find(&pending.tool).is_ok_and(|offer| tier(offer) <= highest)
    }

    /// Returns how a person can be asked about calls of this tool.
    fn approval_way(
        &self,
        tool: &OfferedTool,
        context: &RequestContext<RoleServer>,
    ) -> ApprovalWay {
        let trust = self.trust();
        let tier = tool.offer.tool.declaration().tier.number();
        if trust.answers == TrustedAnswers::None || tier > trust.highest_tier || !has_forms(context)
        {
            return ApprovalWay::None;
        }
        if asks_by_reply(context) { ApprovalWay::Reply } else { ApprovalWay::Request }
    }
}

/// Lets a call go on without its client after a time, and returns the task that it is then.
async fn detached_later(client: &CallClient, time: Duration) -> Arc<RunningTask> {
    tokio::time::sleep(time).await;
    if client.detach_now().await.is_err() {
        // The client waits, as others do.
        return std::future::pending().await;
    }
    client.detached().await
}

/// Whether a call runs a command, which may take long.
fn runs_commands(runtime: &Runtime, call: &Call) -> bool {
    runtime.toolset.find(&call.tool).is_ok_and(Offer::runs_commands)
}

/// Tells the client how a call ended, if it wants to know.
async fn log_end(client: &CallClient, made: &Outcome) {
    let level = match made.error.as_ref().map(|err| err.kind) {
        Some(ErrorKind::Refused | ErrorKind::Declined | ErrorKind::ApprovalNeeded) => {
            MessageLevel::Notice
        }
        Some(ErrorKind::Bug | ErrorKind::Unrecorded) => MessageLevel::Error,
        Some(_) | None => MessageLevel::Debug,
    };
    if client.wants_message(level) {
        let message = match &made.error {
            None => format!("ended after {} ms", made.elapsed.as_millis()),
            Some(err) => err.to_string(),
        };
        // Nobody waits for it.
        let _ = client.log(level, message).await;
    }
}

/// Returns who answers a question in the client: the person at the client of this caller, as far as is known.
pub(super) fn person_at_client(caller: &Caller) -> Principal {
    let client = caller.client.as_deref().unwrap_or("an MCP client");
    let name = format!("{} in {client}", caller.principal.name);
    Principal { name, role: caller.principal.role }
}

/// Whether the client that made this request shows forms to a person.
fn has_forms(context: &RequestContext<RoleServer>) -> bool {
    shows_forms(&context.client_capabilities().unwrap_or_default())
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

impl McpServer {
    /// Returns the outcome of a call as clients get it: the catalogue's reply, as text and as structured content.
    pub(super) fn result_of(&self, made: &Outcome) -> CallToolResult {
        let catalogue = self.api.runtime.current().toolset.catalogue(&made.tool);
        let blocks = catalogue.and_then(|catalogue| (catalogue.view.blocks)(&made.reply));
        // The tool is the operator's own, and a block that does not fit the protocol is shown as text.
        let blocks = blocks.and_then(|blocks| Vec::<ContentBlock>::deserialize(blocks).ok());
        let is_text = blocks.is_none();
        let content = blocks.unwrap_or_else(|| vec![ContentBlock::text(made.text.clone())]);
        let result = if made.error.is_some() {
            CallToolResult::error(content)
        } else {
            CallToolResult::success(content)
        };
        let reply = if is_text { &made.reply } else { &Value::Null };
        with_call(result, reply, &made.call.0)
    }
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
    let mut meta = MetaObject::new();
    meta.insert(CALL_KEY.to_owned(), json!(call));
    if result.is_error == Some(true) {
        // Clients check structured content against the schema of replies, which errors do not fit.
        meta.insert(ERROR_KEY.to_owned(), reply.clone());
    } else {
        result.structured_content = Some(reply.clone()).filter(Value::is_object);
    }
    result.meta = Some(meta);
    result
}
