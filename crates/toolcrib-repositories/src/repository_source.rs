//! A repository that is opened when a call first needs it. A session reads one commit, whatever happens to the branch;
//! a new session sees what the branch leads to by then.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

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

/// For how many sessions the commit that they read is known. Those that read longest ago are forgotten first.
const MOST_SESSIONS: usize = 256;

/// For how long a session that begins takes the commit that was found last.
const FRESH_TIME: Duration = Duration::from_secs(10);

/// A repository that is open at a commit.
pub trait OpenRepository: Send + Sync {
    /// Returns the commit, in hexadecimal digits.
    fn commit(&self) -> String;

    /// Returns what whoever connects it should know, such as another name that it has by now.
    fn notices(&self) -> Vec<String>;

    /// Returns files and search as the connection of one call.
    fn connect(&self, cancel: &Cancel) -> Connection;

    /// Counts for a call what went over the network for no single one.
    fn charge_background(&self, cancel: &Cancel);
}

impl OpenRepository for GitRepository {
    fn commit(&self) -> String {
        Self::commit(self)
    }

    fn notices(&self) -> Vec<String> {
        Vec::new()
    }

    fn connect(&self, cancel: &Cancel) -> Connection {
        Self::connect(self, cancel)
    }

    fn charge_background(&self, _: &Cancel) {}
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

    fn charge_background(&self, cancel: &Cancel) {
        Self::charge_background(self, cancel);
    }
}

/// Opens a repository at the commit that its revision leads to now.
type Opener = dyn Fn(&Cancel) -> Result<Arc<dyn OpenRepository>, ToolError> + Send + Sync;

/// A repository that is opened when it is needed.
pub struct RepositorySource {
    /// The host that it is on, if it is not on this machine.
    host: Option<String>,
    open: Box<Opener>,
    /// Held while it is opened, so that many first calls open it once.
    opening: Mutex<()>,
    opened: Mutex<OpenedRepositories>,
}

#[derive(Default)]
struct OpenedRepositories {
    /// Which session reads which commit, those that read last behind.
    sessions: VecDeque<(String, Arc<dyn OpenRepository>)>,
    /// What was opened last, and when.
    last: Option<(Instant, Arc<dyn OpenRepository>)>,
}

impl OpenedRepositories {
    /// Returns what a session reads, if it has read before.
    fn known(&mut self, session: &str) -> Option<Arc<dyn OpenRepository>> {
        let at = self.sessions.iter().position(|(known, _)| known == session)?;
        let known = self.sessions.remove(at)?;
        let repository = Arc::clone(&known.1);
        self.sessions.push_back(known);
        Some(repository)
    }
}

impl RepositorySource {
    /// Returns a repository that `open` opens.
    pub fn new(
        open: impl Fn(&Cancel) -> Result<Arc<dyn OpenRepository>, ToolError> + Send + Sync + 'static,
    ) -> Self {
        let (opening, opened) = (Mutex::default(), Mutex::default());
        Self { host: None, open: Box::new(open), opening, opened }
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
        let host = host_of(&place.api_url);
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

    fn opened(&self) -> MutexGuard<'_, OpenedRepositories> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the repository for a session.
    pub fn open_for(
        &self,
        session: &str,
        cancel: &Cancel,
    ) -> Result<Arc<dyn OpenRepository>, ToolError> {
        if let Some(known) = self.opened().known(session) {
            return Ok(known);
        }
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.opened().known(session) {
            return Ok(known);
        }
        let last = self.opened().last.clone();
        let (at, repository) = match last {
            Some((at, last)) if at.elapsed() < FRESH_TIME => (at, last),
            last => {
                let now = (self.open)(cancel)?;
                // The same commit keeps its index.
                let same = last.filter(|(_, last)| last.commit() == now.commit());
                (Instant::now(), same.map_or(now, |(_, last)| last))
            }
        };
        let mut opened = self.opened();
        opened.last = Some((at, Arc::clone(&repository)));
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

/// Returns the host of the API, as rules about hosts name it.
fn host_of(api_url: &str) -> Option<String> {
    ApiAddress::parse(api_url).ok().map(|address| address.host().to_owned())
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

    use super::*;

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
        source.opened().last.as_mut().unwrap().0 -= FRESH_TIME;
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
