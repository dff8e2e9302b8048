//! The subcommands about this machine and workspace: `search`, `sandbox`, `doctor`, `config`.

use clap::{Args, Subcommand};

/// Arguments of `search`.
#[derive(Args)]
#[command(after_help = "\
Processes that answer many calls keep an index of the workspace, so that a search opens only the files \
it must. A single call scans the files. The answers are the same either way.")]
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
    /// Build the index again, and turn it on if it was off
    Rebuild,
    /// Remove the index of this workspace, and keep none until `rebuild`
    Off,
}

/// Arguments of `sandbox`.
#[derive(Args)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    pub(crate) command: SandboxCommand,
}

#[derive(Subcommand)]
pub(crate) enum SandboxCommand {
    /// Run a program as the commands of tools are run: same namespaces, same limits, same files
    #[command(after_help = "\
The program does not see the files that rules keep from commands of `clemini/bash`.

The exit code is the command's own: 128 plus the signal's number if a signal ended it, 7 if its time \
was up.

Examples:
  toolcrib sandbox run -- sh -c 'id; ls /'
  toolcrib -v sandbox run -- cargo test")]
    Run {
        /// How long the command may run, in seconds
        #[arg(long = "time", value_name = "SECONDS", default_value = "600",
            value_parser = clap::value_parser!(u64).range(1..=86_400))]
        seconds: u64,
        /// The program and its arguments
        #[arg(required = true, last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
}

/// Arguments of `doctor`.
#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `config`.
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
