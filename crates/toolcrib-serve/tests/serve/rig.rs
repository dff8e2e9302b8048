//! A server in a thread of its own.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tokio::sync::{Semaphore, oneshot};
use toolcrib_core::caller::{Principal, Role};
use toolcrib_ledger::TokenHash;
use toolcrib_serve::{
    ListenAddress, Notice, Observer, PageSessions, Readiness, ResourceServer, Served, Server,
    ServerConfig, ServerEnd, TokenBook,
};
use tracing_subscriber::filter::LevelFilter;

use crate::client::{Client, RawReply};
use crate::routes::{Handled, routes};
use crate::set_clock::SetClock;

/// The token of an agent, and that of an approver.
pub(crate) const AGENT: &str = "agent-token-0123456789abcdef";
pub(crate) const APPROVER: &str = "approver-token-0123456789abc";

pub(crate) struct Rig {
    pub(crate) address: ListenAddress,
    pub(crate) readiness: Readiness,
    /// The clock of the sessions of the page.
    pub(crate) clock: Arc<SetClock>,
    pub(crate) sessions: Arc<PageSessions>,
    agent_is_revoked: Arc<AtomicBool>,
    notices: Arc<Mutex<Vec<String>>>,
    handled: Arc<Handled>,
    begun: Mutex<Receiver<()>>,
    log: Log,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<ServerEnd>>,
}

/// What the server of a rig logs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Default)]
struct TestTokens {
    agent_is_revoked: Arc<AtomicBool>,
}

impl TokenBook for TestTokens {
    fn find(&self, presented: &TokenHash) -> Option<Principal> {
        let known = [(AGENT, "coder", Role::Agent), (APPROVER, "boss", Role::Approver)];
        let (_, name, role) =
            known.into_iter().find(|(token, ..)| TokenHash::of(token) == *presented)?;
        let is_revoked = role == Role::Agent && self.agent_is_revoked.load(Ordering::SeqCst);
        (!is_revoked).then(|| Principal { name: name.to_owned(), role })
    }

    fn is_current(&self, token: &TokenHash) -> bool {
        self.find(token).is_some()
    }

    fn is_revoked(&self, principal: &Principal) -> Option<bool> {
        match principal.name.rsplit_once('#') {
            Some((_, "unknown")) => None,
            Some((_, name)) => Some(name == "revoked"),
            None => Some(false),
        }
    }
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// Starts a server on any free port, with changed settings.
    pub(crate) fn with(change: impl FnOnce(&mut ServerConfig)) -> Self {
        let mut config = ServerConfig::new(ListenAddress::Tcp("127.0.0.1:0".parse().unwrap()));
        change(&mut config);
        Self::start(config)
    }

    pub(crate) fn start(config: ServerConfig) -> Self {
        Self::start_with(config, None, Arc::default())
    }

