//! A catalogue: one contract's set of tools, with everything that is the contract's own. Nothing
//! outside a catalogue's file names the catalogue.

use std::time::Duration;

use serde_json::Value;

use crate::error::{ErrorKind, ToolError};
use crate::material::Material;
use crate::tool::AnyTool;

/// One contract's set of tools: its names, its reply format, its error codes, its settings.
pub struct Catalogue {
    /// The catalogue's name, which stands before the slash in `catalogue/tool`.
    pub name: &'static str,
    /// What the catalogue offers, in one sentence.
    pub about: &'static str,
    /// The tools, in the order of the contract.
    pub tools: &'static [&'static dyn AnyTool],
    /// Arguments that describe the call itself. They are taken out before a tool sees the rest.
    pub call_keys: &'static [(&'static str, CallKey)],
    /// The hash of each tool's source code, by tool. Statistics tell versions of a tool apart by it.
    pub source_hashes: &'static [(&'static str, &'static str)],
    /// The settings that bound this catalogue's calls and say where they work.
    pub settings: CatalogueSettings,
    /// Puts the reply of a successful call of the named tool into the contract's format.
    pub reply: fn(&str, Value, Duration) -> Value,
    /// Puts a failure into the contract's format.
    pub error_reply: fn(&Failure<'_>) -> Value,
    /// Returns the contract's code for a kind of failure, if the contract describes statistics of
    /// errors. Without it, statistics show our own codes.
    pub error_code: Option<fn(ErrorKind) -> &'static str>,
    /// The longest reply, in bytes, of which the record's preview is enough. The contract wants longer ones saved.
    pub saves_replies_above: Option<usize>,
    /// What people and clients are shown of a reply.
    pub view: ReplyView,
    /// What comes with the tools, for clients that can use it.
    pub material: Material,
}

/// Finds in replies of a catalogue what is shown of them.
pub struct ReplyView {
    /// Finds in a reply what a person is shown.
    pub render: fn(&Value) -> Rendering<'_>,
    /// Finds in an error reply what a person is shown.
    pub render_error: fn(&Value) -> RenderedError<'_>,
    /// Finds in a reply the content blocks that MCP clients are shown, if it has such: texts, pictures, sounds and
    /// resources. Other replies are shown as their JSON text.
    pub blocks: fn(&Value) -> Option<&Value>,
    /// Puts the JSON Schema of a tool's reply into the contract's format, as [`Catalogue::reply`] does with the reply.
    pub schema: fn(Value) -> Value,
}

/// What an argument says about the call itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKey {
    /// The caller's own name for the conversation. An empty name is none.
    Conversation,
    /// Nothing that Toolcrib needs.
    Ignored,
}

/// The names of the settings that one catalogue obeys. `None` means that there is no such setting.
#[derive(Debug)]
pub struct CatalogueSettings {
    /// The directory that the tools work in. An empty value means the workspace.
    pub root: Option<&'static str>,
    /// The repository that the tools read through [`Ctx::connection`](crate::Ctx): `workspace`,
    /// `none`, or a directory.
    pub connection: Option<&'static str>,
    /// The tools on offer. An empty list offers all.
    pub allow: Option<&'static str>,
    /// Tools that are on offer only while a setting is `on`: the tool and the setting.
    pub switches: &'static [(&'static str, &'static str)],
    /// The longest that one call may take, in milliseconds.
    pub timeout_ms: Option<&'static str>,
    /// The most bytes of one reply.
    pub output_bytes: Option<&'static str>,
    /// The most lines of a file or directory in one reply.
    pub output_lines: Option<&'static str>,
    /// The most bytes that a tool reads of a file.
    pub read_bytes: Option<&'static str>,
    /// The most bytes that a tool writes to a file.
    pub write_bytes: Option<&'static str>,
    /// JSON Schemas of output types that the operator registered.
    pub output_types: Option<&'static str>,
}

impl CatalogueSettings {
    /// No settings: the tools work in the workspace, within the limits of their declarations.
    pub const NONE: Self = Self {
        root: None,
        connection: None,
        allow: None,
        switches: &[],
        timeout_ms: None,
        output_bytes: None,
        output_lines: None,
        read_bytes: None,
        write_bytes: None,
        output_types: None,
    };
}

/// A failed call, as [`Catalogue::error_reply`] receives it.
pub struct Failure<'a> {
    /// The tool's name without its catalogue.
    pub tool: &'a str,
    /// The arguments as the caller sent them.
    pub args: &'a Value,
    /// The error.
    pub error: &'a ToolError,
    /// The time from the start of the call to its failure.
    pub elapsed: Duration,
}

/// The part of a successful reply that a person is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rendering<'a> {
    /// The text that the call asked for, such as a file. It is printed alone, so that it can be
    /// copied or piped.
    Content {
        /// The text.
        text: &'a str,
        /// Whether the tool cut the text.
        is_cut: bool,
    },
    /// What happened, in the tool's own words.
    Message(&'a str),
    /// What happened, as data. Its fields are listed below the tool's name.
    Fields {
        /// The data.
        data: &'a Value,
        /// The exit code of the command, if the tool ran one.
        exit_code: Option<i64>,
    },
}

/// The parts of an error reply that a person is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RenderedError<'a> {
    /// What went wrong.
    pub message: &'a str,
    /// What to do next.
    pub hint: Option<&'a str>,
    /// Passages of a file that the caller may have meant: a string, or `line`, `text` and
    /// `similarity`.
    pub suggestions: &'a [Value],
}

impl<'a> RenderedError<'a> {
    /// Reads the message and the hint at these JSON pointers.
    pub fn at(reply: &'a Value, message: &str, hint: &str) -> Self {
        let text = |pointer: &str| reply.pointer(pointer).and_then(Value::as_str);
        Self { message: text(message).unwrap_or_default(), hint: text(hint), suggestions: &[] }
    }
}

impl Catalogue {
    /// Returns the tool of that name.
    pub fn tool(&self, name: &str) -> Option<&'static dyn AnyTool> {
        self.tools.iter().copied().find(|tool| tool.declaration().name == name)
    }

    /// Returns the hash of a tool's source code, or an empty text for a tool without one.
    pub fn source_hash(&self, tool: &str) -> &'static str {
        let hash = self.source_hashes.iter().find(|(name, _)| *name == tool);
        hash.map(|(_, hash)| *hash).unwrap_or_default()
    }
}

impl std::fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Catalogue").field(&self.name).finish()
    }
}

/// Returns a duration in whole milliseconds, as contracts count it.
pub fn millis(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
