//! Who answers when policy asks.

use std::sync::Arc;

use toolcrib_ledger::Approvals;
use toolcrib_runtime::{AlwaysYes, Approver};

use super::prompt::Prompt;
use super::queue::Queue;
use crate::cli::{CallArgs, Global};
use crate::settings::key;
use crate::terminal::Terminal;
use crate::wiring::Crib;

/// Returns the approver: `--yes`, or the queue with a person at `terminal`, if one is given and attended.
pub(super) fn approver(
    global: &Global,
    terminal: Option<Terminal>,
    crib: &Crib,
    args: &CallArgs,
) -> Arc<dyn Approver> {
    if global.yes {
        return Arc::new(AlwaysYes("--yes".to_owned()));
    }
    let time = crib.settings.get(key::POLICY_APPROVAL_SECONDS);
    Arc::new(Queue {
        approvals: Approvals::new(&crib.state),
        prompt: terminal.and_then(|terminal| Prompt::on_terminal(terminal, time)),
        parks: args.park,
        is_single: terminal.is_some(),
        park_time: crib.settings.get(key::POLICY_PARK_SECONDS),
        time,
    })
}
