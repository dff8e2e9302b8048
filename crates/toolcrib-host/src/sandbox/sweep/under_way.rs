//! Notes on disk which commands still need their sweep. If the process dies, or something cannot be held, the sweep is
//! made before the next command. The file of a command has one line for each note, and its last whole line counts.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::baseline::SweepBaseline;

/// Returns the files of the commands that are under way, with the content of each.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let paths = paths.filter(|path| path.extension().is_some_and(|it| it == "json"));
    paths.filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes))).collect()
}

/// A command that is under way. Its file is locked as long as this value lives.
pub(super) struct UnderWay {
    path: PathBuf,
    locked: File,
}

impl UnderWay {
    /// Notes that a command begins.
    pub(super) fn begin(folder: &Path, baseline: &SweepBaseline) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.json", baseline.call));
        let fresh = folder.join(format!("{}.fresh", baseline.call));
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(&line(baseline)?)?;
        // It gets its name when it is locked and whole, so that nobody takes it for one that was left.
        fs::rename(fresh, &path)?;
        Ok(Self { path, locked: file })
    }

    /// Notes more about the beginning of the command.
    pub(super) fn update(&mut self, baseline: &SweepBaseline) -> io::Result<()> {
        // A file in its place would be written to the disk at once by some file systems, and to remove it would then
        // wait for the disk.
        self.locked.write_all(&line(baseline)?)
    }

    /// Notes that the sweep was made.
    pub(super) fn end(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Takes the commands whose roots are all among these, and whose sweep was not made or failed.
pub(super) fn take_owed(folder: &Path, roots: &[PathBuf]) -> Vec<(SweepBaseline, UnderWay)> {
    let mut owed = Vec::new();
    for (path, _) in files(folder) {
        let Ok(file) = File::options().read(true).append(true).open(&path) else { continue };
        let is_left = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
            // Somebody may have made the sweep since the file was opened.
            && file.metadata().is_ok_and(|meta| meta.nlink() > 0);
        let baseline = fs::read(&path).ok().filter(|_| is_left).and_then(|bytes| read(&bytes));
        let is_within = |it: &SweepBaseline| it.roots.iter().all(|(root, _)| roots.contains(root));
        if let Some(baseline) = baseline.filter(is_within) {
            owed.push((baseline, UnderWay { path, locked: file }));
        }
    }
    owed
}

/// Returns the baselines of all commands that are under way.
pub(super) fn baselines(folder: &Path) -> impl Iterator<Item = SweepBaseline> {
    files(folder).into_iter().filter_map(|(_, bytes)| read(&bytes))
}

/// Returns a note as a line. It begins with a line feed, so that a torn note before it spoils nothing.
fn line(baseline: &SweepBaseline) -> io::Result<Vec<u8>> {
    let mut line = vec![b'\n'];
    serde_json::to_writer(&mut line, baseline)?;
    Ok(line)
}

fn read(bytes: &[u8]) -> Option<SweepBaseline> {
    bytes.rsplit(|byte| *byte == b'\n').find_map(|line| serde_json::from_slice(line).ok())
}
