//! The program of the launcher and of the first process inside, which this one carries within it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/toolcrib-inside"));

/// A program that can be executed for as long as this is there.
pub(crate) struct Helper {
    file: Option<File>,
}

impl Helper {
    /// The helper in a file of memory that nobody can change. Where such files cannot be executed, this program
    /// itself, which does the same and takes longer to start.
    pub(crate) fn new() -> Self {
        Self { file: in_memory().ok() }
    }

    /// This program itself.
    pub(crate) fn own() -> Self {
        Self { file: None }
    }

    /// Where it is, for this process and its children.
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
        // Kernels before 6.3 know no such flag, and execute any.
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
