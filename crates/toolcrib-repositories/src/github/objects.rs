//! The objects of a repository on GitHub: all directories with one request if they fit into an answer, a file with one
//! request each, and all files of a revision with one request for search.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::{Cancel, ErrorKind, ToolError};

use crate::github::deadline::QuestionDeadline;
use crate::github::object_requests::{ObjectRequests, TreeDepth};
use crate::github::object_store::ObjectStore;
use crate::github::options::GitHubOptions;
use crate::github::revision_archive::{ArchiveReading, ArchiveUse, RevisionArchive};
use crate::github::tree_items::{
    TreeItem, TreeReply, is_tree, may_have_lost_names, raw_tree, sizes,
};
use crate::object_id::ObjectId;
use crate::objects::ObjectSource;
use crate::revision::malformed;
use crate::tree_object::{TreeEntryKind, TreeObject};

/// The objects of a revision on GitHub.
pub(super) struct GitHubObjects {
    pub(super) requests: ObjectRequests,
    root: ObjectId,
    pub(super) options: GitHubOptions,
    pub(super) store: Arc<ObjectStore>,
    /// Whether all directories were asked for.
    listed: Mutex<bool>,
    /// Where in the revision a tree is. If it is at several places, one is enough.
    places: Mutex<HashMap<ObjectId, Vec<u8>>>,
    pub(super) archive: RevisionArchive,
}

impl GitHubObjects {
    /// Makes the objects of a commit, whose tree is `root`.
    pub(super) fn new(
        requests: ObjectRequests,
        (commit, root): (ObjectId, ObjectId),
        options: GitHubOptions,
        store: Arc<ObjectStore>,
    ) -> Self {
        let places = Mutex::new(HashMap::from([(root, Vec::new())]));
        let archive = RevisionArchive::new(commit);
        Self { requests, root, options, store, listed: Mutex::default(), places, archive }
    }

    fn deadline(&self, cancel: &Cancel) -> QuestionDeadline {
        QuestionDeadline::new(self.options.time, cancel)
    }

    /// Asks for all directories, once.
    fn list_all(&self, deadline: &QuestionDeadline) -> Result<(), ToolError> {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if *listed {
            return Ok(());
        }
        let reply = self.requests.tree(&self.root, TreeDepth::All, deadline)?;
        *listed = true;
        let Some(reply) = reply else { return Ok(()) };
        let is_truncated = reply.truncated;
        let all = reply.directories(self.root).ok_or_else(|| garbled(&self.root))?;
        for (id, items) in all {
            let raw = raw_tree(&items);
            // What a cut listing has of a directory is all of it, if it has the directory's id.
            let is_whole = is_tree(&raw, &id);
            if is_whole || !(is_truncated || may_have_lost_names(&items)) {
                self.keep(id, &items, &raw);
            }
        }
        Ok(())
    }

    fn keep(&self, id: ObjectId, items: &[TreeItem], raw: &Arc<[u8]>) {
        self.store.add_sizes(sizes(items));
        self.store.add_tree(id, raw);
    }

    /// Asks for one directory.
    fn fetch_tree(
        &self,
        id: &ObjectId,
        deadline: &QuestionDeadline,
    ) -> Result<Arc<[u8]>, ToolError> {
        let reply = self.requests.tree(id, TreeDepth::One, deadline)?;
        let reply = reply.filter(|reply| !reply.truncated).ok_or_else(|| {
            let message =
                format!("a directory has more entries than `{}` lists", self.requests.api.host());
            ToolError::new(ErrorKind::TooLarge, message)
                .hint("connect a clone of the repository to read it")
        })?;
        let mut items = TreeReply::items(reply).ok_or_else(|| garbled(id))?;
        let mut raw = raw_tree(&items);
        if !is_tree(&raw, id)
            && may_have_lost_names(&items)
            && self.restore_names(id, &mut items)?
        {
            raw = raw_tree(&items);
        }
        self.keep(*id, &items, &raw);
        Ok(raw)
    }

