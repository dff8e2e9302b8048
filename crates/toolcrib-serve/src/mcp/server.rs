//! What an MCP server works with, for all of its clients.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::RequestStateCodec;
use tokio_util::sync::CancellationToken;
use toolcrib_ledger::DetachedCalls;
use toolcrib_runtime::{Approver, ParkedQuestions, Prompt};

use super::offered_tool::KeptToolList;
use super::running_task::RunningTasks;
use crate::api::Api;

/// What an MCP server works with.
pub struct McpServer {
    /// Makes calls, and knows what became of them.
    pub api: Arc<Api>,
    /// What the settings say.
    pub config: McpConfig,
    /// Returns who is asked about a call: the prompt that is given, or the queue alone.
    pub approver: ApproverSource,
    /// The questions whose answer the caller was not told yet.
    pub parked: ParkedQuestions,
    /// The calls that go on without their clients, on the disk.
    pub(super) detached: DetachedCalls,
    pub(super) offered: KeptToolList,
    /// The detached calls that this process runs.
    pub(super) tasks: RunningTasks,
    /// Ends the streams of clients over HTTP.
    pub(super) stopping: CancellationToken,
    /// Seals what a client brings back with the answer to a question.
    pub(super) seal: RequestStateCodec,
}

/// Returns who is asked about a call, given the prompt of the client if it has one.
pub type ApproverSource = Box<dyn Fn(Option<Arc<dyn Prompt>>) -> Arc<dyn Approver> + Send + Sync>;

/// What the settings say about MCP.
#[derive(Clone, Debug)]
pub struct McpConfig {
    /// The catalogues and tools to offer; without it, all that the runtime has.
    pub toolset: Option<Vec<String>>,
    /// Which tools are listed.
    pub listing: ToolListing,
    /// How far the answers count that a client brings.
    pub trust: ClientTrust,
    /// How long there is to answer a question in the client.
    pub answer_time: Duration,
    /// How long a client waits for a command, if it can come back for the outcome.
    pub detach_after: Duration,
}

/// How far the answers count that a client brings. A client is the program that runs the agent: it could make up an
/// answer.
#[derive(Clone, Copy, Debug)]
pub struct ClientTrust {
    /// What an answer can be.
    pub answers: TrustedAnswers,
    /// The tier up to which calls can be approved.
    pub highest_tier: u8,
    /// Whether answers over HTTP count. There, the one who asks and the one who answers have the same token.
    pub over_http: bool,
}

/// Which of the tools on offer clients are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolListing {
    /// All.
    All,
    /// One that finds the others, and one that calls what was found.
    Search,
}

/// Which answers of a client count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrustedAnswers {
    /// None: questions wait in the queue.
    None,
    /// Yes to one call, and no.
    Once,
    /// Also "always".
    Always,
}

impl McpServer {
    /// Puts a server together.
    pub fn new(
        api: Arc<Api>,
        config: McpConfig,
        approver: ApproverSource,
        parked: ParkedQuestions,
    ) -> Self {
        let seal = RequestStateCodec::new_unchecked(random_key());
        Self {
            detached: DetachedCalls::new(&api.state),
            offered: KeptToolList::default(),
            tasks: RunningTasks::default(),
            stopping: CancellationToken::new(),
            api,
            config,
            approver,
            parked,
            seal,
        }
    }

    /// Ends the streams of clients over HTTP once no call runs. A stream has no end of its own.
    pub async fn end_streams(&self) {
        self.api.running.wait_until_none().await;
        self.stopping.cancel();
    }
}

/// Returns a key that lives as long as the process. Questions outlive it in the queue.
fn random_key() -> Vec<u8> {
    let mut key = vec![0; RequestStateCodec::MIN_KEY_LENGTH];
    let mut at = 0;
    while at < key.len() {
        at += rustix::rand::getrandom(&mut key[at..], rustix::rand::GetRandomFlags::empty())
            .unwrap_or_default();
    }
    key
}
