//! `cargo xtask picture`: runs the real binary on a terminal, and draws for the README what a person sees.

mod pseudo_terminal;
mod screen;
mod svg;

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use self::pseudo_terminal::PseudoTerminal;
use self::screen::DrawnScreen;
use crate::docs::root;

/// Where the picture is.
pub const PICTURE: &str = "docs/terminal.svg";

/// What the picture shows: an approval, a stop by the sandbox, an undo.
pub const SHOWN: [&str; 3] = ["approved once", "Read-only file system", "Undid call"];

/// What the picture is called where it cannot be seen.
const TITLE: &str =
    "A terminal: a person approves a change, the sandbox stops a command, the change is undone";

/// How wide the terminal is.
const COLUMNS: u16 = 92;

/// The place that the picture shows instead of the scratch folder. Both are of one length, so that rows break alike.
const SHOWN_HOME: &str = "/home/me";

/// One command of the session.
struct Scene {
    /// What the reader sees here.
    about: &'static str,
    /// The command as it is typed.
    typed: &'static str,
    /// The words after `toolcrib`.
    words: &'static [&'static str],
    /// What the question ends with, and the key that answers it.
    answer: Option<(&'static str, &'static str)>,
}

const SCENES: [Scene; 3] = [
    Scene {
        about: "# An agent wants to change a file. You are asked, and answer with one key.",
        typed: "toolcrib call clemini/edit file_path=greet.py old_string=Hello new_string=Goodbye",
        words: &[
            "call",
            "clemini/edit",
            "file_path=greet.py",
            "old_string=Hello",
            "new_string=Goodbye",
        ],
        answer: Some((" left", "y")),
    },
    Scene {
        about: "# It runs a command that reaches outside the project. The sandbox stops it.",
        typed: "toolcrib --yes call clemini/bash command='touch /opt/evil'",
        words: &["--yes", "call", "clemini/bash", "command=touch /opt/evil"],
        answer: None,
    },
    Scene {
        about: "# You take the change back.",
        typed: "toolcrib undo --last",
        words: &["undo", "--last"],
        answer: None,
    },
];

/// Makes the picture.
pub fn write() -> Result<(), Box<dyn Error>> {
    let columns = usize::from(COLUMNS);
    let mut screen = DrawnScreen::new(columns);
    screen.show(&stable(&session()?))?;
    let mut rows = screen.rows();
    while rows.last().is_some_and(Vec::is_empty) {
        rows.pop();
    }
    fs::write(root().join(PICTURE), svg::draw(TITLE, columns, &rows))?;
    Ok(())
}

/// Makes the calls in a scratch project. Returns what the terminal was sent.
fn session() -> Result<String, Box<dyn Error>> {
    let program = program()?;
    let scratch = tempfile::Builder::new().prefix("").rand_bytes(3).tempdir_in("/tmp")?;
    let project = scratch.path().join("demo");
    fs::create_dir(&project)?;
    fs::write(project.join("greet.py"), "def greet(name):\n    return \"Hello, \" + name\n")?;
    let mut shown = String::new();
    for scene in &SCENES {
        let _ = write!(shown, "\u{1b}[2m{}\u{1b}[0m\n$ {}\n", scene.about, scene.typed);
        // In a session of its own, the terminal is the one that the call asks on, wherever this chore is started.
        let mut command = Command::new("setsid");
        command
            .arg("--ctty")
            .arg(&program)
            .args(scene.words)
            .current_dir(&project)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", scratch.path())
            .env("TOOLCRIB_STATE", scratch.path().join("state"))
            // The key comes sooner than a person's would.
            .env("TOOLCRIB_ASK_DELAY_MS", "0")
            .env("TERM", "xterm");
        let mut terminal = PseudoTerminal::start(command, COLUMNS)?;
        if let Some((end, key)) = scene.answer {
            terminal.wait_for(end)?;
            terminal.press(key)?;
        }
        shown.push_str(&terminal.end()?);
        shown.push('\n');
    }
    if !SHOWN.iter().all(|words| shown.contains(words)) {
        return Err(format!("this is not what the picture is to show:\n{shown}").into());
    }
    Ok(shown.replace(&scratch.path().display().to_string(), SHOWN_HOME))
}

/// Returns the binary that was built with this chore.
fn program() -> Result<PathBuf, Box<dyn Error>> {
    let program = std::env::current_exe()?.with_file_name("toolcrib");
    if program.exists() { Ok(program) } else { Err("build it first: make picture".into()) }
}

/// Returns the text with what differs from run to run replaced: ids, times, and how long a person has left.
fn stable(text: &str) -> String {
    let mut ids: Vec<&str> = Vec::new();
    let mut stable = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let is_word = |c: char| c.is_ascii_alphanumeric();
        let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        if word.is_empty() {
            let other = &rest[..rest.find(is_word).unwrap_or(rest.len())];
            stable.push_str(other);
            rest = &rest[other.len()..];
            continue;
        }
        rest = &rest[word.len()..];
        let is_time = word.strip_suffix("ms").is_some_and(|ms| ms.parse::<u32>().is_ok());
        if is_id(word) {
            // Hints show the beginning of an id.
            let is_same = |id: &&str| id.starts_with(word) || word.starts_with(*id);
            let place = ids.iter().position(is_same).unwrap_or(ids.len());
            if place == ids.len() {
                ids.push(word);
            }
            let id = format!("01M7HZ4{place:03}YW2JM8BCZHDA4XNT");
            stable.push_str(&id[..word.len()]);
        } else if is_time {
            stable.push_str("18ms");
        } else {
            stable.push_str(word);
        }
    }
    let stable = stable.replace("1:59 left", "2:00 left").replace("1:58 left", "2:00 left");
    let mut parts = stable.split(" in ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let seconds = part.find(" s").filter(|end| part[..*end].parse::<f64>().is_ok());
        match seconds {
            Some(end) => format!("{text} in 0.2{}", &part[end..]),
            None => format!("{text} in {part}"),
        }
    })
}

/// Whether a word is the id of a call, or as much of its beginning as people are shown.
fn is_id(word: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    word.starts_with("01") && (10..=26).contains(&word.len()) && word.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_replaced() {
        let text = "undo 01M7FEQ4267H2CZB5V1Q2XNTB5, 01M7FEQ42Z\r\n\
                    Time: 7ms, 1:59 left, again 01M7FEQ426; 12ms. items 7\r\n\
                    made in demo: exit 1 in 12.5 s\r\n";
        let expect = "undo 01M7HZ4000YW2JM8BCZHDA4XNT, 01M7HZ4001\r\n\
                      Time: 18ms, 2:00 left, again 01M7HZ4000; 18ms. items 7\r\n\
                      made in demo: exit 1 in 0.2 s\r\n";
        assert_eq!(stable(text), expect);
    }
}
