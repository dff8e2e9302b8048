//! A git repository of made-up sources: the same on every machine, bare, in one pack.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::corpus::Chance;

/// How many files a directory has.
pub(super) const FILES_PER_DIRECTORY: usize = 50;

/// How many directories are at the top. Every other is in one of them.
const PARTS: usize = 25;

/// What some files of every repository have.
pub(super) const NEEDLE: &str = "the quaint needle";

/// One file of so many has it.
const NEEDLE_EVERY: usize = 5000;

/// A repository, and how many files it has.
pub(super) struct MadeRepository {
    pub(super) folder: PathBuf,
    pub(super) files: usize,
}

impl MadeRepository {
    /// Makes it. Its branch is `main`.
    pub(super) fn make(folder: &Path, files: usize) -> Result<Self, Box<dyn Error>> {
        std::fs::create_dir_all(folder)?;
        let made = Self { folder: folder.to_owned(), files };
        made.git(&["init", "--quiet", "--bare", "--initial-branch=main"])?;
        let mut import = made.command(&["fast-import", "--quiet"]);
        let mut child = import.stdin(Stdio::piped()).spawn()?;
        let mut stream = BufWriter::new(child.stdin.take().ok_or("no stdin")?);
        write!(stream, "commit refs/heads/main\ncommitter A <a@b> 1 +0000\ndata 1\nm\n")?;
        let mut chance = Chance(0x0ddb_1a5e_5bad_5eed);
        for number in 0..files {
            let text = made.text(number, &mut chance);
            write!(stream, "M 100644 inline {}\ndata {}\n{text}\n", path(number), text.len())?;
        }
        drop(stream.into_inner().map_err(|err| err.to_string())?);
        if !child.wait()?.success() {
            return Err("git fast-import failed".into());
        }
        // As a clone has it: an import leaves long chains of differences, through which git itself reads slowly.
        made.git(&["repack", "-a", "-d", "-f", "--quiet"])?;
        Ok(made)
    }

    /// Returns the text of a file: a few hundred words.
    fn text(&self, number: usize, chance: &mut Chance) -> String {
        let used = chance.below(self.files);
        let mut text = format!("//! Module {number}.\n\nuse crate::module_{used};\n\n");
        for _ in 0..20 + chance.below(80) {
            let (a, b, c) = (chance.below(5000), chance.below(300), chance.below(900));
            let _ = writeln!(text, "    let value_{a} = compute_{b}(input_{c}, \"text {a}\");");
        }
        if number % NEEDLE_EVERY == 17 {
            let _ = writeln!(text, "// {NEEDLE}");
        }
        text
    }

    /// Returns every directory with files.
    pub(super) fn directories(&self) -> impl Iterator<Item = String> {
        (0..self.files.div_ceil(FILES_PER_DIRECTORY)).map(directory)
    }

    /// Returns how many directories there are, with the root and those that have only directories.
    pub(super) fn directory_count(&self) -> usize {
        1 + PARTS + self.files.div_ceil(FILES_PER_DIRECTORY)
    }

    /// Returns `git` in the repository, without anybody's settings.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder).args(args);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// Runs git, and returns what it prints.
    pub(super) fn git(&self, args: &[&str]) -> Result<Vec<u8>, Box<dyn Error>> {
        let output = self.command(args).stdin(Stdio::null()).output()?;
        // `git grep` without a match ends with 1.
        if output.status.code().is_some_and(|code| code <= 1) {
            return Ok(output.stdout);
        }
        Err(format!("git {args:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
    }
}

fn directory(number: usize) -> String {
    format!("part{}/dir{number}", number % PARTS)
}

/// Returns the path of a file.
pub(super) fn path(number: usize) -> String {
    format!("{}/module_{number}.rs", directory(number / FILES_PER_DIRECTORY))
}
