//! What other programs run or obey on their own: git, editors, shells, agents, build servers, package managers and
//! build tools. This is the only list. File tools ask about every path on it, the sandbox protects a part of it and
//! tells of changes to the rest, and the reference prints it.

mod find;
mod row;
mod table;

pub use find::comparable;
pub use row::{LaterLevel, LaterPlace, LaterReader, RunsLater};
pub use table::{PROTECTED_NAMES, RUNS_LATER};
