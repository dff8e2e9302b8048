//! The folder in which git keeps a repository. It is found by us: git's own search goes up to any folder above, and
//! follows what files there say.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use toolcrib_core::git::parse_config;
use toolcrib_core::{ErrorKind, ToolError};

/// The most bytes of a file that says where the repository is.
const MOST_POINTER_BYTES: u64 = 8 << 10;

/// The most bytes of a repository's settings that are read.
const MOST_CONFIG_BYTES: u64 = 1 << 20;

/// What git reads first in a git folder. If one of them led elsewhere, the folder would show another repository.
const LEADING_ENTRIES: [&str; 6] =
    ["HEAD", "objects", "objects/info", "objects/pack", "packed-refs", "refs"];

/// The most entries below `refs` that are looked at.
const MOST_REF_ENTRIES: usize = 10_000;

/// The files that name more folders with objects.
const ALTERNATES: [&str; 2] = ["info/alternates", "info/http-alternates"];

/// Where a repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RepositoryFolders {
    /// The folder that git works with.
    pub(super) git_folder: PathBuf,
    /// The folder that has the objects: the same one, except for a linked work tree.
    pub(super) common_folder: PathBuf,
    /// The folder that stands for the root of its files: the work tree, or the bare repository itself.
    pub(super) root: PathBuf,
}

impl RepositoryFolders {
    /// Fails if one of them is in a folder of which nothing is read.
    pub(super) fn check_closed(&self, closed: &[PathBuf]) -> Result<(), ToolError> {
        let Self { git_folder, common_folder, root } = self;
        let folders = [root, git_folder, common_folder];
        match folders.into_iter().find(|it| closed.iter().any(|closed| it.starts_with(closed))) {
            None => Ok(()),
            Some(folder) => {
                let message =
                    format!("`{}` is Toolcrib's own, and no tool reads it", folder.display());
                Err(ToolError::new(ErrorKind::Refused, message).hint("connect another repository"))
            }
        }
    }
}

/// Finds the repository at a path. The path is the operator's, and may lead anywhere. What is found there may not, because an
/// agent could have written it: a `.git` leads out of the folder only to a git folder that knows this work tree.
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
    if inside.symlink_metadata().is_ok() {
        let found = std::fs::canonicalize(&inside).ok().filter(|found| found.starts_with(&root));
        let Some(inside) = found else {
            let leads = "is a symbolic link that leads out of the folder";
            return Err(refusal(format!("`{}` {leads}", inside.display())));
        };
        return if inside.is_dir() { own(inside, root) } else { linked(&inside, root) };
    }
    if is_git_folder(&root) {
        // The path may be that of the folder `.git` itself.
        let is_inner = root.file_name().is_some_and(|name| name == ".git");
        let above = root.parent().filter(|_| is_inner).map(Path::to_owned);
        return own(root.clone(), above.unwrap_or(root));
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

/// Returns the folders of a repository whose git folder has its objects itself.
fn own(git_folder: PathBuf, root: PathBuf) -> Result<RepositoryFolders, ToolError> {
    let pointer = git_folder.join("commondir");
    // The sandbox puts one that leads nowhere else into the place of one that is missing.
    if pointer.symlink_metadata().is_ok()
        && common_folder(&git_folder).as_deref() != Some(&*git_folder)
    {
        let leads = "leads to another repository, but is not in a linked work tree";
        return Err(refusal(format!("`{}` {leads}", pointer.display())));
    }
    check_entries(&git_folder)?;
    check_refs(&git_folder, &git_folder)?;
    check_objects(&git_folder)?;
    Ok(RepositoryFolders { common_folder: git_folder.clone(), git_folder, root })
}

/// Returns the folders of a work tree whose file `.git` points to its git folder. Only a folder that git itself has made for this
/// work tree is taken, so that whoever writes a file `.git` cannot choose a repository.
fn linked(pointer: &Path, root: PathBuf) -> Result<RepositoryFolders, ToolError> {
    let shown = pointer.display();
    let text = first_line(pointer).unwrap_or_default();
    let Some(target) = text.strip_prefix("gitdir: ") else {
        return Err(refusal(format!("`{shown}` does not say where its repository is")));
    };
    let above = pointer.parent().unwrap_or(pointer);
    let Ok(folder) = std::fs::canonicalize(above.join(target)) else {
        return Err(refusal(format!("`{shown}` leads to `{target}`, which cannot be opened")));
    };
    let leads = format!("`{shown}` leads to `{}`, which", folder.display());
    let is_linked = folder.join("commondir").symlink_metadata().is_ok();
    if !is_linked && !is_git_folder(&folder) {
        return Err(refusal(format!("{leads} is not a git folder")));
    }
    // A linked work tree is known by the file `gitdir` of its folder, a submodule by a setting of its repository.
    let knows = points_back(&folder, pointer) || !is_linked && has_work_tree(&folder, &root);
    if !knows {
        return Err(refusal(format!("{leads} does not know this work tree")));
    }
    if !is_linked {
        return own(folder, root);
    }
    // The folder of a linked work tree is in the repository that it belongs to, and nowhere else.
    let above = folder.parent().filter(|above| above.ends_with("worktrees"));
    let Some(common) = above.and_then(Path::parent).map(Path::to_owned) else {
        return Err(refusal(format!("{leads} is not among the work trees of a repository")));
    };
    if common_folder(&folder).as_ref() != Some(&common) {
        return Err(refusal(format!(
            "{leads} belongs to another repository than the one it is in"
        )));
    }
    check_entries(&folder)?;
    check_entries(&common)?;
    check_refs(&folder, &common)?;
    check_refs(&common, &common)?;
    check_objects(&common)?;
    Ok(RepositoryFolders { git_folder: folder, common_folder: common, root })
}

fn refusal(what: String) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, what)
        .hint("connect the repository that has the objects: its folder, or its git folder")
}

