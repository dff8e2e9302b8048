//! Taking a change back: the place is found without following any link, and made what it was.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, symlinkat, unlinkat};
use rustix::io::Errno;
use toolcrib_core::capability::WriteMode;
use toolcrib_core::change::Restore;
use toolcrib_core::escape::unname;
use toolcrib_core::{Change, ChangeKind, Image, ToolError};

use crate::confine::{CallFiles, Purpose};
use crate::fault::{changed, fault};
use crate::place::Place;
use crate::root::Root;
use crate::target::Lookup;
use crate::write::{Fresh, sha256, sync_directory};

impl Restore for CallFiles {
    fn current(&self, change: &Change) -> Result<Option<Image>, ToolError> {
        let root = self.root_of(change)?;
        let below = unspelt(&change.path);
        let place = Place { root, below, shown: &change.path };
        if change.kind == ChangeKind::MadeDirectory {
            return match root.open_resolved(&place.below) {
                Ok(_) => Ok(Some(Image { sha256: String::new(), size: 0, mode: 0 })),
                Err(Errno::NOENT) => Ok(None),
                Err(errno) => Err(fault(errno, &change.path)),
            };
        }
        let Lookup::Found(target) = self.link_target(&place)? else { return Ok(None) };
        let Some((file, meta)) = &target.existing else { return Ok(None) };
        if FileType::from_raw_mode(meta.st_mode) == FileType::Symlink {
            let link = rustix::fs::readlinkat(&target.parent, &target.name, Vec::new())
                .map_err(|errno| fault(errno, &change.path))?;
            let bytes = link.as_bytes();
            return Ok(Some(Image {
                sha256: sha256(bytes),
                size: bytes.len() as u64,
                mode: meta.st_mode,
            }));
        }
        self.workspace.check_file(meta, &change.path, Purpose::Read)?;
        let content = self.drain(file, meta, u64::MAX, &change.path)?;
        Ok(Some(Image {
            sha256: sha256(&content.bytes),
            size: content.size,
            mode: meta.st_mode & 0o7777,
        }))
    }

    fn put_back(&self, change: &Change, content: Option<&[u8]>) -> Result<(), ToolError> {
        let root = self.root_of(change)?;
        let below = unspelt(&change.path);
        let place = Place { root, below, shown: &change.path };
        let path = root.path().join(&place.below);
        let _held = self.workspace.locks.hold(&path, &self.cancel)?;
        if change.kind == ChangeKind::MadeDirectory {
            return remove_empty(&place);
        }
        let target = match self.link_target(&place)? {
            Lookup::Found(target) => Some(target),
            Lookup::NoParent | Lookup::Moved => None,
        };
        match (&change.before, content) {
            (Some(image), Some(bytes)) => {
                let is_link = FileType::from_raw_mode(image.mode) == FileType::Symlink;
                let target = match target {
                    Some(target) if is_link => {
                        self.remove_target(&target)?;
                        target
                    }
                    Some(target) => target,
                    None => self.fresh_target(&place)?,
                };
                if is_link {
                    symlinkat(bytes, &target.parent, &target.name)
                        .map_err(|errno| fault(errno, &change.path))?;
                    sync_directory(target.parent.as_fd());
                    return Ok(());
                }
                let fresh = Fresh { bytes, mode: Some(image.mode) };
                self.commit(&target, &fresh, WriteMode::Replace)?;
                Ok(())
            }
            (Some(_), None) => Err(changed(&change.path)),
            (None, _) => target.map_or(Ok(()), |target| self.remove_target(&target)),
        }
    }
}

impl CallFiles {
    fn root_of(&self, change: &Change) -> Result<&Root, ToolError> {
        let mut roots = self.workspace.roots.iter();
        let root = roots.find(|root| root.path() == Path::new(&change.root));
        let root = root.ok_or_else(|| fault(Errno::NOENT, &change.root))?;
        root.verify()?;
        Ok(root)
    }
}

fn remove_empty(place: &Place<'_>) -> Result<(), ToolError> {
    let Some(name) = place.below.file_name() else { return Ok(()) };
    let parent = place.below.parent().unwrap_or(Path::new(""));
    let parent = match place.root.open_resolved(parent) {
        Ok(parent) => parent,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(fault(errno, place.shown)),
    };
    match unlinkat(&parent, name, AtFlags::REMOVEDIR) {
        // Something else was put into it since, so it is not ours to take away.
        Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
        Err(errno) => Err(fault(errno, place.shown)),
    }
}

/// Reads a path that was spelt by [`crate::write::spelt`].
pub(crate) fn unspelt(path: &str) -> PathBuf {
    path.split('/').map(|name| OsString::from_vec(unname(name).into_owned())).collect()
}
