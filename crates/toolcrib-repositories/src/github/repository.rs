//! A repository on GitHub at a revision.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use toolcrib_core::net::Net;
use toolcrib_core::{Cancel, Connection, Search, ToolError};
use toolcrib_search::{FixedEngineOptions, FixedIndexStatus};

use crate::github::api::GitHubApi;
use crate::github::deadline::QuestionDeadline;
use crate::github::object_requests::ObjectRequests;
use crate::github::object_store::ObjectStore;
use crate::github::objects::GitHubObjects;
use crate::github::options::GitHubOptions;
use crate::github::place::GitHubPlace;
use crate::github::resolve::{ResolvedPlace, resolve};
use crate::object_id::ObjectId;
use crate::revision::Revision;
use crate::revision_files::RevisionFiles;
use crate::revision_search::{RevisionSearch, search_in};

/// A repository on GitHub at a revision. What the revision leads to is found out once: a branch that moves, or is
/// replaced by force, changes nothing here until it is opened again.
pub struct GitHubRepository {
    api: Arc<GitHubApi>,
    place: GitHubPlace,
    full_name: String,
    opened: Arc<OpenedRevision>,
}

/// A commit that was opened. It stays the same when the repository is opened again and nothing has changed.
struct OpenedRevision {
    commit: ObjectId,
    objects: Arc<GitHubObjects>,
    revision: Arc<Revision>,
    search: OnceLock<Arc<RevisionSearch>>,
}

impl GitHubRepository {
    /// Opens a repository.
    pub fn open(net: Arc<dyn Net>, place: GitHubPlace, cancel: &Cancel) -> Result<Self, ToolError> {
        Self::open_with(net, place, GitHubOptions::default(), cancel)
    }

    /// Opens a repository, with options.
    pub fn open_with(
        net: Arc<dyn Net>,
        place: GitHubPlace,
        options: GitHubOptions,
        cancel: &Cancel,
    ) -> Result<Self, ToolError> {
        let api = Arc::new(GitHubApi::new(net, &place.api_url, place.token.clone())?);
        let deadline = QuestionDeadline::new(options.time, cancel);
        let resolved = resolve(&api, &place, &deadline)?;
        let store = Arc::new(ObjectStore::new(options.max_cached_bytes));
        let opened = Arc::new(OpenedRevision::new(&api, &resolved, options, store));
        Ok(Self { api, place, full_name: resolved.full_name, opened })
    }

    /// Opens the repository again, at the commit to which its revision leads now. If nothing has changed, this costs
    /// nothing of the rate limit, and what was read and indexed stays. Objects that are in both commits stay anyway.
    pub fn open_again(&self, cancel: &Cancel) -> Result<Self, ToolError> {
        let options = &self.opened.objects.options;
        let deadline = QuestionDeadline::new(options.time, cancel);
        let resolved = resolve(&self.api, &self.place, &deadline)?;
        let is_same = resolved.commit == self.opened.commit && resolved.full_name == self.full_name;
        let opened = if is_same {
            Arc::clone(&self.opened)
        } else {
            let store = Arc::clone(&self.opened.objects.store);
            Arc::new(OpenedRevision::new(&self.api, &resolved, options.clone(), store))
        };
        let (api, place) = (Arc::clone(&self.api), self.place.clone());
        Ok(Self { api, place, full_name: resolved.full_name, opened })
    }

    /// Returns the commit, in hexadecimal digits.
    pub fn commit(&self) -> String {
        self.opened.commit.to_string()
    }

    /// Returns `owner/name`, as the repository is called now.
    pub fn name(&self) -> &str {
        &self.full_name
    }

    /// The absolute path that stands for the root in rules about paths: `/github.com/owner/name`. No file is there.
    pub fn root(&self) -> PathBuf {
        self.opened.revision.path().to_owned()
    }

    /// Returns what the user should know: that the repository was renamed, or is searched with many requests.
    pub fn notices(&self) -> Vec<String> {
        let mut notices = Vec::new();
        let asked = self.place.full_name();
        if !asked.eq_ignore_ascii_case(&self.full_name) {
            notices.push(format!("the repository `{asked}` is now called `{}`", self.full_name));
        }
        if let Some(why) = self.opened.objects.archive.why_missing() {
            notices.push(format!("for search, files are read one by one: {why}"));
        }
        notices
    }

    /// Returns how many requests were sent since the repository was opened first.
    pub fn requests(&self) -> u64 {
        self.api.requests()
    }

    /// Counts for a call what was sent in the background since the last one that did, such as for the archive.
    pub fn charge_background(&self, cancel: &Cancel) {
        self.api.charge_background(cancel);
    }

    /// Returns the files as one call sees them.
    pub fn files_for(&self, cancel: &Cancel) -> RevisionFiles {
        RevisionFiles::new(Arc::clone(&self.opened.revision), cancel.clone())
    }

    /// Returns search in the files. All calls share its index.
    pub fn search(&self) -> Arc<dyn Search> {
        let OpenedRevision { objects, revision, search, .. } = &*self.opened;
        let search = search.get_or_init(|| {
            let max_memory_bytes = objects.options.max_index_bytes;
            let options = FixedEngineOptions { max_memory_bytes, threads: objects.options.threads };
            Arc::new(search_in(Arc::clone(revision), options))
        });
        Arc::clone(search) as _
    }

    /// Returns what the search index holds, once it is built.
    pub fn index_status(&self) -> Option<FixedIndexStatus> {
        self.opened.search.get()?.status()
    }

    /// Returns files and search as the connection of one call.
    pub fn connect(&self, cancel: &Cancel) -> Connection {
        let host = Some(self.api.host().to_owned());
        Connection { host, files: Arc::new(self.files_for(cancel)), search: self.search() }
    }
}

impl OpenedRevision {
    fn new(
        api: &Arc<GitHubApi>,
        resolved: &ResolvedPlace,
        options: GitHubOptions,
        store: Arc<ObjectStore>,
    ) -> Self {
        let ResolvedPlace { full_name, commit, tree } = resolved;
        let requests = ObjectRequests { api: Arc::clone(api), full_name: full_name.clone() };
        let objects = Arc::new(GitHubObjects::new(requests, (*commit, *tree), options, store));
        let path = Path::new("/").join(api.address.web_host()).join(full_name);
        let revision = Arc::new(Revision::new(Box::new(Arc::clone(&objects)), *tree, path));
        Self { commit: *commit, objects, revision, search: OnceLock::new() }
    }
}

impl std::fmt::Debug for GitHubRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitHubRepository")
            .field("place", &self.place)
            .field("commit", &self.opened.commit)
            .finish_non_exhaustive()
    }
}
