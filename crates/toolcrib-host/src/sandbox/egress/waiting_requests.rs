//! Requests for hosts that no setting lists: each waits until somebody has decided about its host.

use std::collections::HashMap;
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, recv};
use toolcrib_core::Cancel;
use toolcrib_core::host_access::{HostGate, HostRequest, HostVerdict};

use super::request::Refusal;

/// How many questions one command can cause.
const MOST_QUESTIONS: usize = 5;
/// How many requests of one command wait at once.
const MOST_WAITING_REQUESTS: usize = 16;
/// How often a waiting request is checked for whether its client has gone.
const CLIENT_CHECK: Duration = Duration::from_millis(100);
/// How long the end of a command waits until its questions are taken away.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The waiting requests of one command, and what was decided about their hosts.
pub(super) struct WaitingRequests {
    gate: Arc<dyn HostGate>,
    asked: Mutex<AskedHosts>,
    changed: Condvar,
}

#[derive(Default)]
struct AskedHosts {
    by_host: HashMap<HostRequest, AskedHost>,
    /// How many questions there were.
    questions: usize,
    /// How many requests wait.
    waiting: usize,
    /// How many questions are open.
    open: usize,
    is_closed: bool,
}

/// A host that was asked about.
enum AskedHost {
    /// A person is being asked: the number of the question, how many requests wait for the answer, and what takes the
    /// question away.
    Asked { number: usize, waiting: usize, cancel: Cancel },
    /// It was decided, for as long as the command runs.
    Decided(HostVerdict),
}

impl WaitingRequests {
    pub(super) fn new(gate: Arc<dyn HostGate>) -> Self {
        Self { gate, asked: Mutex::default(), changed: Condvar::new() }
    }

    /// Lets a request wait until its host is decided about. There is one question for each host and port, however many
    /// requests there are.
    pub(super) fn decide(
        self: &Arc<Self>,
        request: HostRequest,
        client: &TcpStream,
    ) -> Result<(), Refusal> {
        if let Some(AskedHost::Decided(verdict)) = self.asked().by_host.get(&request) {
            return to_result(verdict);
        }
        if let Some(verdict) = self.gate.known(&request) {
            return to_result(&verdict);
        }
        let mut asked = self.asked();
        if asked.is_closed {
            return Err(Refusal::NotAllowed("the command has ended".to_owned()));
        }
        if asked.waiting >= MOST_WAITING_REQUESTS {
            return Err(Refusal::NotAllowed(format!(
                "{MOST_WAITING_REQUESTS} connections wait for an answer already; try again after the answer"
            )));
        }
        match asked.by_host.get_mut(&request) {
            Some(AskedHost::Decided(verdict)) => return to_result(verdict),
            Some(AskedHost::Asked { waiting, .. }) => *waiting += 1,
            None => self.open_question(&mut asked, &request)?,
        }
        asked.waiting += 1;
        let verdict = self.wait(asked, &request, client);
        self.asked().waiting -= 1;
        verdict
    }

    fn open_question(
        self: &Arc<Self>,
        asked: &mut AskedHosts,
        request: &HostRequest,
    ) -> Result<(), Refusal> {
        if asked.questions >= MOST_QUESTIONS {
            return Err(Refusal::NotAllowed(format!(
                "the command has asked about {MOST_QUESTIONS} hosts already; the operator can add this one to \
                 `sandbox.egress`"
            )));
        }
        let (number, cancel) = (asked.questions, Cancel::default());
        let (shared, wanted, token) = (Arc::clone(self), request.clone(), cancel.clone());
        let builder = thread::Builder::new().name("host question".to_owned());
        let started = builder.spawn(move || {
            let verdict = shared.gate.ask(&wanted, &token);
            shared.answer(&wanted, number, verdict);
        });
        if let Err(err) = started {
            return Err(Refusal::NotAllowed(format!("nobody could be asked: {err}")));
        }
        asked.questions += 1;
        asked.open += 1;
        asked.by_host.insert(request.clone(), AskedHost::Asked { number, waiting: 1, cancel });
        Ok(())
    }

