//! The status of an index, for people: within its process, and published for other processes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::index::disk::make_in_state;
use crate::index::error::IndexError;

/// The phase that the indexer is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// No question has been asked yet.
    #[default]
    Asleep,
    /// The indexer walks directories. Searches scan.
    Walking,
    /// The indexer reads files. Searches use the index for the files it knows, and open the others.
    Reading,
    /// The index knows every file.
    Ready,
    /// There is no index, for this reason. Searches scan.
    Off(IndexError),
}

impl Phase {
    /// The phase in a word.
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

/// The status of an index.
#[derive(Clone, Debug, Default)]
pub struct IndexStatus {
    /// The phase that the indexer is in.
    pub phase: Phase,
    /// How many files and directories the index knows.
    pub counts: IndexCounts,
    /// How far the reading of files is.
    pub progress: ReadProgress,
    /// The memory that the index uses.
    pub memory: IndexMemory,
    /// Whether there is room for postings. Without them every file is opened for every question.
    pub has_postings: bool,
    /// How often the whole tree was walked.
    pub sweeps: usize,
    /// The copy of the index on disk.
    pub saving: Saving,
    /// How long the indexer took for the last file that it indexed on its own.
    pub last_update: Duration,
    /// How many questions were answered from the index.
    pub answered: u64,
    /// How many questions were answered by a scan.
    pub scanned: u64,
}

/// How many files and directories an index knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexCounts {
    /// Files.
    pub files: usize,
    /// Directories that are watched.
    pub directories: usize,
    /// Files that are opened for every question: UTF-16, NUL bytes late in the text, several links, unreadable.
    pub always_scan: usize,
}

/// How far the reading of files is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadProgress {
    /// Files to read in this round.
    pub to_do: usize,
    /// Files read, of all rounds.
    pub done: usize,
}

/// The memory that an index uses, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexMemory {
    /// Everything.
    pub total: usize,
    /// The part for postings.
    pub postings: usize,
    /// The part for the words of files.
    pub words: usize,
    /// The part for texts of files.
    pub texts: usize,
}

/// The copy of an index on disk.
#[derive(Clone, Debug, Default)]
pub struct Saving {
    /// Whether it is being written now.
    pub is_saving: bool,
    /// Why the last attempt to write it failed, if it did.
    pub error: Option<String>,
    /// Its size in bytes when it was last written; 0 if it never was.
    pub saved_bytes: u64,
}

impl IndexStatus {
    /// Writes the status to this process's status file, for other processes to read.
    pub(crate) fn publish(&self, folder: &Path) {
        let reason = match &self.phase {
            Phase::Off(why) => why.to_string(),
            _ => String::new(),
        };
        let text = format!(
            "pid {}\nstarted {}\nphase {}\nreason {}\nfiles {}\ndirectories {}\nloose {}\nmemory {}\npostings \
             {}\nwords {}\ntexts {}\nsweeps {}\n",
            std::process::id(),
            started_at(std::process::id()).unwrap_or(0),
            self.phase.as_str(),
            reason.replace('\n', " "),
            self.counts.files,
            self.counts.directories,
            self.counts.always_scan,
            self.memory.total,
            self.memory.postings,
            self.memory.words,
            self.memory.texts,
            self.sweeps
        );
        // The file only informs people: nothing is lost without it.
        let _ = make_in_state(folder);
        let _ = std::fs::write(status_file(folder, std::process::id()), text);
    }
}

/// The status that a process published of its index.
#[derive(Clone, Debug, Default)]
pub struct PublishedStatus {
    /// The process id.
    pub pid: u32,
    /// The indexer's phase, in a word.
    pub phase: String,
    /// Why there is no index; empty if there is one.
    pub reason: String,
    /// Files in the index.
    pub files: u64,
    /// Directories that are watched.
    pub directories: u64,
    /// Bytes of memory in use.
    pub memory: u64,
    /// Bytes of memory for postings.
    pub postings: u64,
    /// Bytes of memory for the words of files.
    pub words: u64,
    /// Bytes of memory for texts of files.
    pub texts: u64,
}

/// Returns what running processes published in a folder, and removes the status files of dead processes.
pub fn published_statuses(folder: &Path) -> Vec<PublishedStatus> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut statuses = Vec::new();
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(STATUS_FILE_PREFIX) {
            continue;
        }
        match std::fs::read_to_string(entry.path()).ok().and_then(|text| parse(&text)) {
            Some(status) => statuses.push(status),
            None => drop(std::fs::remove_file(entry.path())),
        }
    }
    statuses.sort_by_key(|status| status.pid);
    statuses
}

/// Reads a status file; nothing if its process is dead.
fn parse(text: &str) -> Option<PublishedStatus> {
    let mut status = PublishedStatus::default();
    let mut started = 0;
    for line in text.lines() {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        let number = value.parse().unwrap_or(0);
        match name {
            "pid" => status.pid = u32::try_from(number).unwrap_or(0),
            "started" => started = number,
            "phase" => value.clone_into(&mut status.phase),
            "reason" => value.clone_into(&mut status.reason),
            "files" => status.files = number,
            "directories" => status.directories = number,
            "memory" => status.memory = number,
            "postings" => status.postings = number,
            "words" => status.words = number,
            "texts" => status.texts = number,
            _ => {}
        }
    }
    // The kernel reuses process ids; the start time tells two processes with one id apart.
    (started_at(status.pid) == Some(started)).then_some(status)
}

const STATUS_FILE_PREFIX: &str = "status-";

fn status_file(folder: &Path, process: u32) -> PathBuf {
    folder.join(format!("{STATUS_FILE_PREFIX}{process}"))
}

/// Removes this process's status file.
pub(crate) fn unpublish(folder: &Path) {
    let _ = std::fs::remove_file(status_file(folder, std::process::id()));
}

/// Returns when a process started, in the kernel's clock ticks since boot.
fn started_at(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The program's name, in brackets, may hold anything; the fields after the last bracket are plain.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}
