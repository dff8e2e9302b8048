//! One call from end to end, whatever door it came through: find, check, decide, run, record.

mod approval;
mod approver;
mod call;
mod decide;
pub mod dialect;
mod explanation;
mod latest;
mod live_runtime;
mod preview;
mod remote;
mod replay;
mod runtime;
pub mod undo;
mod wait_for;

pub use approval::parked::{ApprovalAnswers, ApprovalError, Approved, ParkedCall};
pub use approval::queue::{ApprovalQueue, ParkedQuestions, Prompt, Unattended};
pub use approver::{AlwaysYes, AnswerFuture, Approver, Nobody, YesToAgent};
pub use call::ended::failure_reply;
pub use call::pins::Pins;
pub use call::question::{Asker, Question};
pub use call::review::{ConfirmationSource, Review, SessionKind};
pub use call::watchdog::{LateAnswer, Watchdog};
pub use decide::confirm::ConfirmationWeight;
pub use decide::judge::{Choice, Judge};
pub use decide::limits::SessionLimits;
pub use decide::quarantine::Quarantine;
pub use decide::quota::{QuotaLimits, UserQuota};
pub use decide::session_use::{SessionUse, ToolUse};
pub use decide::taint::TaintPolicy;
pub use explanation::{Explanation, RulePlace};
pub use latest::Latest;
pub use live_runtime::LiveRuntime;
pub use preview::Preview;
pub use remote::dispatcher::{
    Dispatcher, PermittedCall, RemoteCall, RemoteCheck, RemoteFuture, RemotePlace, RemoteRun,
};
pub use remote::permit_answer::{AnsweredElsewhere, PermitAnswer};
pub use replay::{ChangedDecision, Replay};
pub use runtime::{Runtime, World};
pub use wait_for::wait_for;
