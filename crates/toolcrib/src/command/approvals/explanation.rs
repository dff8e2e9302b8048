//! Why an answer to a question does not count, in words.

use toolcrib_core::approval::ApprovalStatus;
use toolcrib_core::escape;
use toolcrib_runtime::ApprovalError;

use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::Terminal;

/// Says why an answer does not count.
pub(super) fn explain(terminal: Terminal, id: &str, err: ApprovalError) -> Result<Exit, CliError> {
    let id = escape::line(id);
    match err {
        ApprovalError::NotFound => {
            let hint = "`toolcrib approvals list` lists the calls that are waiting";
            terminal
                .fail(&format!("no call is waiting for approval with the id `{id}`"), Some(hint));
        }
        ApprovalError::OwnCall => {
            let hint = "another person or another token must answer";
            terminal.fail("you cannot answer a question about your own call", Some(hint));
            return Ok(Exit::Refused);
        }
        ApprovalError::Closed(status) => {
            let hint = "`toolcrib approvals show` shows the answer";
            let what = match status {
                ApprovalStatus::Pending => "is waiting",
                ApprovalStatus::Approved => "was approved already",
                ApprovalStatus::Denied => "was denied already",
                ApprovalStatus::TakenUp => "was approved already, and the approval was used",
                ApprovalStatus::Expired => "has expired",
                ApprovalStatus::Revoked => "was asked with a token that is revoked",
            };
            terminal.fail(&format!("{id} {what}"), Some(hint));
        }
        ApprovalError::Store(err) => return Err(err.into()),
    }
    Ok(Exit::Failed)
}
