//! `toolcrib tour`: a few real calls in a scratch workspace, each shown as it would be typed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print};

/// What is shown, and the words that are typed after `toolcrib`.
const STOPS: [(&str, &[&str]); 10] = [
    (
        "A file is made. Tier 2 asks in mode standard; --yes is the answer.",
        &[
            "--yes",
            "call",
            "wink/create_file",
            "path=src/greet.py",
            "content=def greet(name):\n    return 'Hello, ' + name\n",
        ],
    ),
    (
        "Reading is free. The same file through another catalogue.",
        &["call", "clemini/read_file", "file_path=src/greet.py"],
    ),
    (
        "An edit, with its difference.",
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
        "What would happen, without doing it.",
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
        "A path that leads outside is refused, the same whether or not anything is there.",
        &["call", "wink/read_file", "path=../../etc/passwd"],
    ),
    ("So is a link that leads there.", &["call", "clemini/read_file", "file_path=escape"]),
    (
        "Without --yes and without a terminal, a call that needs approval ends at once.",
        &["call", "nachos/filesystem", "action=delete", "path=src/greet.py", "--json"],
    ),
    (
        "Five contracts, one engine.",
        &["call", "nachos/calculator", "expression=0.1 + 0.2", "--json"],
    ),
    ("What was changed can be taken back.", &["undo"]),
    ("And nothing was hidden: this is what holds here.", &["config", "show", "--origin"]),
];

pub(super) fn run(terminal: Terminal) -> Result<Exit, CliError> {
    let scratch = Scratch::new()?;
    let program = std::env::current_exe()?;
    std::os::unix::fs::symlink("/etc/passwd", scratch.workspace().join("escape"))?;
    for (about, words) in STOPS {
        stop(terminal, &scratch, &program, about, words)?;
    }
    let last = format!("{} That was all real: ", terminal.paint(Paint::Good, "✓"));
    print(&format!("\n{last}the calls above ran in a scratch workspace, now gone.\n"));
    print("Next: toolcrib tools\n");
    Ok(Exit::Done)
}

fn stop(
    terminal: Terminal,
    scratch: &Scratch,
    program: &Path,
    about: &str,
    words: &[&str],
) -> Result<(), CliError> {
    print(&format!("\n{}\n", terminal.paint(Paint::Strong, about)));
    print(&format!("{}\n", terminal.paint(Paint::Dim, &typed(words))));
    // Its output goes through us, so that it finds no terminal to ask questions on.
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

/// Shows a command as it would be typed.
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

/// A folder for the tour, gone when it ends.
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
