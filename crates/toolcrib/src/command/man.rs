//! `toolcrib completions` and `toolcrib man`, made from the declaration of the command line.

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

/// Asks the program for tools, arguments and ids, and the rest of the script for everything else.
const BASH: &str = r#"
_toolcrib_words() {
    local IFS=$'\n'
    COMPREPLY=($(toolcrib complete-words "$COMP_CWORD" "${COMP_WORDS[@]}" 2>/dev/null | cut -f1))
    if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
        unset IFS
        _toolcrib "$@"
    elif [[ ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace
    fi
}
complete -F _toolcrib_words -o bashdefault -o default toolcrib
"#;

const ZSH: &str = r#"
_toolcrib_words() {
    local -a found shown
    found=("${(@f)$(toolcrib complete-words $((CURRENT - 1)) "${words[@]}" 2>/dev/null)}")
    if [[ -z "$found[1]" ]]; then
        _toolcrib "$@"
        return
    fi
    shown=("${found[@]//$'\t'/  -- }")
    found=("${found[@]%%$'\t'*}")
    if [[ "$found[1]" == *= ]]; then
        compadd -S '' -l -d shown -a found
    else
        compadd -l -d shown -a found
    fi
}
compdef _toolcrib_words toolcrib
"#;

const FISH: &str = r"
function __toolcrib_words
    set -l before (commandline -opc)
    toolcrib complete-words (count $before) $before (commandline -ct) 2>/dev/null
end
complete -c toolcrib -n 'test (__toolcrib_words | count) -gt 0' -f -a '(__toolcrib_words)'
";

/// Prints a completion script. In bash, zsh and fish it asks the program for what changes; in other shells it knows the
/// names of the tools.
pub(super) fn completions(shell: Shell) -> Exit {
    let mut script = Vec::new();
    let words = match shell {
        Shell::Bash => Some(BASH),
        Shell::Zsh => Some(ZSH),
        Shell::Fish => Some(FISH),
        _ => None,
    };
    let mut command = if words.is_some() { cli::command() } else { with_tool_names() };
    clap_complete::generate(shell, &mut command, "toolcrib", &mut script);
    print(&String::from_utf8_lossy(&script));
    print(words.unwrap_or_default());
    Exit::Done
}

/// Returns the command line with the names of all tools as values.
fn with_tool_names() -> clap::Command {
    let toolset = Toolset::everything(CATALOGUES);
    let names: Vec<String> =
        toolset.offers().iter().map(|offer| offer.full_name().to_string()).collect();
    cli::command()
        .mut_subcommand("call", |call| {
            let names = names.clone();
            call.mut_arg("tool", |tool| tool.value_parser(PossibleValuesParser::new(names)))
        })
        .mut_subcommand("tools", |tools| {
            tools.mut_arg("name", |name| name.value_parser(PossibleValuesParser::new(names)))
        })
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
    for sub in
        command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set())
    {
        write_pages(sub, &format!("{name}-{}", sub.get_name()), directory)?;
    }
    Ok(())
}

fn page(command: clap::Command) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command).render(&mut bytes)?;
    Ok(bytes)
}
