//! The store of saved output, by call, and of the state of tasks. Both outlive the process that ran the commands.

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolcrib_core::command::{End, Excerpt, Finished, Lines, Printed, Stream, Task, TaskStatus};
use toolcrib_core::{ErrorKind, Principal, ToolError, Usage};

use super::job::Job;
use super::output::show;

/// How many calls' output is kept. The oldest is removed first.
const MOST_KEPT_CALLS: usize = 1000;

/// How many commands are started between two removals of old output.
const STARTS_BETWEEN_REMOVALS: usize = 100;

/// How many bytes of an ended task's output are shown again.
const SHOWN_AGAIN_BYTES: u64 = 32 << 10;

/// The folder of saved output. It holds that of all workspaces, and tools read only that of their own.
pub struct OutputStore {
    folder: PathBuf,
    /// The path of the workspace whose commands this process runs.
    workspace: String,
    starts: std::sync::atomic::AtomicUsize,
}

/// The record of a task, kept in `task.json`.
#[derive(Serialize, Deserialize)]
struct TaskRecord {
    command: String,
    /// The path of the workspace in which the command ran. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    /// Whose command it is. Absent for the user at the terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    principal: Option<Principal>,
    started: String,
    /// The process that runs the task, and when that process was started: the kernel reuses process numbers.
    process: (u32, u64),
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<Usage>,
}

impl TaskRecord {
    fn status(&self) -> TaskStatus {
        match self.end {
            None if started_at(self.process.0) == Some(self.process.1) => TaskStatus::Running,
            None => TaskStatus::Lost,
            Some(end) => TaskStatus::Ended(end),
        }
    }
}

/// One command whose output is saved.
#[derive(Clone, Debug, Default)]
pub struct SavedCommand {
    /// The call that ran the command.
    pub call: String,
    /// The command; empty if it is not known.
    pub command: String,
    /// The path of the workspace in which the command ran; empty if it is not known.
    pub workspace: String,
    /// When the command was started.
    pub started: String,
    /// Whose command it is. `None` stands for the user at the terminal.
    pub principal: Option<Principal>,
    /// How it stands. `None` if that is not known, because only its output is saved.
    pub status: Option<TaskStatus>,
}

impl OutputStore {
    /// Opens the store in the state folder, for a person: the output of all workspaces.
    pub fn of_person(state: &Path) -> Self {
        Self::new(state.join("output"), Path::new(""))
    }

    /// Returns every command whose output is saved, newest first.
    pub fn all(&self) -> Vec<SavedCommand> {
        let names = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut all: Vec<SavedCommand> = names
            .filter_map(|entry| entry.file_name().into_string().ok())
            .map(|call| {
                let Some(record) = self.read_record(&call) else {
                    return SavedCommand { call, ..SavedCommand::default() };
                };
                let status = Some(record.status());
                let TaskRecord { command, workspace, principal, started, .. } = record;
                let workspace = workspace.unwrap_or_default();
                SavedCommand { call, command, workspace, started, principal, status }
            })
            .collect();
        all.sort_unstable_by(|one, other| other.call.cmp(&one.call));
        all
    }

    pub(crate) fn new(folder: PathBuf, workspace: &Path) -> Self {
        let workspace = workspace.display().to_string();
        Self { folder, workspace, starts: std::sync::atomic::AtomicUsize::new(0) }
    }

    /// Returns the folder where a call's output is saved.
    pub(crate) fn folder(&self, id: &str) -> PathBuf {
        self.folder.join(id)
    }

    /// Removes the oldest output now and then. The id of a call begins with its time, so the smallest id is the
    /// oldest.
    pub(crate) fn make_room(&self) {
        use std::sync::atomic::Ordering;
        if !self.starts.fetch_add(1, Ordering::Relaxed).is_multiple_of(STARTS_BETWEEN_REMOVALS) {
            return;
        }
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        if names.len() <= MOST_KEPT_CALLS {
            return;
        }
        names.sort_unstable();
        for name in &names[..names.len() - MOST_KEPT_CALLS] {
            let _ = fs::remove_dir_all(self.folder.join(name));
        }
    }

