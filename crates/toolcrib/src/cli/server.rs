//! The subcommands about the server: `serve`, `tokens`.

use clap::{Args, Subcommand};

/// Arguments of `serve`.
#[derive(Args)]
#[command(after_help = "\
Every request needs a token, which `toolcrib tokens add` makes. At the first start, three are made: \
one each with the roles agent, approver and admin.

The page of the server shows what happens, and answers questions. At a terminal, the server prints \
a link that logs you in to the page, once. Elsewhere it prints none, because whoever reads the log of \
a service could use it; --login-link prints it there too.

The server stops on Ctrl-C or SIGTERM: it takes no more requests, and lets those that run finish \
for as long as `serve.stop_seconds` says.

Examples:
  toolcrib serve
  toolcrib serve --address unix:/run/toolcrib.sock")]
pub(crate) struct ServeArgs {
    /// Where to listen: a loopback address such as 127.0.0.1:7766, or unix:PATH
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<String>,
    /// Take calls from this NATS server, too: nats://HOST:PORT, or tls://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,
    /// Print the link that logs you in to the page, even if stdout is no terminal
    #[arg(long)]
    pub(crate) login_link: bool,
}

/// Arguments of `tokens`.
#[derive(Args)]
pub(crate) struct TokensArgs {
    #[command(subcommand)]
    pub(crate) command: TokensCommand,
}

#[derive(Subcommand)]
pub(crate) enum TokensCommand {
    /// Make a token and print it; it is shown this once
    #[command(after_help = "\
The roles:
  agent     makes calls, and sees its own
  approver  answers questions about the calls of others, and reads the record
  admin     does all of this, but does not approve its own calls")]
    Add {
        /// The name of the token: who the record says made a call or gave an answer
        name: String,
        /// What its owner may do
        #[arg(long, value_parser = ["agent", "approver", "admin"])]
        role: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the tokens, without the tokens themselves
    List {
        /// List those that were revoked too
        #[arg(long)]
        all: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a new secret for a token and print it; the old one ends at once
    #[command(after_help = "\
The name, the role, the grants and the questions of the token stay, and so do its background tasks. A server \
refuses the old secret, and ends the calls and streams that were begun with it. If somebody else may have used \
the old secret, revoke the token instead.")]
    Rotate {
        /// The name of the token
        name: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token; the server refuses it from then on
    #[command(after_help = "\
A server cancels the calls and ends the background tasks of the token. Calls that wait for approval can be \
approved no more. The name cannot be given to another token, because that one would have its grants.")]
    Revoke {
        /// The name of the token
        name: String,
    },
}
