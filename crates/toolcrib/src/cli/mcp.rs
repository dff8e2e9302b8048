//! The subcommands of `mcp`: `install` and `uninstall`.

use clap::{Args, Subcommand, ValueEnum};

const MCP_HELP: &str = "\
The client starts this command, and ends it by closing its stdin. Without --toolset, the tools of `mcp.toolset` are \
offered. `toolcrib mcp install` lists the clients whose files Toolcrib can write.

A call that policy asks about is asked in the client, if the client can ask a person. Otherwise it waits: \
`toolcrib approvals` answers it, and the agent makes the call again.

`toolcrib serve` offers the same to clients on other machines, at /mcp.";

/// Arguments of `mcp`.
#[derive(Args, Debug)]
#[command(after_help = MCP_HELP)]
pub(crate) struct McpArgs {
    /// The connection that the tools of hikai read, by the name that `toolcrib connect add` gave it
    #[arg(long, value_name = "NAME")]
    pub(crate) connection: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum McpCommand {
    /// Add Toolcrib to an MCP client; without a client, list them
    #[command(after_help = "\
Only the entry of Toolcrib changes; other entries and comments stay. On a terminal, the change is shown and you are \
asked. Elsewhere it is only shown, unless you give --write.

With --scope user, --toolset and -C become part of the entry. With --scope project, -C is the project whose file is \
written, and the entry names no folder of this machine.

Examples:
  toolcrib mcp install
  toolcrib mcp install claude-code
  toolcrib mcp install codex --toolset clemini --write
  toolcrib mcp install vscode --scope project
  toolcrib mcp install zed --print")]
    Install {
        #[command(flatten)]
        client: McpClientArgs,
        /// Print the entry for you to add by hand, and write nothing
        #[arg(long, requires = "client", conflicts_with = "write")]
        print: bool,
        /// Write the file without asking
        #[arg(long, requires = "client")]
        write: bool,
    },
    /// Remove Toolcrib from an MCP client; without a client, list them
    #[command(after_help = "\
Examples:
  toolcrib mcp uninstall claude-code
  toolcrib mcp uninstall vscode --scope project --write")]
    Uninstall {
        #[command(flatten)]
        client: McpClientArgs,
        /// Write the file without asking
        #[arg(long, requires = "client")]
        write: bool,
    },
}

/// Which entry of which file.
#[derive(Args, Debug)]
pub(crate) struct McpClientArgs {
    /// The client
    pub(crate) client: Option<ClientName>,
    /// Whose file: yours, which holds everywhere, or that of the project, which others can share
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub(crate) scope: ClientScope,
    /// The name of the entry: small letters, digits and `_`
    #[arg(long, value_name = "NAME", default_value = "toolcrib", value_parser = entry_name)]
    pub(crate) name: String,
}

/// The programs that Toolcrib can be added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientName {
    /// Claude Code
    #[value(alias = "claude")]
    ClaudeCode,
    /// Codex
    Codex,
    /// Visual Studio Code
    #[value(name = "vscode", aliases = ["vs-code", "code"])]
    VsCode,
    /// Cursor
    Cursor,
    /// Gemini CLI
    #[value(name = "gemini-cli", alias = "gemini")]
    Gemini,
    /// opencode
    #[value(name = "opencode")]
    OpenCode,
    /// Goose
    Goose,
    /// Zed
    Zed,
}

/// Whose file of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientScope {
    /// Yours, for all your projects
    User,
    /// The project's, which can be shared
    Project,
}

/// Parses the name of an entry. Clients make the names of tools of it, and some take no other characters there.
fn entry_name(text: &str) -> Result<String, &'static str> {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_name = (1..=40).contains(&text.len()) && text.bytes().all(is_part);
    is_name.then(|| text.to_owned()).ok_or("write up to 40 small letters, digits and `_`")
}
