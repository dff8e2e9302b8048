//! `toolcrib plugins new`: a tool to start from, which works and can be proposed as it is.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use toolcrib_core::Shelf;
use toolcrib_plugins::name_check;
use toolcrib_tools::catalogues;

use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::print_lines;

/// What lets a Python function answer calls.
const PYTHON_HELPER: &str = include_str!("../../../../../contrib/plugins/toolcrib_tool.py");

/// Writes the module of a new tool to the current directory.
pub(super) fn write_module(name: &str) -> Result<Exit, CliError> {
    name_check::check(name, &Shelf::from(catalogues()), &[])?;
    let path = PathBuf::from(format!("{name}.mjs"));
    written(&path, write_new(&path, &module(name), 0o666))
}

/// Writes the folder of a new program to the current directory.
pub(super) fn write_program(name: &str) -> Result<Exit, CliError> {
    name_check::check(name, &Shelf::from(catalogues()), &[])?;
    let folder = PathBuf::from(name);
    let files = [
        ("manifest.json", manifest(name), 0o666),
        ("tool.py", PROGRAM.to_owned(), 0o777),
        ("toolcrib_tool.py", PYTHON_HELPER.to_owned(), 0o666),
    ];
    let made = DirBuilder::new().create(&folder).and_then(|()| {
        files.iter().try_for_each(|(file, text, mode)| write_new(&folder.join(file), text, *mode))
    });
    written(&folder, made)
}

fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}

/// Says what to do with what was written.
fn written(path: &Path, result: io::Result<()>) -> Result<Exit, CliError> {
    result.map_err(|err| match err.kind() {
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

/// The program of a new tool.
const PROGRAM: &str = r#"#!/usr/bin/env python3
from toolcrib_tool import serve


def execute(params, config):
    return {"words": len(params["text"].split())}


serve(execute)
"#;

fn manifest(name: &str) -> String {
    format!(
        r#"{{
  "name": "{name}",
  "version": "1.0.0",
  "type": "tool",
  "description": "Counts the words of a text. Returns: {{words}}",
  "provides": {{ "tool": "{name}", "securityTier": 1 }},
  "capabilities": {{
    "network": {{ "egress": [] }},
    "resources": {{ "memory": "128MB", "cpus": 1 }}
  }},
  "command": ["./tool.py"],
  "mode": "resident",
  "parameters": {{
    "type": "object",
    "properties": {{ "text": {{ "type": "string", "description": "The text" }} }},
    "required": ["text"],
    "additionalProperties": false
  }},
  "output": {{
    "type": "object",
    "properties": {{ "words": {{ "type": "integer" }} }},
    "required": ["words"]
  }},
  "examples": [
    {{ "about": "counts words, not spaces", "args": {{ "text": " one  two " }}, "reply": {{ "words": 2 }} }},
    {{ "about": "an empty text has none", "args": {{ "text": "" }}, "reply": {{ "words": 0 }} }}
  ]
}}
"#
    )
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
