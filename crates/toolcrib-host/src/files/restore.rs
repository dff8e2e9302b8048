//! Undoing a change: the file is found without following any link, and made what it was.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, symlinkat, unlinkat};
use rustix::io::Errno;
use toolcrib_core::capability::WriteMode;
use toolcrib_core::change::{Expected, PutBack, Restore};
use toolcrib_core::{Change, ChangeKind, ErrorKind, Files, Image, ToolError};

use crate::files::change::sync_directory;
use crate::files::errno::{changed, errno_error};
use crate::files::image::is_same_image;
use crate::files::lock::DirectoryLock;
use crate::files::root::{Root, identify};
use crate::files::rooted_path::RootedPath;
use crate::files::spelling::unspelt;
use crate::files::target::Target;
use crate::files::temporary::{NewContent, NewMetadata};
use crate::files::workspace::CallFiles;

impl Restore for CallFiles {
    fn restored(&self) -> Vec<Change> {
        self.changes()
    }

    fn current(&self, change: &Change) -> Result<Option<Image>, ToolError> {
        let place = self.rooted_path_of(change)?;
        self.writable_target_at(&place)?.map_or(Ok(None), |target| self.image(&target))
    }

    fn put_back(
        &self,
        change: &Change,
        content: Option<&[u8]>,
        expected: Expected<'_>,
    ) -> Result<PutBack, ToolError> {
        let place = self.rooted_path_of(change)?;
        match change.kind {
            ChangeKind::MadeDirectory => return self.unmake_directory(&place, change),
            ChangeKind::RemovedDirectory => {
                // The parent directory must be the one it was, not a link with its name.
                if self.writable_target_at(&place)?.is_none_or(|target| target.existing.is_some()) {
                    return Err(changed(place.shown));
                }
                self.make_directories(&place, &place.below)?;
                return Ok(PutBack::Done);
            }
            ChangeKind::Created | ChangeKind::Replaced | ChangeKind::Removed => {}
        }
        let target = self.target_of(&place, change)?;
        let lock = DirectoryLock::acquire(&target, &self.cancel)?;
        // Found again under the lock, because this is what will be replaced.
        let target = self.writable_target_at(&place)?.ok_or_else(|| changed(place.shown))?;
        lock.check_covers(&target)?;
        let now = self.image(&target)?;
        if let Expected::Exactly(image) = expected
            && !is_same_image(now.as_ref(), image)
        {
            return Err(changed(place.shown));
        }
        match (&change.before, content) {
            (Some(before), Some(bytes)) if before.is_link => self.relink(&target, before, bytes)?,
            (Some(before), Some(bytes)) => {
                // A mode that somebody set since is kept.
                let mut image = before.clone();
                if let (Some(now), Some(after)) = (now, &change.after)
                    && now.is_same(after)
                    && now.mode != after.mode
                {
                    image.mode = now.mode;
                }
                let metadata = NewMetadata::Like(image);
                self.commit(&target, &NewContent { bytes, metadata }, WriteMode::Replace)?;
            }
            (Some(_), None) => return Err(changed(place.shown)),
            (None, _) if target.existing.is_some() => self.remove_target(&target)?,
            (None, _) => {}
        }
        Ok(PutBack::Done)
    }
}

impl CallFiles {
    /// Returns the path of a change below the root that it was made in.
    pub(crate) fn rooted_path_of<'a>(
        &'a self,
        change: &'a Change,
    ) -> Result<RootedPath<'a>, ToolError> {
        let root = self.root_of(change)?;
        Ok(RootedPath { root, below: unspelt(&change.path), shown: &change.path })
    }

    /// Returns the root that a change was made in. Fails if another directory has its name now.
    pub(crate) fn root_of(&self, change: &Change) -> Result<&Root, ToolError> {
        let root = self.workspace.roots.iter().find(|root| root.id() == change.root_id);
        let root = root.ok_or_else(|| {
            let message =
                format!("`{}` is not the directory that the change was made in", change.root);
            ToolError::new(ErrorKind::Unavailable, message).at(change.root.as_str())
        })?;
        root.verify()?;
        Ok(root)
    }

    /// Finds the target of a change. If its directory is gone and a file has to be put back, the directory is made
    /// again.
    fn target_of<'a>(
        &self,
        place: &RootedPath<'a>,
        change: &Change,
    ) -> Result<Target<'a>, ToolError> {
        if let Some(target) = self.writable_target_at(place)? {
            return Ok(target);
        }
        if change.before.is_some() {
            let parent = place.below.parent().unwrap_or(Path::new("")).to_owned();
            // The old mode is not known, so only the owner gets access.
            self.make_directories_as(place, &parent, Mode::RWXU)?;
        }
        self.writable_target_at(place)?.ok_or_else(|| changed(place.shown))
    }

    /// Makes a removed link again.
    fn relink(&self, target: &Target<'_>, before: &Image, to: &[u8]) -> Result<(), ToolError> {
        if target.existing.is_some() {
            self.remove_target(target)?;
        }
        let after = Some(before.clone());
        let change = self.change(ChangeKind::Created, target.root, &target.below, None, after);
        self.journaled(change, target.shown, || {
            symlinkat(to, &target.parent, &target.name)
                .map_err(|errno| errno_error(errno, target.shown))
        })?;
        sync_directory(target.parent.as_fd());
        Ok(())
    }

    /// Removes a directory that a call made, if it is still that directory and is empty.
    fn unmake_directory(
        &self,
        place: &RootedPath<'_>,
        change: &Change,
    ) -> Result<PutBack, ToolError> {
        let failed = |errno: Errno| errno_error(errno, place.shown);
        let Some(name) = place.below.file_name() else { return Ok(PutBack::Kept) };
        let now = match place.root.open_resolved(&place.below) {
            Ok(directory) => identify(&directory).map_err(failed)?,
            Err(Errno::NOENT) => return Ok(PutBack::Done),
            Err(_) => return Ok(PutBack::Kept),
        };
        if change.made != Some(now) {
            return Ok(PutBack::Kept);
        }
        let parent = place.below.parent().unwrap_or(Path::new(""));
        let parent = place.root.open_resolved(parent).map_err(failed)?;
        let mut gone =
            self.change(ChangeKind::RemovedDirectory, place.root, &place.below, None, None);
        gone.made = change.made;
        let removed = self.journaled(gone, place.shown, || {
            unlinkat(&parent, name, AtFlags::REMOVEDIR).map_err(failed)
        });
        match removed {
            Ok(()) => Ok(PutBack::Done),
            // Something was put into the directory since, so it is not ours to remove.
            Err(err) if err.kind == ErrorKind::Exists => Ok(PutBack::Kept),
            Err(err) => Err(err),
        }
    }
}
