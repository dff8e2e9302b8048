//! Approvals that wait for an answer, as every door sees them, and the port that stores them.

use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Call, CallId, CallTrace, SessionId};
use crate::caller::Caller;
use crate::command_reading::ReadingSummary;
use crate::error::ErrorKind;
use crate::host_access::HostRequest;
use crate::outcome::Outcome;
use crate::pin::Pin;
use crate::policy::Wish;
use crate::tool_name::ToolName;

/// A call that waits for an answer, or a host that the command of a call wants to reach.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PendingApproval {
    /// The id of the call. A question about a host that its command wants to reach has `-host1`, `-host2` and so on
    /// behind it.
    pub id: String,
    /// `catalogue/tool`.
    pub tool: ToolName,
    /// The arguments of the call.
    pub args: Value,
    /// The digest of what the answer is bound to.
    pub digest: String,
    /// The workspace in which the call would run.
    pub workspace: String,
    /// The session that asked for the call.
    pub requester: String,
    /// Who asked for the call. Approvals from before callers were stored are of the user at the terminal.
    #[serde(default = "user_at_terminal")]
    pub caller: Caller,
    /// The caller's own name for the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<SessionId>,
    /// Where the caller places the call in its own work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<CallTrace>,
    /// What the person who answers is shown.
    #[serde(flatten)]
    pub question: ApprovalQuestion,
    /// The files and folders that the answer is bound to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub pins: Vec<Pin>,
    /// Whether no process waits for the answer: whoever approves the call runs it.
    pub is_parked: bool,
    /// The process that waits for the answer.
    #[serde(default)]
    pub process: String,
    /// When the question was asked.
    pub created_at: Timestamp,
    /// Until when the question can be answered.
    pub expires_at: Timestamp,
}

fn user_at_terminal() -> Caller {
    Caller::at_terminal("user")
}

impl PendingApproval {
    /// Returns the id of the call that the question belongs to.
    pub fn call_id(&self) -> &str {
        let host = self.question.host.as_ref();
        let call = host.and_then(|_| self.id.rsplit_once("-host"));
        call.map_or(self.id.as_str(), |(call, _)| call)
    }

    /// Returns the call that waits.
    pub fn to_call(&self) -> Call {
        let (id, session) = (CallId(self.id.clone()), SessionId(self.requester.clone()));
        let (caller, tool) = (Arc::new(self.caller.clone()), self.tool.clone());
        Call {
            conversation: self.conversation.clone(),
            trace: self.trace.clone(),
            ..Call::new(id, session, caller, tool, self.args.clone())
        }
    }
}

/// What the person who answers is shown about a call, as data that every front end renders.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ApprovalQuestion {
    /// What the call wants to do, in a few words that follow "wants to".
    pub what: String,
    /// What its command would run, if it has one.
    pub runs: Option<ReadingSummary>,
    /// What would become of which files.
    pub changes: Vec<ExpectedChange>,
    /// The absolute paths of the files that the tool itself would change.
    pub files: Vec<String>,
    /// The hosts that its command can reach, or that the tool asks itself. Nothing if it has no command and asks none.
    pub network: Option<Vec<String>>,
    /// Why the call is asked about, in a sentence for people.
    pub why: String,
    /// The rule that asks.
    pub rule: String,
    /// Where that rule is written, if it is in a file.
    pub rule_source: Option<String>,
    /// What an approval does not pin down: it may be different when the call runs.
    #[serde(rename = "loose")]
    pub unpinned: Vec<String>,
    /// The grants that "always" can make. The first is the one to offer.
    pub grants: Vec<GrantOffer>,
    /// What no grant can cover, each with the reason.
    pub refused_grants: Vec<RefusedGrant>,
    /// Where the call runs, if that is on another machine: the place, and the workspace there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The host, if the question is about a host that a running command wants to reach, and not about a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostRequest>,
}

/// What a call would do to a file or folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedChange {
    /// What becomes of it.
    pub kind: ExpectedChangeKind,
    /// The path, without links, relative to the workspace if it is in it.
    pub path: String,
    /// The path as the caller wrote it, if that is not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spelt: Option<String>,
    /// How many files that are there now are changed or deleted with it. Nothing if they were not counted.
    pub files: Option<usize>,
    /// How many lines are added and removed. Nothing if that is not known.
    pub lines: Option<(usize, usize)>,
}

