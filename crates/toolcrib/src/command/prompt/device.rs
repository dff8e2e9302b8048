//! The terminal that a question is asked on: where it is shown, and where the keys come from.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetpgrp, tcsetattr,
};

use crate::command::screen::Screen;

/// The most bytes that are taken as one input.
const MOST_TYPED_BYTES: usize = 64 << 10;

/// How long the terminal must be silent before the next key counts as a key of its own: bytes that follow faster are
/// one paste, one key that sends several bytes, or one held key. Keyboards repeat a held key every 30 to 40 ms.
const BURST_GAP: Duration = Duration::from_millis(100);

/// How long the terminal must be silent before a question is shown, so that a key that is still held answers nothing.
const SILENCE: Duration = BURST_GAP;

/// How often the size of the terminal is looked at.
const TICK: Duration = Duration::from_millis(500);

/// How often a program that has the terminal is looked at.
const LENT_TICK: Duration = Duration::from_millis(50);

/// How many ticks a program has to give the terminal back before it is killed.
const LENT_TICKS_TO_END: u32 = 10;

/// What a person did.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// One key; where whole lines are read, a line. Enter alone is empty.
    Text(String),
    /// Several keys at once: a paste, or a key that sends several bytes.
    Burst,
    /// Nothing for a while: time to look at the clock and the size.
    Tick,
    /// The terminal is closed, or nothing more can be typed.
    End,
    /// The question was taken away.
    Woken,
}

/// What came of reading a line.
pub(super) enum TypedLine {
    Line(String),
    /// There was none in time, or the terminal was closed.
    Nothing,
    /// The question was taken away.
    TakenAway,
}

/// How a program gave the terminal back.
pub(super) enum Lent {
    /// It ended.
    Ended(ExitStatus),
    /// It was stopped, because the question was taken away.
    TakenAway,
}

/// Wakes a [`Device`] that waits for a key.
#[derive(Clone)]
pub(super) struct Waker(Arc<OwnedFd>);

impl Waker {
    pub(super) fn new() -> Option<Self> {
        eventfd(0, EventfdFlags::CLOEXEC).ok().map(|fd| Self(Arc::new(fd)))
    }

    pub(super) fn wake(&self) {
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

/// How keys are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyMode {
    /// Each key at once.
    Keys,
    /// Whole lines, as on a terminal that can do nothing else.
    Lines,
}

/// A terminal with a question on it. Its settings are put back when it is dropped.
pub(super) struct Device {
    keyboard: File,
    display: File,
    waker: Waker,
    /// The settings of the terminal from before the question, if they were changed.
    saved: Option<Termios>,
    /// The bytes of a line that Enter has not ended yet.
    typed: Vec<u8>,
    mode: KeyMode,
}

impl Device {
    /// Opens the terminal that the person sits at, if there is one and this process may use it.
    pub(super) fn open(waker: Waker) -> Option<Self> {
        let (keyboard, display) = terminal_files()?;
        let mut device =
            Self { keyboard, display, waker, saved: None, typed: Vec::new(), mode: KeyMode::Lines };
        let is_dumb = std::env::var_os("TERM").is_none_or(|it| it == "dumb" || it.is_empty());
        if !is_dumb {
            device.read_keys();
        }
        device.forget_what_was_typed();
        Some(device)
    }

    /// Whether there is a terminal to ask on.
    pub(super) fn is_there() -> bool {
        terminal_files().is_some()
    }

    pub(super) fn mode(&self) -> KeyMode {
        self.mode
    }

    /// Returns the screen of the terminal.
    pub(super) fn screen(&self) -> Screen {
        Screen::of(&self.display)
    }

    /// Shows a text.
    pub(super) fn show(&self, text: &str) {
        let _ = (&self.display).write_all(text.as_bytes());
    }

