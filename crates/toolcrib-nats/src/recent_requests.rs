//! The requests of the last minutes: a bus can deliver a message twice, and a call is made once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::envelope::MOST_CLOCK_DIFFERENCE;
use crate::refusal::{BusRefusal, RefusalCode};

/// How long a request is remembered. One whose clock is ahead stays fresh for twice the difference.
const REMEMBERED_TIME: Duration = MOST_CLOCK_DIFFERENCE.saturating_mul(2);

/// The most bytes of replies that are kept, in all and for one principal.
const MOST_REPLY_BYTES: usize = 64 << 20;
const MOST_REPLY_BYTES_EACH: usize = 8 << 20;

/// The most requests that are remembered, in all and of one principal. Beyond that, no more are taken until some are old
/// enough to be forgotten.
const MOST_REQUESTS: usize = 200_000;
const MOST_REQUESTS_EACH: usize = 20_000;

/// The most inboxes that get the reply to one request. Copies for more are not answered.
const MOST_INBOXES: usize = 16;

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
    by_principal: HashMap<String, RememberedShare>,
}

/// How much is remembered of one principal.
#[derive(Default)]
struct RememberedShare {
    requests: usize,
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
    Done(Bytes),
    /// There was no room to keep the reply.
    DoneWithoutReply,
}

/// What to do with a request.
pub(crate) enum RequestTurn {
    /// Nobody asked this before.
    New,
    /// It was asked before, and this was the reply.
    Answered(Bytes),
    /// Its call runs already, and the reply will go to this inbox, too.
    Awaited,
    Refused(BusRefusal),
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
                return RequestTurn::Refused(BusRefusal { code: RefusalCode::IdReused, message });
            }
            return match &mut request.state {
                RequestState::Done(reply) => RequestTurn::Answered(reply.clone()),
                RequestState::Running(inboxes) => {
                    if !inboxes.iter().any(|known| known == inbox) && inboxes.len() < MOST_INBOXES {
                        inboxes.push(inbox.to_owned());
                    }
                    RequestTurn::Awaited
                }
                RequestState::DoneWithoutReply => RequestTurn::Refused(BusRefusal {
                    code: RefusalCode::DuplicateRequest,
                    message:
                        "the request was answered before, and there was no room to keep its reply"
                            .to_owned(),
                }),
            };
        }
        let of_principal = known.by_principal.get(&key.0).map_or(0, |share| share.requests);
        if known.by_key.len() >= MOST_REQUESTS || of_principal >= MOST_REQUESTS_EACH {
            return RequestTurn::Refused(BusRefusal {
                code: RefusalCode::RateLimited,
                message: "there were too many requests in the last minutes; try again later"
                    .to_owned(),
            });
        }
        let state = RequestState::Running(vec![inbox.to_owned()]);
        known.by_key.insert(key.clone(), KnownRequest { digest, state });
        known.order.push_back((now, key.clone()));
        known.by_principal.entry(key.0.clone()).or_default().requests += 1;
        RequestTurn::New
    }

    /// Keeps the reply to a request, and returns the inboxes that it goes to.
    pub(crate) fn end(&self, key: &RequestKey, reply: &Bytes) -> Vec<String> {
        let mut held = self.known();
        let known = &mut *held;
        let Some(request) = known.by_key.get_mut(key) else { return Vec::new() };
        let share = known.by_principal.entry(key.0.clone()).or_default();
        let is_room = known.reply_bytes + reply.len() <= MOST_REPLY_BYTES
            && share.reply_bytes + reply.len() <= MOST_REPLY_BYTES_EACH;
        let state = if is_room {
            known.reply_bytes += reply.len();
            share.reply_bytes += reply.len();
            RequestState::Done(reply.clone())
        } else {
            RequestState::DoneWithoutReply
        };
        let before = std::mem::replace(&mut request.state, state);
        match before {
            RequestState::Running(inboxes) => inboxes,
            RequestState::Done(_) | RequestState::DoneWithoutReply => Vec::new(),
        }
    }
}

impl RecentRequests {
    /// The same for a request that is perhaps not answered yet. If it is, nothing changes.
    pub(crate) fn end_unanswered(&self, key: &RequestKey, reply: &Bytes) -> Vec<String> {
        let state = |known: &KnownRequests| {
            known.by_key.get(key).is_some_and(|it| matches!(it.state, RequestState::Running(_)))
        };
        if state(&self.known()) { self.end(key, reply) } else { Vec::new() }
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
            let Some(request) = self.by_key.remove(&key) else { continue };
            let bytes = match request.state {
                RequestState::Done(reply) => reply.len(),
                RequestState::Running(_) | RequestState::DoneWithoutReply => 0,
            };
            self.reply_bytes -= bytes;
            if let Some(share) = self.by_principal.get_mut(&key.0) {
                share.requests -= 1;
                share.reply_bytes -= bytes;
                if share.requests == 0 {
                    self.by_principal.remove(&key.0);
                }
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
        let reply: Bytes = Bytes::from_static(b"reply");
        assert_eq!(requests.end(&key("1"), &reply), ["in", "other"]);
        let RequestTurn::Answered(again) = requests.begin(&key("1"), b"x", "in") else { panic!() };
        assert_eq!(again, reply);
        let RequestTurn::Refused(refusal) = requests.begin(&key("1"), b"y", "in") else { panic!() };
        assert_eq!(refusal.code, RefusalCode::IdReused);
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
        requests.end(&key("done"), &Bytes::from_static(b"reply"));
        requests.known().forget_before(Instant::now() + REMEMBERED_TIME * 2);
        let known = requests.known();
        assert_eq!(known.by_principal["nats:a"].requests, 1);
        assert_eq!((known.by_key.len(), known.order.len(), known.reply_bytes), (1, 1, 0));
    }

    #[test]
    fn one_principal_takes_only_its_share() {
        let requests = RecentRequests::new();
        for number in 0..MOST_REQUESTS_EACH {
            assert!(matches!(
                requests.begin(&key(&number.to_string()), b"x", "in"),
                RequestTurn::New
            ));
        }
        let RequestTurn::Refused(refusal) = requests.begin(&key("more"), b"x", "in") else {
            panic!()
        };
        assert_eq!(refusal.code, RefusalCode::RateLimited);
        let elsewhere = ("nats:b".to_owned(), "1".to_owned());
        assert!(matches!(requests.begin(&elsewhere, b"y", "in"), RequestTurn::New));
        let large = Bytes::from(vec![b'x'; MOST_REPLY_BYTES_EACH]);
        requests.end(&key("0"), &large);
        requests.end(&key("1"), &large);
        assert!(matches!(requests.begin(&key("0"), b"x", "in"), RequestTurn::Answered(_)));
        let RequestTurn::Refused(refusal) = requests.begin(&key("1"), b"x", "in") else { panic!() };
        assert_eq!(refusal.code, RefusalCode::DuplicateRequest);
    }
}