/// What a call would do to a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedChangeKind {
    /// It is made.
    Create,
    /// Its content changes.
    Change,
    /// It is deleted.
    Delete,
}

/// A grant that a person can make by answering "always".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantOffer {
    /// What it covers, where and for how long, in words.
    pub words: String,
    /// The rule that would be stored.
    pub rule: String,
    /// The grant.
    pub wish: Wish,
}

/// Something that no grant can cover.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedGrant {
    /// What it would cover, in words.
    pub words: String,
    /// Why it cannot be granted.
    pub why: String,
}

/// The answer to a pending approval.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalAnswer {
    /// Whether the call may run.
    pub is_approved: bool,
    /// Who answered.
    pub by: String,
    /// What the person wants the agent to know.
    pub words: String,
    /// The grant that the person gives with a yes, if they said "always".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wish: Option<Wish>,
    /// When it was answered.
    pub at: Timestamp,
}

/// The outcome of a parked call, kept for the one who asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptOutcome {
    /// The catalogue's reply.
    pub reply: Value,
    /// Why the call failed, if it did.
    pub error: Option<KeptError>,
}

/// Why a parked call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptError {
    /// The kind of the error, as [`ErrorKind`] spells it.
    pub kind: String,
    /// The message.
    pub message: String,
}

impl From<&Outcome> for KeptOutcome {
    fn from(outcome: &Outcome) -> Self {
        let error = outcome.error.as_ref().map(|err| KeptError {
            kind: err.kind.as_str().to_owned(),
            message: err.message.clone(),
        });
        Self { reply: outcome.reply.clone(), error }
    }
}

impl KeptError {
    /// Returns the kind of the error. One that another version has written is a failure of the tool.
    pub fn kind(&self) -> ErrorKind {
        let known = ErrorKind::ALL.into_iter().find(|kind| kind.as_str() == self.kind);
        known.unwrap_or(ErrorKind::Failed)
    }
}

/// The status of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalStatus {
    /// Nobody has answered yet.
    Pending,
    /// Someone approved the call, and no process has taken it up yet.
    Approved,
    /// Someone denied the call.
    Denied,
    /// Someone approved the call, and a process took it up.
    TakenUp,
    /// Nobody answered in time.
    Expired,
    /// The token that asked was revoked, so nobody can approve the call.
    Revoked,
}

impl ApprovalStatus {
    /// Returns the spelling for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::TakenUp => "taken up",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

/// Stores approvals where every process of the user sees them. The first answer counts, and an approved call is
/// taken up once.
pub trait ApprovalStore: Send + Sync {
    /// Adds a call that waits for an answer.
    fn add(&self, pending: &PendingApproval) -> io::Result<()>;

    /// Changes a stored approval that a process waited for into one that nobody waits for.
    fn park(&self, pending: &PendingApproval) -> io::Result<()>;

    /// Returns every approval, pending or not, oldest first.
    fn all(&self) -> io::Result<Vec<PendingApproval>>;

    /// Returns the approval with this id.
    fn find(&self, id: &str) -> io::Result<PendingApproval>;

    /// Returns the status of an approval.
    fn status(&self, pending: &PendingApproval, now: Timestamp) -> io::Result<ApprovalStatus>;

    /// Returns the answer that counts, if there is one.
    fn answer(&self, id: &str) -> io::Result<Option<ApprovalAnswer>>;

    /// Answers an approval. Returns whether this answer is the one that counts: the first.
    fn decide(&self, id: &str, answer: &ApprovalAnswer) -> io::Result<bool>;

    /// Takes an approved call up. Returns whether it is the caller's to run.
    fn take_up(&self, id: &str) -> io::Result<bool>;

    /// Keeps the outcome of a call that was taken up, for the one who asked.
    fn keep_outcome(&self, id: &str, outcome: &KeptOutcome) -> io::Result<()>;

    /// Returns the outcome that was kept, if there is one.
    fn outcome(&self, id: &str) -> io::Result<Option<KeptOutcome>>;

    /// Marks the outcome as told to the one who asked. Returns whether this is the first time.
    fn mark_told(&self, id: &str) -> io::Result<bool>;
}
