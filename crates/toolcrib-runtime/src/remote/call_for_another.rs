//! A call that this machine checks or makes because another one, where it was asked for, wants it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib_core::approval::ApprovalQuestion;
use toolcrib_core::checked_elsewhere::CheckedElsewhere;
use toolcrib_core::{Call, Cancel, ErrorKind, Outcome, ToolError};

use crate::call::isolate::WorkPlace;
use crate::call::question::Question;
use crate::runtime::Runtime;

impl Runtime {
    /// Finds out what a call would do, and what policy decides about it. Nothing is changed or recorded.
    pub async fn check_for_another(&self, call: Call) -> Result<CheckedElsewhere, ToolError> {
        let preview = self.preview(call, Cancel::default()).await.map_err(error_of)?;
        let decision = preview.decision.told(self.judge.policy()).ok_or_else(|| {
            ToolError::new(ErrorKind::Bug, "the policy here is not one of the other machine")
        })?;
        let Question { shown, digest, root, .. } = preview.question;
        let question = ApprovalQuestion { place: Some(root), ..shown };
        Ok(CheckedElsewhere { decision, question, digest })
    }

    /// Takes a call from asked to recorded. The catalogue of the other machine gives the reply its form.
    pub async fn call_for_another(&self, call: Call, cancel: &Cancel) -> Result<Value, ToolError> {
        let start = self.clock.elapsed();
        let scope = self.ask(call, cancel, start).map_err(|outcome| error_of(*outcome))?;
        let mut waited = Duration::ZERO;
        let place = WorkPlace::EventLoop;
        let result = self.carry_out(Arc::clone(&scope), place, cancel, &mut waited).await;
        let elapsed = self.clock.elapsed().saturating_sub(start + waited);
        self.close(&scope, result.clone(), elapsed);
        result
    }
}

/// Returns why a call failed.
fn error_of(outcome: Outcome) -> ToolError {
    let lost = || ToolError::new(ErrorKind::Bug, "the call failed without a reason");
    outcome.error.unwrap_or_else(lost)
}
