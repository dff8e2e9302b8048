//! What a call would do on another machine, as that machine found out without running it.

use serde::{Deserialize, Serialize};

use crate::approval::ApprovalQuestion;
use crate::plan::Plan;
use crate::policy::DecidedElsewhere;

/// What the machine that has the files of a call says about it before it runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckedElsewhere {
    /// What policy decided there.
    pub decision: DecidedElsewhere,
    /// What the call would do there. Large texts are left out.
    pub plan: Plan,
    /// What a person is shown, if one is asked.
    pub question: ApprovalQuestion,
    /// The digest of what an answer is bound to: tool, arguments, and what becomes of which files there.
    pub digest: String,
}
