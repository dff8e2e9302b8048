//! Where a caller's path leads in a revision. Links are followed below the root, and refused where they lead out.

use std::collections::VecDeque;

use toolcrib_core::path_names::LONGEST_PATH_BYTES;
use toolcrib_core::{Cancel, ErrorKind, ToolError};

use crate::object_id::ObjectId;
use crate::path_text::{missing, outside, parse};
use crate::revision::Revision;
use crate::tree_object::{TreeEntry, TreeEntryKind};

/// More links than this count as a loop.
const MOST_LINKS: usize = 40;

/// A file or directory of a revision, without links.
pub(crate) struct RevisionPlace {
    /// The names below the root.
    pub(crate) names: Vec<Vec<u8>>,
    pub(crate) id: ObjectId,
    pub(crate) kind: PlaceKind,
    /// The directory that it is in; nothing for the root.
    pub(crate) above: Option<ObjectId>,
}

/// What is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    File,
    Directory,
}

impl RevisionPlace {
    /// The path below the root.
    pub(crate) fn path(&self) -> Vec<u8> {
        self.names.join(&b'/')
    }
}

/// A walk along a path.
struct PathWalk<'a> {
    revision: &'a Revision,
    shown: &'a str,
    cancel: &'a Cancel,
    /// The directories from the root on, each with its name.
    above: Vec<(Vec<u8>, ObjectId)>,
    /// The file at the end, once there is one.
    file: Option<(Vec<u8>, ObjectId)>,
    rest: VecDeque<Vec<u8>>,
    links: usize,
}

impl Revision {
    /// Finds what is at the path that a caller wrote as `shown`.
    pub(crate) fn find(&self, shown: &str, cancel: &Cancel) -> Result<RevisionPlace, ToolError> {
        use std::os::unix::ffi::OsStrExt;
        let rest = parse(self.path().as_os_str().as_bytes(), shown)?.into();
        let mut walk = PathWalk {
            revision: self,
            shown,
            cancel,
            above: Vec::new(),
            file: None,
            rest,
            links: 0,
        };
        while let Some(name) = walk.rest.pop_front() {
            walk.step(name)?;
        }
        Ok(walk.end())
    }
}

impl PathWalk<'_> {
    fn directory(&self) -> ObjectId {
        self.above.last().map_or_else(|| self.revision.root(), |(_, id)| *id)
    }

    /// Goes on by one name.
    fn step(&mut self, name: Vec<u8>) -> Result<(), ToolError> {
        if self.file.is_some() {
            return Err(missing(self.shown));
        }
        match name.as_slice() {
            b"" | b"." => return Ok(()),
            b".." => return self.above.pop().map(|_| ()).ok_or_else(|| outside(self.shown)),
            _ => {}
        }
        let tree = self.revision.tree(&self.directory(), self.cancel)?;
        let Some(entry) = tree.find(&name) else { return Err(missing(self.shown)) };
        match entry.kind {
            TreeEntryKind::Directory => self.above.push((name, entry.id)),
            TreeEntryKind::File => self.file = Some((name, entry.id)),
            TreeEntryKind::Link => self.follow(&entry)?,
            TreeEntryKind::Submodule => return Err(submodule(self.shown, &entry.id)),
        }
        Ok(())
    }

    /// Puts the target of a link before the rest of the path.
    fn follow(&mut self, link: &TreeEntry<'_>) -> Result<(), ToolError> {
        self.links += 1;
        if self.links > MOST_LINKS {
            let message = format!("`{}` is part of a loop of symbolic links", self.shown);
            return Err(ToolError::new(ErrorKind::NotFound, message).at(self.shown));
        }
        let target = self.revision.small_blob(&link.id, LONGEST_PATH_BYTES, self.cancel)?;
        let Some(target) = target.filter(|target| !target.is_empty() && !target.contains(&0))
        else {
            return Err(missing(self.shown));
        };
        if target.starts_with(b"/") {
            return Err(outside(self.shown));
        }
        for name in target.rsplit(|byte| *byte == b'/') {
            self.rest.push_front(name.to_vec());
        }
        Ok(())
    }

    fn end(mut self) -> RevisionPlace {
        let id = self.directory();
        if let Some((name, file)) = self.file {
            let mut names: Vec<Vec<u8>> = self.above.into_iter().map(|(name, _)| name).collect();
            names.push(name);
            return RevisionPlace { names, id: file, kind: PlaceKind::File, above: Some(id) };
        }
        let names: Vec<Vec<u8>> = self.above.iter().map(|(name, _)| name.clone()).collect();
        let above = self.above.pop().map(|_| self.directory());
        RevisionPlace { names, id, kind: PlaceKind::Directory, above }
    }
}

fn submodule(shown: &str, commit: &ObjectId) -> ToolError {
    let message = format!("`{shown}` leads to a submodule, whose files are not in this repository");
    ToolError::new(ErrorKind::Unavailable, message)
        .hint("connect the submodule's own repository to read it")
        .at(shown)
        .with("submodule_commit", commit.to_string())
}
