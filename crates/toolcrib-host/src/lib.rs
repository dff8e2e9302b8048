//! The capabilities for real: files confined beneath their roots, commands in
//! their sandbox, and the clock. The only crate that
//! talks to the operating system on a tool's behalf.

mod alter;
mod aside;
mod attribute;
mod clock;
mod confine;
mod fault;
mod ground;
mod landing;
mod lock;
mod place;
mod protect;
mod restore;
mod root;
mod sandbox;
mod sight;
mod spelling;
mod target;
mod temporary;
mod usage;
mod write;

pub use clock::SystemClock;
pub use confine::{CallFiles, Hardlinks, Rules, Workspace, real_place};
pub use ground::SearchRoot;
pub use root::{Root, RootError};
pub use sandbox::{
    Asker, BadHost, CommandLimits, Egress, Enforced, Finding, Held, HostRule, Listener, Operator,
    Profile, Resolver, Sandbox, SandboxRules, SharedSandbox, TaskEnd, Tee, TeeReader,
    changed_since,
};
pub use spelling::root_path;
