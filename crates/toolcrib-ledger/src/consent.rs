//! What people allow: grants, answers to pending approvals, the tokens of the server, and the quota of a user.

pub(crate) mod approval_store;
pub(crate) mod grants;
pub(crate) mod tokens;
pub(crate) mod user_quota;
