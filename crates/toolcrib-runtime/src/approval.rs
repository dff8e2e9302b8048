//! Approvals that more than one process can answer: the queue that a waiting call stands in, and the answers given
//! to it from elsewhere.

pub(crate) mod parked;
pub(crate) mod queue;
mod since_question;
