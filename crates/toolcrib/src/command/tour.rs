//! `toolcrib tour`: a few real calls in a scratch project. The person answers one question and takes one change back.

use std::ffi::OsStr;
use std::io::{IsTerminal, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::event_loop::{block_on, interrupted};
use super::tool_help::quoted;
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print, width};

/// How long the tour waits for an answer to its question. Together with [`ENTER_TIME`], this keeps it below two minutes.
const ANSWER_SECONDS: &str = "60";

/// How long the tour waits for Enter.
const ENTER_TIME: Duration = Duration::from_secs(40);

/// What a step needs of the person.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PersonsPart {
    /// Nothing.
    Watch,
    /// An answer to the question of the call.
    Answer,
    /// Enter, before the command runs.
    Enter,
}

/// One step: what it shows, and the words typed after `toolcrib`.
struct TourStep {
    about: &'static str,
    words: &'static [&'static str],
    part: PersonsPart,
}

const TOUR_STEPS: [TourStep; 6] = [
    TourStep {
        about: "An agent creates a file. --yes is your approval, given in advance.",
        words: &[
            "--yes",
            "call",
            "clemini/write_file",
            r#"{"file_path": "hello.txt", "content": "Hello, world\n"}"#,
        ],
        part: PersonsPart::Watch,
    },
    TourStep {
        about: "Without --yes, Toolcrib asks you. Press y to approve this change, or n to refuse it.",
        words: &[
            "call",
            "clemini/edit",
            "file_path=hello.txt",
            "old_string=Hello",
            "new_string=Goodbye",
        ],
        part: PersonsPart::Answer,
    },
    TourStep {
        about: "You can take back what a call did. This takes back the newest change.",
        words: &["undo", "--last"],
        part: PersonsPart::Enter,
    },
    TourStep {
        about: "File tools stay inside the project.",
        words: &["call", "clemini/read_file", "file_path=../../etc/passwd"],
        part: PersonsPart::Watch,
    },
    TourStep {
        about: "Shell commands run in a sandbox: they can change the project, but not the system.",
        words: &["--yes", "call", "clemini/bash", "command=touch /opt/evil"],
        part: PersonsPart::Watch,
    },
    TourStep {
        about: "Every call is on the record, and so is every undo.",
        words: &["audit", "search"],
        part: PersonsPart::Watch,
    },
];

pub(super) fn run(terminal: Terminal) -> Result<Exit, CliError> {
    // The question goes to the terminal, so the rest has to be there, too.
    let is_attended = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let person = if is_attended { Person::AtTerminal } else { Person::Nobody };
    let program = std::env::current_exe()?;
    block_on(async {
        let mut stop = pin!(interrupted());
        // From here on, Ctrl-C is an event, so that nothing of what is made now is left behind.
        tokio::select! {
            biased;
            () = stop.as_mut() => return Ok(Exit::Interrupted),
            () = std::future::ready(()) => {}
        }
        Tour { terminal, person, scratch: Scratch::new()?, program }.take(stop).await
    })?
}

/// Whether somebody can answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Person {
    AtTerminal,
    Nobody,
}

/// How a step ended.
enum StepEnd {
    /// The command ran to its end.
    Ran(Output),
    /// The tour was told to end.
    Interrupted,
}

struct Tour {
    terminal: Terminal,
    person: Person,
    scratch: Scratch,
    program: PathBuf,
}

impl Tour {
    async fn take(self, mut stop: Pin<&mut impl Future<Output = ()>>) -> Result<Exit, CliError> {
        print(&format!(
            "Toolcrib in under two minutes: {} real calls in a scratch project, which is deleted at the end.\n\
             Ctrl-C ends the tour.\n",
            TOUR_STEPS.len()
        ));
        for (number, step) in (1..).zip(&TOUR_STEPS) {
            self.announce(number, step);
            if step.part == PersonsPart::Enter && !self.wait_for_enter(stop.as_mut()).await {
                return Ok(self.ended_early());
            }
            match self.run_step(step, stop.as_mut()).await? {
                StepEnd::Ran(output) => self.show(step, &output),
                StepEnd::Interrupted => return Ok(self.ended_early()),
            }
        }
        let next = self.next_command();
        let deleted = self.scratch.remove();
        let good = self.terminal.paint(Paint::Good, "✓");
        print(&format!("\n{good} That was real. {deleted}\n\n"));
        print("Next, in a project of your own, see what works there:\n\n");
        print(&format!("  {}\n", self.terminal.paint(Paint::Strong, &next)));
        Ok(Exit::Done)
    }

    fn ended_early(self) -> Exit {
        let next = self.next_command();
        let deleted = self.scratch.remove();
        print(&format!("\nThe tour has ended. {deleted} Next: {next}\n"));
        Exit::Interrupted
    }

    /// Prints what a step shows, and its command as it would be typed.
    fn announce(&self, number: usize, step: &TourStep) {
        let head = format!("{number}/{} {}", TOUR_STEPS.len(), step.about);
        let words: Vec<String> = step.words.iter().map(|word| typed(word)).collect();
        let command = format!("$ toolcrib {}", words.join(" "));
        print(&format!("\n{}\n", self.terminal.paint(Paint::Strong, &head)));
        print(&format!("{}\n", self.terminal.paint(Paint::Dim, &command)));
        if step.part == PersonsPart::Answer && self.person == Person::Nobody {
            print(
                "(Toolcrib would ask here. Without a terminal, nobody can answer, so the call is refused.)\n",
            );
        }
    }

