//! A call as the record remembers it, with what was decided about it.

use jiff::Timestamp;
use serde_json::Value;

use crate::call::CallId;
use crate::caller::Caller;
use crate::policy::Verdict;
use crate::tool_name::ToolName;

/// A call that was recorded.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    /// The call id.
    pub id: CallId,
    /// When it was asked for.
    pub at: Timestamp,
    /// Who asked for it; `None` if the record does not say.
    pub caller: Option<Caller>,
    /// `catalogue/tool`.
    pub tool: ToolName,
    /// Its arguments; `None` if the record does not have all of them.
    pub args: Option<Value>,
    /// The verdict of policy; `None` if the call never reached policy.
    pub verdict: Option<Verdict>,
    /// The rule that decided.
    pub rule: String,
    /// Whether a person was asked, and declined it.
    pub is_declined: bool,
}