    /// Saves the whole reply of a call.
    pub(crate) fn save_reply(&self, id: &str, reply: &str) -> io::Result<()> {
        self.make_room();
        let folder = self.folder(valid_id(id).ok_or(io::ErrorKind::InvalidInput)?);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let options = File::options().write(true).create(true).truncate(true).mode(0o600).clone();
        options.open(folder.join(Stream::Stdout.as_str()))?.write_all(reply.as_bytes())
    }

    /// Records that a command which may become a task was started.
    pub(crate) fn record_start(&self, job: &Job) {
        self.write(&job.id, &self.record_of(job, None));
    }

    /// Records how a command ended, if the store has anything of the command.
    pub(crate) fn record_end(&self, job: &Job, finished: &Finished) {
        if self.folder(&job.id).is_dir() {
            self.write(&job.id, &self.record_of(job, Some(finished)));
        }
    }

    fn record_of(&self, job: &Job, finished: Option<&Finished>) -> TaskRecord {
        let own = std::process::id();
        TaskRecord {
            command: job.text.clone(),
            workspace: Some(self.workspace.clone()),
            principal: job.principal.clone(),
            started: job.at.to_string(),
            process: (own, started_at(own).unwrap_or(0)),
            end: finished.map(|finished| finished.end),
            used: finished.map(|finished| finished.usage),
        }
    }

