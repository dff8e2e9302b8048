//! The reference, made from the declarations.

use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;

use toolcrib::reference;

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns every page with its path.
pub fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("docs/reference/cli.md", cli()),
        ("docs/reference/runs-later.md", reference::runs_later()),
        ("docs/reference/settings.md", reference::settings()),
        ("docs/reference/tools.md", reference::tools()),
    ]
}

/// Writes every page.
pub fn write() -> Result<(), Box<dyn Error>> {
    for (path, text) in pages() {
        let path = root().join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}

fn cli() -> String {
    let mut text = String::from(
        "# Command line\n\nMade from the command line's own declaration by `cargo xtask docs`.\n",
    );
    let mut command = toolcrib::command().term_width(100);
    command.build();
    section(&mut command, "toolcrib", &mut text);
    text
}

fn section(command: &mut clap::Command, name: &str, text: &mut String) {
    let help = command.clone().term_width(100).render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    let is_shown = |sub: &&mut clap::Command| sub.get_name() != "help" && !sub.is_hide_set();
    for sub in command.get_subcommands_mut().filter(is_shown) {
        let name = format!("{name} {}", sub.get_name());
        section(sub, &name, text);
    }
}
