//! `toolcrib completions` and `toolcrib man`, made from the command line's own declaration.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use toolcrib_core::Toolset;
use toolcrib_tools::CATALOGUES;

use crate::cli;
use crate::exit::Exit;
use crate::terminal::print;
use crate::wiring::WiringError;

/// Prints a completion script that knows the tools by name.
pub(super) fn completions(shell: Shell) -> Exit {
    let toolset = Toolset::everything(CATALOGUES);
    let names: Vec<String> =
        toolset.offers().iter().map(toolcrib_core::toolset::Offer::full_name).collect();
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
        // The generator leaves the values of positional arguments out for this shell.
        let names: Vec<String> =
            toolset.offers().iter().map(toolcrib_core::toolset::Offer::full_name).collect();
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
pub(super) fn run(directory: Option<&Path>) -> Result<Exit, WiringError> {
    let mut command = cli::command().disable_help_subcommand(true);
    let Some(directory) = directory else {
        print(&String::from_utf8_lossy(&page(command)?));
        return Ok(Exit::Done);
    };
    command.build();
    let failed = |err: std::io::Error| {
        WiringError(format!("`{}` cannot be made: {err}", directory.display()))
    };
    fs::create_dir_all(directory).map_err(failed)?;
    write_pages(&command, "toolcrib", directory)?;
    Ok(Exit::Done)
}

fn write_pages(command: &clap::Command, name: &str, directory: &Path) -> Result<(), WiringError> {
    let path = directory.join(format!("{name}.1"));
    let page = page(command.clone().name(name.to_owned()))?;
    fs::write(&path, page).map_err(|err| WiringError(format!("`{}`: {err}", path.display())))?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        write_pages(sub, &format!("{name}-{}", sub.get_name()), directory)?;
    }
    Ok(())
}

fn page(command: clap::Command) -> Result<Vec<u8>, WiringError> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command).render(&mut bytes)?;
    Ok(bytes)
}
