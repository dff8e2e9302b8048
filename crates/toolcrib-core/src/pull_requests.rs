//! Pull requests: the port through which tools ask how one stands.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cancel::Cancel;
use crate::error::{ErrorKind, ToolError};

/// Knows pull requests.
pub trait PullRequests: Send + Sync {
    /// Returns the host that is asked, if there is one.
    fn host(&self) -> Option<String>;

    /// Returns how a pull request stands.
    fn status(
        &self,
        question: &PullRequestQuestion,
        cancel: &Cancel,
    ) -> Result<PullRequestStatus, ToolError>;
}

/// The longest owner or name of a repository, in bytes. GitHub's own limits are 39 and 100.
const LONGEST_REPOSITORY_NAME_BYTES: usize = 100;

/// Splits `owner/name`, as people write it; returns nothing if it can be no repository.
pub fn owner_and_name(text: &str) -> Option<(&str, &str)> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_name = |name: &str| {
        !matches!(name, "" | "." | "..")
            && name.len() <= LONGEST_REPOSITORY_NAME_BYTES
            && name.bytes().all(is_plain)
    };
    text.split_once('/').filter(|(owner, name)| is_name(owner) && is_name(name))
}

/// Which pull request is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestQuestion {
    /// The repository as `owner/name`; the connected one if there is none.
    pub repository: Option<String>,
    /// The host of the page that names the pull request, if a page does.
    pub host: Option<String>,
    /// The number of the pull request.
    pub number: u64,
    /// The time in which the answer must be there.
    pub time: Duration,
}

/// How a pull request stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PullRequestStatus {
    /// The number.
    pub number: u64,
    /// The title.
    pub title: String,
    /// Whether it is open, closed or merged.
    pub state: PullRequestState,
    /// Whether it is a draft.
    pub draft: bool,
    /// Whether it can be merged without conflicts. Null while GitHub has not computed it.
    pub mergeable: Option<bool>,
    /// GitHub's word for whether it may be merged: clean, blocked, behind, dirty, draft, unstable, `has_hooks`, unknown
    pub mergeable_state: String,
    /// The branch that is to be merged.
    pub head: PullRequestBranch,
    /// The branch that it is merged into.
    pub base: PullRequestBranch,
    /// Who opened it.
    pub author: String,
    /// Its page.
    pub url: String,
    /// The checks of its last commit.
    pub checks: PullRequestChecks,
    /// Its reviews.
    pub reviews: PullRequestReviews,
}

/// What became of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PullRequestState {
    /// It is open.
    Open,
    /// It was closed, and not merged.
    Closed,
    /// It was merged.
    Merged,
}

/// A branch of a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PullRequestBranch {
    /// The name of the branch.
    #[serde(rename = "ref")]
    pub name: String,
    /// The commit.
    pub sha: String,
    /// The repository as `owner/name`. Null if it was deleted.
    pub repository: Option<String>,
}

/// The checks of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PullRequestChecks {
    /// How many there are.
    pub total: usize,
    /// How many passed, or were skipped.
    pub passed: usize,
    /// How many failed.
    pub failed: usize,
    /// How many have not ended.
    pub pending: usize,
    /// All of them.
    pub list: Vec<PullRequestCheck>,
    /// Why some checks may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A check of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PullRequestCheck {
    /// The name.
    pub name: String,
    /// How far it is: queued, `in_progress`, completed
    pub status: String,
    /// How it ended. Null while it has not.
    pub conclusion: Option<String>,
    /// Its page.
    pub url: Option<String>,
}

/// How a check stands. What needs somebody comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckOutcome {
    /// It ended without success.
    Failed,
    /// It has not ended.
    Pending,
    /// It ended with success, or was skipped.
    Passed,
}

impl PullRequestCheck {
    /// Returns how the check stands.
    pub fn outcome(&self) -> CheckOutcome {
        match (self.status.as_str(), self.conclusion.as_deref()) {
            ("completed", Some("success" | "neutral" | "skipped")) => CheckOutcome::Passed,
            ("completed", _) => CheckOutcome::Failed,
            _ => CheckOutcome::Pending,
        }
    }
}

/// The reviews of a pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PullRequestReviews {
    /// How many reviewers approve.
    pub approved: usize,
    /// How many reviewers want changes.
    pub changes_requested: usize,
    /// What each reviewer said last.
    pub list: Vec<PullRequestReview>,
    /// Who was asked for a review and has not given one.
    pub requested: Vec<String>,
}

/// What a reviewer said last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PullRequestReview {
    /// The reviewer.
    pub reviewer: String,
    /// The verdict: approved, `changes_requested`, commented, dismissed
    pub state: String,
}

/// Knows no pull requests.
#[derive(Clone, Copy, Debug)]
pub struct NoPullRequests;

impl PullRequests for NoPullRequests {
    fn host(&self) -> Option<String> {
        None
    }

    fn status(&self, _: &PullRequestQuestion, _: &Cancel) -> Result<PullRequestStatus, ToolError> {
        Err(ToolError::new(ErrorKind::Unavailable, "GitHub is not connected here")
            .hint("log in with `gh auth login`, or set GITHUB_TOKEN"))
    }
}
