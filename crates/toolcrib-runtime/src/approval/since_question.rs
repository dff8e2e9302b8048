//! What changed since the question about a call that waits: among the files and folders that the answer pins, and in
//! what the call would do.

use toolcrib_core::Cancel;
use toolcrib_core::approval::PendingApproval;
use toolcrib_core::pin::pin_changes;

use crate::runtime::Runtime;

impl Runtime {
    /// Returns what changed since the question about a call, each in a sentence for people. The call would be refused
    /// if there is anything. This runtime must have the workspace of the call, and an approver who reviews files.
    pub async fn changes_since_question(&self, pending: &PendingApproval) -> Vec<String> {
        let fails = |message: &str| vec![format!("the call would fail now: {message}")];
        let question = match self.explain(pending.to_call(), Cancel::default()).await {
            Ok(preview) => match preview.trouble {
                Some(trouble) => return fails(&trouble.message),
                None => preview.question,
            },
            Err(outcome) => return outcome.error.map_or_else(Vec::new, |it| fails(&it.message)),
        };
        let changes = pin_changes(&pending.pins, &question.pins.pinned);
        if changes.is_empty() && question.digest != pending.digest {
            return vec!["the call would do something else now".to_owned()];
        }
        changes.iter().map(ToString::to_string).collect()
    }
}
