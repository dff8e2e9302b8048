//! How a pull request stands: its state, checks, reviews and mergeability in one answer.

use std::ffi::OsString;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use toolcrib_core::net::Net;
use toolcrib_core::pull_requests::{
    PullRequestBranch, PullRequestQuestion, PullRequestState, PullRequestStatus, PullRequests,
};
use toolcrib_core::{Cancel, ErrorKind, ToolError};

use crate::github::api::{ApiQuestion, GitHubApi};
use crate::github::api_address::ApiAddress;
use crate::github::checks::checks_of;
use crate::github::deadline::QuestionDeadline;
use crate::github::gh_program::gh_token;
use crate::github::place::GitHubPlace;
use crate::github::reviews::reviews_of;

/// The wait until GitHub has computed whether a pull request can be merged. The first question makes it begin.
const MERGEABLE_WAIT: Duration = Duration::from_millis(1500);

#[derive(Deserialize)]
struct PullReply {
    number: u64,
    title: String,
    state: String,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    merged: bool,
    mergeable: Option<bool>,
    #[serde(default)]
    mergeable_state: String,
    head: PullBranchReply,
    base: PullBranchReply,
    user: Option<PullUserReply>,
    html_url: String,
    #[serde(default)]
    requested_reviewers: Vec<PullUserReply>,
    #[serde(default)]
    requested_teams: Vec<PullTeamReply>,
}

#[derive(Deserialize)]
struct PullBranchReply {
    #[serde(rename = "ref")]
    name: String,
    sha: String,
    repo: Option<PullRepositoryReply>,
}

#[derive(Deserialize)]
struct PullRepositoryReply {
    full_name: String,
}

#[derive(Deserialize)]
struct PullUserReply {
    login: String,
}

#[derive(Deserialize)]
struct PullTeamReply {
    slug: String,
}

/// Returns how a pull request of a repository stands.
pub fn pull_request_status(
    net: Arc<dyn Net>,
    place: &GitHubPlace,
    number: u64,
    time: Duration,
    cancel: &Cancel,
) -> Result<PullRequestStatus, ToolError> {
    let api = GitHubApi::new(net, &place.api_url, place.token.clone())?;
    ask_status(&api, place, number, &QuestionDeadline::new(time, cancel))
}

fn ask_status(
    api: &GitHubApi,
    place: &GitHubPlace,
    number: u64,
    deadline: &QuestionDeadline,
) -> Result<PullRequestStatus, ToolError> {
    place.check()?;
    let asked = place.full_name();
    let path = format!("/repos/{asked}/pulls/{number}");
    let ask = || {
        api.json::<PullReply>(&ApiQuestion::json(&path), deadline).map_err(|failure| {
            if failure.status != 404 || failure.error.kind != ErrorKind::NotFound {
                return failure.error;
            }
            let message = format!(
                "`{asked}` has no pull request {number}, does not exist, or the token may not see it"
            );
            ToolError::new(ErrorKind::NotFound, message)
                .hint("check the number and the repository; a private one needs GITHUB_TOKEN")
        })
    };
    let mut reply = ask()?;
    let is_unknown = |reply: &PullReply| reply.mergeable.is_none() && reply.state == "open";
    if is_unknown(&reply) && deadline.has_room_for(MERGEABLE_WAIT) {
        deadline.wait(MERGEABLE_WAIT, api.host())?;
        reply = ask()?;
    }
    // A repository that was renamed says its own name.
    let full_name = match &reply.base.repo {
        Some(repository) => GitHubPlace::parse(&repository.full_name)?.full_name(),
        None => asked.clone(),
    };
    let is_id = |sha: &str| sha.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id(&reply.head.sha) {
        let message = format!("`{}` names no commit for the pull request {number}", api.host());
        return Err(ToolError::new(ErrorKind::Io, message).hint("repeat the call"));
    }
    let checks = checks_of(api, &full_name, &reply.head.sha, deadline)?;
    let users = reply.requested_reviewers.iter().map(|user| user.login.clone());
    let teams = reply.requested_teams.iter().map(|team| team.slug.clone());
    let requested = users.chain(teams).collect();
    let path = format!("/repos/{full_name}/pulls/{number}");
    let reviews = reviews_of(api, &path, requested, deadline)?;
    Ok(PullRequestStatus {
        number: reply.number,
        title: reply.title,
        state: match reply.state.as_str() {
            _ if reply.merged => PullRequestState::Merged,
            "open" => PullRequestState::Open,
            _ => PullRequestState::Closed,
        },
        draft: reply.draft,
        mergeable: reply.mergeable,
        mergeable_state: reply.mergeable_state,
        head: reply.head.branch(),
        base: reply.base.branch(),
        author: reply.user.map_or_else(|| "ghost".to_owned(), |user| user.login),
        url: reply.html_url,
        checks,
        reviews,
    })
}

