//! Test programs run side by side, so that one that waits, or has a single long test, leaves no processor idle.

#![expect(clippy::print_stdout, reason = "a chore tells what it does")]

use std::collections::VecDeque;
use std::error::Error;
use std::fs::{self, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::test_program::{TestProgram, TestRun};

/// How many test programs run at once. Each has as many threads as there are processors.
const LANES: usize = 2;

/// Programs that mostly wait for one long test. They begin first.
const LONG: [&str; 1] = ["toolcrib search"];

/// Programs that use up what the machine has of processes, memory and disk. They run last, beside as little as possible.
const GREEDY: [&str; 1] = ["toolcrib sandbox"];

/// What the lanes share.
struct Board<'a> {
    waiting: Mutex<VecDeque<&'a TestProgram>>,
    /// What each lane runs, for the row that shows the progress.
    shown: Mutex<[String; LANES]>,
    is_terminal: bool,
}

/// Runs test programs in two lanes. Prints a line for each that ends, and then calls `take` with its name, its run, and
/// the names of what it left in its temporary folder.
pub(crate) fn run_in_lanes(
    programs: &[TestProgram],
    scratch: &Path,
    take: impl FnMut(&str, TestRun, Vec<String>) + Send,
) -> Result<(), Box<dyn Error>> {
    let mut waiting: Vec<&TestProgram> = programs.iter().collect();
    waiting.sort_by_key(|program| {
        let name = program.name.as_str();
        (!LONG.contains(&name), GREEDY.contains(&name))
    });
    let board = Board {
        waiting: Mutex::new(waiting.into()),
        shown: Mutex::default(),
        is_terminal: io::stdout().is_terminal(),
    };
    let take = Mutex::new(take);
    let ends = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                let (board, take) = (&board, &take);
                scope.spawn(move || board.run_lane(lane, scratch, take))
            })
            .collect();
        lanes.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    for end in ends {
        end.map_err(|_| "a lane of the tests panicked")??;
    }
    Ok(())
}

impl Board<'_> {
    /// Runs programs until none waits.
    fn run_lane(
        &self,
        lane: usize,
        scratch: &Path,
        take: &Mutex<impl FnMut(&str, TestRun, Vec<String>)>,
    ) -> io::Result<()> {
        let folder = lane_folder(scratch, lane)?;
        loop {
            let Some(program) = lock(&self.waiting).pop_front() else {
                self.show(lane, String::new());
                return Ok(());
            };
            let name = &program.name;
            self.show(lane, name.clone());
            let progress = |ended, all| self.show(lane, format!("{name} {ended}/{all}"));
            let run = program.run(&folder, &progress);
            let run = run.map_err(|err| io::Error::other(err.to_string()))?;
            let left = left_in(&folder)?;
            // The other lane prints nothing until this program is told.
            let mut take = lock(take);
            self.clear_row();
            println!("{}", run.line(name));
            if run.is_interrupted {
                lock(&self.waiting).clear();
                return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
            }
            take(name, run, left);
        }
    }

    /// Shows on a terminal what a lane runs.
    fn show(&self, lane: usize, text: String) {
        let mut shown = lock(&self.shown);
        shown[lane] = text;
        if self.is_terminal {
            let row: Vec<&str> =
                shown.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
            // What cannot be shown is not missed: the lines of the programs tell the result.
            let _ = write!(io::stdout(), "\r\u{1b}[K    {}", row.join("   "));
            let _ = io::stdout().flush();
        }
    }

    fn clear_row(&self) {
        if self.is_terminal {
            let _ = write!(io::stdout(), "\r\u{1b}[K");
        }
    }
}

/// Makes the folder for the temporary files of a lane.
fn lane_folder(scratch: &Path, lane: usize) -> io::Result<PathBuf> {
    let folder = scratch.join(lane.to_string());
    fs::create_dir(&folder)?;
    // Some tests run as `nobody`.
    fs::set_permissions(&folder, Permissions::from_mode(0o1777))?;
    Ok(folder)
}

/// Removes what a test program left in its temporary folder, and returns the names.
fn left_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        names.push(entry.file_name().to_string_lossy().into_owned());
        let path = entry.path();
        let _ = if entry.file_type()?.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
    }
    Ok(names)
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
