//! Taking a change back: the place is found without following any link, and made what it was.

use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, readlinkat, symlinkat, unlinkat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use toolcrib_core::canonical::hex;
use toolcrib_core::capability::WriteMode;
use toolcrib_core::change::{Expected, PutBack, Restore};
use toolcrib_core::{Change, ChangeKind, ErrorKind, Image, ToolError};

use crate::alter::{sha256, sync_directory};
use crate::confine::CallFiles;
use crate::fault::{changed, fault};
use crate::lock::hold;
use crate::place::Place;
use crate::root::{Root, identify};
use crate::spelling::unspelt;
use crate::target::Target;
use crate::temporary::{Fresh, Looks, looks};

impl Restore for CallFiles {
    fn current(&self, change: &Change) -> Result<Option<Image>, ToolError> {
        let place = self.place_of(change)?;
        self.resolved(&place)?.map_or(Ok(None), |target| self.image(&target))
    }

    fn put_back(
        &self,
        change: &Change,
        content: Option<&[u8]>,
        expected: Expected<'_>,
    ) -> Result<PutBack, ToolError> {
        let place = self.place_of(change)?;
        match change.kind {
            ChangeKind::MadeDirectory => return self.unmake_directory(&place, change),
            ChangeKind::RemovedDirectory => {
                // Its own directory must be there as it was, not a link that has its name.
                if self.resolved(&place)?.is_none_or(|target| target.existing.is_some()) {
                    return Err(changed(place.shown));
                }
                self.make_directories(&place, &place.below)?;
                return Ok(PutBack::Done);
            }
            ChangeKind::Created | ChangeKind::Replaced | ChangeKind::Removed => {}
        }
        let target = self.target_of(&place, change)?;
        let held = hold(&target, &self.cancel)?;
        // Looked at again under the lock: this is what will be replaced.
        let target = self.resolved(&place)?.ok_or_else(|| changed(place.shown))?;
        held.check(&target)?;
        let now = self.image(&target)?;
        if let Expected::Exactly(image) = expected
            && !same(now.as_ref(), image)
        {
            return Err(changed(place.shown));
        }
        match (&change.before, content) {
            (Some(before), Some(bytes)) if before.is_link => self.relink(&target, before, bytes)?,
            (Some(before), Some(bytes)) => {
                // A mode that somebody set since is theirs.
                let mut image = before.clone();
                if let (Some(now), Some(after)) = (now, &change.after)
                    && now.is_same(after)
                    && now.mode != after.mode
                {
                    image.mode = now.mode;
                }
                let looks = Looks::Like(image);
                self.commit(&target, &Fresh { bytes, looks }, WriteMode::Replace)?;
            }
            (Some(_), None) => return Err(changed(place.shown)),
            (None, _) if target.existing.is_some() => self.remove_target(&target)?,
            (None, _) => {}
        }
        Ok(PutBack::Done)
    }
}

impl CallFiles {
    pub(crate) fn place_of<'a>(&'a self, change: &'a Change) -> Result<Place<'a>, ToolError> {
        let root = self.root_of(change)?;
        Ok(Place { root, below: unspelt(&change.path), shown: &change.path })
    }

    pub(crate) fn root_of(&self, change: &Change) -> Result<&Root, ToolError> {
        let root = self.workspace.roots.iter().find(|root| root.id() == change.root_id);
        let root = root.ok_or_else(|| {
            let message = format!("`{}` is not the directory it was then", change.root);
            ToolError::new(ErrorKind::Unavailable, message).at(change.root.as_str())
        })?;
        root.verify()?;
        Ok(root)
    }

    /// Finds the place of a change; its directory is made again if it is gone and was not empty.
    fn target_of<'a>(&self, place: &Place<'a>, change: &Change) -> Result<Target<'a>, ToolError> {
        if let Some(target) = self.resolved(place)? {
            return Ok(target);
        }
        if change.before.is_some() {
            let parent = place.below.parent().unwrap_or(Path::new("")).to_owned();
            // What it was open to is not known: to its owner alone, then.
            self.make_directories_as(place, &parent, Mode::RWXU)?;
        }
        self.resolved(place)?.ok_or_else(|| changed(place.shown))
    }

    /// Returns the image of what is at a target.
    pub(crate) fn image(&self, target: &Target<'_>) -> Result<Option<Image>, ToolError> {
        let Some((file, meta)) = &target.existing else { return Ok(None) };
        let failed = |errno: Errno| fault(errno, target.shown);
        if target.is_link() {
            let link = readlinkat(&target.parent, &target.name, Vec::new()).map_err(failed)?;
            let bytes = link.as_bytes();
            let (sha256, size) = (sha256(bytes), bytes.len() as u64);
            return Ok(Some(Image { sha256, size, ..looks(file.as_fd(), meta) }));
        }
        let mut hasher = Sha256::new();
        let mut reader = std::fs::File::from(file.try_clone().map_err(|_| failed(Errno::MFILE))?);
        let mut buffer = vec![0; 256 << 10];
        let mut size = 0;
        loop {
            self.cancel.check()?;
            match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(got) => {
                    hasher.update(&buffer[..got]);
                    size += got as u64;
                }
                Err(err) if err.kind() == std::io::ErrorKind::Interrupted => {}
                Err(err) => return Err(failed(Errno::from_io_error(&err).unwrap_or(Errno::IO))),
            }
        }
        let mut sha256 = String::with_capacity(64);
        let _ = hex(&hasher.finalize(), &mut sha256);
        Ok(Some(Image { sha256, size, ..looks(file.as_fd(), meta) }))
    }

    /// Makes a link that was there again.
    fn relink(&self, target: &Target<'_>, before: &Image, to: &[u8]) -> Result<(), ToolError> {
        if target.existing.is_some() {
            self.remove_target(target)?;
        }
        let after = Some(before.clone());
        let change = self.change(ChangeKind::Created, target.root, &target.below, None, after);
        self.noted(change, target.shown, || {
            symlinkat(to, &target.parent, &target.name).map_err(|errno| fault(errno, target.shown))
        })?;
        sync_directory(target.parent.as_fd());
        Ok(())
    }

    /// Removes a directory that a call made, if it is still that one and holds nothing.
    fn unmake_directory(&self, place: &Place<'_>, change: &Change) -> Result<PutBack, ToolError> {
        let failed = |errno: Errno| fault(errno, place.shown);
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
        let removed = self.noted(gone, place.shown, || {
            unlinkat(&parent, name, AtFlags::REMOVEDIR).map_err(failed)
        });
        match removed {
            Ok(()) => Ok(PutBack::Done),
            // Something else was put into it since, so it is not ours to take away.
            Err(err) if err.kind == ErrorKind::Exists => Ok(PutBack::Kept),
            Err(err) => Err(err),
        }
    }
}

fn same(a: Option<&Image>, b: Option<&Image>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.is_same(b),
        _ => false,
    }
}
