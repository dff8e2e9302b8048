//! A repository that is opened when a call first needs it. A session reads one commit, whatever happens to the branch;
//! a new session sees what the branch leads to by then.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use toolcrib_core::net::Net;
use toolcrib_core::policy::DeniedPaths;
use toolcrib_core::search::{Found, FoundPaths, Glob, Grep, Pattern, Scope};
use toolcrib_core::{
    Cancel, Connection, Content, ErrorKind, Listing, Meta, Search, ToolError, Tree,
};

use crate::git::repository::{GitRepository, GitRepositoryOptions};
use crate::github::api_address::ApiAddress;
use crate::github::options::GitHubOptions;
use crate::github::place::GitHubPlace;
use crate::github::repository::GitHubRepository;
use crate::open_repository::{OpenFunction, OpenRepository};
use crate::opened_repositories::OpenedRepositories;

/// A repository that is opened when it is needed.
pub struct RepositorySource {
    /// The host that it is on, if it is not on this machine.
    host: Option<String>,
    open: Box<OpenFunction>,
    opened: OpenedRepositories,
}

impl RepositorySource {
    /// Returns a repository that `open` opens.
    pub fn new(
        open: impl Fn(&Cancel) -> Result<Arc<dyn OpenRepository>, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self { host: None, open: Box::new(open), opened: OpenedRepositories::default() }
    }

    /// Returns a git repository on disk.
    pub fn git(path: PathBuf, revision: String, options: GitRepositoryOptions) -> Self {
        Self::new(move |cancel| {
            let repository = GitRepository::open_with(&path, &revision, options.clone(), cancel)?;
            Ok(Arc::new(repository) as _)
        })
    }

    /// Returns a repository on GitHub.
    pub fn github(net: Arc<dyn Net>, place: GitHubPlace, options: GitHubOptions) -> Self {
        let last = Mutex::<Option<Arc<GitHubRepository>>>::default();
        let host = ApiAddress::parse(&place.api_url).ok().map(|it| it.host().to_owned());
        let source = Self::new(move |cancel| {
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
        });
        Self { host, ..source }
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
        Connection { host: self.host.clone(), files: Arc::clone(&lazy) as _, search: lazy }
    }

    /// Opens the repository for a session.
    pub fn open_for(
        &self,
        session: &str,
        cancel: &Cancel,
    ) -> Result<Arc<dyn OpenRepository>, ToolError> {
        self.opened.find_or_open(session, cancel, &*self.open)
    }
}

/// The connection of one call, opened when it is first used.
struct LazyConnection {
    source: Arc<RepositorySource>,
    session: String,
    cancel: Cancel,
    /// What was denied before it was opened.
    denied: Mutex<Vec<DeniedPaths>>,
    connection: OnceLock<(Arc<dyn OpenRepository>, Connection)>,
}

impl LazyConnection {
    fn opened(&self) -> Result<&Connection, ToolError> {
        if let Some((_, connection)) = self.connection.get() {
            return Ok(connection);
        }
        let repository =
            self.source.open_for(&self.session, &self.cancel).map_err(not_connected)?;
        let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = self.connection.get_or_init(|| {
            let connection = repository.connect(&self.cancel);
            denied.drain(..).for_each(|denied| connection.files.deny(denied));
            (repository, connection)
        });
        Ok(&opened.1)
    }

    /// Uses the connection, and counts for this call what was sent meanwhile for no single one.
    fn with<T>(
        &self,
        use_it: impl FnOnce(&Connection) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let used = use_it(self.opened()?);
        if let Some((repository, _)) = self.connection.get() {
            repository.charge_background(&self.cancel);
        }
        used
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
        self.with(|it| it.files.stat(path))
    }

    fn stat_each(&self, paths: &[String]) -> Vec<Result<Meta, ToolError>> {
        match self.with(|it| Ok(it.files.stat_each(paths))) {
            Ok(metas) => metas,
            Err(err) => paths.iter().map(|_| Err(err.clone())).collect(),
        }
    }

    fn read(&self, path: &str, most: u64) -> Result<Content, ToolError> {
        self.with(|it| it.files.read(path, most))
    }

    fn count_lines(&self, path: &str) -> Result<u64, ToolError> {
        self.with(|it| it.files.count_lines(path))
    }

    fn list(&self, path: &str, most: usize) -> Result<Listing, ToolError> {
        self.with(|it| it.files.list(path, most))
    }

    fn deny(&self, paths: DeniedPaths) {
        let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        match self.connection.get() {
            Some((_, connection)) => connection.files.deny(paths),
            None => denied.push(paths),
        }
    }
}

