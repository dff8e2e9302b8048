//! The command line as data, which also makes the help, the man pages and the completions.

mod bus;
mod call;
mod connect;
mod machine;
mod mcp;
mod plugins;
mod policy;
pub(crate) mod quick;
mod record;
mod server;
mod tip;

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

pub(crate) use bus::{NatsArgs, NatsCommand, WorkerArgs, WorkersArgs};
pub(crate) use call::{CallArgs, OutputArgs, ToolsArgs, ToolsFormat, UndoArgs};
pub(crate) use connect::{ConnectArgs, ConnectCommand};
pub(crate) use machine::{
    ConfigArgs, ConfigCommand, DoctorArgs, SandboxArgs, SandboxCommand, SearchArgs, SearchCommand,
};
pub(crate) use mcp::{ClientName, ClientScope, McpArgs, McpClientArgs, McpCommand};
pub(crate) use plugins::{PluginsArgs, PluginsCommand, ProposalsArgs, ProposalsCommand};
pub(crate) use policy::{
    ApprovalsArgs, ApprovalsCommand, GrantsArgs, GrantsCommand, HeldArgs, HeldCommand, PolicyArgs,
    PolicyCommand, RulesArgs, RulesCommand,
};
pub(crate) use record::{
    AuditArgs, AuditCommand, CallFilterArgs, ExportFormat, StatsArgs, StatsCommand, StatsOf,
};

pub(crate) use server::{ServeArgs, TokensArgs, TokensCommand};
pub(crate) use tip::with_tip;

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
Exit codes:
  0    success
  1    the tool or the command failed
  2    wrong usage or settings
  3    refused by policy, an allowlist or a person
  4    needs approval, and Toolcrib could not ask anyone
  5    no such tool
  6    invalid arguments
  7    timed out
  130  interrupted

Results go to stdout, everything else to stderr.";

/// The heading of the options that every subcommand takes, so that its own options stand apart in its help.
const GLOBAL_OPTIONS: &str = "Global options";

/// The options that every subcommand takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Global {
    /// The directory that calls are confined to (default: the current directory)
    #[arg(long, short = 'C', global = true, help_heading = GLOBAL_OPTIONS, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// The catalogues and tools to offer, separated by commas, such as `wink,clemini/edit`
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "NAMES")]
    pub(crate) toolset: Option<String>,
    /// How strict to be
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "MODE", value_parser = ["strict", "standard", "permissive"])]
    pub(crate) mode: Option<String>,
    /// Approve every call that policy would ask about
    #[arg(long, short = 'y', global = true, help_heading = GLOBAL_OPTIONS)]
    pub(crate) yes: bool,
    /// Change a setting for this run; `toolcrib config show` lists all settings
    #[arg(long = "config", short = 'c', global = true, help_heading = GLOBAL_OPTIONS, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Work with a server: http://HOST:PORT, https://HOST:PORT or unix:PATH (environment: `TOOLCRIB_SERVER`)
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// The file with the token for --server, which only you may read (environment: `TOOLCRIB_TOKEN_FILE`)
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
    /// The certificates of the authorities to trust for --server, as PEM, instead of the system's (environment: `TOOLCRIB_CA_FILE`)
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "PEM", value_hint = ValueHint::FilePath)]
    pub(crate) ca_file: Option<PathBuf>,
    /// When to use colour
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    /// Print results and errors only
    #[arg(long, short = 'q', global = true, help_heading = GLOBAL_OPTIONS)]
    pub(crate) quiet: bool,
    /// Print more about what happens; repeat for even more
    #[arg(long, short = 'v', global = true, help_heading = GLOBAL_OPTIONS, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// When to use colour.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
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
    /// List the calls that changed files, or undo one
    Undo(UndoArgs),
    /// Manage the search index of the workspace
    Search(SearchArgs),
    /// Run a command in the sandbox that tools use
    Sandbox(SandboxArgs),
    /// Show the saved output of a command
    Output(OutputArgs),
    /// List the rules in force, add rules, or try them
    Rules(RulesArgs),
    /// Answer calls that wait for approval
    Approvals(ApprovalsArgs),
    /// List or revoke grants, which are stored answers of "always"
    Grants(GrantsArgs),
    /// Answer proposals of new tools
    Proposals(ProposalsArgs),
    /// Write, try, list and switch tools from other authors
    Plugins(PluginsArgs),
    /// List, release or discard what commands left behind for git to run
    Held(HeldArgs),
    /// Explain what would be decided about a call, or check a rules file
    Policy(PolicyArgs),
    /// Read the record: find calls, show one in full, verify that nothing was changed
    Audit(AuditArgs),
    /// Show statistics of tools: how often they fail, which got slower, what they use
    Stats(StatsArgs),
    /// Answer calls over HTTP, for many agents
    Serve(ServeArgs),
    /// Answer an MCP client over stdin and stdout; the client starts it
    Mcp(McpArgs),
    /// Run the calls that a gateway places on this machine
    Worker(WorkerArgs),
    /// List the workers that a NATS server knows
    Workers(WorkersArgs),
    /// Set up what gateways and workers need
    Nats(NatsArgs),
    /// Make, list, rotate or revoke tokens of the server
    Tokens(TokensArgs),
    /// Check this machine and workspace: what works, what does not, and why
    Doctor(DoctorArgs),
    /// Connect tools to repositories: folders, git revisions, GitHub
    Connect(ConnectArgs),
    /// Show or change the settings
    Config(ConfigArgs),
    /// Print a shell script that completes commands, flags, tools, arguments and ids
    Completions {
        /// The shell to complete for
        shell: Shell,
    },
    /// Print what could be typed at a place of the command line; completion scripts call it
    #[command(hide = true)]
    CompleteWords {
        /// The index of the word to complete
        index: usize,
        /// The words of the command line, from the program on
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Write the man pages
    Man {
        /// The directory to write the pages to; without it, the main page is printed
        #[arg(value_hint = ValueHint::DirPath)]
        directory: Option<PathBuf>,
    },
    /// Take a tour of two minutes: real calls in a scratch project, one question, one undo
    Tour,
}

/// Returns the command line as clap knows it.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Returns the help of `toolcrib call`.
pub(crate) fn call_help() -> String {
    let mut command = command();
    command.build();
    let call = command.find_subcommand_mut("call");
    call.map(|call| call.render_long_help().to_string()).unwrap_or_default()
}
