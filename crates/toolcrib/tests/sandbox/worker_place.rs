//! What the tests of workers stand on: a place that starts them, and a process of an ordinary user.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use toolcrib_core::worker::{
    FolderAccess, StartedWorker, WorkerControl, WorkerEnd, WorkerFolder, WorkerLimits,
    WorkerProgram, WorkerRequest, Workers,
};
use toolcrib_host::WorkerSandbox;

use crate::ground::eventually;
use crate::network::sandbox_in;
use crate::place::NOBODY;
use crate::privilege::is_root;

/// A folder with a workspace in it, and workers.
pub(crate) struct WorkerPlace {
    folder: tempfile::TempDir,
    pub(crate) workers: WorkerSandbox,
}

impl WorkerPlace {
    /// A place whose module worker is `program`.
    pub(crate) fn with(program: &str, ports: Vec<u16>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sandbox = sandbox_in(folder.path(), &[], ports, 1 << 20);
        fs::write(folder.path().join("work").join("file"), "of the workspace\n").unwrap();
        let own = folder.path().join("program");
        fs::copy(program, &own).unwrap();
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        let own = fs::canonicalize(own).unwrap();
        let workers = WorkerSandbox::new(Arc::new(sandbox), own);
        Self { folder, workers }
    }

    pub(crate) fn new() -> Self {
        Self::with("/bin/echo", Vec::new())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join(name)
    }

    /// Returns the path of a file of the workspace.
    pub(crate) fn workspace_file(&self) -> String {
        self.path("work").join("file").display().to_string()
    }

    /// Makes a folder with one file, and returns it as a worker sees it, at `/data`.
    pub(crate) fn data(&self, access: FolderAccess) -> WorkerFolder {
        let path = self.path("data");
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(path.join("file"), "of the folder\n").unwrap();
        let source = path.display().to_string();
        WorkerFolder { source, target: "/data".to_owned(), access }
    }

    #[track_caller]
    pub(crate) fn start(&self, request: &WorkerRequest) -> LiveWorker {
        LiveWorker::of(self.workers.start(request).unwrap())
    }

    /// Starts a worker, closes its input, and returns what it prints until it ends.
    #[track_caller]
    pub(crate) fn printed_by(&self, request: &WorkerRequest) -> String {
        let LiveWorker { input, mut output, control } = self.start(request);
        drop(input);
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        // It has ended by now. Only then is everything known of it.
        control.kill();
        text + &control.printed()
    }
}

/// A worker and its pipes.
pub(crate) struct LiveWorker {
    pub(crate) input: fs::File,
    pub(crate) output: BufReader<fs::File>,
    pub(crate) control: Arc<dyn WorkerControl>,
}

impl LiveWorker {
    fn of(started: StartedWorker) -> Self {
        let StartedWorker { input, output, control } = started;
        Self { input: input.into(), output: BufReader::new(output.into()), control }
    }

    /// Sends a line, and returns the line that the worker answers with.
    #[track_caller]
    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.input.write_all(format!("{line}\n").as_bytes()).unwrap();
        self.line()
    }

    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits for the end of the worker.
    #[track_caller]
    pub(crate) fn ended(&self) -> WorkerEnd {
        eventually("the end of a worker", || self.control.end().is_some());
        self.control.end().unwrap()
    }
}

pub(crate) fn request(words: &[&str]) -> WorkerRequest {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    WorkerRequest {
        program: WorkerProgram::Command { words, directory: "/".to_owned() },
        environment: Vec::new(),
        folders: Vec::new(),
        hosts: Vec::new(),
        limits: WorkerLimits { memory: 1 << 30, processes: 100, cpus: 1.0, scratch: 1 << 24 },
    }
}

pub(crate) fn script(text: &str) -> WorkerRequest {
    request(&["sh", "-c", text])
}

pub(crate) fn python(text: &str) -> WorkerRequest {
    request(&["python3", "-c", text])
}

/// Runs a check in this process and, if that is root's, in a process of an ordinary user too.
#[track_caller]
pub(crate) fn for_everyone(test: &str, check: impl Fn()) {
    check();
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("workers::{test}")])
        .env("TMPDIR", folder.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{test}: {output:?}");
}
