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
    },
    /// Check a tool and run its examples in the sandbox, as a proposal does
    Test {
        /// The module
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Propose a tool, so that it can be approved
    Propose {
        /// The module
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Why, for the one who approves
        #[arg(long, default_value = "")]
        why: String,
    },
    /// Make an earlier version of a tool active
    Rollback {
        /// The tool
        tool: String,
        /// The version; without it, the one before
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
    /// Look through the tools folder, and load what is approved
    Reload {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}
