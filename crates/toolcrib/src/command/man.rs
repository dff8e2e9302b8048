//! `toolcrib completions` and `toolcrib man`, made from the declaration of the command line.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use toolcrib_core::Toolset;
use toolcrib_tools::CATALOGUES;

use crate::cli;
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;
use crate::terminal::print;

/// Prints a completion script that knows the tools by name.
pub(super) fn completions(shell: Shell) -> Exit {
    let toolset = Toolset::everything(CATALOGUES);
    let names: Vec<String> =
        toolset.offers().iter().map(|offer| offer.full_name().to_string()).collect();
    let mut command = cli::command()
        .mut_subcommand("call", |call| {
            let names = names.clone();
            call.mut_arg("tool", |tool| tool.value_parser(PossibleValuesParser::new(names)))
        })
        .mut_subcommand("tools", |tools| {
            tools.mut_arg("name", |name| name.value_parser(PossibleValuesParser::new(names)))
        });
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "toolcrib", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Fish {
        // For this shell, the generator leaves out the values of positional arguments.
        let names: Vec<String> =
            toolset.offers().iter().map(|offer| offer.full_name().to_string()).collect();
        let _ = writeln!(
            script,
            "complete -c toolcrib -n \"__fish_seen_subcommand_from call tools\" -f -a \"{}\"",
            names.join(" ")
        );
    }
    print(&script);
    Exit::Done
}

/// Writes a man page for the program and each of its commands.
pub(super) fn run(directory: Option<&Path>) -> Result<Exit, CliError> {
    let mut command = cli::command().disable_help_subcommand(true);
    let Some(directory) = directory else {
        print(&String::from_utf8_lossy(&page(command)?));
        return Ok(Exit::Done);
    };
    command.build();
    let failed = |err: io::Error| unwritable(directory, &err);
    fs::create_dir_all(directory).map_err(failed)?;
    write_pages(&command, "toolcrib", directory)?;
    Ok(Exit::Done)
}

fn unwritable(path: &Path, err: &io::Error) -> CliError {
    CliError::new(CliErrorKind::System, format!("cannot write `{}`: {err}", path.display()))
}

/// Writes the page of a command and the pages of its subcommands.
fn write_pages(command: &clap::Command, name: &str, directory: &Path) -> Result<(), CliError> {
    let path = directory.join(format!("{name}.1"));
    let page = page(command.clone().name(name.to_owned()))?;
    fs::write(&path, page).map_err(|err| unwritable(&path, &err))?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        write_pages(sub, &format!("{name}-{}", sub.get_name()), directory)?;
    }
    Ok(())
}

fn page(command: clap::Command) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command).render(&mut bytes)?;
    Ok(bytes)
}
