//! The objects of a git repository, by long-lived processes of `git cat-file`. One that has died is replaced once for
//! each question.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use toolcrib_core::{Cancel, ErrorKind, ToolError};

use crate::child_output::{ChildFailure, ChildPatience};
use crate::git::blob_batch::{BatchFailure, BlobBatch};
use crate::git::object_child::{AfterAnswer, ChildPurpose, ObjectChild, ObjectHeader};
use crate::git::program::GitProgram;
use crate::object_id::ObjectId;
use crate::objects::ObjectSource;
use crate::revision::malformed;
use crate::tree_object::TreeObject;

/// How many idle processes of each purpose are kept.
const MOST_IDLE_CHILDREN: usize = 2;

/// The largest tree that is read.
const MOST_TREE_BYTES: u64 = 256 << 20;

/// The largest tree that is read before anybody asks for it.
const MOST_TREE_BYTES_AHEAD: u64 = 1 << 20;

/// The largest commit that is read.
const MOST_COMMIT_BYTES: u64 = 16 << 20;

/// How many questions are written before the first answer is read. All of them fit into a pipe.
const MOST_ASKED_AHEAD: usize = 256;

/// The objects of a git repository.
pub(super) struct GitObjects {
    git: GitProgram,
    contents: Mutex<Vec<ObjectChild>>,
    sizes: Mutex<Vec<ObjectChild>>,
    /// How long git may say nothing.
    patience: Duration,
}

