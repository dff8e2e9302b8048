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
    let command = cli::command();
    let Some(directory) = directory else {
        print(&String::from_utf8_lossy(&page(command)?));
        return Ok(Exit::Done);
    };
    let write = |name: String, page: Vec<u8>| {
        let path = directory.join(name);
        fs::write(&path, page).map_err(|err| WiringError(format!("`{}`: {err}", path.display())))
    };
    fs::create_dir_all(directory)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = format!("toolcrib-{}", sub.get_name());
        write(format!("{name}.1"), page(sub.clone().name(name))?)?;
    }
    write("toolcrib.1".to_owned(), page(command)?)?;
    Ok(Exit::Done)
}

fn page(command: clap::Command) -> Result<Vec<u8>, WiringError> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command).render(&mut bytes)?;
    Ok(bytes)
}
