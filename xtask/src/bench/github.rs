//! A repository on GitHub: how many requests hikai's tools make for 10,000 files. A server of ours speaks the REST API.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib::wiring::{Crib, OpenOptions, call_at_terminal, session};
use toolcrib_core::{Cancel, SessionId};
use toolcrib_runtime::{AlwaysYes, Runtime, Watchdog};

use super::made_repository::{MadeRepository, NEEDLE, path};
use github_net::github_net;
use github_server::GitHubServer;

#[path = "../../../crates/toolcrib-repositories/tests/fixture/github_net.rs"]
mod github_net;
#[path = "../../../crates/toolcrib-repositories/tests/fixture/github_server.rs"]
#[expect(clippy::unwrap_used, clippy::panic, reason = "the server of the tests fails at once")]
mod github_server;

/// How many files the repository has.
const FILES: usize = 10_000;

/// How many of them are read.
const READ_FILES: usize = 20;

/// After this time, a session that begins asks where the branch leads to.
const FRESH_TIME: Duration = Duration::from_secs(10);

/// Runs the calls, and prints what they cost.
pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let repository = MadeRepository::make(&scratch.path().join("made.git"), FILES)?;
    let server = GitHubServer::start(&repository.folder);
    // The calls run as those of a batch do, in the context of an event loop.
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _events = events.enter();
    let directories = repository.directory_count();
    println!(
        "a repository on GitHub of {FILES} files in {directories} directories, through hikai's tools:"
    );
    let door = GitHubDoor { server: &server, scratch: scratch.path(), repository: &repository };
    door.whole()?;
    // The listing ends after some whole directories, and before the first one.
    for most_entries in [5000, 10] {
        door.cut(most_entries, directories)?;
    }
    println!();
    Ok(())
}

/// What the calls go through.
struct GitHubDoor<'a> {
    server: &'a GitHubServer,
    scratch: &'a Path,
    repository: &'a MadeRepository,
}

/// A session, whose calls read one commit.
struct GitHubSession {
    runtime: Runtime,
    session: SessionId,
    watchdog: Watchdog,
    /// Has what the calls need.
    _crib: Arc<Crib>,
}

impl GitHubSession {
    fn call(&self, tool: &str, args: &Value) -> Result<Value, Box<dyn Error>> {
        let tool = format!("hikai/{tool}");
        let call = call_at_terminal(self.session.clone(), &tool, args.clone());
        let (cancel, late) = (Cancel::default(), Arc::new(|_| {}));
        let outcome = self.runtime.call_here(call, &cancel, &self.watchdog, late);
        let outcome = outcome.ok_or("the call did not end")?;
        match outcome.error {
            None => Ok(outcome.reply),
            Some(err) => Err(format!("{tool}: {}", err.message).into()),
        }
    }

    fn list(&self, repository: &MadeRepository) -> Result<(), Box<dyn Error>> {
        let mut count = 0;
        for path in repository.directories() {
            let listed = self.call("list_files", &json!({"path": path, "limit": 100}))?;
            let files = listed["files"].as_array().ok_or("no list")?;
            count += files.iter().filter(|file| file["size"].as_u64() > Some(0)).count();
        }
        if count == FILES { Ok(()) } else { Err(format!("{count} files are listed").into()) }
    }

    fn read(&self) -> Result<(), Box<dyn Error>> {
        let mut paths = (0..FILES).step_by(FILES / READ_FILES).map(path);
        paths.try_for_each(|path| self.call("read_file", &json!({"path": path})).map(drop))
    }

    fn search(&self) -> Result<(), Box<dyn Error>> {
        let found = self.call("search_code", &json!({"query": NEEDLE}))?;
        let lines = found.as_array().map(Vec::len);
        if lines == Some(2) { Ok(()) } else { Err(format!("not 2 lines: {found}").into()) }
    }
}

impl GitHubDoor<'_> {
    fn open(&self, state: &str) -> Result<Arc<Crib>, Box<dyn Error>> {
        let home = self.scratch.join(state);
        let work = home.join("work");
        std::fs::create_dir_all(&work)?;
        let environment = [("PATH", "/usr/bin:/bin".into()), ("HOME", home.clone().into())];
        let environment = environment.map(|(name, value)| (name.to_owned(), value));
        let options = OpenOptions {
            workspace: Some(work),
            state: Some(home.join("state")),
            environment: Some(BTreeMap::from(environment)),
            assignments: vec![format!("hikai.connection=github:{}/octo/demo", self.server.url())],
            net: Some(github_net(&[self.server.archive_port()])),
            is_long_lived: true,
            ..OpenOptions::default()
        };
        Ok(Arc::new(Crib::open(&options).map_err(|err| err.to_string())?))
    }

    /// Begins a session.
    fn begin(crib: &Arc<Crib>) -> Result<GitHubSession, Box<dyn Error>> {
        let yes = Arc::new(AlwaysYes("bench".to_owned()));
        let runtime = crib.runtime(yes).map_err(|err| err.to_string())?;
        let (session, watchdog) = (session(), Watchdog::default());
        Ok(GitHubSession { runtime, session, watchdog, _crib: Arc::clone(crib) })
    }

    /// Counts the requests of a repository whose listing is whole.
    fn whole(&self) -> Result<(), Box<dyn Error>> {
        let crib = self.open("whole")?;
        let first = Self::begin(&crib)?;
        self.tell("open, and list everything with sizes", 4, || first.list(self.repository))?;
        self.tell("list everything again", 0, || first.list(self.repository))?;
        self.tell("read 20 files", READ_FILES, || first.read())?;
        self.tell("read the same 20 files again", 0, || first.read())?;
        self.tell("first search", 2, || first.search())?;
        self.tell("search again", 0, || first.search())?;
        let all = |reading: &GitHubSession| {
            reading.list(self.repository)?;
            reading.read()?;
            reading.search()
        };
        let second = Self::begin(&crib)?;
        self.tell("another session soon: list, read, search", 0, || all(&second))?;
        std::thread::sleep(FRESH_TIME + Duration::from_millis(100));
        let third = Self::begin(&crib)?;
        let left = self.server.plan().left;
        self.tell("another session later, nothing has changed", 3, || all(&third))?;
        if self.server.plan().left == left {
            Ok(())
        } else {
            Err("requests were counted although nothing has changed".into())
        }
    }

    /// Counts the requests of a repository whose listing GitHub cuts.
    fn cut(&self, most_entries: usize, directories: usize) -> Result<(), Box<dyn Error>> {
        self.server.plan().most_entries = most_entries;
        let crib = self.open(&format!("cut-{most_entries}"))?;
        let reading = Self::begin(&crib)?;
        // A directory that the whole listing does not have whole is asked for once.
        let most = 3 + 1 + directories;
        let what = format!("open and list, GitHub cuts after {most_entries} entries");
        self.tell(&what, most, || reading.list(self.repository))?;
        self.tell("list everything again", 0, || reading.list(self.repository))
    }

    /// Does something, tells how many requests it cost, and fails if it cost more than it may.
    fn tell(
        &self,
        what: &str,
        most: usize,
        work: impl FnOnce() -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        self.server.take_seen();
        let (left, start) = (self.server.plan().left, Instant::now());
        work()?;
        let took = start.elapsed().as_secs_f64() * 1e3;
        let requests = self.server.take_seen().len();
        let counted = left - self.server.plan().left;
        println!(
            "  {what:<50} {requests:>4} requests (at most {most}), {counted:>4} of the rate limit   {took:>8.1} ms"
        );
        if requests <= most { Ok(()) } else { Err(format!("{what}: {requests} requests").into()) }
    }
}