/// A question to a process. It returns whether the process can be asked again.
type ChildQuestion<'a, T> =
    dyn FnMut(&mut ObjectChild, &ChildPatience<'_>) -> Result<(T, AfterAnswer), ChildFailure> + 'a;

impl GitObjects {
    pub(super) fn new(git: GitProgram, patience: Duration) -> Self {
        Self { git, contents: Mutex::default(), sizes: Mutex::default(), patience }
    }

    /// Returns the kind of an object; nothing if it is missing.
    pub(super) fn kind_of(
        &self,
        id: &ObjectId,
        cancel: &Cancel,
    ) -> Result<Option<Vec<u8>>, ToolError> {
        // The process for contents is asked, because it is needed for the commit anyway.
        self.ask(ChildPurpose::Contents, cancel, &mut |child, patience| {
            let Some(header) = child.ask(id, patience)? else {
                return Ok((None, AfterAnswer::Ready));
            };
            let after = child.content(header.size, patience, &mut |_| ControlFlow::Break(()))?;
            Ok((Some(header.kind), after))
        })
    }

    /// Returns the tree of a commit.
    pub(super) fn tree_of(
        &self,
        commit: &ObjectId,
        cancel: &Cancel,
    ) -> Result<ObjectId, ToolError> {
        self.first_id(commit, b"commit", b"tree ", cancel)
    }

    /// Returns the object that a tag is about.
    pub(super) fn target_of(&self, tag: &ObjectId, cancel: &Cancel) -> Result<ObjectId, ToolError> {
        self.first_id(tag, b"tag", b"object ", cancel)
    }

    /// Returns the id in the first line of an object.
    fn first_id(
        &self,
        id: &ObjectId,
        kind: &[u8],
        prefix: &[u8],
        cancel: &Cancel,
    ) -> Result<ObjectId, ToolError> {
        let content = self.whole(id, kind, MOST_COMMIT_BYTES, cancel)?;
        let line = content.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let named = line.strip_prefix(prefix).and_then(|id| std::str::from_utf8(id).ok());
        let named = named.and_then(ObjectId::from_hex);
        named.ok_or_else(|| malformed(id, &format!("is a malformed {}", text(kind))))
    }

    fn header(&self, id: &ObjectId, cancel: &Cancel) -> Result<Option<ObjectHeader>, ToolError> {
        self.ask(ChildPurpose::Sizes, cancel, &mut |child, patience| {
            Ok((child.ask(id, patience)?, AfterAnswer::Ready))
        })
    }

    /// Puts a question to an idle process, or to a new one. If the process has died since its last answer, another
    /// one is asked.
    fn ask<T>(
        &self,
        purpose: ChildPurpose,
        cancel: &Cancel,
        question: &mut ChildQuestion<'_, T>,
    ) -> Result<T, ToolError> {
        let is_stopped = || cancel.is_cancelled();
        let patience = ChildPatience { time: self.patience, is_stopped: &is_stopped };
        let pool = match purpose {
            ChildPurpose::Contents => &self.contents,
            ChildPurpose::Sizes => &self.sizes,
        };
        let idle = || pool.lock().unwrap_or_else(PoisonError::into_inner);
        let mut can_repeat = true;
        loop {
            let known = if can_repeat { idle().pop() } else { None };
            let mut child = match known {
                Some(child) => child,
                None => ObjectChild::start(&self.git, purpose)?,
            };
            match question(&mut child, &patience) {
                Ok((answer, after)) => {
                    let mut idle = idle();
                    if after == AfterAnswer::Ready && idle.len() < MOST_IDLE_CHILDREN {
                        idle.push(child);
                    }
                    return Ok(answer);
                }
                Err(ChildFailure::Ended) if can_repeat => can_repeat = false,
                Err(failure) => return Err(failure.error("cat-file", cancel)),
            }
        }
    }

    /// Reads an object of a kind, piece by piece.
    fn read(
        &self,
        id: &ObjectId,
        kind: &[u8],
        cancel: &Cancel,
        piece: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<u64, ToolError> {
        let mut is_begun = false;
        let mut wrong: Option<ObjectHeader> = None;
        let found = self.ask(ChildPurpose::Contents, cancel, &mut |child, patience| {
            if is_begun {
                // Half an object was passed on already.
                return Err(ChildFailure::Garbled);
            }
            let Some(header) = child.ask(id, patience)? else {
                return Ok((None, AfterAnswer::Ready));
            };
            if header.kind != kind {
                wrong = Some(header);
                return Ok((None, AfterAnswer::Spent));
            }
            let size = header.size;
            let after = child.content(size, patience, &mut |bytes| {
                is_begun = true;
                piece(size, bytes)
            })?;
            Ok((Some(size), after))
        })?;
        match (found, wrong) {
            (Some(size), _) => Ok(size),
            (None, Some(header)) => {
                let (is, should) = (text(&header.kind), text(kind));
                Err(malformed(id, &format!("is a {is} in the place of a {should}")))
            }
            (None, None) => Err(missing_object(id)),
        }
    }

    /// Reads a whole object of a kind.
    fn whole(
        &self,
        id: &ObjectId,
        kind: &[u8],
        most: u64,
        cancel: &Cancel,
    ) -> Result<Vec<u8>, ToolError> {
        let mut whole = Vec::new();
        let size = self.read(id, kind, cancel, &mut |size, bytes| {
            if size > most {
                return ControlFlow::Break(());
            }
            whole.extend_from_slice(bytes);
            ControlFlow::Continue(())
        })?;
        if size > most {
            let message =
                format!("the {} {id} has {size} bytes, and the limit is {most}", text(kind));
            return Err(ToolError::new(ErrorKind::TooLarge, message));
        }
        Ok(whole)
    }
}

impl ObjectSource for GitObjects {
    fn tree(&self, id: &ObjectId, cancel: &Cancel) -> Result<TreeObject, ToolError> {
        let raw = self.whole(id, b"tree", MOST_TREE_BYTES, cancel)?;
        TreeObject::parse(raw, id.as_bytes().len())
            .ok_or_else(|| malformed(id, "is a malformed tree"))
    }

    fn trees(
        &self,
        ids: &[ObjectId],
        cancel: &Cancel,
    ) -> Result<Vec<Option<TreeObject>>, ToolError> {
        self.ask(ChildPurpose::Contents, cancel, &mut |child, patience| {
            child.ask_ahead(ids)?;
            let mut trees = Vec::with_capacity(ids.len());
            for id in ids {
                let Some(header) = child.next(patience)? else {
                    trees.push(None);
                    continue;
                };
                let is_wanted = header.kind == b"tree" && header.size <= MOST_TREE_BYTES_AHEAD;
                let mut raw = Vec::new();
                let after = child.content(header.size, patience, &mut |bytes| {
                    if !is_wanted {
                        return ControlFlow::Break(());
                    }
                    raw.extend_from_slice(bytes);
                    ControlFlow::Continue(())
                })?;
                let tree = is_wanted.then(|| TreeObject::parse(raw, id.as_bytes().len()));
                trees.push(tree.flatten());
                if after == AfterAnswer::Spent {
                    return Ok((trees, after));
                }
            }
            Ok((trees, AfterAnswer::Ready))
        })
    }

    fn blob_size(&self, id: &ObjectId, cancel: &Cancel) -> Result<u64, ToolError> {
        let header = self.header(id, cancel)?;
        header.map(|header| header.size).ok_or_else(|| missing_object(id))
    }

    fn blob_sizes(&self, ids: &[ObjectId], cancel: &Cancel) -> Result<Vec<Option<u64>>, ToolError> {
        let mut sizes = Vec::with_capacity(ids.len());
        for some in ids.chunks(MOST_ASKED_AHEAD) {
            let answers = self.ask(ChildPurpose::Sizes, cancel, &mut |child, patience| {
                child.ask_ahead(some)?;
                let mut answers = Vec::with_capacity(some.len());
                for _ in some {
                    answers.push(child.next(patience)?.map(|header| header.size));
                }
                Ok((answers, AfterAnswer::Ready))
            })?;
            sizes.extend(answers);
        }
        Ok(sizes)
    }

    fn read_blob(
        &self,
        id: &ObjectId,
        cancel: &Cancel,
        piece: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<u64, ToolError> {
        self.read(id, b"blob", cancel, &mut |_, bytes| piece(bytes))
    }

    fn read_blobs(
        &self,
        ids: &mut dyn Iterator<Item = ObjectId>,
        most: usize,
        is_stopped: &dyn Fn() -> bool,
        each: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<(), ToolError> {
        let patience = ChildPatience { time: self.patience, is_stopped };
        match BlobBatch::new(&self.git, ids, most, patience).run(each) {
            Ok(()) => Ok(()),
            Err(BatchFailure::Start(err)) => Err(err),
            Err(BatchFailure::Child(failure)) => Err(failure.error("cat-file", &Cancel::default())),
        }
    }
}

fn text(kind: &[u8]) -> String {
    String::from_utf8_lossy(kind).into_owned()
}

/// Returns the error for an object that the repository lacks.
fn missing_object(id: &ObjectId) -> ToolError {
    let message = format!("the object {id} of the revision is not in the repository");
    ToolError::new(ErrorKind::Unavailable, message).hint(
        "the repository is a partial clone, or was pruned after its history was rewritten; fetch the revision again, \
         or connect a complete clone",
    )
}
