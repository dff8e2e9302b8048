//! Who answers when policy asks.

use std::sync::Arc;

use toolcrib_ledger::{Approvals, this_process};
use toolcrib_runtime::{
    AlwaysYes, ApprovalQueue, Approver, ParkedQuestions, Prompt, SessionKind, Unattended,
    YesToAgent,
};

use super::prompt::{AskManner, TerminalPrompt};
use crate::cli::{CallArgs, Global};
use crate::settings::table;
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
        let by = "--yes".to_owned();
        // A single call is of whoever wrote `--yes`. Many calls are an agent's, which confirms for itself.
        return match terminal {
            Some(_) => Arc::new(AlwaysYes(by)),
            None => Arc::new(YesToAgent(by)),
        };
    }
    let prompt_time = crib.settings.get(table::POLICY_APPROVAL_SECONDS);
    let prompt = terminal
        .and_then(|terminal| TerminalPrompt::on_terminal(terminal, AskManner::of(&crib.settings)));
    Arc::new(ApprovalQueue {
        store: Arc::new(Approvals::new(&crib.state)),
        prompt: prompt.map(|prompt| Arc::new(prompt) as Arc<dyn Prompt>),
        unattended: if args.park {
            Unattended::Park(crib.settings.get(table::POLICY_PARK_SECONDS))
        } else {
            Unattended::Refuse
        },
        session: match terminal {
            Some(_) => SessionKind::SingleCall,
            None => SessionKind::ManyCalls,
        },
        prompt_time,
        process: this_process(),
        clock: Arc::clone(&crib.clock),
        parked: ParkedQuestions::default(),
    })
}