    /// Waits for input until `deadline`.
    pub(super) fn next(&mut self, deadline: Instant) -> Input {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.wait(left.min(TICK)) {
            Waited::Woken => return Input::Woken,
            Waited::Silent => return Input::Tick,
            Waited::Typed => {}
        }
        if self.mode == KeyMode::Lines {
            return self.line_input();
        }
        let mut bytes = Vec::new();
        loop {
            if !self.read_into(&mut bytes) {
                return Input::End;
            }
            match self.wait(BURST_GAP) {
                Waited::Typed if bytes.len() < MOST_TYPED_BYTES => {}
                Waited::Typed => {
                    self.forget_what_was_typed();
                    return Input::Burst;
                }
                Waited::Silent | Waited::Woken => return input_of(&bytes),
            }
        }
    }

    /// Reads a line with the terminal's own editing, until Enter.
    pub(super) fn line(&mut self, deadline: Instant) -> TypedLine {
        let mode = self.mode;
        self.put_back();
        self.mode = KeyMode::Lines;
        self.typed.clear();
        let line = loop {
            match self.next(deadline) {
                Input::Text(line) => break TypedLine::Line(line),
                Input::Tick if Instant::now() < deadline => {}
                Input::Tick | Input::Burst | Input::End => break TypedLine::Nothing,
                Input::Woken => break TypedLine::TakenAway,
            }
        };
        if mode == KeyMode::Keys {
            self.read_keys();
        }
        line
    }

    /// Gives the terminal to a program, as it was before the question, until the program ends.
    pub(super) fn lend(&mut self, mut command: Command) -> io::Result<Lent> {
        let before = self.saved.clone();
        self.put_back();
        command.stdin(self.keyboard.try_clone()?);
        command.stdout(self.display.try_clone()?).stderr(self.display.try_clone()?);
        let lent = command.spawn().and_then(|program| self.wait_for_program(program));
        // Whatever the program left, the terminal is as it was, and then reads keys again.
        if let Some(before) = before {
            let _ = tcsetattr(&self.keyboard, OptionalActions::Now, &before);
            self.read_keys();
        }
        self.forget_what_was_typed();
        lent
    }

    fn wait_for_program(&self, mut program: Child) -> io::Result<Lent> {
        loop {
            if let Some(status) = program.try_wait()? {
                return Ok(Lent::Ended(status));
            }
            if self.is_taken_away(LENT_TICK) {
                break;
            }
        }
        let pid = rustix::process::Pid::from_child(&program);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        for _ in 0..LENT_TICKS_TO_END {
            if program.try_wait()?.is_some() {
                return Ok(Lent::TakenAway);
            }
            std::thread::sleep(LENT_TICK);
        }
        program.kill()?;
        program.wait()?;
        Ok(Lent::TakenAway)
    }

    /// Whether the question is taken away within this time.
    fn is_taken_away(&self, within: Duration) -> bool {
        let mut polls = [PollFd::new(&*self.waker.0, PollFlags::IN)];
        matches!(poll(&mut polls, Some(&timespec(within))), Ok(count) if count > 0)
    }

    /// Makes the terminal send each key at once, if it can. Ctrl-C still interrupts.
    fn read_keys(&mut self) {
        let Ok(saved) = tcgetattr(&self.keyboard) else { return };
        let mut raw = saved.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        // A process that is stopped or killed would leave its terminal without an echo.
        raw.special_codes[SpecialCodeIndex::VSUSP] = 0;
        raw.special_codes[SpecialCodeIndex::VQUIT] = 0;
        if tcsetattr(&self.keyboard, OptionalActions::Now, &raw).is_ok() {
            self.saved = Some(saved);
            self.mode = KeyMode::Keys;
        }
    }

    fn put_back(&mut self) {
        if let Some(saved) = self.saved.take() {
            let _ = tcsetattr(&self.keyboard, OptionalActions::Now, &saved);
        }
    }

    /// Drops what was typed until now, and waits until nothing comes any more: a key that is still held is no answer.
    pub(super) fn forget_what_was_typed(&mut self) {
        self.typed.clear();
        loop {
            let _ = tcflush(&self.keyboard, QueueSelector::IFlush);
            if !matches!(self.wait(SILENCE), Waited::Typed) {
                return;
            }
            // At the end of input, nothing can be dropped.
            let mut bytes = [0; 1024];
            if !matches!(self.keyboard.read(&mut bytes), Ok(got) if got > 0) {
                return;
            }
        }
    }