    /// Gives the entries of a tree their own names back; returns whether that was possible. Without the archive, they
    /// stay as the API writes them.
    fn restore_names(&self, id: &ObjectId, items: &mut [TreeItem]) -> Result<bool, ToolError> {
        let place = self.places.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        let Some(place) = place else { return Ok(false) };
        let Some(names) = self.archive.names(&self.requests, &self.options)? else {
            return Ok(false);
        };
        let mut restored = items.to_vec();
        names.restore(&place, &mut restored);
        let is_right = is_tree(&raw_tree(&restored), id);
        if is_right {
            items.clone_from_slice(&restored);
        }
        Ok(is_right)
    }

    /// Remembers where the directories of a tree are.
    fn place(&self, id: &ObjectId, tree: &TreeObject) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(above) = places.get(id).cloned() else { return };
        for entry in tree.entries().filter(|entry| entry.kind == TreeEntryKind::Directory) {
            places.entry(entry.id).or_insert_with(|| {
                if above.is_empty() {
                    entry.name.to_vec()
                } else {
                    [&above, entry.name].join(&b'/')
                }
            });
        }
    }

    /// Returns a file, from the store or from GitHub.
    fn blob(&self, id: &ObjectId, cancel: &Cancel) -> Result<Arc<[u8]>, ToolError> {
        if let Some(known) = self.store.blob(id) {
            return Ok(known);
        }
        let content = self.requests.blob(id, self.store.size(id), &self.deadline(cancel))?;
        self.store.add_sizes([(*id, content.len() as u64)]);
        self.store.add_blob(*id, &content);
        Ok(content)
    }
}

impl ObjectSource for Arc<GitHubObjects> {
    fn tree(&self, id: &ObjectId, cancel: &Cancel) -> Result<TreeObject, ToolError> {
        let mut known = self.store.tree(id);
        if known.is_none() {
            self.list_all(&self.deadline(cancel))?;
            known = self.store.tree(id);
        }
        let raw = match known {
            Some(raw) => raw,
            None => self.fetch_tree(id, &self.deadline(cancel))?,
        };
        let tree = TreeObject::parse(raw.to_vec(), id.as_bytes().len())
            .ok_or_else(|| malformed(id, "is a malformed tree"))?;
        self.place(id, &tree);
        Ok(tree)
    }

    // One request lists every tree, unless the repository is large; then each directory is one.
    fn trees(&self, ids: &[ObjectId], _: &Cancel) -> Result<Vec<Option<TreeObject>>, ToolError> {
        Ok(ids.iter().map(|_| None).collect())
    }

    fn blob_size(&self, id: &ObjectId, cancel: &Cancel) -> Result<u64, ToolError> {
        match self.store.size(id) {
            Some(size) => Ok(size),
            None => Ok(self.blob(id, cancel)?.len() as u64),
        }
    }

    fn read_blob(
        &self,
        id: &ObjectId,
        cancel: &Cancel,
        piece: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<u64, ToolError> {
        let content = self.blob(id, cancel)?;
        if !content.is_empty() {
            let _ = piece(&content);
        }
        Ok(content.len() as u64)
    }

    fn read_blobs(
        &self,
        ids: &mut dyn Iterator<Item = ObjectId>,
        most: usize,
        is_stopped: &dyn Fn() -> bool,
        each: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<(), ToolError> {
        let in_use = self.archive.blobs(&ArchiveReading {
            requests: &self.requests,
            options: &self.options,
            store: &self.store,
            most_file_bytes: most,
            is_stopped,
        })?;
        let cancel = Cancel::default();
        for id in ids {
            if is_stopped() {
                break;
            }
            let is_too_large = self.store.size(&id).is_some_and(|size| size > most as u64);
            let in_archive = match &in_use {
                ArchiveUse::Blobs(blobs) => blobs.get(&id).cloned(),
                ArchiveUse::OneByOne => None,
            };
            let found = match in_archive {
                _ if is_too_large => None,
                Some(content) => Some(content),
                // The archive lacks what attributes of the repository leave out of it.
                None => {
                    self.archive.count_single_read(self.options.max_single_reads)?;
                    Some(self.blob(&id, &cancel)?)
                }
            };
            each(found.as_deref().filter(|content| content.len() <= most));
        }
        if is_stopped() {
            self.archive.drop_blobs();
        }
        self.archive.drop_read_blobs(&in_use);
        Ok(())
    }
}

fn garbled(id: &ObjectId) -> ToolError {
    ToolError::new(ErrorKind::Io, format!("GitHub's listing of the tree {id} is malformed"))
        .hint("repeat the call, or connect a clone of the repository")
}
