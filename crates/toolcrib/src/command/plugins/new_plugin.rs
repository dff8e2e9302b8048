//! `toolcrib plugins new`: a tool to start from, which works and can be proposed as it is.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use toolcrib_core::Shelf;
use toolcrib_plugins::name_check;
use toolcrib_tools::catalogues;

use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::print_lines;

/// Writes the module of a new tool to the current directory.
pub(super) fn write(name: &str) -> Result<Exit, CliError> {
    name_check::check(name, &Shelf::from(catalogues()), &[])?;
    let path = PathBuf::from(format!("{name}.mjs"));
    let created = OpenOptions::new().write(true).create_new(true).open(&path);
    let written = created.and_then(|mut file| file.write_all(module(name).as_bytes()));
    written.map_err(|err| match err.kind() {
        ErrorKind::AlreadyExists => {
            CliError::usage(format!("`{}` exists, and was not changed", path.display()))
                .hint("choose another name, or another directory")
        }
        _ => CliError::usage(format!("`{}` cannot be written: {err}", path.display())),
    })?;
    print_lines(&[
        format!("Wrote {}", path.display()),
        format!("  try it:     toolcrib plugins test {}", path.display()),
        format!("  propose it: toolcrib plugins propose {}", path.display()),
    ]);
    Ok(Exit::Done)
}

fn module(name: &str) -> String {
    format!(
        r#"export const name = "{name}";

export const description = "Counts the words of a text. Returns: {{words}}";

export const parameters = {{
  type: "object",
  properties: {{
    text: {{ type: "string", description: "The text" }},
  }},
  required: ["text"],
  additionalProperties: false,
}};

// A proposal runs the examples, and whoever approves the tool sees what they did.
export const examples = [
  {{ about: "counts words, not spaces", args: {{ text: " one  two " }}, reply: {{ words: 2 }} }},
  {{ about: "an empty text has none", args: {{ text: "" }}, reply: {{ words: 0 }} }},
];

export async function execute(args) {{
  const words = args.text.split(/\s+/).filter((word) => word !== "");
  return {{ words: words.length }};
}}
"#
    )
}