    fn line_input(&mut self) -> Input {
        let mut bytes = Vec::new();
        if !self.read_into(&mut bytes) || self.typed.len() + bytes.len() > MOST_TYPED_BYTES {
            return Input::End;
        }
        self.typed.extend_from_slice(&bytes);
        let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') else {
            return Input::Tick;
        };
        let line: Vec<u8> = self.typed.drain(..=end).collect();
        Input::Text(String::from_utf8_lossy(&line).trim().to_owned())
    }

    fn read_into(&mut self, bytes: &mut Vec<u8>) -> bool {
        let mut buffer = [0; 4096];
        match self.keyboard.read(&mut buffer) {
            Ok(got) if got > 0 => {
                bytes.extend_from_slice(&buffer[..got]);
                true
            }
            _ => false,
        }
    }

    fn wait(&self, most: Duration) -> Waited {
        let timeout = timespec(most);
        let mut polls = [
            PollFd::new(&*self.waker.0, PollFlags::IN),
            PollFd::new(&self.keyboard, PollFlags::IN),
        ];
        if !matches!(poll(&mut polls, Some(&timeout)), Ok(count) if count > 0) {
            return Waited::Silent;
        }
        if polls[0].revents().is_empty() { Waited::Typed } else { Waited::Woken }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = tcflush(&self.keyboard, QueueSelector::IFlush);
        self.put_back();
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

enum Waited {
    Typed,
    Silent,
    Woken,
}

/// Returns what bytes that came together mean.
fn input_of(bytes: &[u8]) -> Input {
    let text = String::from_utf8_lossy(bytes);
    match &*text {
        // The end of input, as a key.
        "\u{4}" => Input::End,
        "\u{1b}" => Input::Text("n".to_owned()),
        "\r" | "\n" | "\r\n" => Input::Text(String::new()),
        key if key.chars().any(char::is_control) || key.chars().count() > 1 => Input::Burst,
        key => Input::Text(key.trim().to_owned()),
    }
}

/// Returns the files to read keys from and to show the question on. Whatever is redirected, that is the terminal of
/// this process; without one, stdin and stderr if both are terminals.
fn terminal_files() -> Option<(File, File)> {
    let (stdin, stderr) = (io::stdin(), io::stderr());
    let has_any = stdin.is_terminal() || stderr.is_terminal() || io::stdout().is_terminal();
    if !has_any {
        return None;
    }
    if let Ok(tty) = File::options().read(true).write(true).open("/dev/tty") {
        // A process in the background would be stopped as soon as it reads.
        let is_in_front = tcgetpgrp(&tty).is_ok_and(|group| group == rustix::process::getpgrp());
        return if is_in_front { Some((tty.try_clone().ok()?, tty)) } else { None };
    }
    let clone = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().ok().map(File::from);
    let is_both = stdin.is_terminal() && stderr.is_terminal();
    is_both.then(|| Some((clone(stdin.as_fd())?, clone(stderr.as_fd())?)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_key_is_an_answer() {
        let text = |text: &str| Input::Text(text.to_owned());
        for (bytes, input) in [
            ("y", text("y")),
            ("\n", text("")),
            ("\r\n", text("")),
            ("?", text("?")),
            ("\u{e4}", text("\u{e4}")),
            ("\u{1b}", text("n")),
            ("\u{4}", Input::End),
            // An arrow key, two keys at once, a paste of one or several lines, a control character.
            ("y\n", Input::Burst),
            ("yes\r", Input::Burst),
            ("\u{1b}[A", Input::Burst),
            ("yy", Input::Burst),
            ("y\ny\n", Input::Burst),
            ("\ny", Input::Burst),
            ("\n\n", Input::Burst),
            ("\u{1}", Input::Burst),
        ] {
            assert_eq!(input_of(bytes.as_bytes()), input, "{bytes:?}");
        }
        assert_eq!(input_of(b"\xff\xfe"), Input::Burst);
    }
}
