//! The command line of the subcommands that agents start again and again. To describe all subcommands takes longer than
//! all else that happens before the first answer of `toolcrib mcp`.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use super::{CallArgs, Cli, Command, Global, McpArgs};

/// The command line, as far as these subcommands need it.
#[derive(Parser)]
#[command(name = "toolcrib", disable_help_flag = true, disable_help_subcommand = true)]
struct QuickCli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: QuickCommand,
}

#[derive(Subcommand)]
enum QuickCommand {
    Call(CallArgs),
    Mcp(McpArgs),
}

/// Reads the command line of this process.
pub(crate) fn read() -> Result<Cli, clap::Error> {
    match read_quick(std::env::args_os()) {
        Some(cli) => Ok(cli),
        None => Cli::try_parse(),
    }
}

/// Reads the command line of one of these subcommands. Returns nothing for all others, and for what is wrong or asks for
/// help: the whole command line knows the words for that.
fn read_quick(words: impl Iterator<Item = OsString>) -> Option<Cli> {
    let words: Vec<OsString> = words.collect();
    let is_quick = words.iter().skip(1).any(|word| word == "call" || word == "mcp");
    if !is_quick {
        return None;
    }
    let QuickCli { global, command } = QuickCli::try_parse_from(words).ok()?;
    let command = match command {
        QuickCommand::Call(args) => Command::Call(args),
        QuickCommand::Mcp(args) => Command::Mcp(args),
    };
    Some(Cli { global, command })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(words: &str) -> Option<Cli> {
        read_quick(words.split(' ').map(OsString::from))
    }

    fn shown(cli: &Cli) -> String {
        match &cli.command {
            Command::Call(args) => format!("{:?} {args:?}", cli.global),
            Command::Mcp(args) => format!("{:?} {args:?}", cli.global),
            _ => panic!("another command"),
        }
    }

    #[test]
    fn the_quick_command_line_reads_what_the_whole_one_reads() {
        for words in [
            "toolcrib mcp",
            "toolcrib -C /tmp mcp --toolset wink",
            "toolcrib mcp install codex --print",
            "toolcrib call echo text=hi -c log.level=info",
            "toolcrib call --help",
            "toolcrib mcp --yes -vv",
            "toolcrib mcp --connection api",
            "toolcrib call hikai/read_file path=a.txt --connection api",
        ] {
            let whole = Cli::try_parse_from(words.split(' ')).ok().map(|cli| shown(&cli));
            assert_eq!(read_words(words).map(|cli| shown(&cli)), whole, "{words}");
        }
    }

    #[test]
    fn help_mistakes_and_other_commands_are_for_the_whole_command_line() {
        for words in [
            "toolcrib call",
            "toolcrib mcp -h",
            "toolcrib mcp instal",
            "toolcrib help mcp",
            "toolcrib tools",
        ] {
            assert!(read_words(words).is_none(), "{words}");
        }
        // The control.
        assert!(read_words("toolcrib mcp").is_some());
    }
}
