//! The command line, as data that also makes the help, the man pages and the completions.

mod ledger;

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

pub(crate) use ledger::{
    AuditArgs, AuditCommand, ExportFormat, StatsArgs, StatsCommand, StatsOf, Which,
};

/// The tool runtime for agents: every call checked, decided, confined and recorded.
#[derive(Parser)]
#[command(name = "toolcrib", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 the tool or the run failed; 2 wrong usage or settings; 3 refused by policy or
by a person; 4 needs approval and nobody could be asked; 5 no such tool; 6 arguments do not fit;
7 timed out; 130 interrupted. Results go to stdout, everything else to stderr.";

/// What goes with every command.
#[derive(Args, Clone)]
pub(crate) struct Global {
    /// The directory that calls are confined to (default: the current directory)
    #[arg(long, short = 'C', global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// What is on offer: catalogues and tools, separated by commas, such as `wink,clemini/edit`
    #[arg(long, global = true, value_name = "NAMES")]
    pub(crate) toolset: Option<String>,
    /// How strict to be
    #[arg(long, global = true, value_name = "MODE", value_parser = ["strict", "standard", "permissive"])]
    pub(crate) mode: Option<String>,
    /// Say yes beforehand to every call that policy would ask about
    #[arg(long, short = 'y', global = true)]
    pub(crate) yes: bool,
    /// Set a setting for this run; `toolcrib config show` lists them
    #[arg(long = "config", short = 'c', global = true, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    /// Say only what was asked for
    #[arg(long, short = 'q', global = true)]
    pub(crate) quiet: bool,
    /// Say more about what happens; twice, even more
    #[arg(long, short = 'v', global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// When to use colour.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always, even with `NO_COLOR`
    Always,
    /// Never
    Never,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Call a tool
    Call(CallArgs),
    /// List the tools on offer, or describe one
    Tools(ToolsArgs),
    /// List the calls that changed files, or take one back
    Undo(UndoArgs),
    /// See to the search index of the workspace
    Search(SearchArgs),
    /// Run a command in the sandbox that commands of tools run in
    Sandbox(SandboxArgs),
    /// Show the saved output of a command
    Output(OutputArgs),
    /// List the rules that hold, add some, or try them
    Rules(RulesArgs),
    /// Answer calls that wait for approval
    Approvals(ApprovalsArgs),
    /// List or take back what was answered with "always"
    Grants(GrantsArgs),
    /// Show what would be decided about a call and why, or check a file of rules
    Policy(PolicyArgs),
    /// Look at the record: find calls, tell their story, check that nothing was changed
    Audit(AuditArgs),
    /// Show how tools do: how often they fail, which got slower, what they use
    Stats(StatsArgs),
    /// Show what works here, what does not, and why
    Doctor(DoctorArgs),
    /// Show the settings
    Config(ConfigArgs),
    /// Print a script that completes commands, flags and tool names
    Completions {
        /// The shell to complete for
        shell: Shell,
    },
    /// Write the man pages
    Man {
        /// The directory to write them to; without it, the main page is printed
        #[arg(value_hint = ValueHint::DirPath)]
        directory: Option<PathBuf>,
    },
    /// Take a short tour: real calls in a scratch workspace
    Tour,
}

/// Call a tool.
#[derive(Args)]
#[command(after_help = "\
Arguments are JSON, or KEY=TEXT and KEY:=JSON pairs, or `-` to read JSON from stdin:
  toolcrib call wink/read_file path=README.md end_line:=5
  toolcrib call clemini/edit '{\"file_path\": \"a.txt\", \"old_string\": \"a\", \"new_string\": \"b\"}'
  echo '{\"expression\": \"2 + 2\"}' | toolcrib call nachos/calculator -

With --batch, each line of stdin is one call, {\"id\", \"tool\", \"args\"}. Each call is answered on one line,
{\"id\", \"reply\", \"elapsed_us\"}.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct CallArgs {
    /// The tool: `catalogue/tool`, or just `tool` if only one catalogue on offer has it
    #[arg(index = 1, required_unless_present = "batch", conflicts_with = "batch")]
    pub(crate) tool: Option<String>,
    /// The arguments
    #[arg(index = 2, value_name = "JSON|KEY=TEXT|KEY:=JSON|-")]
    pub(crate) args: Vec<String>,
    /// Print the reply exactly as the catalogue formats it, as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not run the call: show the decision and the changes it would make
    #[arg(long, conflicts_with = "batch")]
    pub(crate) dry_run: bool,
    /// Park a call that needs approval when nobody can be asked; answer it later with `toolcrib approvals`
    #[arg(long)]
    pub(crate) park: bool,
    /// Read many calls from stdin, one JSON object per line
    #[arg(long)]
    pub(crate) batch: bool,
    /// With --batch, how many calls run at once; with more than one, replies come as calls finish
    #[arg(long, value_name = "N", default_value = "1",
        value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
}

/// List the tools on offer.
#[derive(Args)]
pub(crate) struct ToolsArgs {
    /// A tool or a catalogue (default: all tools)
    pub(crate) name: Option<String>,
    /// The output format: text, JSON, or the tool declarations of a model provider
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) format: ToolsFormat,
}

/// The formats of `toolcrib tools`.
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
    /// As MCP's tools/list
    Mcp,
}

