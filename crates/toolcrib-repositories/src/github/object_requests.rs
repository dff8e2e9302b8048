//! Requests for objects by their ids.

use std::sync::Arc;

use toolcrib_core::{ErrorKind, ToolError};

use crate::github::api::{AnswerForm, AnswerLife, ApiQuestion, GitHubApi};
use crate::github::api_reply::ApiFailure;
use crate::github::deadline::QuestionDeadline;
use crate::github::sha1::id_of;
use crate::github::tree_items::TreeReply;
use crate::object_id::ObjectId;

/// The most bytes of a file, which is the limit of GitHub's API.
const MOST_BLOB_BYTES: usize = 100 << 20;

/// The most bytes of a listing of all directories. One that is longer is read as if GitHub had cut it.
const MOST_LISTING_BYTES: usize = 96 << 20;

/// Which entries of a tree are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeDepth {
    /// Its own.
    One,
    /// Those of all trees below, too.
    All,
}

/// Requests for the objects of one repository.
pub(super) struct ObjectRequests {
    pub(super) api: Arc<GitHubApi>,
    /// `owner/name`.
    pub(super) full_name: String,
}

impl ObjectRequests {
    /// Asks for a tree; returns nothing if the answer is too long.
    pub(super) fn tree(
        &self,
        id: &ObjectId,
        depth: TreeDepth,
        deadline: &QuestionDeadline,
    ) -> Result<Option<TreeReply>, ToolError> {
        let recursive = if depth == TreeDepth::All { "?recursive=1" } else { "" };
        let path = format!("/repos/{}/git/trees/{id}{recursive}", self.full_name);
        let (form, lasts) = (AnswerForm::Json, AnswerLife::Ever);
        let question = ApiQuestion { path: &path, form, most_bytes: MOST_LISTING_BYTES, lasts };
        match self.api.json(&question, deadline) {
            Ok(reply) => Ok(Some(reply)),
            Err(failure) if failure.error.kind == ErrorKind::TooLarge && failure.status == 0 => {
                Ok(None)
            }
            Err(failure) => Err(self.missing(id, failure)),
        }
    }

    /// Asks for a file.
    pub(super) fn blob(
        &self,
        id: &ObjectId,
        size: Option<u64>,
        deadline: &QuestionDeadline,
    ) -> Result<Arc<[u8]>, ToolError> {
        let too_large = |bytes: u64| {
            let message = format!("the file has {bytes} bytes, and GitHub sends {MOST_BLOB_BYTES}");
            ToolError::new(ErrorKind::TooLarge, message)
                .hint("connect a clone of the repository to read it")
        };
        if let Some(size) = size.filter(|size| *size > MOST_BLOB_BYTES as u64) {
            return Err(too_large(size));
        }
        let path = format!("/repos/{}/git/blobs/{id}", self.full_name);
        let (form, lasts) = (AnswerForm::Raw, AnswerLife::Ever);
        let question = ApiQuestion { path: &path, form, most_bytes: MOST_BLOB_BYTES, lasts };
        let answer = self.api.ask(&question, deadline).map_err(|err| self.missing(id, err))?;
        if answer.is_cut {
            return Err(too_large(MOST_BLOB_BYTES as u64 + 1));
        }
        if id_of("blob", &answer.body).as_ref() != Some(id) {
            let host = self.api.host();
            let message = format!("`{host}` sent another content for the file {id}");
            return Err(ToolError::new(ErrorKind::Io, message).hint(
                "repeat the call; if it happens again, check what is between here and there",
            ));
        }
        Ok(answer.body.as_slice().into())
    }

    /// Returns the error for an object that is not to be had.
    fn missing(&self, id: &ObjectId, failure: ApiFailure) -> ToolError {
        if !matches!(failure.status, 404 | 409 | 410 | 422) {
            return failure.error;
        }
        let (name, host) = (&self.full_name, self.api.host());
        let message = format!("`{host}` no longer has the object {id} of `{name}`");
        ToolError::new(ErrorKind::Unavailable, message).hint(
            "its history was rewritten, or the token may not read it any more; connect the repository again",
        )
    }
}