/// Fails if what git reads first in a git folder is elsewhere.
fn check_entries(folder: &Path) -> Result<(), ToolError> {
    for name in LEADING_ENTRIES {
        followed(&folder.join(name), folder)?;
    }
    Ok(())
}

/// Fails if a link among the refs of a git folder leads out of the folder `common`.
fn check_refs(git_folder: &Path, common: &Path) -> Result<(), ToolError> {
    let mut left = MOST_REF_ENTRIES;
    let mut seen = BTreeSet::new();
    let mut folders: Vec<_> = followed(&git_folder.join("refs"), common)?.into_iter().collect();
    while let Some(folder) = folders.pop() {
        if !seen.insert(folder.clone()) {
            continue;
        }
        for entry in entries_of(&folder)? {
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            if is_link(&entry) {
                let target = followed(&entry.path(), common)?;
                folders.extend(target.filter(|target| target.is_dir()));
            } else if entry.file_type().is_ok_and(|it| it.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Fails if git would take objects from outside of the folder `common`: through a link, or because a file says so.
fn check_objects(common: &Path) -> Result<(), ToolError> {
    let mut seen = BTreeSet::new();
    let mut stores: Vec<_> = followed(&common.join("objects"), common)?.into_iter().collect();
    while let Some(store) = stores.pop() {
        if !seen.insert(store.clone()) {
            continue;
        }
        for folder in [store.clone(), store.join("info"), store.join("pack")] {
            for entry in entries_of(&folder)?.into_iter().filter(is_link) {
                followed(&entry.path(), common)?;
            }
        }
        for name in ALTERNATES {
            stores.extend(alternates(&store.join(name), &store, common)?);
        }
    }
    Ok(())
}

/// Returns the folders with objects that a file of the folder `store` names. Fails if one of them is out of `common`.
fn alternates(file: &Path, store: &Path, common: &Path) -> Result<Vec<PathBuf>, ToolError> {
    if file.symlink_metadata().is_err() {
        return Ok(Vec::new());
    }
    let shown = file.display();
    let bytes = first_bytes(file, MOST_CONFIG_BYTES);
    let Some(bytes) = bytes.filter(|it| (it.len() as u64) < MOST_CONFIG_BYTES) else {
        return Err(alternates_refusal(format!("`{shown}` cannot be read, or is too long")));
    };
    let mut found = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let named = store.join(OsStr::from_bytes(line));
        // Git takes `..` away before it follows links, and reads what is in quotes in another way.
        let plain = without_parents(&named);
        let is_inside = |path: &Path| match std::fs::canonicalize(path) {
            Ok(found) => found.starts_with(common),
            Err(err) => is_missing(&err) && plain.starts_with(common),
        };
        if line.starts_with(b"\"") || !is_inside(&named) || !is_inside(&plain) {
            let target = String::from_utf8_lossy(line);
            let target = target.escape_debug();
            return Err(alternates_refusal(format!(
                "`{shown}` leads to the objects of another repository: `{target}`"
            )));
        }
        found.extend(std::fs::canonicalize(&plain));
    }
    Ok(found)
}

fn alternates_refusal(what: String) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, what)
        .hint("run `git repack -a -d` and remove the file, or connect the other repository itself")
}

/// Returns where a path leads, if it leads to anything. Fails if that is out of the folder `within`.
fn followed(path: &Path, within: &Path) -> Result<Option<PathBuf>, ToolError> {
    match std::fs::canonicalize(path) {
        Ok(found) if found.starts_with(within) => Ok(Some(found)),
        Err(err) if is_missing(&err) => Ok(None),
        _ => Err(refusal(format!("`{}` leads out of its git folder", path.display()))),
    }
}

/// Returns what is in a folder, if it is one.
fn entries_of(folder: &Path) -> Result<Vec<DirEntry>, ToolError> {
    match std::fs::read_dir(folder).and_then(Iterator::collect) {
        Err(err) if !is_missing(&err) => {
            Err(refusal(format!("`{}` cannot be read: {err}", folder.display())))
        }
        entries => Ok(entries.unwrap_or_default()),
    }
}

fn is_link(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|it| it.is_symlink())
}

