//! The port to a source of objects. A revision is the same wherever its objects come from.

use std::ops::ControlFlow;

use toolcrib_core::{Cancel, ToolError};

use crate::object_id::ObjectId;
use crate::tree_object::TreeObject;

/// A source of git objects.
pub(crate) trait ObjectSource: Send + Sync {
    /// Reads a tree.
    fn tree(&self, id: &ObjectId, cancel: &Cancel) -> Result<TreeObject, ToolError>;

    /// Reads several trees with one question, as far as that is sooner than to ask for each. Nothing stands for a tree
    /// that is missing, malformed or large, and none need be read.
    fn trees(
        &self,
        ids: &[ObjectId],
        cancel: &Cancel,
    ) -> Result<Vec<Option<TreeObject>>, ToolError>;

    /// Returns the size of a blob.
    fn blob_size(&self, id: &ObjectId, cancel: &Cancel) -> Result<u64, ToolError>;

    /// Returns the sizes of several blobs, in their order. Nothing stands for one that is missing.
    fn blob_sizes(&self, ids: &[ObjectId], cancel: &Cancel) -> Result<Vec<Option<u64>>, ToolError> {
        Ok(ids.iter().map(|id| self.blob_size(id, cancel).ok()).collect())
    }

    /// Reads a blob piece by piece, until it ends or `piece` breaks; returns its size.
    fn read_blob(
        &self,
        id: &ObjectId,
        cancel: &Cancel,
        piece: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<u64, ToolError>;

    /// Reads many blobs, in the order of their ids, until `is_stopped`. Of a blob with more than `most` bytes, and of
    /// one that is missing, nothing is read.
    fn read_blobs(
        &self,
        ids: &mut dyn Iterator<Item = ObjectId>,
        most: usize,
        is_stopped: &dyn Fn() -> bool,
        each: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<(), ToolError>;
}
