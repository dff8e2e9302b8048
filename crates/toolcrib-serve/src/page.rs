//! The page of the operator, as the server sees it: its files, which need no token, and the login.

mod files;
mod login;

pub(crate) use files::{answer, has_file};
pub(crate) use login::{LOGIN_PATH, begin_session, log_in, page_routes};