impl Search for LazyConnection {
    fn check(&self, pattern: Option<&Pattern>, scope: &Scope) -> Result<(), ToolError> {
        self.with(|it| it.search.check(pattern, scope))
    }

    fn grep(&self, ask: &Grep, cancel: &Cancel) -> Result<Found, ToolError> {
        self.with(|it| it.search.grep(ask, cancel))
    }

    fn glob(&self, ask: &Glob, cancel: &Cancel) -> Result<FoundPaths, ToolError> {
        self.with(|it| it.search.glob(ask, cancel))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Barrier, mpsc};

    use super::*;
    use crate::opened_repositories::{FRESH_TIME, MOST_SESSIONS};

    /// A repository of which only the commit matters.
    struct AtCommit(String);

    impl OpenRepository for AtCommit {
        fn commit(&self) -> String {
            self.0.clone()
        }

        fn notices(&self) -> Vec<String> {
            Vec::new()
        }

        fn connect(&self, _: &Cancel) -> Connection {
            unreachable!("nothing is read here")
        }

        fn charge_background(&self, _: &Cancel) {}
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
        source.opened.known().last.as_mut().unwrap().0 -= FRESH_TIME;
        assert_eq!((commit("c"), commit("a")), ("commit 1".to_owned(), "commit 0".to_owned()));
        assert_eq!(opened.load(Ordering::Relaxed), 2);
        // A session that reads again and again is not forgotten for those that come after it.
        for number in 0..MOST_SESSIONS * 2 {
            commit(&format!("new {number}"));
            assert_eq!(commit("a"), "commit 0");
        }
        assert_eq!(commit("b"), "commit 1", "which was not read for long");
    }

    #[test]
    fn what_cannot_be_opened_says_why_and_is_tried_again_after_a_while() {
        let tries = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&tries);
        let source = Arc::new(RepositorySource::new(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Err(ToolError::new(ErrorKind::Unavailable, "the disk is away"))
        }));
        let check = |session: &str, expected: usize| {
            let connection = source.connect(session, &Cancel::default());
            let err = connection.files.stat(".").unwrap_err();
            assert!(err.message.ends_with("the disk is away"), "{err}");
            assert_eq!(tries.load(Ordering::Relaxed), expected);
        };
        check("a", 1);
        // As if no time passed in between.
        let long = std::time::Duration::from_mins(5);
        source.opened.known().failure.as_mut().unwrap().0 += long;
        check("a", 1);
        check("b", 1);
        // As if time had passed.
        source.opened.known().failure.as_mut().unwrap().0 -= long * 2;
        check("b", 2);
    }

    #[test]
    fn sessions_wait_together_and_whoever_is_cancelled_leaves_alone() {
        const WAITING: usize = 4;
        let (tries, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(2)));
        let (release, held) = mpsc::channel::<()>();
        let (count, barrier, held) = (Arc::clone(&tries), Arc::clone(&begun), Mutex::new(held));
        let source = RepositorySource::new(move |cancel| {
            let number = count.fetch_add(1, Ordering::Relaxed);
            barrier.wait();
            if number == 0 {
                while !cancel.is_cancelled() {
                    std::thread::yield_now();
                }
                cancel.check()?;
            }
            held.lock().unwrap().recv().unwrap();
            Ok(Arc::new(AtCommit(format!("commit {number}"))) as _)
        });
        let (first, third) = (Cancel::default(), Cancel::default());
        let open = |session: &str, cancel: &Cancel| {
            source.open_for(session, cancel).map(|it| it.commit()).map_err(|err| err.kind)
        };
        std::thread::scope(|scope| {
            let opens = scope.spawn(|| open("first", &first));
            begun.wait();
            let waits: Vec<_> = (0..WAITING)
                .map(|it| scope.spawn(move || open(&format!("waits {it}"), &Cancel::default())))
                .collect();
            // It waits for the first one, which hangs, and leaves all the same.
            let leaves = scope.spawn(|| open("third", &third));
            third.cancel();
            assert_eq!(leaves.join().unwrap(), Err(ErrorKind::Cancelled));
            first.cancel();
            assert_eq!(opens.join().unwrap(), Err(ErrorKind::Cancelled));
            // One of those that waited opens it for all of them.
            begun.wait();
            release.send(()).unwrap();
            for wait in waits {
                assert_eq!(wait.join().unwrap(), Ok("commit 1".to_owned()));
            }
            assert_eq!(tries.load(Ordering::Relaxed), 2);
        });
    }
}
