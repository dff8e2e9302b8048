//! The requests of the last minutes: a bus can deliver a message twice, and a call is made once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::envelope::{EnvelopeFault, FRESH_TIME};

/// How long a request is remembered: as long as a copy of it counts as fresh, whichever clock is ahead.
const REMEMBERED_TIME: Duration = FRESH_TIME.saturating_mul(2);

/// The most bytes of replies that are kept.
const MOST_REPLY_BYTES: usize = 64 << 20;

/// The most requests that are remembered. Beyond that, no more are taken until some are old enough to be forgotten.
const MOST_REQUESTS: usize = 200_000;

/// The requests of the last minutes.
pub(crate) struct RecentRequests {
    known: Mutex<KnownRequests>,
}

/// Who asked, and the id of the request.
type RequestKey = (String, String);

#[derive(Default)]
struct KnownRequests {
    by_key: HashMap<RequestKey, KnownRequest>,
    /// The keys, oldest first, each with when it came.
    order: VecDeque<(Instant, RequestKey)>,
    reply_bytes: usize,
}

struct KnownRequest {
    /// The digest of what was asked.
    digest: [u8; 32],
    state: RequestState,
}

enum RequestState {
    /// The call runs; the reply goes to these inboxes.
    Running(Vec<String>),
    Done(Arc<[u8]>),
    /// The reply was too much to keep.
    DoneWithoutReply,
}

/// What to do with a request.
pub(crate) enum RequestTurn {
    /// Nobody asked this before.
    New,
    /// It was asked before, and this was the reply.
    Answered(Arc<[u8]>),
    /// It was asked before, and its reply will go to this inbox, too.
    Awaited,
    Refused(EnvelopeFault),
}

impl RecentRequests {
    pub(crate) fn new() -> Self {
        Self { known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, KnownRequests> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a request, or says what became of the same one.
    pub(crate) fn begin(&self, key: &RequestKey, content: &[u8], inbox: &str) -> RequestTurn {
        let now = Instant::now();
        let mut digest = [0; 32];
        digest.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, content).as_ref());
        let mut known = self.known();
        known.forget_before(now);
        if let Some(request) = known.by_key.get_mut(key) {
            if request.digest != digest {
                let message =
                    format!("the id `{}` was used for another request; make a new one", key.1);
                return RequestTurn::Refused(EnvelopeFault { code: "ID_REUSED", message });
            }
            return match &mut request.state {
                RequestState::Done(reply) => RequestTurn::Answered(Arc::clone(reply)),
                RequestState::Running(inboxes) => {
                    if !inboxes.iter().any(|known| known == inbox) && inboxes.len() < 16 {
                        inboxes.push(inbox.to_owned());
                    }
                    RequestTurn::Awaited
                }
                RequestState::DoneWithoutReply => RequestTurn::Refused(EnvelopeFault {
                    code: "DUPLICATE_REQUEST",
                    message: "the request was answered before, and its reply is not kept"
                        .to_owned(),
                }),
            };
        }
        if known.by_key.len() >= MOST_REQUESTS {
            return RequestTurn::Refused(EnvelopeFault {
                code: "RATE_LIMITED",
                message: "there were too many requests in the last minutes; try again later"
                    .to_owned(),
            });
        }
        let state = RequestState::Running(vec![inbox.to_owned()]);
        known.by_key.insert(key.clone(), KnownRequest { digest, state });
        known.order.push_back((now, key.clone()));
        RequestTurn::New
    }

    /// Keeps the reply to a request, and returns the inboxes that it goes to.
    pub(crate) fn end(&self, key: &RequestKey, reply: &Arc<[u8]>) -> Vec<String> {
        let mut known = self.known();
        let is_room = known.reply_bytes + reply.len() <= MOST_REPLY_BYTES;
        let Some(request) = known.by_key.get_mut(key) else { return Vec::new() };
        let state = if is_room {
            RequestState::Done(Arc::clone(reply))
        } else {
            RequestState::DoneWithoutReply
        };
        let before = std::mem::replace(&mut request.state, state);
        if is_room {
            known.reply_bytes += reply.len();
        }
        match before {
            RequestState::Running(inboxes) => inboxes,
            RequestState::Done(_) | RequestState::DoneWithoutReply => Vec::new(),
        }
    }

    /// Forgets a request for which no call was made.
    pub(crate) fn forget(&self, key: &RequestKey) {
        self.known().by_key.remove(key);
    }
}

impl KnownRequests {
    fn forget_before(&mut self, now: Instant) {
        while let Some((at, key)) = self.order.front() {
            if now.saturating_duration_since(*at) <= REMEMBERED_TIME {
                return;
            }
            let is_running = matches!(
                self.by_key.get(key),
                Some(KnownRequest { state: RequestState::Running(_), .. })
            );
            let Some((_, key)) = self.order.pop_front() else { return };
            if is_running {
                self.order.push_back((now, key));
                continue;
            }
            if let Some(KnownRequest { state: RequestState::Done(reply), .. }) =
                self.by_key.remove(&key)
            {
                self.reply_bytes -= reply.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str) -> RequestKey {
        ("nats:a".to_owned(), id.to_owned())
    }

    #[test]
    fn a_request_that_comes_twice_is_asked_once() {
        let requests = RecentRequests::new();
        assert!(matches!(requests.begin(&key("1"), b"x", "in"), RequestTurn::New));
        // The same message again, and the same request from another inbox.
        assert!(matches!(requests.begin(&key("1"), b"x", "in"), RequestTurn::Awaited));
        assert!(matches!(requests.begin(&key("1"), b"x", "other"), RequestTurn::Awaited));
        let reply: Arc<[u8]> = b"reply"[..].into();
        assert_eq!(requests.end(&key("1"), &reply), ["in", "other"]);
        let RequestTurn::Answered(again) = requests.begin(&key("1"), b"x", "in") else { panic!() };
        assert_eq!(again, reply);
        let RequestTurn::Refused(fault) = requests.begin(&key("1"), b"y", "in") else { panic!() };
        assert_eq!(fault.code, "ID_REUSED");
        assert!(matches!(requests.begin(&key("2"), b"x", "in"), RequestTurn::New));
        let elsewhere = ("nats:b".to_owned(), "1".to_owned());
        assert!(matches!(requests.begin(&elsewhere, b"y", "in"), RequestTurn::New));
    }

    #[test]
    fn what_is_old_is_forgotten_but_for_what_runs() {
        let requests = RecentRequests::new();
        for id in ["done", "runs"] {
            requests.begin(&key(id), b"x", "in");
        }
        requests.end(&key("done"), &b"reply"[..].into());
        requests.known().forget_before(Instant::now() + REMEMBERED_TIME * 2);
        let known = requests.known();
        assert_eq!((known.by_key.len(), known.order.len(), known.reply_bytes), (1, 1, 0));
    }
}
