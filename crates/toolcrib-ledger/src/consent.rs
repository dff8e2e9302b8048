//! What people allow: grants, answers to pending approvals, and the quota of a user.

pub(crate) mod approval_store;
pub(crate) mod grants;
pub(crate) mod user_quota;
