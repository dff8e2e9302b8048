//! The capabilities of the real machine: files confined beneath their roots, commands in their sandbox, and the
//! clock. No other crate talks to the operating system on behalf of a tool.

mod clock;
mod files;
mod net;
mod program_path;
mod sandbox;
mod usage;
mod web;

pub use clock::SystemClock;
pub use files::{
    CallFiles, FileRules, Hardlinks, Root, RootError, SearchRoot, UndoStore, Workspace, real_place,
    root_path,
};
pub use net::{CachedNet, NetClient, NetManners, Patience, TlsConfigSource};
pub use program_path::find_program;
pub use sandbox::{
    BadHost, CommandLimits, Egress, Enforcement, HeldItem, HeldKind, HeldStore, HostRule, Operator,
    OutputPiece, OutputStore, OutputTee, OutputTeeReader, Profile, Protection, Resolver, Sandbox,
    SandboxFinding, SandboxRules, SavedCommand, SharedSandbox, TaskEnd, TaskListener, TaskOwner,
    WorkerSandbox, changed_since,
};
pub use web::{
    EngineKind, SearchEngine, SearchEnginePlace, ServiceWords, ask_service, host_of_service,
};
