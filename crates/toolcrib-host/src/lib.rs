//! The capabilities for real: files confined beneath their roots, commands in
//! their sandbox, and the clock. The only crate that
//! talks to the operating system on a tool's behalf.

mod alter;
mod attribute;
mod clock;
mod confine;
mod fault;
mod ground;
mod lock;
mod place;
mod protect;
mod resolve;
mod restore;
mod root;
mod sandbox;
mod sight;
mod snapshot;
mod spelling;
mod target;
mod temporary;
mod usage;
mod write;

pub use clock::SystemClock;
pub use confine::{CallFiles, Hardlinks, Rules, UndoStore, Workspace, real_place};
pub use ground::SearchRoot;
pub use root::{Root, RootError};
pub use sandbox::{
    Asker, BadHost, CommandLimits, Egress, Enforced, Finding, Held, HostRule, Listener, Operator,
    Profile, Resolver, Sandbox, SandboxRules, SharedSandbox, TaskEnd, Tee, TeeReader,
    changed_since,
};
pub use spelling::root_path;
