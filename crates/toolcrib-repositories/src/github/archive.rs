//! The archive of a revision: all its files with one request.

use std::io::Read;
use std::sync::Arc;

use flate2::bufread::GzDecoder;
use toolcrib_core::{ErrorKind, ToolError};

use crate::github::api::{AnswerForm, AnswerLife, ApiQuestion, GitHubApi};
use crate::github::deadline::QuestionDeadline;

/// An archive that has more bytes than this after it was decompressed is not read to its end.
const MOST_DECOMPRESSED_BYTES: u64 = 8 << 30;

/// An archive as it came: tar, compressed by gzip.
pub(super) type ArchiveBytes = Arc<Vec<u8>>;

/// Fetches the archive of a commit.
pub(super) fn fetch_archive(
    api: &GitHubApi,
    full_name: &str,
    commit: &str,
    most_bytes: usize,
    deadline: &QuestionDeadline,
) -> Result<ArchiveBytes, ToolError> {
    let path = format!("/repos/{full_name}/tarball/{commit}");
    let (form, lasts) = (AnswerForm::Json, AnswerLife::Ever);
    let answer = api.ask(&ApiQuestion { path: &path, form, most_bytes, lasts }, deadline)?;
    let too_large = || {
        let message = format!("the archive of `{full_name}` has more than {most_bytes} bytes");
        ToolError::new(ErrorKind::TooLarge, message)
    };
    let Some(url) = &answer.redirect else {
        if answer.is_cut {
            return Err(too_large());
        }
        return Ok(Arc::new(answer.body.clone()));
    };
    let Some(addresses) = api.address.archive_addresses(url) else {
        let message = format!("the archive of `{full_name}` is at an address that is not asked");
        return Err(ToolError::new(ErrorKind::Refused, message));
    };
    // The address carries what the host wants to see. The token is for the API alone.
    let reply = api.fetch_elsewhere((url, addresses), most_bytes, deadline)?;
    if reply.status != 200 {
        let status = reply.status;
        let message = format!("the archive of `{full_name}` was answered with status {status}");
        return Err(ToolError::new(ErrorKind::Unavailable, message));
    }
    if reply.is_cut {
        return Err(too_large());
    }
    Ok(Arc::new(reply.body))
}

/// Returns a reader of the tar archive.
pub(super) fn decompressed(archive: &[u8]) -> impl Read + '_ {
    GzDecoder::new(archive).take(MOST_DECOMPRESSED_BYTES)
}

/// Returns the error of an archive that cannot be read.
pub(super) fn unreadable(err: &std::io::Error) -> ToolError {
    ToolError::new(ErrorKind::Io, format!("the archive of the revision cannot be read: {err}"))
}