impl PullBranchReply {
    fn branch(self) -> PullRequestBranch {
        let repository = self.repo.map(|repository| repository.full_name);
        PullRequestBranch { name: self.name, sha: self.sha, repository }
    }
}

/// How pull requests are asked about.
#[derive(Clone)]
pub struct PullRequestAccess {
    /// The address of the REST API.
    pub api_url: String,
    /// The token, if `gh` has none.
    pub token: Option<String>,
    /// The repository as `owner/name`, if a question names none.
    pub repository: Option<String>,
    /// The folders in which the program `gh` is looked for, as in the variable `PATH`. Empty if it is not to be asked.
    pub program_path: OsString,
}

impl fmt::Debug for PullRequestAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PullRequestAccess")
            .field("api_url", &self.api_url)
            .field("repository", &self.repository)
            .finish_non_exhaustive()
    }
}

/// The pull requests of GitHub. The token is that of `gh` where it is installed and logged in, and else the one of the
/// settings.
pub struct GitHubPullRequests {
    net: Arc<dyn Net>,
    access: PullRequestAccess,
    /// The API for the token that was used last.
    api: Mutex<Option<(Option<String>, Arc<GitHubApi>)>>,
}

impl GitHubPullRequests {
    /// Makes the port to GitHub's pull requests.
    pub fn new(net: Arc<dyn Net>, access: PullRequestAccess) -> Self {
        Self { net, access, api: Mutex::default() }
    }

    fn api(&self, cancel: &Cancel) -> Result<Arc<GitHubApi>, ToolError> {
        let address = ApiAddress::parse(&self.access.api_url)?;
        let own = gh_token(&self.access.program_path, address.web_host(), cancel);
        let token = own.or_else(|| self.access.token.clone());
        let mut known = self.api.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, api)) = known.as_ref().filter(|(used, _)| *used == token) {
            return Ok(Arc::clone(api));
        }
        let api = GitHubApi::new(Arc::clone(&self.net), &self.access.api_url, token.clone())?;
        let api = Arc::new(api);
        *known = Some((token, Arc::clone(&api)));
        Ok(api)
    }
}

impl PullRequests for GitHubPullRequests {
    fn host(&self) -> Option<String> {
        ApiAddress::parse(&self.access.api_url).ok().map(|address| address.host().to_owned())
    }

    fn status(
        &self,
        question: &PullRequestQuestion,
        cancel: &Cancel,
    ) -> Result<PullRequestStatus, ToolError> {
        let deadline = QuestionDeadline::new(question.time, cancel);
        let named = question.repository.as_ref().or(self.access.repository.as_ref());
        let Some(named) = named else {
            let message = "it is not said which repository the pull request is in";
            return Err(ToolError::new(ErrorKind::BadArgs, message)
                .hint("give `repo` as owner/name, or the URL of the pull request"));
        };
        let place = GitHubPlace::parse(named)?;
        let address = ApiAddress::parse(&self.access.api_url)?;
        let is_other = |host: &&String| !host.eq_ignore_ascii_case(address.web_host());
        if let Some(host) = question.host.as_ref().filter(is_other) {
            let (host, own) = (host.escape_debug(), address.web_host());
            let message =
                format!("the pull request is on `{host}`, and this is connected to `{own}`");
            return Err(ToolError::new(ErrorKind::BadArgs, message)
                .hint("name a pull request there, or have the operator set the API address"));
        }
        ask_status(&*self.api(cancel)?, &place, question.number, &deadline)
    }
}
