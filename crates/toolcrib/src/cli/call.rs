//! The subcommands that call tools and handle what calls left: `call`, `tools`, `undo`, `output`.

use clap::{Args, ValueEnum};

/// Arguments of `call`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Arguments are JSON, or KEY=TEXT and KEY:=JSON pairs, or `-` to read JSON from stdin. KEY=TEXT follows \
the tool's schema: `start_line=1` is a number, `confirmed=true` a boolean, and text stays text where \
the tool wants text.

With --batch, each line of stdin is one call, {\"id\", \"tool\", \"args\"}, and each call is answered \
with one line, {\"id\", \"reply\", \"elapsed_us\"}.

Examples:
  toolcrib call wink/read_file --help
  toolcrib call wink/read_file path=README.md end_line=5
  toolcrib call clemini/edit '{\"file_path\": \"a.txt\", \"old_string\": \"a\", \"new_string\": \"b\"}'
  echo '{\"expression\": \"2 + 2\"}' | toolcrib call nachos/calculator -"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct CallArgs {
    /// The tool: `catalogue/tool`, or `tool` if only one catalogue on offer has it
    #[arg(index = 1, required_unless_present_any = ["batch", "help"],
        conflicts_with = "batch")]
    pub(crate) tool: Option<String>,
    /// The arguments
    #[arg(index = 2, value_name = "JSON|KEY=TEXT|KEY:=JSON|-")]
    pub(crate) args: Vec<String>,
    /// Print exactly the catalogue's reply, as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not run the call: show what would be decided and what would change
    #[arg(long, conflicts_with = "batch")]
    pub(crate) dry_run: bool,
    /// If the call needs approval and Toolcrib cannot ask anyone, keep it for `toolcrib approvals`
    #[arg(long)]
    pub(crate) park: bool,
    /// The connection that the tools of hikai read, by the name that `toolcrib connect add` gave it
    #[arg(long, value_name = "NAME")]
    pub(crate) connection: Option<String>,
    /// With --server, wait this many seconds for a person's answer if the call needs one
    #[arg(long, value_name = "SECONDS", conflicts_with_all = ["batch", "dry_run"])]
    pub(crate) wait: Option<u16>,
    /// Read many calls from stdin, one JSON object per line
    #[arg(long)]
    pub(crate) batch: bool,
    /// With --batch, how many calls run at once; if more than 1, replies come in the order in which calls finish
    #[arg(long, value_name = "N", default_value = "1",
        value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
    /// Print help; after the name of a tool, print the help of that tool
    #[arg(long, short = 'h')]
    pub(crate) help: bool,
}

/// Arguments of `tools`.
#[derive(Args)]
pub(crate) struct ToolsArgs {
    /// A tool or a catalogue (default: all)
    pub(crate) name: Option<String>,
    /// The format to print: for people, for programs, or for a model provider
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) format: ToolsFormat,
}

/// The formats that tools are printed in.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolsFormat {
    /// For people
    Text,
    /// Everything, for programs
    Json,
    /// For `OpenAI`'s function calling
    Openai,
    /// For Anthropic's tool use
    Anthropic,
    /// For Gemini's function declarations
    Gemini,
    /// For MCP's tools/list
    Mcp,
}

/// Arguments of `undo`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  toolcrib undo              the calls of this workspace that changed files
  toolcrib undo 01M7FEQ426   undo one of them
  toolcrib undo --last       undo the newest one; repeat it to go further back")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct UndoArgs {
    /// The call to undo, by its id or the beginning of it; without it, the calls are listed
    #[arg(group = "wanted")]
    pub(crate) call: Option<String>,
    /// Undo the newest call of this workspace that is not undone yet
    #[arg(long, group = "wanted")]
    pub(crate) last: bool,
    /// Undo even if the files changed since, or if it is not certain that the call changed them
    #[arg(long, requires = "wanted")]
    pub(crate) force: bool,
    /// Print the list, or what was done, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// List all calls of all workspaces, not only the newest twenty of this one
    #[arg(long, conflicts_with = "wanted")]
    pub(crate) all: bool,
}

/// Arguments of `output`.
#[derive(Args)]
#[command(
    override_usage = "toolcrib output <CALL> [OPTIONS]\n       toolcrib output --last [OPTIONS]"
)]
#[command(after_help = "\
When a command prints a lot, its reply leaves out the middle and names the call. `toolcrib output` \
shows the rest.

Examples:
  toolcrib output --last
  toolcrib output 01M7FEQ426 --lines 100-200")]
pub(crate) struct OutputArgs {
    /// The call that ran the command, by its id or the beginning of it
    #[arg(required_unless_present = "last", conflicts_with = "last")]
    pub(crate) call: Option<String>,
    /// Show the output of the newest command of this workspace that printed something
    #[arg(long)]
    pub(crate) last: bool,
    /// The lines to show, such as 100-200 (default: all)
    #[arg(long, value_name = "FROM-TO")]
    pub(crate) lines: Option<String>,
    /// Show stderr instead of stdout
    #[arg(long)]
    pub(crate) stderr: bool,
    /// Print control characters unescaped, even on a terminal, which acts on them
    #[arg(long)]
    pub(crate) raw: bool,
}
