//! What people allow: grants, answers to pending approvals, and the quota of a user.

pub(crate) mod approvals;
pub(crate) mod grants;
pub(crate) mod user_quota;
