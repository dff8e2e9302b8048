//! Operations that tools of several catalogues share.

pub(crate) mod arithmetic;
pub(crate) mod check;
pub(crate) mod command;
pub(crate) mod edit;
pub(crate) mod found;
pub(crate) mod lines;
pub(crate) mod similar;
pub(crate) mod text;
pub(crate) mod todo;
