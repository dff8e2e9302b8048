//! Files confined beneath their roots: every path is opened by the kernel below a handle and checked through that
//! handle, and every change is journaled for undo before it is made.

mod attribute;
mod change;
mod errno;
mod folder_state;
mod follow_links;
mod image;
mod lock;
mod policy_check;
mod port;
mod protect;
mod read;
mod restore;
pub(crate) mod root;
mod rooted_path;
mod search_root;
mod snapshot;
pub(crate) mod spelling;
mod stamp;
mod target;
mod temporary;
mod temporary_name;
pub(crate) mod workspace;

pub use root::{Root, RootError};
pub use search_root::SearchRoot;
pub use spelling::root_path;
pub use workspace::{CallFiles, FileRules, Hardlinks, UndoStore, Workspace, real_place};
