//! The store of what commands left behind, until a person releases or discards it. It is in the state folder, which no
//! command sees.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags, renameat_with, statat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use toolcrib_core::canonical::Digest;
use toolcrib_core::git::parse_config;

use crate::files::root::{Root, open_below};
use crate::files::spelling::{spelt, spelt_root, unspelt};

/// The most bytes of a file of settings or of a plan.
const MOST_TEXT_BYTES: u64 = 1 << 20;

/// A larger file is renamed and not copied.
const MOST_COPIED_BYTES: i64 = 16 << 20;

/// Something that is held.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeldItem {
    /// The id: that of the call, and a number.
    pub id: String,
    /// Since when it is held.
    pub at: Timestamp,
    /// The call whose command left it behind.
    pub call: String,
    /// The root, spelt.
    pub root: String,
    /// The file, relative to the root, spelt.
    pub path: String,
    /// What it is, in words.
    pub what: String,
    /// How it was taken away.
    pub kind: HeldKind,
    /// The other values that its file had for the same setting.
    #[serde(default)]
    pub other_values: Vec<Option<String>>,
}

/// How something was taken away, and so how it is put back.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldKind {
    /// A setting was removed from its file. The text adds it again.
    Setting(String),
    /// Lines were removed from a plan. The hash is that of what is left of it.
    Plan(String),
    /// A file was moved away. The number is its mode.
    File(u32),
    /// A link was removed. The text is where it led.
    Link(String),
    /// It was renamed in its folder, because it can be neither read nor moved. The text is its name now.
    Renamed(String),
}

/// The folder of what is held.
#[derive(Clone)]
pub struct HeldStore {
    folder: PathBuf,
}

/// A place in a root: an open folder, and a name in it.
struct Place {
    folder: std::os::fd::OwnedFd,
    name: std::ffi::OsString,
}

impl HeldStore {
    /// Opens the store in Toolcrib's state folder.
    pub fn new(state: &Path) -> Self {
        Self { folder: state.join("held") }
    }

    /// Returns everything that is held, the oldest first.
    pub fn all(&self) -> io::Result<Vec<HeldItem>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(err) => return Err(err),
        };
        let mut items = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|it| it == "json") {
                items.push(serde_json::from_slice::<HeldItem>(&fs::read(&path)?)?);
            }
        }
        items.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        Ok(items)
    }

    /// Returns the highest number of an item of this call.
    pub(super) fn highest_number(&self, call: &str) -> usize {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let number = |name: String| {
            let rest = name.strip_prefix(call)?.strip_prefix('-')?;
            rest.split('.').next()?.parse().ok()
        };
        names.filter_map(number).max().unwrap_or(0)
    }

    /// Returns the content of a file or plan that is held.
    pub fn content(&self, item: &HeldItem) -> io::Result<Vec<u8>> {
        fs::read(self.content_file(&item.id))
    }

    /// Puts something back where it was.
    pub fn release(&self, item: &HeldItem, root: &Root) -> io::Result<()> {
        let path = unspelt(&item.path);
        let place = Place::find(root, &path)?;
        match &item.kind {
            HeldKind::Setting(text) => {
                let mut content = place.read()?.unwrap_or_default();
                if values_beside(text, &content) != item.other_values {
                    return Err(io::Error::other("the setting was changed after Toolcrib held it"));
                }
                if !content.is_empty() && !content.ends_with(b"\n") {
                    content.push(b'\n');
                }
                content.extend(text.bytes());
                place.replace(&content)?;
            }
            HeldKind::Plan(left) => {
                if place.read()?.map(|content| hash(&content)).as_ref() != Some(left) {
                    return Err(io::Error::other(
                        "the rebase has continued, so its todo list cannot be restored",
                    ));
                }
                place.replace(&self.content(item)?)?;
            }
            HeldKind::File(mode) => {
                let content = self.content(item)?;
                place.make(&content, *mode)?;
            }
            HeldKind::Link(target) => {
                rustix::fs::symlinkat(target.as_str(), &place.folder, &place.name)?;
            }
            HeldKind::Renamed(name) => renameat_with(
                &place.folder,
                name.as_str(),
                &place.folder,
                &place.name,
                RenameFlags::NOREPLACE,
            )?,
        }
        self.discard(item)
    }

    /// Forgets something for good.
    pub fn discard(&self, item: &HeldItem) -> io::Result<()> {
        fs::remove_file(self.item_file(&item.id))?;
        match fs::remove_file(self.content_file(&item.id)) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
            _ => Ok(()),
        }
    }

    /// Takes settings out of their file: `left` is the file without them.
    pub(super) fn hold_settings(
        &self,
        root: &Root,
        file: &Path,
        items: &[HeldItem],
        left: &str,
    ) -> io::Result<()> {
        let place = Place::find(root, file)?;
        // Kept first: if we are killed in between, a setting is there twice, and not lost.
        for item in items {
            self.save(item)?;
        }
        place.replace(left.as_bytes())
    }

    /// Takes lines out of a plan.
    pub(super) fn hold_plan(
        &self,
        root: &Root,
        mut item: HeldItem,
        left: &str,
    ) -> io::Result<HeldItem> {
        let place = Place::find(root, &unspelt(&item.path))?;
        let content = place.read()?.unwrap_or_default();
        item.kind = HeldKind::Plan(hash(left.as_bytes()));
        self.write(&self.content_file(&item.id), &content)?;
        self.save(&item)?;
        place.replace(left.as_bytes())?;
        Ok(item)
    }

    /// Takes a file or link away.
    pub(super) fn hold_file(&self, root: &Root, mut item: HeldItem) -> io::Result<HeldItem> {
        let place = Place::find(root, &unspelt(&item.path))?;
        let meta = statat(&place.folder, &place.name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(meta.st_mode) {
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&place.folder, &place.name, Vec::new())?;
                item.kind = HeldKind::Link(target.to_string_lossy().into_owned());
            }
            FileType::RegularFile if let Some(mut from) = place.open_to_copy(meta.st_size) => {
                item.kind = HeldKind::File(meta.st_mode & 0o777);
                let mut to = self.create(&self.content_file(&item.id))?;
                io::copy(&mut from, &mut to)?;
            }
            _ => {
                let name = format!("{}.held-{}", place.name.to_string_lossy(), item.id);
                item.kind = HeldKind::Renamed(name.clone());
                self.save(&item)?;
                let (from, to) = (&place.folder, &place.folder);
                renameat_with(from, &place.name, to, &name, RenameFlags::NOREPLACE)?;
                return Ok(item);
            }
        }
        self.save(&item)?;
        rustix::fs::unlinkat(&place.folder, &place.name, AtFlags::empty())?;
        Ok(item)
    }

    fn item_file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn content_file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.content"))
    }

    fn save(&self, item: &HeldItem) -> io::Result<()> {
        self.write(&self.item_file(&item.id), &serde_json::to_vec(item)?)
    }

    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let fresh = path.with_extension("fresh");
        let mut file = self.create(&fresh)?;
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(fresh, path)
    }

    fn create(&self, path: &Path) -> io::Result<fs::File> {
        fs::create_dir_all(&self.folder)?;
        fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o700))?;
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
    }
}

