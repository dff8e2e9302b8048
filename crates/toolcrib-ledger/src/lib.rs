//! The record: what was asked, decided and done, one JSON line each, and what files held before a
//! call changed them. Lives in the state folder, where no tool can reach it.

mod approvals;
mod grants;
mod journal;
mod objects;
mod past;
mod record;
mod state;

pub use approvals::{Approvals, Decided, Pending, Standing};
pub use grants::GrantFile;
pub use journal::{Journal, Taken};
pub use past::{PastCall, past_calls};
pub use record::{Previews, RecordFile};
pub use state::{State, StateError};

use toolcrib_core::CallId;

/// Returns an id that no call has had, which sorts after those made before it.
pub fn new_call_id() -> CallId {
    CallId(ulid::Ulid::generate().to_string())
}
