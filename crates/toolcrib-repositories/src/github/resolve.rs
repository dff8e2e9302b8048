//! From the name of a repository and a revision, as people write them, to a commit.

use std::fmt::Write;

use serde::Deserialize;
use toolcrib_core::{ErrorKind, ToolError, nearest};

use crate::github::api::{AnswerForm, AnswerLife, ApiQuestion, GitHubApi, MOST_REPLY_BYTES};
use crate::github::api_reply::ApiFailure;
use crate::github::deadline::QuestionDeadline;
use crate::github::place::GitHubPlace;
use crate::github::rate_limit::TokenUse;
use crate::object_id::ObjectId;
use crate::revision_text::check_revision;

/// A repository and a commit of it.
pub(super) struct ResolvedPlace {
    /// `owner/name`, as the repository is called now.
    pub(super) full_name: String,
    pub(super) commit: ObjectId,
    /// The tree of the commit.
    pub(super) tree: ObjectId,
}

#[derive(Deserialize)]
struct RepositoryReply {
    full_name: String,
    default_branch: String,
}

#[derive(Deserialize)]
struct CommitReply {
    sha: String,
    tree: CommitTreeReply,
}

#[derive(Deserialize)]
struct CommitTreeReply {
    sha: String,
}

#[derive(Deserialize)]
struct BranchReply {
    name: String,
}

/// Finds out where a repository is now, and to which commit its revision leads.
pub(super) fn resolve(
    api: &GitHubApi,
    place: &GitHubPlace,
    deadline: &QuestionDeadline,
) -> Result<ResolvedPlace, ToolError> {
    place.check()?;
    if let Some(revision) = &place.revision {
        check_revision(revision)?;
    }
    let asked = place.full_name();
    let repository: RepositoryReply = api
        .json(&ApiQuestion::json(&format!("/repos/{asked}")), deadline)
        .map_err(|failure| no_repository(api, &asked, failure))?;
    // A repository that was renamed answers to its old name, too.
    let full_name = GitHubPlace::parse(&repository.full_name)?.full_name();
    let revision = place.revision.as_ref().unwrap_or(&repository.default_branch);
    check_revision(revision)?;
    let commit = commit_id(api, &full_name, revision, deadline)?;
    let path = format!("/repos/{full_name}/git/commits/{commit}");
    let question = ApiQuestion { lasts: AnswerLife::UntilChanged, ..ApiQuestion::json(&path) };
    let reply: CommitReply = api.json(&question, deadline)?;
    let ids = ObjectId::from_hex(&reply.sha).zip(ObjectId::from_hex(&reply.tree.sha));
    let Some((_, tree)) = ids.filter(|(id, _)| *id == commit) else {
        let message = format!("`{}` answered for the commit {commit} with another one", api.host());
        return Err(ToolError::new(ErrorKind::Io, message).hint("repeat the call"));
    };
    Ok(ResolvedPlace { full_name, commit, tree })
}

/// Returns the commit that a revision leads to now.
fn commit_id(
    api: &GitHubApi,
    full_name: &str,
    revision: &str,
    deadline: &QuestionDeadline,
) -> Result<ObjectId, ToolError> {
    let path = format!("/repos/{full_name}/commits/{}", escaped(revision));
    let (form, lasts) = (AnswerForm::CommitId, AnswerLife::UntilChanged);
    let question = ApiQuestion { path: &path, form, most_bytes: MOST_REPLY_BYTES, lasts };
    let answer = match api.ask(&question, deadline) {
        Ok(answer) => answer,
        Err(failure) => return Err(no_commit(api, full_name, revision, failure, deadline)),
    };
    let id = std::str::from_utf8(&answer.body).ok().and_then(|id| ObjectId::from_hex(id.trim()));
    id.filter(|id| id.as_bytes().len() == 20).ok_or_else(|| {
        let message = format!("`{}` did not answer with a commit for `{revision}`", api.host());
        ToolError::new(ErrorKind::Io, message)
            .hint("check the API address; that of an Enterprise server is `https://HOST/api/v3`")
    })
}

fn no_repository(api: &GitHubApi, full_name: &str, failure: ApiFailure) -> ToolError {
    if failure.status != 404 || failure.error.kind != ErrorKind::NotFound {
        return failure.error;
    }
    let host = api.address.web_host();
    match api.token_use() {
        TokenUse::Sent => {
            let message = format!(
                "the repository `{full_name}` does not exist on `{host}`, or the token may not see it"
            );
            ToolError::new(ErrorKind::NotFound, message)
                .hint("check the name, and that the token may read this repository")
        }
        TokenUse::None => {
            let message = format!(
                "the repository `{full_name}` does not exist on `{host}`, or is private and needs a token"
            );
            ToolError::new(ErrorKind::NotFound, message)
                .hint("check the name; for a private repository, set GITHUB_TOKEN")
        }
    }
}

/// Returns why a revision leads to no commit.
fn no_commit(
    api: &GitHubApi,
    full_name: &str,
    revision: &str,
    failure: ApiFailure,
    deadline: &QuestionDeadline,
) -> ToolError {
    match failure.status {
        409 => {
            let message = format!("the repository `{full_name}` has no commits yet");
            ToolError::new(ErrorKind::Unavailable, message)
                .hint("push a commit, then repeat the call")
        }
        404 | 422 => {
            let path = format!("/repos/{full_name}/branches?per_page=100");
            let branches: Result<Vec<BranchReply>, ApiFailure> =
                api.json(&ApiQuestion::json(&path), deadline);
            let names: Vec<String> =
                branches.into_iter().flatten().map(|branch| branch.name).collect();
            let near = nearest::nearest(revision, names.iter().map(String::as_str), 3);
            let message = format!("the repository `{full_name}` has no revision `{revision}`");
            ToolError::new(ErrorKind::NotFound, message).hint(if near.is_empty() {
                "write a branch, a tag or a commit of the repository".to_owned()
            } else {
                format!("did you mean {}?", nearest::either(&near))
            })
        }
        _ => failure.error,
    }
}

/// Writes a revision into a path. The slashes of a branch stay.
fn escaped(revision: &str) -> String {
    let mut path = String::new();
    for byte in revision.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => {
                path.push(char::from(byte));
            }
            _ => {
                let _ = write!(path, "%{byte:02X}");
            }
        }
    }
    path
}
