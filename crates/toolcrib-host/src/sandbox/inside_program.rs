//! The helper program, which runs as the launcher and as the first process inside. This program carries it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/toolcrib-inside"));

/// A program that can be executed for as long as this value lives.
pub(crate) struct Helper {
    file: Option<File>,
}

impl Helper {
    /// Returns the helper in a sealed memory file, which nobody can change. Where memory files cannot be executed,
    /// returns this program itself, which does the same and takes longer to start.
    pub(crate) fn new() -> Self {
        Self { file: in_memory().ok() }
    }

    /// Returns this program itself as the helper.
    pub(crate) fn own() -> Self {
        Self { file: None }
    }

    /// Returns the path of the program, for this process and its children.
    pub(crate) fn path(&self) -> PathBuf {
        match &self.file {
            Some(file) => PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())),
            None => PathBuf::from("/proc/self/exe"),
        }
    }
}

fn in_memory() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let made = match memfd_create("toolcrib-inside", flags | MemfdFlags::EXEC) {
        // Kernels before 6.3 do not know the flag, and execute any memory file.
        Err(Errno::INVAL) => memfd_create("toolcrib-inside", flags),
        other => other,
    };
    let mut file = File::from(made?);
    file.write_all(PROGRAM)?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL,
    )?;
    Ok(file)
}
