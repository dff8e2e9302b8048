//! How many requests run at once, and how many a principal may make.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use toolcrib_core::caller::{Principal, Role};

use crate::config::RequestBounds;
use crate::reply::ApiError;
use crate::token_bucket::TokenBucket;

/// Agents leave one of so many requests at once to people.
const RESERVED_PART: usize = 8;

/// How many principals are remembered. An authorization server may know many more, and those that have no request running
/// are then forgotten.
const MOST_PRINCIPALS: usize = 4096;

/// Admits requests within the limits.
pub(crate) struct Admission {
    bounds: RequestBounds,
    load: Mutex<Load>,
}

#[derive(Default)]
struct Load {
    running: usize,
    /// Only owners of good tokens are in here.
    by_principal: HashMap<Principal, PrincipalLoad>,
}

struct PrincipalLoad {
    running: usize,
    rate: Option<TokenBucket>,
}

/// A request that was admitted. It counts as running until this is dropped.
pub(crate) struct Admitted {
    admission: Arc<Admission>,
    principal: Principal,
}

impl Admission {
    pub(crate) fn new(bounds: RequestBounds) -> Self {
        Self { bounds, load: Mutex::default() }
    }

    /// Admits a request of `principal`, or says when to try again.
    pub(crate) fn admit(
        self: &Arc<Self>,
        principal: &Principal,
        now: Instant,
    ) -> Result<Admitted, ApiError> {
        let mut load = self.load();
        let load = &mut *load;
        // Agents that wait for an answer must not keep out those who could give it.
        let is_agent = principal.role == Role::Agent;
        let reserved = if is_agent { self.bounds.in_flight / RESERVED_PART } else { 0 };
        if load.running + reserved >= self.bounds.in_flight {
            let message = "the server has as many requests as it can run at once; try again soon";
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message)
                .retry_after(Duration::from_secs(1)));
        }
        if !load.by_principal.contains_key(principal) {
            if load.by_principal.len() >= MOST_PRINCIPALS {
                load.by_principal.retain(|_, own| own.running > 0);
            }
            let rate = self.bounds.rate_each.map(|rate| TokenBucket::full(rate, now));
            load.by_principal.insert(principal.clone(), PrincipalLoad { running: 0, rate });
        }
        if let Some(own) = load.by_principal.get_mut(principal) {
            if own.running >= self.bounds.in_flight_each {
                let limit = self.bounds.in_flight_each;
                let message = format!(
                    "`{principal}` has {limit} requests running, which is the limit; wait until one has ended"
                );
                return Err(too_many("too_many_in_flight", message, Duration::from_secs(1)));
            }
            if let Some(rate) = &mut own.rate {
                rate.take(now).map_err(|wait| {
                    let message = format!("`{principal}` makes more requests a second than the limit allows; slow down");
                    too_many("rate_limited", message, wait)
                })?;
            }
            own.running += 1;
        }
        load.running += 1;
        Ok(Admitted { admission: Arc::clone(self), principal: principal.clone() })
    }

    fn load(&self) -> MutexGuard<'_, Load> {
        self.load.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_many(code: &'static str, message: String, wait: Duration) -> ApiError {
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, code, message).retry_after(wait)
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut load = self.admission.load();
        load.running -= 1;
        if let Some(own) = load.by_principal.get_mut(&self.principal) {
            own.running -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RequestRate;

    fn named(name: &str) -> Principal {
        Principal { name: name.to_owned(), role: Role::Agent }
    }

    #[test]
    fn each_principal_has_its_own_limits_below_that_of_all() {
        let bounds = RequestBounds { in_flight: 3, in_flight_each: 2, ..RequestBounds::default() };
        let (admission, now) = (Arc::new(Admission::new(bounds)), Instant::now());
        let code = |name: &str| admission.admit(&named(name), now).err().map(|err| err.code());
        let first = admission.admit(&named("a"), now).ok();
        let _second = admission.admit(&named("a"), now).ok();
        assert_eq!(code("a"), Some("too_many_in_flight"));
        assert_eq!(code("b"), None);
        let _third = admission.admit(&named("b"), now).ok();
        assert_eq!(code("b"), Some("overloaded"));
        drop(first);
        assert_eq!((code("a"), code("b")), (None, None));
    }

    #[test]
    fn principals_that_left_are_forgotten_and_those_with_requests_are_not() {
        let bounds = RequestBounds { in_flight_each: 1, ..RequestBounds::default() };
        let (admission, now) = (Arc::new(Admission::new(bounds)), Instant::now());
        let _stays = admission.admit(&named("stays"), now).ok();
        for number in 0..2 * MOST_PRINCIPALS {
            assert!(admission.admit(&named(&number.to_string()), now).is_ok());
        }
        assert!(admission.load().by_principal.len() <= MOST_PRINCIPALS);
        assert_eq!(
            admission.admit(&named("stays"), now).err().map(|err| err.code()),
            Some("too_many_in_flight")
        );
    }

    #[test]
    fn the_rate_of_one_principal_is_not_that_of_another() {
        let rate_each = Some(RequestRate { per_second: 1, burst: 2 });
        let bounds = RequestBounds { rate_each, ..RequestBounds::default() };
        let (admission, now) = (Arc::new(Admission::new(bounds)), Instant::now());
        let code = |name: &str, at| admission.admit(&named(name), at).err().map(|err| err.code());
        assert_eq!([code("a", now), code("a", now)], [None, None]);
        assert_eq!(code("a", now), Some("rate_limited"));
        assert_eq!(code("b", now), None);
        assert_eq!(code("a", now + Duration::from_secs(1)), None);
    }

    #[test]
    fn agents_leave_room_for_people() {
        let bounds =
            RequestBounds { in_flight: 16, in_flight_each: 16, ..RequestBounds::default() };
        let admission = Arc::new(Admission::new(bounds));
        let now = Instant::now();
        let agents: Vec<_> = (0..16).map(|_| admission.admit(&named("ci"), now)).collect();
        assert_eq!(agents.iter().filter(|it| it.is_ok()).count(), 14);
        let ada = Principal { name: "ada".to_owned(), role: Role::Approver };
        let (one, two) = (admission.admit(&ada, now), admission.admit(&ada, now));
        assert!(one.is_ok() && two.is_ok() && admission.admit(&ada, now).is_err());
    }
}
