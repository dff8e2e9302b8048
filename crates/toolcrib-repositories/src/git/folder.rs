//! The folder in which git keeps a repository. It is found by us: git's own search goes up to any folder above, and
//! follows what files there say.

use std::path::{Path, PathBuf};

use toolcrib_core::{ErrorKind, ToolError};

/// The most bytes of a file that says where the repository is.
const MOST_POINTER_BYTES: u64 = 8 << 10;

/// Where a repository is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RepositoryFolders {
    /// The folder that git works with.
    pub(super) git_folder: PathBuf,
    /// The folder that stands for the root of its files: the work tree, or the bare repository itself.
    pub(super) root: PathBuf,
}

/// Finds the repository at a path.
pub(super) fn find(path: &Path) -> Result<RepositoryFolders, ToolError> {
    let shown = path.display();
    let root = std::fs::canonicalize(path).map_err(|err| {
        let kind = match err.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::PermissionDenied => ErrorKind::Permission,
            _ => ErrorKind::Io,
        };
        ToolError::new(kind, format!("the repository `{shown}` cannot be opened: {err}"))
            .hint("give the path of an existing repository")
    })?;
    let inside = root.join(".git");
    if inside.is_dir() {
        return Ok(RepositoryFolders { git_folder: inside, root });
    }
    if inside.is_file() {
        let git_folder = linked(&inside)?;
        return Ok(RepositoryFolders { git_folder, root });
    }
    if is_git_folder(&root) {
        // The path may be that of the folder `.git` itself.
        let is_inner = root.file_name().is_some_and(|name| name == ".git");
        let above = root.parent().filter(|_| is_inner).map(Path::to_owned);
        let git_folder = root.clone();
        return Ok(RepositoryFolders { git_folder, root: above.unwrap_or(root) });
    }
    let message = format!("`{shown}` is not a git repository");
    let above = root.ancestors().skip(1).find(|above| above.join(".git").exists());
    let hint = match above {
        Some(above) => format!("connect the repository that it is in, `{}`", above.display()),
        None => "give the folder that has `.git` in it, or a bare repository".to_owned(),
    };
    Err(ToolError::new(ErrorKind::Unavailable, message).hint(hint))
}

fn is_git_folder(path: &Path) -> bool {
    path.join("HEAD").symlink_metadata().is_ok() && path.join("objects").is_dir()
}

/// Returns the git folder of a linked work tree, whose file `.git` points to it. Only a folder that points back is
/// taken, so that whoever writes a file `.git` cannot choose a repository.
fn linked(pointer: &Path) -> Result<PathBuf, ToolError> {
    let refuse = |what: String| {
        Err(ToolError::new(ErrorKind::Unavailable, what)
            .hint("connect the repository that has the objects: its folder, or its git folder"))
    };
    let shown = pointer.display();
    let text = first_line(pointer).unwrap_or_default();
    let Some(target) = text.strip_prefix("gitdir: ") else {
        return refuse(format!("`{shown}` does not say where its repository is"));
    };
    let above = pointer.parent().unwrap_or(pointer);
    let Ok(folder) = std::fs::canonicalize(above.join(target)) else {
        return refuse(format!("`{shown}` leads to `{target}`, which cannot be opened"));
    };
    let back = first_line(&folder.join("gitdir")).and_then(|back| {
        // Newer versions of git can write the path relative to the folder.
        std::fs::canonicalize(folder.join(back)).ok()
    });
    if is_git_folder(&folder) || folder.join("commondir").is_file() {
        if back.as_deref() == std::fs::canonicalize(pointer).ok().as_deref() {
            return Ok(folder);
        }
        return refuse(format!(
            "`{shown}` leads to `{}`, which does not know this work tree",
            folder.display()
        ));
    }
    refuse(format!("`{shown}` leads to `{}`, which is not a git folder", folder.display()))
}

fn first_line(path: &Path) -> Option<String> {
    use std::io::Read;
    let file = std::fs::File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(MOST_POINTER_BYTES).read_to_string(&mut text).ok()?;
    text.lines().next().map(str::to_owned)
}
