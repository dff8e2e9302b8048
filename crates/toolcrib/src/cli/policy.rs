//! The subcommands about decisions: `rules`, `approvals`, `grants`, `policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Arguments of `rules`.
#[derive(Args)]
pub(crate) struct RulesArgs {
    #[command(subcommand)]
    pub(crate) command: RulesCommand,
}

#[derive(Subcommand)]
pub(crate) enum RulesCommand {
    /// List every rule in force, and the file and line it comes from
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Add rules to your own rules file, if every example in them holds
    Add {
        /// A file with the rules, or `-` for stdin
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Remove a rule from your own rules file; everything else in the file stays as it is
    Remove {
        /// The id of the rule, or its line in your file, as `rules list` shows them
        rule: String,
    },
    /// Show what would be decided about a call, as `policy explain` does
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

/// Arguments of `approvals`.
#[derive(Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) command: ApprovalsCommand,
}

#[derive(Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the calls that wait for an answer
    List {
        /// Also list the calls that were answered or expired
        #[arg(long)]
        all: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one call in full
    Show {
        /// The approval, by its id or the beginning of it
        id: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve a call; a parked call then runs once, in this process
    Approve {
        /// The approval, by its id or the beginning of it
        id: String,
        /// Print exactly the catalogue's reply of a parked call, as one line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Decline a call
    Deny {
        /// The approval, by its id or the beginning of it
        id: String,
        /// A message for the agent
        words: Vec<String>,
    },
}

/// Arguments of `grants`.
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
    /// Revoke a grant
    Revoke {
        /// The grant, by its id or the beginning of it
        id: String,
    },
}

/// Arguments of `held`.
#[derive(Args)]
#[command(after_help = "\
After each command, Toolcrib removes and holds what git would later run outside the sandbox: new hooks, settings that name \
programs, and `exec` lines of a rebase.

Examples:
  toolcrib held list
  toolcrib held show 01M7FEQ426
  toolcrib held release 01M7FEQ426")]
pub(crate) struct HeldArgs {
    #[command(subcommand)]
    pub(crate) command: HeldCommand,
}

#[derive(Subcommand)]
pub(crate) enum HeldCommand {
    /// List the items that commands left behind and that Toolcrib holds
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a held item in full
    Show {
        /// The id, or the beginning of it
        id: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Put a held item back where it was; from then on, git can run it
    Release {
        /// The id, or the beginning of it
        id: String,
    },
    /// Delete a held item permanently
    Discard {
        /// The id, or the beginning of it
        id: String,
    },
}

/// Arguments of `policy`.
#[derive(Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show what would be decided about a call, by which rule, and what its command would run
    #[command(after_help = "\
Examples:
  toolcrib policy explain clemini/bash command='git status && rm -rf target'
  toolcrib policy explain wink/create_file path=.env content=x --json
  toolcrib policy explain --principal code-agent --role agent clemini/bash command=ls")]
    Explain {
        /// The tool: `catalogue/tool`, or `tool` if only one catalogue on offer has it
        tool: String,
        /// The arguments, as `toolcrib call` takes them
        #[arg(value_name = "JSON|KEY=TEXT|KEY:=JSON|-")]
        args: Vec<String>,
        /// Explain the call as one that this principal makes over HTTP (default: yours, at this terminal)
        #[arg(long, value_name = "NAME", requires = "role")]
        principal: Option<String>,
        /// The role of that principal
        #[arg(long, requires = "principal", value_parser = ["agent", "approver", "admin"])]
        role: Option<String>,
        /// Print as JSON: {decision, rule, source, reading}
        #[arg(long)]
        json: bool,
    },
    /// Replay recorded calls: show which ones the rules would decide differently
    Replay {
        /// A rules file to add to the rules in force (default: only the rules in force)
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// How many days to look back
        #[arg(long, default_value = "7", value_parser = clap::value_parser!(u16).range(1..=3650))]
        days: u16,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a rules file: its syntax, and every example in it
    Check {
        /// The file
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}
