//! Repositories for tools that read a connected one: a git repository at a revision, read and searched without a
//! checkout. What a revision holds is the same wherever its objects are, so paths, links, rules and search are written
//! once, over a source of objects; `git` is the source on disk, and one over a network fits beside it.

mod git;
mod object_id;
mod objects;
mod path_lookup;
mod path_text;
mod repository_place;
mod repository_source;
mod revision;
mod revision_files;
mod revision_search;
mod tree_cache;
mod tree_object;

pub use git::repository::{GitRepository, GitRepositoryOptions};
pub use repository_place::{GITHUB_API, RepositoryPlace};
pub use repository_source::{OpenRepository, RepositorySource};
pub use revision_files::RevisionFiles;
