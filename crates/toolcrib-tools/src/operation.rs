//! Operations that tools of several catalogues share, and what tools of one catalogue share.

pub(crate) mod arithmetic;
pub(crate) mod check;
pub(crate) mod command;
pub(crate) mod directory;
pub(crate) mod edit;
pub(crate) mod found;
pub(crate) mod kept_text;
pub(crate) mod lines;
pub(crate) mod repository;
pub(crate) mod shell;
pub(crate) mod similar;
pub(crate) mod text;
pub(crate) mod text_reply;
pub(crate) mod todo;
pub(crate) mod web_page;