    fn write(&self, id: &str, record: &TaskRecord) {
        let folder = self.folder(id);
        let Ok(text) = serde_json::to_string(record) else { return };
        let fresh = folder.join("task.new");
        let _ = fs::create_dir_all(&folder);
        let _ = fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, folder.join("task.json")));
    }

    fn read_record(&self, id: &str) -> Option<TaskRecord> {
        let text = fs::read_to_string(self.folder(valid_id(id)?).join("task.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Fails unless the command of this id ran in this workspace, and is `owner`'s. `message` is the error's.
    fn require_own(
        &self,
        id: &str,
        owner: Option<&Principal>,
        message: String,
    ) -> Result<TaskRecord, ToolError> {
        let not_found = |hint: &str| ToolError::new(ErrorKind::NotFound, message).hint(hint);
        match self.read_record(id).filter(|it| it.principal.as_ref() == owner) {
            Some(record) if record.workspace.as_ref() == Some(&self.workspace) => Ok(record),
            Some(_) => Err(not_found(
                "it belongs to another workspace; a person can read it with `toolcrib output`",
            )),
            None => Err(not_found("task ids come from a call with run_in_background")),
        }
    }

    /// Returns the state of a task of this workspace that this process did not start, or has forgotten.
    pub(crate) fn task(&self, id: &str, owner: Option<&Principal>) -> Result<Task, ToolError> {
        let record = self.require_own(id, owner, format!("Task not found: {id}"));
        let record = record.map_err(|err| err.with("task_id", id))?;
        let status = record.status();
        let printed = |stream: Stream| last_of(&self.folder(id).join(stream.as_str()));
        let (stdout, stderr) = (printed(Stream::Stdout), printed(Stream::Stderr));
        Ok(Task { id: id.to_owned(), status, stdout, stderr, strike: None })
    }

    /// Reads some lines of saved output, if its command ran in this workspace.
    pub(crate) fn read_own(
        &self,
        id: &str,
        owner: Option<&Principal>,
        stream: Stream,
        lines: Lines,
    ) -> Result<Excerpt, ToolError> {
        if valid_id(id).is_some_and(|id| self.folder(id).is_dir()) {
            self.require_own(id, owner, format!("no output is saved under `{id}`"))?;
        }
        self.read(id, stream, lines)
    }

    /// Reads some lines of saved output, whichever workspace its command ran in.
    pub fn read(&self, id: &str, stream: Stream, lines: Lines) -> Result<Excerpt, ToolError> {
        let none = || {
            ToolError::new(ErrorKind::NotFound, format!("no output is saved under `{id}`"))
                .hint("use the id of the call that ran the command; Toolcrib deletes old output")
        };
        let folder = self.folder(valid_id(id).ok_or_else(none)?);
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

fn excerpt(file: File, lines: Lines) -> io::Result<Excerpt> {
    let mut reader = BufReader::with_capacity(256 << 10, file);
    let (mut bytes, mut number, mut count) = (Vec::new(), 1, 0);
    let mut is_inside = false;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        // A line can be as long as all of the saved output, so it is taken in pieces.
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

/// Returns when a process was started, in ticks since boot, or `None` if there is no such process.
fn started_at(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Returns the id if it is safe as the name of a folder.
fn valid_id(id: &str) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    ((1..=64).contains(&id.len()) && id.bytes().all(is_plain)).then_some(id)
}

/// Returns the end of a saved stream.
fn last_of(path: &Path) -> Printed {
    use std::io::{Seek, SeekFrom};
    let Ok(mut file) = File::open(path) else { return Printed::default() };
    let size = file.metadata().map_or(0, |meta| meta.len());
    let mut bytes = Vec::new();
    let from = size.saturating_sub(SHOWN_AGAIN_BYTES);
    if file.seek(SeekFrom::Start(from)).is_err() || file.read_to_end(&mut bytes).is_err() {
        return Printed::default();
    }
    let lines = memchr::memchr_iter(b'\n', &bytes).count() as u64;
    let mut text = String::new();
    if from > 0 {
        text.push_str("[earlier output is left out here; read it with from_line]\n");
    }
    show(&bytes, &mut text);
    Printed { text, bytes: size, lines, is_cut: from > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_lead_elsewhere_are_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let store = OutputStore::new(folder.path().join("output"), Path::new("/w"));
        for id in ["", "..", "a/b", "a.b", "\0"] {
            assert_eq!(store.task(id, None).unwrap_err().kind, ErrorKind::NotFound, "{id:?}");
        }
    }

    #[test]
    fn excerpt_counts_all_lines_and_shows_some() {
        let folder = tempfile::tempdir().unwrap();
        let store = OutputStore::new(folder.path().to_owned(), Path::new("/w"));
        fs::create_dir(store.folder("call")).unwrap();
        fs::write(store.folder("call").join("stdout"), "one\ntwo\nthree\nfour").unwrap();
        let lines = Lines { from: 2, count: 2, most: 100 };
        let excerpt = store.read("call", Stream::Stdout, lines).unwrap();
        assert_eq!(excerpt.text, "two\nthree\n");
        assert_eq!((excerpt.from, excerpt.count, excerpt.total), (2, 2, 4));
        assert!(store.read("other", Stream::Stdout, lines).is_err());
    }

    #[test]
    fn only_the_output_of_the_own_workspace_is_read_for_tools() {
        let folder = tempfile::tempdir().unwrap();
        let store =
            |workspace: &str| OutputStore::new(folder.path().to_owned(), Path::new(workspace));
        let lines = Lines { from: 1, count: 9, most: 100 };
        let record = |workspace: Option<&str>| TaskRecord {
            command: "x".to_owned(),
            principal: None,
            workspace: workspace.map(str::to_owned),
            started: String::new(),
            process: (0, 0),
            end: Some(End::Exited(0)),
            used: None,
        };
        for (id, workspace) in [("own", Some("/w")), ("other", Some("/w2")), ("old", None)] {
            store("/w").write(id, &record(workspace));
            fs::write(store("/w").folder(id).join("stdout"), "printed\n").unwrap();
        }
        // A command that another process runs now, and that no record says anything about yet.
        fs::create_dir(folder.path().join("unknown")).unwrap();
        fs::write(folder.path().join("unknown/stdout"), "printed\n").unwrap();
        for (id, is_own) in [("own", true), ("other", false), ("old", false), ("unknown", false)] {
            let read = store("/w").read_own(id, None, Stream::Stdout, lines);
            assert_eq!(read.is_ok(), is_own, "{id}");
            assert_eq!(store("/w").task(id, None).is_ok(), is_own, "{id}");
            let kind = store("/w").task(id, None).err().map(|err| err.kind);
            assert_eq!(kind, (!is_own).then_some(ErrorKind::NotFound), "{id}");
            // A person may read all of it.
            assert_eq!(store("/w").read(id, Stream::Stdout, lines).unwrap().text, "printed\n");
        }
        assert!(store("/w2").read_own("other", None, Stream::Stdout, lines).is_ok());
    }
}
