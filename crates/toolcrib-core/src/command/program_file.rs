//! The file of a program, as commands find it by their `PATH`.

use crate::file_stamp::FileStamp;

/// The file that a command runs for the name of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFile {
    /// The absolute path, without links.
    pub path: String,
    /// Where the file is, which decides who can change it.
    pub place: ProgramPlace,
    /// The state of the file.
    pub stamp: FileStamp,
}

/// Where the file of a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramPlace {
    /// In a folder of the system, which commands can only read.
    System,
    /// In a folder of the operator's home, which commands can only read.
    Toolchain,
    /// Where commands can change it.
    Writable,
}
