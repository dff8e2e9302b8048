//! The offers of a worker: calls that it checked, and runs once if a gateway permits them soon.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use toolcrib_core::Call;
use toolcrib_runtime::Runtime;

/// How long an offer holds. A gateway gives a call more time than this, so a message that comes late runs nothing that
/// the gateway has given up.
pub(crate) const OFFER_TIME: Duration = Duration::from_secs(10);

/// The most offers at a time.
const MOST_OFFERS: usize = 1024;

/// A call that a worker would run.
pub(crate) struct CallOffer {
    pub(crate) call: Call,
    pub(crate) runtime: Runtime,
    made: Instant,
}

impl CallOffer {
    pub(crate) fn new(call: Call, runtime: Runtime) -> Self {
        Self { call, runtime, made: Instant::now() }
    }
}

/// The offers that hold, by their names.
#[derive(Default)]
pub(crate) struct Offers(Mutex<HashMap<String, CallOffer>>);

impl Offers {
    /// Keeps an offer. Returns whether there is room for it.
    pub(crate) fn add(&self, name: String, offer: CallOffer) -> bool {
        let mut offers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        offers.retain(|_, offer| offer.made.elapsed() <= OFFER_TIME);
        let has_room = offers.len() < MOST_OFFERS;
        if has_room {
            offers.insert(name, offer);
        }
        has_room
    }

    /// Returns the call that an offer is about.
    pub(crate) fn call_of(&self, name: &str) -> Option<String> {
        let offers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        offers.get(name).map(|offer| offer.call.id.0.clone())
    }

    /// Takes an offer that still holds. It holds once.
    pub(crate) fn take(&self, name: &str) -> Option<CallOffer> {
        let offer = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name)?;
        (offer.made.elapsed() <= OFFER_TIME).then_some(offer)
    }

    /// Withdraws every offer to run a call. Returns whether there was one.
    pub(crate) fn withdraw(&self, call: &str) -> bool {
        let mut offers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = offers.len();
        offers.retain(|_, offer| offer.call.id.0 != call);
        offers.len() < before
    }
}
