//! Approvals that wait for an answer, as every door sees them, and the port that stores them.

use std::io;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::pin::Pin;
use crate::tool_name::ToolName;

/// A call that waits for an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PendingApproval {
    /// The call id, which is also the id of the approval.
    pub id: String,
    /// `catalogue/tool`.
    pub tool: ToolName,
    /// The arguments of the call.
    pub args: Value,
    /// The digest of what the answer is bound to.
    pub digest: String,
    /// The workspace in which the call would run.
    pub workspace: String,
    /// Who asked for the call.
    pub requester: String,
    /// What the person who answers is shown.
    #[serde(flatten)]
    pub question: ApprovalQuestion,
    /// The files and folders that the answer is bound to.
    #[serde(default)]
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

/// What the person who answers is shown about a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApprovalQuestion {
    /// The rule that asks.
    pub rule: String,
    /// How its command is read, if it has one.
    pub reading: Option<String>,
    /// The files that the call would change.
    pub files: Vec<String>,
    /// What an approval does not pin down: it may be different when the call runs.
    #[serde(default, rename = "loose")]
    pub unpinned: Vec<String>,
}

/// The answer to a pending approval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApprovalAnswer {
    /// Whether the call may run.
    pub is_approved: bool,
    /// Who answered.
    pub by: String,
    /// What the person wants the agent to know.
    pub words: String,
    /// When it was answered.
    pub at: Timestamp,
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
        }
    }
}

/// Stores approvals where every process of the user sees them. The first answer counts, and an approved call is
/// taken up once.
pub trait ApprovalStore: Send + Sync {
    /// Adds a call that waits for an answer.
    fn add(&self, pending: &PendingApproval) -> io::Result<()>;

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
}