    /// Takes the answer to a question, unless nobody waits for it any more.
    fn answer(&self, request: &HostRequest, answered: usize, verdict: HostVerdict) {
        let mut asked = self.asked();
        asked.open -= 1;
        if let Some(host) = asked.by_host.get_mut(request)
            && matches!(host, AskedHost::Asked { number, .. } if *number == answered)
        {
            *host = AskedHost::Decided(verdict);
        }
        drop(asked);
        self.changed.notify_all();
    }

    /// Waits for the answer. If the last client that waits for it goes away, the question is taken away.
    fn wait(
        &self,
        mut asked: MutexGuard<'_, AskedHosts>,
        request: &HostRequest,
        client: &TcpStream,
    ) -> Result<(), Refusal> {
        loop {
            let is_over = asked.is_closed || is_gone(client);
            match asked.by_host.get_mut(request) {
                Some(AskedHost::Decided(verdict)) => return to_result(verdict),
                Some(AskedHost::Asked { waiting, cancel, .. }) if is_over => {
                    *waiting -= 1;
                    if *waiting == 0 {
                        cancel.cancel();
                        asked.by_host.remove(request);
                    }
                    return Err(Refusal::NotAllowed("the program did not wait".to_owned()));
                }
                Some(AskedHost::Asked { .. }) => {}
                None => return Err(Refusal::NotAllowed("the program did not wait".to_owned())),
            }
            let waited = self.changed.wait_timeout(asked, CLIENT_CHECK);
            asked = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes all open questions away when the command has ended, and waits until they are gone.
    pub(super) fn close(&self) {
        let mut asked = self.asked();
        asked.is_closed = true;
        for host in asked.by_host.values() {
            if let AskedHost::Asked { cancel, .. } = host {
                cancel.cancel();
            }
        }
        self.changed.notify_all();
        let until = Instant::now() + CLOSE_TIMEOUT;
        while asked.open > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(asked, left);
            asked = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn asked(&self) -> MutexGuard<'_, AskedHosts> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn to_result(verdict: &HostVerdict) -> Result<(), Refusal> {
    match verdict {
        HostVerdict::Allowed => Ok(()),
        HostVerdict::Refused(why) => Err(Refusal::NotAllowed(why.clone())),
    }
}

/// Whether a client has closed its connection.
fn is_gone(client: &TcpStream) -> bool {
    let mut byte = [0_u8; 1];
    match recv(client, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((_, count)) => count == 0,
        Err(errno) => errno != rustix::io::Errno::AGAIN,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Answers when the question is taken away.
    struct SlowGate;

    impl HostGate for SlowGate {
        fn known(&self, _: &HostRequest) -> Option<HostVerdict> {
            None
        }

        fn ask(&self, _: &HostRequest, cancel: &Cancel) -> HostVerdict {
            while !cancel.is_cancelled() {
                thread::yield_now();
            }
            HostVerdict::Refused("nobody answered".to_owned())
        }
    }

    #[test]
    fn a_request_that_cannot_wait_is_told_why() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let requests = Arc::new(WaitingRequests::new(Arc::new(SlowGate)));
        let decide = |port| {
            let request = HostRequest { host: "a.example".to_owned(), port };
            requests.decide(request, &client).unwrap_err().to_string()
        };
        thread::scope(|scope| {
            let waiting: Vec<_> =
                (0..MOST_WAITING_REQUESTS).map(|_| scope.spawn(|| decide(443))).collect();
            while requests.asked().waiting < MOST_WAITING_REQUESTS {
                thread::yield_now();
            }
            assert!(decide(443).starts_with("16 connections wait"));
            requests.close();
            for it in waiting {
                let said = it.join().unwrap();
                assert!(!said.contains("connections wait"), "the others did wait: {said}");
            }
        });
        assert_eq!(decide(444), "the command has ended");
    }
}
