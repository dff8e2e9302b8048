//! `toolcrib tour`: makes a few real calls in a scratch workspace and shows each as it would be typed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print};

/// What each step shows, and the words typed after `toolcrib`.
const STEPS: [(&str, &[&str]); 10] = [
    (
        "Create a file. In mode standard, tools of tier 2 need approval; --yes gives it.",
        &[
            "--yes",
            "call",
            "wink/create_file",
            "path=src/greet.py",
            "content=def greet(name):\n    return 'Hello, ' + name\n",
        ],
    ),
    (
        "Reading needs no approval. This is the same file through another catalogue.",
        &["call", "clemini/read_file", "file_path=src/greet.py"],
    ),
    (
        "Edit the file and see the difference.",
        &[
            "--yes",
            "call",
            "clemini/edit",
            "file_path=src/greet.py",
            "old_string='Hello, ' + name",
            "new_string=f'Hello, {name}!'",
        ],
    ),
    (
        "See what a call would do, without doing it.",
        &[
            "call",
            "wink/replace_string_in_file",
            "path=src/greet.py",
            "old_string=Hello",
            "new_string=Good morning",
            "--dry-run",
        ],
    ),
    (
        "A path outside the workspace is refused, whether or not the file exists.",
        &["call", "wink/read_file", "path=../../etc/passwd"],
    ),
    (
        "A link that leads outside is refused too.",
        &["call", "clemini/read_file", "file_path=escape"],
    ),
    (
        "Without --yes and without a terminal, a call that needs approval fails at once.",
        &["call", "nachos/filesystem", "action=delete", "path=src/greet.py", "--json"],
    ),
    (
        "Every catalogue has its own reply format.",
        &["call", "nachos/calculator", "expression=0.1 + 0.2", "--json"],
    ),
    ("Every change can be undone. This lists the calls that changed files.", &["undo"]),
    (
        "These settings are in effect, and this is where each comes from.",
        &["config", "show", "--origin"],
    ),
];

pub(super) fn run(terminal: Terminal) -> Result<Exit, CliError> {
    let scratch = Scratch::new()?;
    let program = std::env::current_exe()?;
    std::os::unix::fs::symlink("/etc/passwd", scratch.workspace().join("escape"))?;
    for (about, words) in STEPS {
        step(terminal, &scratch, &program, about, words)?;
    }
    let last = format!("{} All of this was real: ", terminal.paint(Paint::Good, "✓"));
    print(&format!("\n{last}the calls ran in a scratch workspace, which is deleted now.\n"));
    print("Next: toolcrib tools\n");
    Ok(Exit::Done)
}

/// Prints one step: what it shows, the command, and the command's output.
fn step(
    terminal: Terminal,
    scratch: &Scratch,
    program: &Path,
    about: &str,
    words: &[&str],
) -> Result<(), CliError> {
    print(&format!("\n{}\n", terminal.paint(Paint::Strong, about)));
    print(&format!("{}\n", terminal.paint(Paint::Dim, &typed(words))));
    // The output goes through this process, so that the call finds no terminal to ask on.
    let output = Command::new(program)
        .args(["--color", if terminal.has_colour() { "always" } else { "never" }])
        .args(words)
        .current_dir(scratch.workspace())
        .env("TOOLCRIB_STATE", scratch.state())
        .stdin(std::process::Stdio::null())
        .output()?;
    print(&String::from_utf8_lossy(&output.stdout));
    print(&String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        print(&format!("(exit {})\n", output.status.code().unwrap_or_default()));
    }
    Ok(())
}

/// Returns a command as it would be typed.
fn typed(words: &[&str]) -> String {
    let mut line = String::from("$ toolcrib");
    for word in words {
        line.push(' ');
        if word.contains([' ', '\n', '\'', '(', '*']) {
            let quoted = word.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n");
            line.extend(["$'", &quoted, "'"]);
        } else {
            line.push_str(word);
        }
    }
    line
}

/// A temporary folder for the tour. It is removed when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, CliError> {
        let name = format!("toolcrib-tour-{}", toolcrib_ledger::new_call_id());
        let scratch = Self(std::env::temp_dir().join(name));
        std::fs::create_dir_all(scratch.workspace())?;
        Ok(scratch)
    }

    fn workspace(&self) -> PathBuf {
        self.0.join("project")
    }

    fn state(&self) -> PathBuf {
        self.0.join("state")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
