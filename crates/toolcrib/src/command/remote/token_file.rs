//! The file with the token for a server.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::{CliError, CliErrorKind};

/// The most bytes that are read of a file with a token.
const MOST_TOKEN_BYTES: u64 = 4096;

/// Reads a token from a file that nobody else can read.
pub(super) fn read(path: &Path) -> Result<String, CliError> {
    let shown = path.display();
    let unreadable = |err: std::io::Error| {
        let message = format!("the token cannot be read from `{shown}`: {err}");
        CliError::new(CliErrorKind::System, message)
            .hint("--token-file names a file with one token, as `toolcrib tokens add` prints it")
    };
    // Looked at before it is opened, because a pipe would block.
    let is_file = fs::metadata(path).map_err(unreadable)?.is_file();
    if !is_file {
        return Err(CliError::usage(format!("`{shown}` is no file with a token")));
    }
    let file = File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.mode();
    if mode & 0o077 != 0 {
        let message = format!(
            "others can read or change the token in `{shown}` (its mode is {:o})",
            mode & 0o777
        );
        return Err(CliError::usage(message).hint(format!("chmod 600 {shown}")));
    }
    let mut text = String::new();
    file.take(MOST_TOKEN_BYTES).read_to_string(&mut text).map_err(unreadable)?;
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = format!("`{shown}` does not have one token and nothing else");
        return Err(CliError::usage(message)
            .hint("write the token into it, as `toolcrib tokens add` printed it"));
    }
    Ok(token.to_owned())
}
