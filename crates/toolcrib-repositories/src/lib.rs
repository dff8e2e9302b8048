//! Repositories for tools that read a connected one: a git repository at a revision, on disk or on GitHub, read and
//! searched without a checkout. What a revision holds is the same wherever its objects are, so paths, links, rules and
//! search are written once, over a source of objects; `git` is the source on disk, and `github` the one over GitHub's REST API.

mod child_output;
mod child_process;
mod git;
mod github;
mod object_id;
mod objects;
mod open_repository;
mod opened_repositories;
mod path_lookup;
mod path_text;
mod repository_place;
mod repository_source;
mod revision;
mod revision_files;
mod revision_search;
mod revision_text;
mod tree_cache;
mod tree_object;

pub use git::repository::{GitRepository, GitRepositoryOptions};
pub use github::options::GitHubOptions;
pub use github::place::GitHubPlace;
pub use github::pull_request::{GitHubPullRequests, PullRequestAccess, pull_request_status};
pub use github::repository::GitHubRepository;
pub use open_repository::OpenRepository;
pub use repository_place::{GITHUB_API, RepositoryPlace};
pub use repository_source::RepositorySource;
pub use revision_files::RevisionFiles;
