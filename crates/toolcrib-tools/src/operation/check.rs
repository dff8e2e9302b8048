//! Checks that tools of all catalogues make before they run, with the same messages.

use toolcrib_core::{EntryKind, ErrorKind, Files, Plan, ToolError, Tree};

use super::text::{MAX_FILE_BYTES, Text};

/// Fails if `path` is not a directory.
pub(crate) fn directory(tree: &dyn Tree, path: &str) -> Result<Plan, ToolError> {
    if tree.stat(path)?.kind == EntryKind::Directory {
        return Ok(Plan::read(path));
    }
    let message = format!("`{path}` is not a directory");
    Err(ToolError::new(ErrorKind::NotDirectory, message).at(path))
}

/// Fails if `path` is not a file.
pub(crate) fn file(tree: &dyn Tree, path: &str) -> Result<Plan, ToolError> {
    if tree.stat(path)?.kind != EntryKind::Directory {
        return Ok(Plan::read(path));
    }
    let message = format!("`{path}` is a directory");
    Err(ToolError::new(ErrorKind::IsDirectory, message).at(path))
}

/// Fails if `content` is too large or cannot be written to `path`. Returns the change that writing
/// would make.
pub(crate) fn write(
    files: &dyn Files,
    path: &str,
    content: &str,
    most: u64,
) -> Result<Plan, ToolError> {
    if content.len() as u64 > most {
        let message = format!("`content` has {} bytes, but the limit is {most}", content.len());
        return Err(ToolError::new(ErrorKind::TooLarge, message).at(path));
    }
    files.check_write(path)?;
    Ok(Plan::edit(path, text(files, path), Some(content.to_owned())))
}

/// Fails as [`write`] does, and also if `path` already exists.
pub(crate) fn create(
    files: &dyn Files,
    path: &str,
    content: &str,
    most: u64,
) -> Result<Plan, ToolError> {
    let plan = write(files, path, content, most)?;
    match files.stat(path) {
        Err(err) if err.kind == ErrorKind::NotFound => Ok(plan),
        Err(err) => Err(err),
        Ok(_) => {
            Err(ToolError::new(ErrorKind::Exists, format!("`{path}` already exists")).at(path))
        }
    }
}

/// Fails if `path` cannot be removed. Returns the change that removing would make.
pub(crate) fn remove(files: &dyn Files, path: &str) -> Result<Plan, ToolError> {
    files.check_remove(path)?;
    Ok(Plan::edit(path, text(files, path), None))
}

/// Returns the text of a file, if the file exists and is text.
fn text(files: &dyn Files, path: &str) -> Option<String> {
    let content = files.read(path, MAX_FILE_BYTES).ok().filter(|content| !content.is_cut())?;
    Text::decode(content.bytes).map(|text| text.text)
}
