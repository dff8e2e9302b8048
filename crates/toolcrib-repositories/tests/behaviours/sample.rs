//! Files to make a repository of: in a folder, and in a git repository by `git fast-import`.

#![allow(dead_code, reason = "each test program uses its own part of this")]

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// What is at a path.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    File(Vec<u8>),
    Link(Vec<u8>),
    /// A commit of another repository. A checkout has an empty directory for it.
    Submodule,
    Directory,
}

/// The files of a repository, by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample(pub(crate) Vec<(Vec<u8>, Item)>);

impl Sample {
    pub(crate) fn file(mut self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        self.0.push((path.as_ref().to_vec(), Item::File(content.as_ref().to_vec())));
        self
    }

    pub(crate) fn link(mut self, path: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        self.0.push((path.as_ref().to_vec(), Item::Link(target.as_ref().to_vec())));
        self
    }

    pub(crate) fn directory(mut self, path: impl AsRef<[u8]>) -> Self {
        self.0.push((path.as_ref().to_vec(), Item::Directory));
        self
    }

    pub(crate) fn submodule(mut self, path: impl AsRef<[u8]>) -> Self {
        self.0.push((path.as_ref().to_vec(), Item::Submodule));
        self
    }

    /// Writes the files into a folder.
    pub(crate) fn write(&self, folder: &Path) {
        for (path, item) in &self.0 {
            let path = folder.join(OsStr::from_bytes(path));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            match item {
                Item::File(content) => std::fs::write(path, content).unwrap(),
                Item::Link(target) => {
                    std::os::unix::fs::symlink(OsStr::from_bytes(target), path).unwrap();
                }
                Item::Submodule | Item::Directory => std::fs::create_dir_all(path).unwrap(),
            }
        }
    }

    /// Commits the files, and nothing else, to a branch of a git repository.
    pub(crate) fn commit(&self, repository: &Path, branch: &str) {
        let mut stream = Vec::new();
        write!(
            stream,
            "commit refs/heads/{branch}\ncommitter A <a@b> 1700000000 +0000\ndata 1\nm\n"
        )
        .unwrap();
        stream.extend_from_slice(b"deleteall\n");
        for (path, item) in &self.0 {
            let path = quoted(path);
            match item {
                Item::File(content) => {
                    write!(stream, "M 100644 inline {path}\ndata {}\n", content.len()).unwrap();
                    stream.extend_from_slice(content);
                    stream.push(b'\n');
                }
                Item::Link(target) => {
                    write!(stream, "M 120000 inline {path}\ndata {}\n", target.len()).unwrap();
                    stream.extend_from_slice(target);
                    stream.push(b'\n');
                }
                Item::Submodule => {
                    writeln!(stream, "M 160000 {} {path}", "5".repeat(40)).unwrap();
                }
                // Git has no empty directories.
                Item::Directory => {
                    let path = quoted_below(path.trim_matches('"'));
                    write!(stream, "M 100644 inline {path}\ndata 0\n\n").unwrap();
                }
            }
        }
        import(repository, &stream);
    }
}

fn quoted_below(directory: &str) -> String {
    format!("\"{}/.keep\"", directory.trim_end_matches('/'))
}

/// Quotes a path as git reads it.
pub(crate) fn quoted(path: &[u8]) -> String {
    let octal: String = path.iter().map(|byte| format!("\\{byte:03o}")).collect();
    let is_plain = path.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-/ ".contains(byte));
    let plain = String::from_utf8_lossy(path).into_owned();
    format!("\"{}\"", if is_plain { plain } else { octal })
}

/// Feeds a stream to `git fast-import`.
pub(crate) fn import(repository: &Path, stream: &[u8]) {
    let mut command = git(repository);
    command.args(["fast-import", "--quiet", "--force", "--date-format=raw-permissive"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Returns `git` in a repository, without any settings but ours.
pub(crate) fn git(repository: &Path) -> Command {
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for name in ["GIT_AUTHOR", "GIT_COMMITTER"] {
        command.env(format!("{name}_NAME"), "A").env(format!("{name}_EMAIL"), "a@b");
        command.env(format!("{name}_DATE"), "1700000000 +0000");
    }
    command.arg("-c").arg("safe.directory=*").arg("-C").arg(repository);
    command
}

/// Runs git to its end and returns its output. It must succeed.
pub(crate) fn run(repository: &Path, args: &[&str]) -> Vec<u8> {
    let output = git(repository).args(args).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {args:?}: {errors}");
    output.stdout
}

/// Makes an empty repository whose branch is `main`.
pub(crate) fn init(repository: &Path, more: &[&str]) {
    std::fs::create_dir_all(repository).unwrap();
    run(repository, &[&["init", "--quiet", "--initial-branch=main"], more].concat());
}
