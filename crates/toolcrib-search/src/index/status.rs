//! How an index is doing, for people.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the upkeep is at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was asked yet.
    #[default]
    Asleep,
    /// Directories are walked; answers come from scans.
    Walking,
    /// Files are read; answers come from the index where it knows, and else from files.
    Reading,
    /// Everything is known.
    Ready,
    /// There is no index, for this reason; answers come from scans.
    Off(String),
}

impl Phase {
    /// In a word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Asleep => "asleep",
            Self::Walking => "walking",
            Self::Reading => "reading",
            Self::Ready => "ready",
            Self::Off(_) => "off",
        }
    }
}

/// How an index is doing.
#[derive(Clone, Debug, Default)]
pub struct IndexStatus {
    /// What it is at.
    pub phase: Phase,
    /// Files in it.
    pub files: usize,
    /// Directories that are watched.
    pub directories: usize,
    /// Files that are looked at whatever is asked: marked, mixed, linked, unreadable.
    pub always_scan: usize,
    /// Files to read in this round, and files read.
    pub to_do: usize,
    /// Files read in all.
    pub done: usize,
    /// Bytes of memory in use.
    pub memory: usize,
    /// Of these, postings.
    pub postings: usize,
    /// Of these, texts.
    pub texts: usize,
    /// Whether there was room for postings.
    pub has_postings: bool,
    /// How often everything was walked.
    pub sweeps: usize,
    /// Whether it is being written to disk.
    pub is_saving: bool,
    /// Why it could not be written, if so.
    pub save_error: Option<String>,
    /// Bytes on disk when it was last kept.
    pub kept_bytes: u64,
    /// How long the last file took that was indexed on its own.
    pub one_file: Duration,
    /// Questions answered from the index.
    pub answered: u64,
    /// Questions answered by a scan.
    pub scanned: u64,
}

impl IndexStatus {
    /// Writes a note for other processes.
    pub(crate) fn write(&self, folder: &Path) {
        let reason = match &self.phase {
            Phase::Off(why) => why.as_str(),
            _ => "",
        };
        let text = format!(
            "pid {}\nstarted {}\nphase {}\nreason {}\nfiles {}\ndirectories {}\nloose {}\nmemory {}\npostings \
             {}\ntexts {}\nsweeps {}\n",
            std::process::id(),
            started(std::process::id()).unwrap_or(0),
            self.phase.as_str(),
            reason.replace('\n', " "),
            self.files,
            self.directories,
            self.always_scan,
            self.memory,
            self.postings,
            self.texts,
            self.sweeps
        );
        // Only a help to people: without it nothing is lost.
        let _ = std::fs::create_dir_all(folder);
        let _ = std::fs::write(note_path(folder, std::process::id()), text);
    }
}

/// What a process left of how its index is doing.
#[derive(Clone, Debug, Default)]
pub struct PublishedStatus {
    /// The process.
    pub pid: u32,
    /// What it was at, in a word.
    pub phase: String,
    /// Why there is no index, if there is none.
    pub reason: String,
    /// Files in it.
    pub files: u64,
    /// Directories that are watched.
    pub directories: u64,
    /// Bytes of memory in use.
    pub memory: u64,
    /// Of these, postings.
    pub postings: u64,
    /// Of these, texts.
    pub texts: u64,
}

/// Reads the notes in a folder of processes that still run, and removes the others.
pub fn published_statuses(folder: &Path) -> Vec<PublishedStatus> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut notes = Vec::new();
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(STATUS_FILE_PREFIX) {
            continue;
        }
        match std::fs::read_to_string(entry.path()).ok().and_then(|text| parse(&text)) {
            Some(note) => notes.push(note),
            None => drop(std::fs::remove_file(entry.path())),
        }
    }
    notes.sort_by_key(|note| note.pid);
    notes
}

fn parse(text: &str) -> Option<PublishedStatus> {
    let mut note = PublishedStatus::default();
    let mut begun = 0;
    for line in text.lines() {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        let number = value.parse().unwrap_or(0);
        match name {
            "pid" => note.pid = u32::try_from(number).unwrap_or(0),
            "started" => begun = number,
            "phase" => value.clone_into(&mut note.phase),
            "reason" => value.clone_into(&mut note.reason),
            "files" => note.files = number,
            "directories" => note.directories = number,
            "memory" => note.memory = number,
            "postings" => note.postings = number,
            "texts" => note.texts = number,
            _ => {}
        }
    }
    // Numbers of processes are used again; the time that one began is its own.
    (started(note.pid) == Some(begun)).then_some(note)
}

const STATUS_FILE_PREFIX: &str = "status-";

fn note_path(folder: &Path, process: u32) -> PathBuf {
    folder.join(format!("{STATUS_FILE_PREFIX}{process}"))
}

/// Removes this process's note.
pub(crate) fn remove_note(folder: &Path) {
    let _ = std::fs::remove_file(note_path(folder, std::process::id()));
}

/// Returns when a process began, in the kernel's ticks.
fn started(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in brackets, may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}
