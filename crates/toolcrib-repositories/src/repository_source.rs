//! A repository that is opened when a call first needs it. A session reads one commit, whatever happens to the branch;
//! a new session sees what the branch leads to by then.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use toolcrib_core::net::Net;
use toolcrib_core::policy::DeniedPaths;
use toolcrib_core::search::{Found, FoundPaths, Glob, Grep, Pattern, Scope};
use toolcrib_core::{
    Cancel, Connection, Content, ErrorKind, Listing, Meta, Search, ToolError, Tree,
};

use crate::git::repository::{GitRepository, GitRepositoryOptions};
use crate::github::options::GitHubOptions;
use crate::github::place::GitHubPlace;
use crate::github::repository::GitHubRepository;

/// How many sessions are known to read a commit.
const MOST_SESSIONS: usize = 256;

/// How long what a revision leads to holds for sessions that begin.
const FRESH_TIME: Duration = Duration::from_secs(10);

/// A repository that is open at a commit.
pub trait OpenRepository: Send + Sync {
    /// Returns the commit, in hexadecimal digits.
    fn commit(&self) -> String;

    /// Returns what whoever connects it should know, such as another name that it has by now.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns files and search as the connection of one call.
    fn connect(&self, cancel: &Cancel) -> Connection;
}

impl OpenRepository for GitRepository {
    fn commit(&self) -> String {
        Self::commit(self)
    }

    fn connect(&self, cancel: &Cancel) -> Connection {
        Self::connect(self, cancel)
    }
}

impl OpenRepository for GitHubRepository {
    fn commit(&self) -> String {
        Self::commit(self)
    }

    fn notices(&self) -> Vec<String> {
        Self::notices(self)
    }

    fn connect(&self, cancel: &Cancel) -> Connection {
        Self::connect(self, cancel)
    }
}

/// Opens a repository at the commit that its revision leads to now.
type Opener = dyn Fn(&Cancel) -> Result<Arc<dyn OpenRepository>, ToolError> + Send + Sync;

/// A repository that is opened when it is needed.
pub struct RepositorySource {
    open: Box<Opener>,
    opened: Mutex<OpenedRepositories>,
}

#[derive(Default)]
struct OpenedRepositories {
    /// Which session reads which commit, those that began last behind.
    sessions: VecDeque<(String, Arc<dyn OpenRepository>)>,
    /// What was opened last, and when.
    last: Option<(Instant, Arc<dyn OpenRepository>)>,
}

impl RepositorySource {
    /// Returns a repository that `open` opens.
    pub fn new(
        open: impl Fn(&Cancel) -> Result<Arc<dyn OpenRepository>, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self { open: Box::new(open), opened: Mutex::default() }
    }

    /// Returns a git repository on disk.
    pub fn git(path: PathBuf, revision: String, options: GitRepositoryOptions) -> Self {
        Self::new(move |_| {
            let repository = GitRepository::open_with(&path, &revision, options.clone())?;
            Ok(Arc::new(repository) as _)
        })
    }

    /// Returns a repository on GitHub.
    pub fn github(net: Arc<dyn Net>, place: GitHubPlace, options: GitHubOptions) -> Self {
        let last = Mutex::<Option<Arc<GitHubRepository>>>::default();
        Self::new(move |cancel| {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            let now = if let Some(last) = &*last {
                last.open_again(cancel)?
            } else {
                let (net, place) = (Arc::clone(&net), place.clone());
                GitHubRepository::open_with(net, place, options.clone(), cancel)?
            };
            let now = Arc::new(now);
            *last = Some(Arc::clone(&now));
            Ok(now as _)
        })
    }

    /// Returns the repository as one call of a session sees it. It is opened when the call reads from it.
    pub fn connect(self: &Arc<Self>, session: &str, cancel: &Cancel) -> Connection {
        let lazy = Arc::new(LazyConnection {
            source: Arc::clone(self),
            session: session.to_owned(),
            cancel: cancel.clone(),
            denied: Mutex::default(),
            connection: OnceLock::new(),
        });
        Connection { files: Arc::clone(&lazy) as _, search: lazy }
    }