fn is_missing(err: &std::io::Error) -> bool {
    matches!(err.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Returns a path without `..`, whatever is a link in it.
fn without_parents(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// Returns the folder to which the file `commondir` of a git folder leads.
fn common_folder(folder: &Path) -> Option<PathBuf> {
    let common = first_line(&folder.join("commondir"))?;
    std::fs::canonicalize(folder.join(common)).ok()
}

/// Whether the file `gitdir` of a git folder leads to this file `.git`. Newer versions of git can write it relative to
/// the folder.
fn points_back(folder: &Path, pointer: &Path) -> bool {
    let back = first_line(&folder.join("gitdir"));
    let back = back.and_then(|back| std::fs::canonicalize(folder.join(back)).ok());
    back.is_some_and(|back| std::fs::canonicalize(pointer).is_ok_and(|it| it == back))
}

/// Whether the settings of a git folder name this work tree.
fn has_work_tree(folder: &Path, root: &Path) -> bool {
    let settings = first_bytes(&folder.join("config"), MOST_CONFIG_BYTES);
    let settings = settings.and_then(|bytes| parse_config(&bytes).ok()).unwrap_or_default();
    let named = settings.into_iter().rfind(|it| it.key == "core.worktree");
    let named = named.and_then(|it| std::fs::canonicalize(folder.join(it.value?)).ok());
    named.is_some_and(|named| named == root)
}

fn first_line(path: &Path) -> Option<String> {
    let text = String::from_utf8(first_bytes(path, MOST_POINTER_BYTES)?).ok()?;
    text.lines().next().map(str::to_owned)
}

/// Reads the first bytes of a file, if it is one.
fn first_bytes(path: &Path, most: u64) -> Option<Vec<u8>> {
    use rustix::fs::{Mode, OFlags};
    // Nobody is waited for who would write into a pipe of this name.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = std::fs::File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