    /// Waits until the person presses Enter, or long enough. Returns whether the tour goes on.
    async fn wait_for_enter(&self, stop: Pin<&mut impl Future<Output = ()>>) -> bool {
        if self.person == Person::Nobody {
            return true;
        }
        print("Press Enter to run it. ");
        let enter = tokio::task::spawn_blocking(read_line);
        tokio::select! {
            pressed = enter => {
                // Enter moved the cursor to the next row. Without it, this does.
                if !pressed.unwrap_or(false) {
                    print("\n");
                }
                true
            }
            () = stop => false,
        }
    }

    /// Runs the command of a step to its end, or ends it if the tour is told to end.
    async fn run_step(
        &self,
        step: &TourStep,
        stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<StepEnd, CliError> {
        let child = self.start(step)?;
        let handle = Pid::from_raw(child.id().cast_signed())
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let mut output = tokio::task::spawn_blocking(move || child.wait_with_output());
        tokio::select! {
            output = &mut output => Ok(StepEnd::Ran(output.map_err(std::io::Error::other)??)),
            () = stop => {
                // A question has to put its terminal back before the tour ends.
                if let Some(handle) = handle {
                    let _ = pidfd_send_signal(handle, Signal::TERM);
                }
                let _ = output.await;
                Ok(StepEnd::Interrupted)
            }
        }
    }

    fn start(&self, step: &TourStep) -> Result<Child, CliError> {
        let mut command = Command::new(&self.program);
        let colour = if self.terminal.has_colour() { "always" } else { "never" };
        command.args(["--color", colour]).args(step.words).current_dir(self.scratch.project());
        // The tour is the same whatever the person has set, and changes nothing of theirs.
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"TOOLCRIB_") {
                command.env_remove(name);
            }
        }
        command
            .env("XDG_CONFIG_HOME", self.scratch.0.join("config"))
            .env("TOOLCRIB_STATE", self.scratch.0.join("state"))
            .env("TOOLCRIB_POLICY_APPROVAL_SECONDS", ANSWER_SECONDS);
        if step.part != PersonsPart::Answer || self.person == Person::Nobody {
            // The output goes through this process, so that the call finds no terminal to ask on.
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            if let Some(columns) = width() {
                command.env("COLUMNS", columns.to_string());
            }
        }
        Ok(command.spawn()?)
    }

    fn show(&self, step: &TourStep, output: &Output) {
        print(&String::from_utf8_lossy(&output.stdout));
        print(&String::from_utf8_lossy(&output.stderr));
        let is_seen = step.part == PersonsPart::Answer && self.person == Person::AtTerminal;
        if !is_seen && !output.status.success() {
            let code = format!("(exit {})", output.status.code().unwrap_or_default());
            print(&format!("{}\n", self.terminal.paint(Paint::Dim, &code)));
        }
    }

    /// Returns the command that comes after the tour, so that it works when it is pasted.
    fn next_command(&self) -> String {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = typed_program(&self.program, &path);
        format!("{program} doctor")
    }
}

/// Waits for a line on stdin. Returns whether there was one in time.
fn read_line() -> bool {
    let stdin = std::io::stdin();
    let time = Timespec { tv_sec: ENTER_TIME.as_secs().cast_signed(), tv_nsec: 0 };
    let mut polls = [PollFd::new(&stdin, PollFlags::IN)];
    if !matches!(poll(&mut polls, Some(&time)), Ok(1)) {
        return false;
    }
    matches!(stdin.lock().read(&mut [0; 256]), Ok(read) if read > 0)
}

/// Returns what to type to run this program: its name if `PATH` leads to it, its whole path otherwise.
fn typed_program(program: &Path, path: &OsStr) -> String {
    let name = program.file_name().unwrap_or_default();
    let found = std::env::split_paths(path).map(|folder| folder.join(name)).find(|it| it.is_file());
    let is_it = found.is_some_and(|found| found.canonicalize().is_ok_and(|found| found == program));
    let typed = if is_it { Path::new(name) } else { program };
    quoted(&typed.to_string_lossy())
}

/// Returns a word as it would be typed: of `KEY=TEXT`, only the text is quoted.
fn typed(word: &str) -> String {
    match word.split_once('=') {
        Some((key, text)) => format!("{key}={}", quoted(text)),
        None => quoted(word),
    }
}

/// A temporary folder for the tour. It is removed when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, CliError> {
        // The end of an id is random.
        let id = toolcrib_ledger::new_call_id().0.to_lowercase();
        let name = format!("toolcrib-{}", &id[id.len().saturating_sub(8)..]);
        let folder = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let scratch = Self(folder);
        std::fs::create_dir(scratch.project())?;
        Ok(scratch)
    }

    fn project(&self) -> PathBuf {
        self.0.join("demo")
    }

    /// Removes the folder, and returns what to tell about that.
    fn remove(&self) -> String {
        match std::fs::remove_dir_all(&self.0) {
            Ok(()) => "The scratch project is deleted.".to_owned(),
            Err(err) => format!("{} could not be deleted: {err}.", self.0.display()),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_command_has_the_path_that_works() {
        let program = std::env::current_exe().unwrap().canonicalize().unwrap();
        let (folder, name) = (program.parent().unwrap(), program.file_name().unwrap());
        let path = std::env::join_paths([Path::new("/nonexistent"), folder]).unwrap();
        assert_eq!(typed_program(&program, &path), name.to_str().unwrap());
        for path in ["", "/nonexistent"] {
            assert_eq!(typed_program(&program, path.as_ref()), program.to_str().unwrap());
        }
        // Another program of that name comes first.
        let other = Path::new("/opt/my tools/sh");
        assert_eq!(typed_program(other, "/bin".as_ref()), "'/opt/my tools/sh'");
    }
}