/// List or take back.
#[derive(Args)]
pub(crate) struct UndoArgs {
    /// The call to take back; without it, the calls that can be are listed
    pub(crate) call: Option<String>,
    /// Take it back even if the files were changed since, or it is not sure that the call changed them
    #[arg(long, requires = "call")]
    pub(crate) force: bool,
    /// Print the list, or what was done, as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// List all calls, not only the newest twenty
    #[arg(long, conflicts_with = "call")]
    pub(crate) all: bool,
}

/// See to the search index.
#[derive(Args)]
#[command(after_help = "\
Processes that answer many calls keep an index of the workspace, so that a search opens only the files
it must. One call on its own scans. Answers are the same either way.")]
pub(crate) struct SearchArgs {
    #[command(subcommand)]
    pub(crate) command: SearchCommand,
}

#[derive(Subcommand)]
pub(crate) enum SearchCommand {
    /// Show whether there is an index, how large it is and how fresh
    Status {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Build the index anew, and switch it on if it was off
    Rebuild,
    /// Remove the index of this workspace and keep none until `rebuild`
    Off,
}

/// Try the sandbox.
#[derive(Args)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    pub(crate) command: SandboxCommand,
}

#[derive(Subcommand)]
pub(crate) enum SandboxCommand {
    /// Run a program as commands of tools are run: same namespaces, same limits, same view
    #[command(after_help = "\
The exit code is the command's own; 128 and the signal's number if it died by one; 7 if its time was up.
  toolcrib sandbox run -- sh -c 'id; ls /'
  toolcrib -v sandbox run -- cargo test")]
    Run {
        /// How long it may take, in seconds
        #[arg(long = "time", value_name = "SECONDS", default_value = "600",
            value_parser = clap::value_parser!(u64).range(1..=86_400))]
        seconds: u64,
        /// The program and its arguments
        #[arg(required = true, last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
}

/// Show what a command printed.
#[derive(Args)]
#[command(after_help = "\
A long reply leaves out the middle of what its command printed and names the call:
  toolcrib output 01M7FEQ426FFZH392JP3N0SSSH --lines 100-200")]
pub(crate) struct OutputArgs {
    /// The call that ran the command
    pub(crate) call: String,
    /// The lines to show, such as 100-200 (default: all lines)
    #[arg(long, value_name = "FROM-TO")]
    pub(crate) lines: Option<String>,
    /// Show stderr instead of stdout
    #[arg(long)]
    pub(crate) stderr: bool,
}

/// The rules that hold.
#[derive(Args)]
pub(crate) struct RulesArgs {
    #[command(subcommand)]
    pub(crate) command: RulesCommand,
}

#[derive(Subcommand)]
pub(crate) enum RulesCommand {
    /// List every rule that holds, and where it is written
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Add rules to your own file, after every example in them was tried
    Add {
        /// A file with the rules, or `-` for stdin
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Say what would be decided about a call, as `policy explain` does
    Test {
        /// The tool
        tool: String,
        /// The arguments, as `toolcrib call` takes them
        #[arg(value_name = "JSON|KEY=TEXT|KEY:=JSON|-")]
        args: Vec<String>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Answer calls that wait.
#[derive(Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) command: ApprovalsCommand,
}

#[derive(Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the calls that wait
    List {
        /// List those that were answered or expired too
        #[arg(long)]
        all: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show all about one
    Show {
        /// Which one
        id: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Say yes; a parked call is run here and now, once
    Approve {
        /// Which one
        id: String,
        /// Print exactly the catalogue's reply of a parked call, as one line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Say no
    Deny {
        /// Which one
        id: String,
        /// What the agent should know
        words: Vec<String>,
    },
}

/// What was answered with "always".
#[derive(Args)]
pub(crate) struct GrantsArgs {
    #[command(subcommand)]
    pub(crate) command: GrantsCommand,
}

#[derive(Subcommand)]
pub(crate) enum GrantsCommand {
    /// List every grant: what it covers, where, until when, how often it was used
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Take a grant back
    Revoke {
        /// Which one
        id: String,
    },
}

/// What is decided, and why.
#[derive(Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say what would be decided about a call, by which rule, and how its command is read
    #[command(after_help = "\
  toolcrib policy explain clemini/bash command='git status && rm -rf target'
  toolcrib policy explain wink/create_file path=.env content=x --json")]
    Explain {
        /// The tool: `catalogue/tool`, or just `tool` if only one catalogue on offer has it
        tool: String,
        /// The arguments, as `toolcrib call` takes them
        #[arg(value_name = "JSON|KEY=TEXT|KEY:=JSON|-")]
        args: Vec<String>,
        /// Print as JSON: {decision, rule, source, reading}
        #[arg(long)]
        json: bool,
    },
    /// Say which recorded calls these rules would have decided otherwise
    Replay {
        /// A file of rules to add to those that hold; without it, the rules as they are now
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// How many days to look back
        #[arg(long, default_value = "7", value_parser = clap::value_parser!(u16).range(1..=3650))]
        days: u16,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a file of rules: what is written, and every example in it
    Check {
        /// The file
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

/// Show what works here.
#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting and its value
    Show {
        /// Show where each value comes from
        #[arg(long)]
        origin: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Returns the command line as clap knows it.
pub fn command() -> clap::Command {
    Cli::command()
}
