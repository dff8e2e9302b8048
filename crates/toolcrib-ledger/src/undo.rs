//! Undo: the journal of changes, the content they replaced, and the snapshots taken before commands run.

pub(crate) mod journal;
pub(crate) mod objects;
pub(crate) mod snapshot_store;
