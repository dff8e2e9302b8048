//! The subcommands about tools from other authors: `proposals` and `plugins`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Arguments of `proposals`.
#[derive(Args)]
pub(crate) struct ProposalsArgs {
    #[command(subcommand)]
    pub(crate) command: ProposalsCommand,
}

#[derive(Subcommand)]
pub(crate) enum ProposalsCommand {
    /// List the proposed tools that wait for an answer
    List {
        /// Also list the proposals that were answered or expired
        #[arg(long)]
        all: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one proposal in full: code, difference, permissions, examples
    Show {
        /// The tool, or the id of the proposal
        tool: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve a proposed tool and load it
    Approve {
        /// The tool, or the id of the proposal
        tool: String,
        /// The version that you have read, as `proposals show` prints it; another one is not approved
        #[arg(long, value_name = "VERSION")]
        hash: Option<String>,
    },
    /// Reject a proposed tool
    Reject {
        /// The tool, or the id of the proposal
        tool: String,
        /// Why, for the one who proposed it
        #[arg(value_name = "WHY")]
        words: Vec<String>,
    },
}

/// Arguments of `plugins`.
#[derive(Args)]
pub(crate) struct PluginsArgs {
    #[command(subcommand)]
    pub(crate) command: PluginsCommand,
}

#[derive(Subcommand)]
pub(crate) enum PluginsCommand {
    /// List the tools from other authors
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one tool: its versions, its permissions, its code
    Show {
        /// The tool
        tool: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a new tool to start from, in the current directory
    New {
        /// The name of the tool
        name: String,
        /// Write an ES module, in one file (this is what is written anyway)
        #[arg(long, conflicts_with = "program")]
        module: bool,
        /// Write a program, in a folder with a manifest
        #[arg(long)]
        program: bool,
    },
    /// Check a tool and run its examples in the sandbox, as a proposal does
    Test {
        /// The file of the module, or the folder of the program
        #[arg(value_hint = ValueHint::AnyPath)]
        path: PathBuf,
    },
    /// Propose a tool, so that it can be approved
    Propose {
        /// The file of the module, or the folder of the program
        #[arg(value_hint = ValueHint::AnyPath)]
        path: PathBuf,
        /// Why, for the one who approves
        #[arg(long, default_value = "")]
        why: String,
    },
    /// List the mounted MCP servers, with what waits to be accepted; start those that were never mounted
    Servers {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Accept what waits of an MCP server: tools or an imported entry that are new or have changed
    Accept {
        /// The server
        name: String,
    },
    /// Make an earlier version of a tool active
    Rollback {
        /// The tool
        tool: String,
        /// The version, or its first 12 digits; without it, the one before
        version: Option<String>,
    },
    /// Take a tool off offer; its versions stay
    Disable {
        /// The tool
        tool: String,
    },
    /// Put a tool on offer again
    Enable {
        /// The tool
        tool: String,
    },
    /// Look through the tools folder, load what is approved, and ask the MCP servers for their tools again
    Reload {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}