    /// Opens the repository for a session.
    pub fn open_for(
        &self,
        session: &str,
        cancel: &Cancel,
    ) -> Result<Arc<dyn OpenRepository>, ToolError> {
        // Held while it is opened, so that many first calls open it once.
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = opened.sessions.iter().find(|(known, _)| known == session) {
            return Ok(Arc::clone(known));
        }
        let repository = match &opened.last {
            Some((at, last)) if at.elapsed() < FRESH_TIME => Arc::clone(last),
            last => {
                let now = (self.open)(cancel)?;
                // The same commit keeps its index.
                let same = last.as_ref().filter(|(_, last)| last.commit() == now.commit());
                same.map_or(now, |(_, last)| Arc::clone(last))
            }
        };
        opened.last = Some((Instant::now(), Arc::clone(&repository)));
        if opened.sessions.len() >= MOST_SESSIONS {
            opened.sessions.pop_front();
        }
        opened.sessions.push_back((session.to_owned(), Arc::clone(&repository)));
        Ok(repository)
    }
}

/// The connection of one call, opened when it is first used.
struct LazyConnection {
    source: Arc<RepositorySource>,
    session: String,
    cancel: Cancel,
    /// What was denied before it was opened.
    denied: Mutex<Vec<DeniedPaths>>,
    connection: OnceLock<Connection>,
}

impl LazyConnection {
    fn opened(&self) -> Result<&Connection, ToolError> {
        if let Some(connection) = self.connection.get() {
            return Ok(connection);
        }
        let repository =
            self.source.open_for(&self.session, &self.cancel).map_err(not_connected)?;
        let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.connection.get_or_init(|| {
            let connection = repository.connect(&self.cancel);
            denied.drain(..).for_each(|denied| connection.files.deny(denied));
            connection
        }))
    }

    fn files(&self) -> Result<&dyn Tree, ToolError> {
        Ok(&*self.opened()?.files)
    }
}

/// Returns an error that is about the repository, and not about a path in it.
fn not_connected(err: ToolError) -> ToolError {
    match err.kind {
        ErrorKind::Cancelled | ErrorKind::Timeout => err,
        _ => {
            let message = format!("the connected repository cannot be read: {}", err.message);
            ToolError { kind: ErrorKind::Unavailable, message, path: None, ..err }
        }
    }
}

impl Tree for LazyConnection {
    fn stat(&self, path: &str) -> Result<Meta, ToolError> {
        self.files()?.stat(path)
    }

    fn read(&self, path: &str, most: u64) -> Result<Content, ToolError> {
        self.files()?.read(path, most)
    }

    fn count_lines(&self, path: &str) -> Result<u64, ToolError> {
        self.files()?.count_lines(path)
    }

    fn list(&self, path: &str, most: usize) -> Result<Listing, ToolError> {
        self.files()?.list(path, most)
    }

    fn deny(&self, paths: DeniedPaths) {
        let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        match self.connection.get() {
            Some(connection) => connection.files.deny(paths),
            None => denied.push(paths),
        }
    }
}

impl Search for LazyConnection {
    fn check(&self, pattern: Option<&Pattern>, scope: &Scope) -> Result<(), ToolError> {
        self.opened()?.search.check(pattern, scope)
    }

    fn grep(&self, ask: &Grep, cancel: &Cancel) -> Result<Found, ToolError> {
        self.opened()?.search.grep(ask, cancel)
    }

    fn glob(&self, ask: &Glob, cancel: &Cancel) -> Result<FoundPaths, ToolError> {
        self.opened()?.search.glob(ask, cancel)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A repository of which only the commit matters.
    struct AtCommit(String);

    impl OpenRepository for AtCommit {
        fn commit(&self) -> String {
            self.0.clone()
        }

        fn connect(&self, _: &Cancel) -> Connection {
            unreachable!("nothing is read here")
        }
    }

    #[test]
    fn a_session_stays_at_its_commit() {
        let opened = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&opened);
        let source = RepositorySource::new(move |_| {
            let number = count.fetch_add(1, Ordering::Relaxed);
            Ok(Arc::new(AtCommit(format!("commit {number}"))) as _)
        });
        let commit = |session: &str| source.open_for(session, &Cancel::default()).unwrap().commit();
        assert_eq!((commit("a"), commit("b")), ("commit 0".to_owned(), "commit 0".to_owned()));
        // As if time had passed.
        source.opened.lock().unwrap().last.as_mut().unwrap().0 -= FRESH_TIME;
        assert_eq!((commit("c"), commit("a")), ("commit 1".to_owned(), "commit 0".to_owned()));
        assert_eq!(opened.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn what_cannot_be_opened_says_why_and_is_tried_again() {
        let source = Arc::new(RepositorySource::new(|_| {
            Err(ToolError::new(ErrorKind::Unavailable, "the disk is away"))
        }));
        for _ in 0..2 {
            let connection = source.connect("a", &Cancel::default());
            let err = connection.files.stat(".").unwrap_err();
            assert!(err.message.ends_with("the disk is away"), "{err}");
        }
    }
}
