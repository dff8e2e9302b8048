//! Undo: the journal of changes, the content they replaced, and the snapshots taken before commands run.

pub(crate) mod journal;
pub(crate) mod objects;
pub(crate) mod snapshot_store;

#[cfg(test)]
mod fixture {
    use toolcrib_core::{CallId, Change, ChangeKind, FileId};

    /// Returns the change of a call that made the file `path`.
    pub(crate) fn change(call: &str, path: &str) -> Change {
        Change {
            call: CallId(call.to_owned()),
            tool: "t".into(),
            at: String::new(),
            kind: ChangeKind::Created,
            root: "/".to_owned(),
            root_id: FileId { device: 0, inode: 0, born: 0 },
            path: path.to_owned(),
            before: None,
            after: None,
            made: None,
            doubt: None,
        }
    }
}