    /// Starts a server that also accepts the tokens of an authorization server.
    pub(crate) fn start_with(
        config: ServerConfig,
        oauth: Option<Arc<ResourceServer>>,
        clock: Arc<SetClock>,
    ) -> Self {
        let (begun_sender, begun) = mpsc::channel();
        let (runs, releases) = (AtomicUsize::new(0), Semaphore::new(0));
        let handled = Arc::new(Handled { runs, begun: begun_sender, releases });
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell_address, address) = mpsc::channel();
        let readiness = Readiness::waiting("the index is being built", Box::new(|| None));
        let notices = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&notices);
        let notice: Notice = Arc::new(move |text| told.lock().unwrap().push(text.to_owned()));
        let (shared, ready) = (Arc::clone(&handled), readiness.clone());
        let tokens = TestTokens::default();
        let agent_is_revoked = Arc::clone(&tokens.agent_is_revoked);
        let sessions = Arc::new(PageSessions::new(Arc::clone(&clock) as _));
        let served_sessions = Arc::clone(&sessions);
        let log = Log::default();
        let writer = log.clone();
        let thread = std::thread::spawn(move || {
            let logging = tracing_subscriber::fmt().with_max_level(LevelFilter::DEBUG);
            let logging = logging.with_writer(move || writer.clone()).with_ansi(false).finish();
            let _logging = tracing::subscriber::set_default(logging);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let server = Server::bind(config, notice).unwrap();
                tell_address.send(server.address().clone()).unwrap();
                let served = Served {
                    routes: routes(shared),
                    tokens: Arc::new(tokens),
                    oauth,
                    sessions: served_sessions,
                    readiness: ready,
                    observer: Observer::default(),
                };
                let stop = async { drop(stopped.await) };
                server.run(served, stop).await
            })
        });
        let address = address.recv().unwrap();
        let begun = Mutex::new(begun);
        let (stop, thread) = (Some(stop), Some(thread));
        Self {
            address,
            readiness,
            clock,
            sessions,
            agent_is_revoked,
            notices,
            handled,
            begun,
            log,
            stop,
            thread,
        }
    }

    pub(crate) fn tcp(&self) -> SocketAddr {
        match &self.address {
            ListenAddress::Tcp(address) => *address,
            ListenAddress::Unix(path) => panic!("{} is no TCP address", path.display()),
        }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        match &self.address {
            ListenAddress::Unix(path) => path.clone(),
            ListenAddress::Tcp(address) => panic!("{address} is no socket"),
        }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::tcp(self.tcp())
    }

    /// Returns a request with a good `Host` and `more` headers, each with its line end.
    pub(crate) fn request(&self, line: &str, more: &str, body: &str) -> String {
        let length = match body {
            "" => String::new(),
            body => format!("Content-Length: {}\r\nContent-Type: application/json\r\n", body.len()),
        };
        format!("{line} HTTP/1.1\r\nHost: {}\r\n{length}{more}\r\n{body}", self.tcp())
    }

    /// Returns a request of the agent.
    pub(crate) fn agents(&self, line: &str, more: &str, body: &str) -> String {
        self.request(line, &format!("{}{more}", bearer(AGENT)), body)
    }

    /// Sends bytes over a connection of their own, and returns the first reply.
    pub(crate) fn ask(&self, bytes: impl AsRef<[u8]>) -> RawReply {
        self.connect().try_send(bytes).reply()
    }

    /// Makes a request that must succeed.
    #[track_caller]
    pub(crate) fn good_call(&self) {
        let reply = self.ask(self.agents("POST /echo", "", r#"{"a":1}"#)).is_ok();
        assert_eq!(reply["body"]["a"], 1);
    }

    /// Revokes the token of the agent.
    pub(crate) fn revoke_agent(&self) {
        self.agent_is_revoked.store(true, Ordering::SeqCst);
    }

    /// Returns what the server has logged.
    pub(crate) fn log(&self) -> String {
        String::from_utf8(self.log.0.lock().unwrap().clone()).unwrap()
    }

    /// Returns what the operator was told, and forgets it.
    pub(crate) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.notices.lock().unwrap())
    }

    /// Returns how many handlers have run.
    pub(crate) fn runs(&self) -> usize {
        self.handled.runs.load(Ordering::SeqCst)
    }

    /// Starts a request that waits until it is released.
    pub(crate) fn begin_wait(&self, token: &str) -> Client {
        self.begin("GET /wait", token)
    }

    /// Starts a request of `/wait` or `/large`, and returns when its handler has begun.
    pub(crate) fn begin(&self, line: &str, token: &str) -> Client {
        let mut client = self.connect();
        client.send(self.request(line, &bearer(token), ""));
        self.wait_for_handler();
        client
    }

    /// Waits until the handler of `/wait` or `/large` has begun.
    pub(crate) fn wait_for_handler(&self) {
        self.begun.lock().unwrap().recv().unwrap();
    }

    /// Lets one waiting request end.
    pub(crate) fn release(&self) {
        self.handled.releases.add_permits(1);
    }

    /// Tells the server to stop.
    pub(crate) fn tell_to_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Waits until the server has stopped.
    pub(crate) fn end(mut self) -> ServerEnd {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Whoever still waits is let go, so that the server need not wait for it.
            self.handled.releases.add_permits(1 << 20);
            let end = thread.join();
            assert!(end.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}

pub(crate) fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}
