//! The subcommands about this machine and workspace: `search`, `sandbox`, `doctor`, `config`.

use clap::{Args, Subcommand};

use crate::settings::Unit;

/// Arguments of `search`.
#[derive(Args)]
#[command(after_help = "\
Processes that answer many calls keep an index of the workspace, so that a search opens only files \
that can match. A single call scans all files. The results are the same either way.")]
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
    /// Remove the index of this workspace, and do not build one again until `rebuild`
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
    /// Run a program in the sandbox that tools use: same namespaces, same limits, same files
    #[command(after_help = "\
The program cannot see files that rules hide from commands of `clemini/bash`.

The exit code is the command's own: 128 plus the signal's number if a signal ended it, 7 if it \
timed out.

Examples:
  toolcrib sandbox run -- sh -c 'id; ls /'
  toolcrib -v sandbox run -- cargo test")]
    Run {
        /// How long the command may run: 15m, 2h, or a number of seconds
        #[arg(long = "time", value_name = "TIME", default_value = "10m", value_parser = seconds)]
        seconds: u64,
        /// The program and its arguments
        #[arg(required = true, last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
}

/// Parses a time of at least a second and at most a day.
fn seconds(text: &str) -> Result<u64, &'static str> {
    let seconds = Unit::Seconds.parse(text).and_then(|it| u64::try_from(it).ok());
    let seconds = seconds.filter(|seconds| (1..=86_400).contains(seconds));
    seconds.ok_or("write a time from 1s to 1d, such as 15m, 2h or a number of seconds")
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
#[command(after_help = "\
Examples:
  toolcrib config get sandbox.memory_bytes
  toolcrib config set sandbox.memory_bytes 4G
  toolcrib config set toolset wink,clemini/edit
  toolcrib config show --origin")]
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
    /// Print the value of one setting
    Get {
        /// The setting, such as `sandbox.memory_bytes`
        key: String,
        /// Print as JSON, with where the value comes from
        #[arg(long)]
        json: bool,
    },
    /// Set a value in your own settings file; its comments and order stay
    Set {
        /// The setting, such as `sandbox.memory_bytes`
        key: String,
        /// The value; a list is separated by commas, a size can be 512M or 4G, a time 15m or 2h
        value: String,
    },
    /// Remove a value from your own settings file, so that the default or the machine's value holds
    Unset {
        /// The setting, such as `sandbox.memory_bytes`
        key: String,
    },
    /// Open your own settings file in $VISUAL or $EDITOR, and check it afterwards
    Edit,
    /// Print the path of your own settings file
    Path,
}
