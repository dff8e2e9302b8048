//! The subcommand about repositories: `connect`.

use clap::{Args, Subcommand};

/// Arguments of `connect`.
#[derive(Args)]
#[command(after_help = "\
hikai's tools read one repository: the workspace, unless the setting `hikai.connection` names another. \
The token for github.com is read from GH_TOKEN or GITHUB_TOKEN, that for other servers from \
GH_ENTERPRISE_TOKEN or GITHUB_ENTERPRISE_TOKEN.

Examples:
  toolcrib connect add api git:/srv/api.git#v2
  toolcrib connect add web github:example/web#main --use
  toolcrib connect add ours github:ghe.example.com/team/app
  toolcrib connect test api
  toolcrib -c hikai.connection=api call hikai/list_files")]
pub(crate) struct ConnectArgs {
    #[command(subcommand)]
    pub(crate) command: ConnectCommand,
}

#[derive(Subcommand)]
pub(crate) enum ConnectCommand {
    /// Add a connection to your own settings, or change the one of this name
    Add {
        /// A name for it: letters, digits, `-`, `_` and `.`
        name: String,
        /// git:PATH#REVISION, github:OWNER/NAME#REVISION, github:HOST/OWNER/NAME, or a directory
        place: String,
        /// Let hikai's tools read it from now on
        #[arg(long = "use")]
        is_used: bool,
    },
    /// List the connections; the one that hikai's tools read has a star
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Open a connection, and show what it leads to
    Test {
        /// The name, or a place; without it, the one that hikai's tools read
        name: Option<String>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a connection from your own settings
    Remove {
        /// The name
        name: String,
    },
}
