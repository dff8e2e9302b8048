//! What an approval pins: the files and folders that a call names, and the files that drive the programs of its command.
//! What it cannot pin, the question names.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use toolcrib_core::canonical::Digest;
use toolcrib_core::pin::{Pin, PinState};
use toolcrib_core::{Ctx, EntryKind, ErrorKind};

use crate::decide::proposal::Proposal;

/// The largest part of a file that an approval pins. Of larger files, the first bytes and the size count.
const PINNED_BYTES: u64 = 8 << 20;

/// The most entries, over all folders, that an approval pins.
const MOST_PINNED_ENTRIES: usize = 2000;

/// The most programs that a question names because they read other files.
const MOST_NAMED_PROGRAMS: usize = 8;

/// What an approval pins, and what not.
#[derive(Clone, Debug, Default)]
pub struct Pins {
    /// The files and folders that are pinned, by path.
    pub pinned: Vec<Pin>,
    /// What is not pinned, each in a sentence for people.
    pub unpinned: Vec<String>,
}

impl Pins {
    /// Returns what an approval of this proposal pins.
    pub(crate) fn of(proposal: &Proposal, ctx: &Ctx) -> Self {
        let mut reader = PinReader {
            ctx,
            root: proposal.paths.root(),
            entries_left: MOST_PINNED_ENTRIES,
            entered: proposal.entered_folders(),
            folders: Vec::new(),
            pins: Self { pinned: Vec::new(), unpinned: proposal.unpinned_words() },
        };
        let named: BTreeSet<String> = proposal.named_files().into_iter().collect();
        let edited = proposal.edited_paths().unwrap_or_default();
        for path in named.iter().chain(&edited).collect::<BTreeSet<_>>() {
            reader.add(path);
        }
        for (path, target) in proposal.links_out() {
            let names = Path::new(&path).components().filter(|it| *it != Component::CurDir);
            let path = reader.below_root(&names.collect::<PathBuf>().display().to_string());
            reader.pins.pinned.push(Pin { path, state: PinState::Link(target) });
        }
        for path in proposal.driving_files(&reader.folders) {
            if !named.contains(&path) {
                reader.add_file(&path);
            }
        }
        // Scripts that the words name in another way, such as the module of `python3 -m`.
        for path in proposal.script_paths(ctx) {
            let is_below = Path::new(&path).starts_with(&reader.root);
            let shown = reader.below_root(&path);
            if is_below && reader.pins.pinned.iter().all(|pin| pin.path != shown) {
                reader.add_file(&path);
            }
        }
        let mut pins = reader.pins;
        pins.pinned.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        let programs = proposal.driven_programs(ctx);
        let named = programs.iter().take(MOST_NAMED_PROGRAMS);
        pins.unpinned.extend(named.map(|name| format!("the other files that `{name}` reads")));
        if programs.len() > MOST_NAMED_PROGRAMS {
            let more = programs.len() - MOST_NAMED_PROGRAMS;
            pins.unpinned.push(format!("the other files that {more} more programs read"));
        }
        pins
    }
}

/// Reads the state of what an approval pins.
struct PinReader<'a> {
    ctx: &'a Ctx,
    /// The absolute path of the workspace.
    root: String,
    entries_left: usize,
    /// The folders that the command only runs in.
    entered: BTreeSet<String>,
    /// The folders that were added, absolute.
    folders: Vec<String>,
    pins: Pins,
}

impl PinReader<'_> {
    /// Adds the file or folder at an absolute path, if there is one.
    fn add(&mut self, path: &str) {
        match self.ctx.files.stat(path).map(|meta| meta.kind) {
            Ok(EntryKind::Directory) => self.add_folder(path),
            Ok(EntryKind::File | EntryKind::Link | EntryKind::Special) => self.add_file(path),
            Err(err) => self.add_unreadable(path, err.kind),
        }
    }

    fn add_file(&mut self, path: &str) {
        let content = match self.ctx.files.read(path, PINNED_BYTES) {
            Ok(content) => content,
            Err(err) => return self.add_unreadable(path, err.kind),
        };
        let shown = self.below_root(path);
        if content.is_cut() {
            let most = PINNED_BYTES >> 20;
            self.pins.unpinned.push(format!("`{shown}` beyond its first {most} MiB"));
        }
        let digest = Digest::of_bytes(&content.bytes).to_string();
        let state = PinState::File { size: content.size, digest };
        self.pins.pinned.push(Pin { path: shown, state });
    }

    fn add_folder(&mut self, path: &str) {
        self.folders.push(path.to_owned());
        let is_workspace = path == self.root || Path::new(&self.root).starts_with(path);
        let is_entered = self.entered.contains(path);
        let most = if is_workspace || is_entered { 0 } else { self.entries_left };
        let mut folder = match self.ctx.files.folder_state(path, most) {
            Ok(folder) => folder,
            Err(err) => return self.add_unreadable(path, err.kind),
        };
        let shown = self.below_root(path);
        if is_entered {
            // The command does not act on the folder, so it matters only which folder it is.
            folder.is_cut = true;
        } else if is_workspace {
            // Something in a workspace changes all the time, so nearly every answer would come too late.
            self.pins.unpinned.push(format!("what is in `{shown}`, which is the whole workspace"));
            folder.is_cut = true;
        } else if folder.is_cut {
            let count = folder.files.len();
            self.pins.unpinned.push(format!("what is in `{shown}`, except {count} of its files"));
        }
        self.entries_left -= folder.files.len().min(self.entries_left);
        self.pins.pinned.push(Pin { path: shown, state: PinState::Folder(folder) });
    }

    /// Names what is there and cannot be read.
    fn add_unreadable(&mut self, path: &str, kind: ErrorKind) {
        // Most words of a command are no paths, so nothing is there.
        if matches!(kind, ErrorKind::Permission | ErrorKind::Protected | ErrorKind::NotRegular) {
            let shown = self.below_root(path);
            self.pins.unpinned.push(format!("`{shown}`, which Toolcrib cannot read"));
        }
    }

    /// Returns a path below the workspace, as people write it; an absolute path if it is somewhere else.
    fn below_root(&self, path: &str) -> String {
        match Path::new(path).strip_prefix(&self.root) {
            Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
            Ok(below) => below.display().to_string(),
            Err(_) => path.to_owned(),
        }
    }
}
