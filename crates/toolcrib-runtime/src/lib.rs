//! One call from end to end, whatever door it came through: find, check, decide, run, record.

mod approver;
mod confirm;
mod desk;
pub mod dialect;
mod judge;
mod pace;
mod paths;
mod reach;
mod run;
mod runtime;
pub mod undo;

pub use approver::{AlwaysYes, AnswerFuture, Approver, Confirms, Nobody, Question};
pub use confirm::Weight;
pub use judge::{Choice, Judge};
pub use pace::{Bounds, Tally};
pub use runtime::{Preview, Runtime, World};
