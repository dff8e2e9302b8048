//! The checks of a commit: those of apps, called check runs, and the older commit statuses.

use serde::Deserialize;
use toolcrib_core::ToolError;
use toolcrib_core::pull_requests::{CheckOutcome, PullRequestCheck, PullRequestChecks};

use crate::github::api::GitHubApi;
use crate::github::api_reply::ApiFailure;
use crate::github::deadline::QuestionDeadline;

#[derive(Deserialize)]
struct CheckRunsReply {
    check_runs: Vec<CheckRunReply>,
}

#[derive(Deserialize)]
struct CheckRunReply {
    name: String,
    status: String,
    conclusion: Option<String>,
    html_url: Option<String>,
    details_url: Option<String>,
}

#[derive(Deserialize)]
struct CombinedStatusReply {
    statuses: Vec<CommitStatusReply>,
}

#[derive(Deserialize)]
struct CommitStatusReply {
    context: String,
    state: String,
    target_url: Option<String>,
}

/// Returns the checks of a commit.
pub(super) fn checks_of(
    api: &GitHubApi,
    full_name: &str,
    commit: &str,
    deadline: &QuestionDeadline,
) -> Result<PullRequestChecks, ToolError> {
    let at = format!("/repos/{full_name}/commits/{commit}");
    let runs = api.pages(&format!("{at}/check-runs?per_page=100"), deadline);
    let (runs, runs_note) = unless_forbidden::<CheckRunsReply>(runs, "check runs")?;
    let statuses = api.pages(&format!("{at}/status?per_page=100"), deadline);
    let (statuses, note) = unless_forbidden::<CombinedStatusReply>(statuses, "commit statuses")?;
    let runs = runs.into_iter().flat_map(|page| page.check_runs).map(CheckRunReply::check);
    let statuses = statuses.into_iter().flat_map(|page| page.statuses);
    let list: Vec<PullRequestCheck> = runs.chain(statuses.map(CommitStatusReply::check)).collect();
    let count = |outcome: CheckOutcome| list.iter().filter(|it| it.outcome() == outcome).count();
    let notes: Vec<String> = runs_note.into_iter().chain(note).collect();
    Ok(PullRequestChecks {
        total: list.len(),
        passed: count(CheckOutcome::Passed),
        failed: count(CheckOutcome::Failed),
        pending: count(CheckOutcome::Pending),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        list,
    })
}

/// Returns what was read. A token may read pull requests and not their checks, which is then said in their place.
fn unless_forbidden<T>(
    read: Result<Vec<T>, ApiFailure>,
    what: &str,
) -> Result<(Vec<T>, Option<String>), ToolError> {
    match read {
        Ok(read) => Ok((read, None)),
        Err(failure) if failure.status == 403 && !is_rate_limit(&failure.error) => {
            Ok((Vec::new(), Some(format!("{what} are missing: {}", failure.error))))
        }
        Err(failure) => Err(failure.error),
    }
}

fn is_rate_limit(err: &ToolError) -> bool {
    err.context.get("reason").is_some_and(|reason| reason == "rate_limit")
}

impl CheckRunReply {
    fn check(self) -> PullRequestCheck {
        let Self { name, status, conclusion, html_url, details_url } = self;
        PullRequestCheck { name, status, conclusion, url: html_url.or(details_url) }
    }
}

impl CommitStatusReply {
    fn check(self) -> PullRequestCheck {
        let is_pending = self.state == "pending";
        let status = if is_pending { "in_progress" } else { "completed" }.to_owned();
        let conclusion = (!is_pending).then_some(self.state);
        PullRequestCheck { name: self.context, status, conclusion, url: self.target_url }
    }
}