impl HeldItem {
    /// Describes something that is about to be held.
    pub(super) fn new(id: String, call: &str, root: &Root, path: &Path, what: String) -> Self {
        Self {
            id,
            at: Timestamp::now(),
            call: call.to_owned(),
            root: spelt_root(root),
            path: spelt(path),
            what,
            kind: HeldKind::File(0),
            other_values: Vec::new(),
        }
    }

    /// Notes the values that are left of a setting in `file`, to find out later whether somebody changed them.
    pub(super) fn note_values(&mut self, file: &[u8]) {
        if let HeldKind::Setting(text) = &self.kind {
            self.other_values = values_beside(text, file);
        }
    }

    /// Returns the absolute path of the file, spelt.
    pub fn whole_path(&self) -> String {
        format!("{}/{}", self.root.trim_end_matches('/'), self.path)
    }
}

impl Place {
    fn find(root: &Root, path: &Path) -> Result<Self, Errno> {
        let name = path.file_name().ok_or(Errno::INVAL)?.to_owned();
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let resolve = ResolveFlags::NO_SYMLINKS;
        let folder = open_below(root.handle(), above, flags, Mode::empty(), resolve)?;
        Ok(Self { folder, name })
    }

    /// Opens the file if it can be read and is small enough to be copied.
    fn open_to_copy(&self, bytes: i64) -> Option<fs::File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        self.open(flags).ok().filter(|_| bytes <= MOST_COPIED_BYTES)
    }

    fn open(&self, flags: OFlags) -> Result<fs::File, Errno> {
        let (mode, resolve) = (Mode::empty(), ResolveFlags::NO_SYMLINKS);
        let name = Path::new(&self.name);
        open_below(self.folder.as_fd(), name, flags, mode, resolve).map(fs::File::from)
    }

    /// Reads the file, if it is there.
    fn read(&self) -> io::Result<Option<Vec<u8>>> {
        let file = match self.open(OFlags::RDONLY | OFlags::NONBLOCK) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let mut content = Vec::new();
        file.take(MOST_TEXT_BYTES + 1).read_to_end(&mut content)?;
        if content.len() as u64 > MOST_TEXT_BYTES {
            return Err(io::Error::other(format!("it has over {MOST_TEXT_BYTES} bytes")));
        }
        Ok(Some(content))
    }

    /// Replaces the file as a whole, with the mode it has.
    fn replace(&self, content: &[u8]) -> io::Result<()> {
        let meta = statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        let fresh = Self {
            folder: self.folder.try_clone()?,
            // Nobody can be there first.
            name: format!(".toolcrib-{:016x}.fresh", RandomState::new().hash_one(0)).into(),
        };
        fresh.make(content, meta.map_or(0o644, |meta| meta.st_mode & 0o777))?;
        // The owner stays, where that is possible: git refuses what belongs to somebody else.
        if let Ok(meta) = meta {
            let owner = Some(rustix::fs::Uid::from_raw(meta.st_uid));
            let group = Some(rustix::fs::Gid::from_raw(meta.st_gid));
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let _ = rustix::fs::chownat(&fresh.folder, &fresh.name, owner, group, flags);
        }
        Ok(rustix::fs::renameat(&fresh.folder, &fresh.name, &self.folder, &self.name)?)
    }

    /// Makes the file. Fails if there is one.
    fn make(&self, content: &[u8], mode: u32) -> io::Result<()> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        let file = rustix::fs::openat(&self.folder, &self.name, flags, mode)?;
        // What the process's mask took away is given back.
        rustix::fs::fchmod(&file, mode)?;
        fs::File::from(file).write_all(content)
    }
}

/// Returns the values in `file` of the setting that `text` has.
fn values_beside(text: &str, file: &[u8]) -> Vec<Option<String>> {
    let key = parse_config(text.as_bytes()).unwrap_or_default().pop().map(|setting| setting.key);
    let settings = parse_config(file).unwrap_or_default();
    let same = settings.into_iter().filter(|setting| Some(&setting.key) == key.as_ref());
    same.map(|setting| setting.value).collect()
}

fn hash(bytes: &[u8]) -> String {
    Digest::of_bytes(bytes).to_string()
}
