//! The stages of a call, a file each: asked, checked, decided, permitted, ended. Each stage consumes the one
//! before it, so no stage can be left out.

pub(crate) mod asked;
pub(crate) mod changed;
pub(crate) mod checked;
pub(crate) mod decided;
mod denied_search;
pub(crate) mod ended;
pub(crate) mod host_questions;
pub(crate) mod inner_calls;
pub(crate) mod isolate;
pub(crate) mod permitted;
pub(crate) mod pins;
pub(crate) mod question;
pub(crate) mod question_maker;
pub(crate) mod replacing_call;
pub(crate) mod review;
pub(crate) mod scope;
mod stopping;
pub(crate) mod watchdog;
