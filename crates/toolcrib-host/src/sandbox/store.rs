//! What commands printed, saved by call, and what became of tasks: both outlive the process that ran
//! them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolcrib_core::command::{End, Excerpt, Finished, Lines, Printed, Stream, Task, TaskStatus};
use toolcrib_core::{ErrorKind, ToolError, Usage};

use super::job::Job;
use super::output::show;

/// How many calls' output is kept; the oldest go first.
const MOST_KEPT: usize = 1000;

/// After how many commands it is looked again whether there are too many.
const BETWEEN_LOOKS: usize = 100;

/// How much of an ended task's output is shown again.
const SHOWN: u64 = 32 << 10;

/// The folder of saved output.
pub(crate) struct Store {
    folder: PathBuf,
    starts: std::sync::atomic::AtomicUsize,
}

/// What is noted of a task.
#[derive(Serialize, Deserialize)]
struct Note {
    command: String,
    started: String,
    /// The process that runs it, and when that was started: numbers are used again.
    process: (u32, u64),
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<Usage>,
}

impl Store {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, starts: std::sync::atomic::AtomicUsize::new(0) }
    }

    /// Where a call's output is saved.
    pub(crate) fn folder(&self, id: &str) -> PathBuf {
        self.folder.join(id)
    }

    /// Makes room now and then: what is oldest by its id, which begins with its time, goes.
    pub(crate) fn make_room(&self) {
        use std::sync::atomic::Ordering;
        if !self.starts.fetch_add(1, Ordering::Relaxed).is_multiple_of(BETWEEN_LOOKS) {
            return;
        }
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        if names.len() <= MOST_KEPT {
            return;
        }
        names.sort_unstable();
        for name in &names[..names.len() - MOST_KEPT] {
            let _ = fs::remove_dir_all(self.folder.join(name));
        }
    }

    pub(crate) fn note_started(&self, job: &Job) {
        self.write(&job.id, &note(job, None));
    }

    /// Notes how a command ended, if anything of it is kept here.
    pub(crate) fn note_over(&self, job: &Job, finished: &Finished) {
        if self.folder(&job.id).is_dir() {
            self.write(&job.id, &note(job, Some(finished)));
        }
    }

    fn write(&self, id: &str, note: &Note) {
        let folder = self.folder(id);
        let Ok(text) = serde_json::to_string(note) else { return };
        let fresh = folder.join("task.new");
        let _ = fs::create_dir_all(&folder);
        let _ = fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, folder.join("task.json")));
    }

    fn read_note(&self, id: &str) -> Option<Note> {
        let text = fs::read_to_string(self.folder(known(id)?).join("task.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Returns what is known of a task that this process did not start, or has forgotten.
    pub(crate) fn task(&self, id: &str) -> Result<Task, ToolError> {
        let note = self.read_note(id).ok_or_else(|| {
            ToolError::new(ErrorKind::NotFound, format!("Task not found: {id}"))
                .hint("task ids come from a call with run_in_background")
                .with("task_id", id)
        })?;
        let status = match note.end {
            None if started_at(note.process.0) == Some(note.process.1) => TaskStatus::Running,
            None => TaskStatus::Lost,
            Some(end) => TaskStatus::Ended(end),
        };
        let printed = |stream: Stream| last_of(&self.folder(id).join(stream.as_str()));
        let (stdout, stderr) = (printed(Stream::Stdout), printed(Stream::Stderr));
        Ok(Task { id: id.to_owned(), status, stdout, stderr, strike: None })
    }

    /// Reads lines of saved output.
    pub(crate) fn read(
        &self,
        id: &str,
        stream: Stream,
        lines: Lines,
    ) -> Result<Excerpt, ToolError> {
        let none = || {
            ToolError::new(ErrorKind::NotFound, format!("no output is saved under `{id}`"))
                .hint("the id is that of the call whose output was cut; old output is removed")
        };
        let folder = self.folder(known(id).ok_or_else(none)?);
        let file = match File::open(folder.join(stream.as_str())) {
            Ok(file) => file,
            Err(_) if folder.is_dir() => {
                return Ok(Excerpt { text: String::new(), from: lines.from, count: 0, total: 0 });
            }
            Err(_) => return Err(none()),
        };
        excerpt(file, lines).map_err(|err| {
            ToolError::new(ErrorKind::Io, format!("the output of `{id}` cannot be read: {err}"))
        })
    }
}

fn excerpt(file: File, lines: Lines) -> std::io::Result<Excerpt> {
    let mut reader = BufReader::with_capacity(256 << 10, file);
    let (mut bytes, mut number, mut count) = (Vec::new(), 1, 0);
    let mut is_inside = false;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        // A line can be as long as all that is saved: it is taken in pieces.
        let end = memchr::memchr(b'\n', chunk).map(|end| end + 1);
        let piece = &chunk[..end.unwrap_or(chunk.len())];
        if number >= lines.from && number - lines.from < lines.count && bytes.len() < lines.most {
            bytes.extend_from_slice(&piece[..piece.len().min(lines.most - bytes.len())]);
            count = number - lines.from + 1;
        }
        is_inside = end.is_none();
        number += u64::from(end.is_some());
        let taken = piece.len();
        reader.consume(taken);
    }
    let mut text = String::new();
    show(&bytes, &mut text);
    let total = number - 1 + u64::from(is_inside);
    Ok(Excerpt { text, from: lines.from, count, total })
}

fn note(job: &Job, finished: Option<&Finished>) -> Note {
    let own = std::process::id();
    Note {
        command: job.text.clone(),
        started: job.at.to_string(),
        process: (own, started_at(own).unwrap_or(0)),
        end: finished.map(|finished| finished.end),
        used: finished.map(|finished| finished.usage),
    }
}

/// When a process was started, in ticks since the machine was; nothing if there is none.
fn started_at(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Returns an id that can only be the name of a folder of ours.
fn known(id: &str) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    ((1..=64).contains(&id.len()) && id.bytes().all(is_plain)).then_some(id)
}

/// The end of a saved stream.
fn last_of(path: &Path) -> Printed {
    use std::io::{Seek, SeekFrom};
    let Ok(mut file) = File::open(path) else { return Printed::default() };
    let size = file.metadata().map_or(0, |meta| meta.len());
    let mut bytes = Vec::new();
    let from = size.saturating_sub(SHOWN);
    if file.seek(SeekFrom::Start(from)).is_err() || file.read_to_end(&mut bytes).is_err() {
        return Printed::default();
    }
    let lines = memchr::memchr_iter(b'\n', &bytes).count() as u64;
    let mut text = String::new();
    if from > 0 {
        text.push_str("[what came before this is left out; read it with from_line]\n");
    }
    show(&bytes, &mut text);
    Printed { text, bytes: size, lines, is_cut: from > 0 }
}
