//! The vocabulary of Toolcrib: what a tool, a call, a decision and a record are. Pure: no file,
//! process, environment or clock is touched here; the world is described by the traits in
//! [`capability`].

pub mod approval;
pub mod call;
pub mod caller;
pub mod calling_client;
pub mod cancel;
pub mod canonical;
pub mod capability;
pub mod catalogue;
pub mod change;
pub mod checked_elsewhere;
pub mod command;
pub mod command_reading;
mod counted;
pub mod declaration;
pub mod error;
pub mod escape;
pub mod event;
pub mod file_stamp;
pub mod file_system;
pub mod git;
pub mod host_access;
pub mod hosts;
pub mod inner_calls;
pub mod json;
pub mod json_text;
pub mod loaded_tool;
pub mod material;
pub mod meter;
pub mod model;
pub mod nearest;
pub mod net;
pub mod outcome;
pub mod path_names;
pub mod pin;
pub mod policy;
pub mod program;
pub mod pull_requests;
pub mod recorded_call;
pub mod runs_later;
pub mod schema;
pub mod search;
pub mod shelf;
pub mod subagent;
pub mod tool;
pub mod tool_name;
pub mod toolset;
pub mod web_search;
pub mod worker;

pub use call::{Call, CallId, CallTrace, HeldPath, SessionId};
pub use caller::{Caller, Door, Principal, Role};
pub use calling_client::{CallingClient, NoClient};
pub use cancel::Cancel;
pub use capability::{Clock, Content, Entry, EntryKind, Files, Listing, Meta, Tree};
pub use catalogue::Catalogue;
pub use change::{Change, ChangeJournal, ChangeKind, Doubt, FileId, Image, Snapshots};
pub use command::{Commands, Usage};
pub use counted::counted;
pub use declaration::{Declaration, Declared, Effect, Example, Limits};
pub use error::{ErrorKind, ToolError};
pub use event::{
    Durability, Event, HeldCounts, Moment, Note, RecordError, RecordErrorKind, Recorder,
};
pub use file_stamp::FileStamp;
pub use inner_calls::{CallableTool, InnerCalls};
pub use loaded_tool::{LoadedTool, ToolHandle, ToolKind};
pub use meter::Meter;
pub use outcome::Outcome;
pub use policy::{Decision, Mode, Permit, Risk, Tier, Verdict};
pub use search::{Search, SearchableTree};
pub use shelf::{LoadedTools, Shelf, ShelvedTool};
pub use tool::{AnyTool, CallTerms, Connection, Ctx, Outside, Plan, Prepared, Tool, ToolSettings};
pub use tool_name::ToolName;
pub use toolset::{Toolset, ToolsetError};
