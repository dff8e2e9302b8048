//! Calls that run on another machine, because their files are there. Here they are asked for, decided, approved and
//! recorded; there they are checked, decided by the same policy once more, and run.

mod call_for_another;
pub(crate) mod dispatcher;
pub(crate) mod nothing_here;
pub(crate) mod permit_answer;
pub(crate) mod remote_tool;
