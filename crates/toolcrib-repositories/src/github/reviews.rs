//! The reviews of a pull request: what each reviewer said last.

use serde::Deserialize;
use toolcrib_core::ToolError;
use toolcrib_core::pull_requests::{PullRequestReview, PullRequestReviews};

use crate::github::api::GitHubApi;
use crate::github::deadline::QuestionDeadline;

/// The name of a user whose account was deleted, as GitHub shows it.
const DELETED_USER: &str = "ghost";

#[derive(Deserialize)]
struct ReviewItemReply {
    user: Option<ReviewerReply>,
    state: String,
}

#[derive(Deserialize)]
struct ReviewerReply {
    login: String,
}

/// Returns the reviews of a pull request, whose missing reviewers are known.
pub(super) fn reviews_of(
    api: &GitHubApi,
    pull_request: &str,
    requested: Vec<String>,
    deadline: &QuestionDeadline,
) -> Result<PullRequestReviews, ToolError> {
    let path = format!("{pull_request}/reviews?per_page=100");
    let pages: Vec<Vec<ReviewItemReply>> = api.pages(&path, deadline)?;
    let mut list: Vec<PullRequestReview> = Vec::new();
    // The oldest come first.
    for review in pages.into_iter().flatten() {
        let reviewer = review.user.map_or_else(|| DELETED_USER.to_owned(), |user| user.login);
        let state = review.state.to_ascii_lowercase();
        // A review that is not submitted is nobody's business yet.
        if state == "pending" {
            continue;
        }
        match list.iter_mut().find(|it| it.reviewer == reviewer) {
            // A comment takes no verdict back.
            Some(known) if state == "commented" && known.state != "dismissed" => {}
            Some(known) => known.state = state,
            None => list.push(PullRequestReview { reviewer, state }),
        }
    }
    let count = |state: &str| list.iter().filter(|review| review.state == state).count();
    let (approved, changes_requested) = (count("approved"), count("changes_requested"));
    Ok(PullRequestReviews { approved, changes_requested, list, requested })
}
