//! Asking a person on the terminal. What is shown is what will run; Enter, the end of input and
//! anything but yes mean no.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use serde_json::Value;
use toolcrib_core::escape;
use toolcrib_core::policy::{Answer, Covers, Scope, Wish};
use toolcrib_core::reading::join;
use toolcrib_runtime::{AnswerFuture, Approver, Question};

use super::render::{LEFT_OUT, texts};
use crate::terminal::{Paint, Terminal};

/// A person at the terminal.
pub(super) struct Prompt {
    terminal: Terminal,
    /// How long there is to answer.
    time: Duration,
    /// One question at a time.
    asking: tokio::sync::Mutex<()>,
}

/// The longest answer.
const MOST_TYPED: usize = 64 << 10;

/// Who answers here.
const WHO: &str = "terminal";

impl Prompt {
    /// Returns a prompt if someone is there to see and answer it.
    pub(super) fn on_terminal(terminal: Terminal, time: Duration) -> Option<Self> {
        let is_seen = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        let is_attended = is_seen && keyboard().is_some();
        is_attended.then(|| Self { terminal, time, asking: tokio::sync::Mutex::new(()) })
    }

    /// The question, and whether all of it is shown. With `all`, it is.
    fn text(&self, question: &Question, all: bool) -> (String, bool) {
        let most = if all { usize::MAX } else { MOST_SHOWN };
        let declaration = question.declaration;
        let mut text = format!(
            "{} {}\nParameters:\n",
            self.terminal.paint_err(Paint::Strong, "Tool:"),
            declaration.name,
        );
        let edits = &question.plan.edits;
        for (key, value) in question.args.as_object().into_iter().flatten() {
            // What is shown line by line below is only counted here.
            let is_below = value.is_string()
                && edits.iter().any(|edit| edit.after.as_deref() == value.as_str());
            let shown = match value {
                Value::String(text) if is_below => format!("<{} bytes>", text.len()),
                Value::String(text) => folded(&block(text), most).into_owned(),
                other => folded(&escape::line(&other.to_string()), most).into_owned(),
            };
            let _ = writeln!(text, "  {}: {shown}", escape::line(key));
        }
        if !edits.is_empty() {
            let paths: Vec<_> = edits.iter().map(|edit| escape::line(&edit.path)).collect();
            let _ = writeln!(text, "Files affected: {}", paths.join(", "));
            for place in &question.places {
                let _ = writeln!(text, "Location: {}", escape::line(place));
            }
        }
        let _ = writeln!(text, "Risk level: {}", declaration.tier.risk().as_str());
        let _ = writeln!(text, "Asked because: {}", question.decision.rule);
        if let Some(source) = &question.decision.source {
            let _ =
                writeln!(text, "Rule from: {}, line {}", escape::line(&source.file), source.line);
        }
        if let Some(reading) = &question.decision.reading {
            let _ = writeln!(text, "Reading: {}", folded(&escape::line(reading), most));
        }
        for loose in &question.unpinned {
            let _ = writeln!(text, "Not bound: {}", escape::line(loose));
        }
        for edit in edits {
            let (before, after) = (edit.before.as_deref(), edit.after.as_deref());
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            if all {
                text.push_str(&whole(before, after));
            } else {
                text.push_str(&texts(self.terminal, before, after));
            }
        }
        let is_whole = all || !(text.contains(HIDDEN) || text.contains(LEFT_OUT));
        if !is_whole {
            text.push_str("\nNot all of it is shown: v shows the rest.");
        }
        text = without_gaps(&text);
        text.push_str("\nApprove? (y/n/always): ");
        (text, is_whole)
    }
}

impl Approver for Prompt {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move {
            let _one = self.asking.lock().await;
            let (text, is_whole) = self.text(question, false);
            let all = self.text(question, true).0;
            let (question, time) = (question.clone(), self.time);
            let shown = Shown { text, all, is_whole };
            let answer =
                tokio::task::spawn_blocking(move || Dialog::open(time)?.answer(shown, &question));
            let start = Instant::now();
            let answer = answer.await.ok().flatten();
            answer.unwrap_or_else(|| {
                let is_late = start.elapsed() >= time;
                let words = format!("nobody answered within {} s", time.as_secs());
                if is_late {
                    Answer::No("nobody".to_owned(), words)
                } else {
                    Answer::No(WHO.to_owned(), String::new())
                }
            })
        })
    }
}

/// The longest argument that is shown whole at first.
const MOST_SHOWN: usize = 4000;

/// What stands for what is not shown.
const HIDDEN: &str = "bytes not shown …]";

/// A question as it is shown.
struct Shown {
    text: String,
    /// The same with nothing left out.
    all: String,
    is_whole: bool,
}

/// A text as it is, its lines below each other: a line break is none of its characters.
fn block(text: &str) -> String {
    if !text.contains('\n') {
        return escape::line(text).into_owned();
    }
    let lines = text.split('\n').map(|line| format!("\n    | {}", escape::line(line)));
    lines.collect()
}

/// The longest run of blanks that is shown as it is: more could push what is before it out of sight.
const MOST_BLANKS: usize = 40;

/// A text with long runs of blanks counted in their place.
fn without_gaps(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(' ') {
        out.push_str(&rest[..at]);
        let blanks = rest[at..].len() - rest[at..].trim_start_matches(' ').len();
        if blanks > MOST_BLANKS {
            let _ = write!(out, " [… {blanks} blanks …] ");
        } else {
            out.push_str(&rest[at..at + blanks]);
        }
        rest = &rest[at + blanks..];
    }
    out + rest
}

/// Both sides of a change, whole.
fn whole(before: &str, after: &str) -> String {
    let side = |name: &str, text: &str| {
        format!("  {name} ({} bytes):{}\n", text.len(), block(&format!("{text}\n")))
    };
    format!("{}{}", side("before", before), side("after", after))
}

/// A long text without its middle, and how much that is: its end must not be pushed out of sight.
fn folded(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(most / 4 * 3);
    let tail = text.ceil_char_boundary(text.len() - most / 4);
    let hidden = tail - head;
    Cow::Owned(format!("{} [… {hidden} {HIDDEN} {}", &text[..head], &text[tail..]))
}

/// Returns where a person types: stdin, or the terminal itself where stdin is something else.
fn keyboard() -> Option<File> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return stdin.as_fd().try_clone_to_owned().ok().map(File::from);
    }
    File::open("/dev/tty").ok()
}

/// One question and what follows from its answer. Whatever is not clearly yes is no.
struct Dialog {
    keyboard: File,
    /// What was typed and is not a line yet.
    typed: Vec<u8>,
    until: Instant,
}

impl Dialog {
    fn open(time: Duration) -> Option<Self> {
        let keyboard = keyboard()?;
        // What was typed before the question was not an answer to it.
        let _ = tcflush(&keyboard, QueueSelector::IFlush);
        Some(Self { keyboard, typed: Vec::new(), until: Instant::now() + time })
    }

    fn answer(&mut self, shown: Shown, question: &Question) -> Option<Answer> {
        show(&shown.text);
        let mut is_seen = shown.is_whole;
        let mut wrong = 0;
        while wrong < 3 {
            let line = self.line()?;
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match word.to_lowercase().as_str() {
                "v" | "view" if rest.is_empty() => {
                    show(&shown.all);
                    is_seen = true;
                }
                "y" | "yes" | "a" | "always" if !is_seen && rest.is_empty() => {
                    is_seen = true;
                    show("Not all of it was shown: v shows it, y once more runs it unseen: ");
                }
                "y" | "yes" if rest.is_empty() => return Some(Answer::Yes(WHO.to_owned())),
                "a" | "always" if rest.is_empty() => {
                    let wish = self.wish(question)?;
                    return Some(Answer::Always(WHO.to_owned(), wish));
                }
                "n" | "no" | "" => {
                    return Some(Answer::No(WHO.to_owned(), rest.trim().to_owned()));
                }
                _ => {
                    wrong += 1;
                    show("Answer y, n or always; after n, words for the agent: ");
                }
            }
        }
        None
    }

    /// Finds out what "always" is to mean, and shows it before it is stored.
    fn wish(&mut self, question: &Question) -> Option<Wish> {
        let open: Vec<&Covers> =
            question.choices.iter().filter(|it| it.1.is_none()).map(|it| &it.0).collect();
        let mut text = "\nAlways what?\n".to_owned();
        let mut number = 0;
        for (covers, refused) in &question.choices {
            if let Some(why) = refused {
                let _ = writeln!(text, "  -  {}: too broad: {}", named(covers), escape::line(why));
            } else {
                number += 1;
                let _ = writeln!(text, "  {number}  {}", named(covers));
            }
        }
        text.push_str("Number (Enter: no): ");
        show(&text);
        let covers = open.get(self.line()?.parse::<usize>().ok()?.checked_sub(1)?)?;
        show("Where? s: this session, p: this project, u: wherever I work (Enter: no): ");
        let (scope, place) = match self.line()?.as_str() {
            "s" => (Scope::Session(question.session.clone()), "in this session".to_owned()),
            "p" => {
                let place = format!("in {}", escape::line(&question.root));
                (Scope::Project(question.root.clone()), place)
            }
            "u" => (Scope::User, "wherever I work".to_owned()),
            _ => return None,
        };
        show("How long? 1: 15 minutes, 2: 8 hours, 3: until revoked (Enter: no): ");
        let (minutes, time) = match self.line()?.as_str() {
            "1" => (Some(15), "for 15 minutes"),
            "2" => (Some(8 * 60), "for 8 hours"),
            "3" => (None, "until revoked"),
            _ => return None,
        };
        let tool = format!("{}/{}", question.catalogue, question.declaration.name);
        let rule = escape::line(&covers.text()).into_owned();
        show(&format!(
            "\nThis is stored, {place}, {time}:\n  tool = \"{tool}\"\n  {rule}\nStore it and run the call? (y/n): "
        ));
        let is_yes = matches!(self.line()?.to_lowercase().as_str(), "y" | "yes");
        is_yes.then(|| Wish { covers: (*covers).clone(), scope, minutes })
    }

    /// Reads one line; nothing at the end of input or of the time there is to answer. What is not ended by
    /// Enter is no line.
    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.typed.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line).trim().to_owned());
            }
            let left = self.until.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            };
            let mut polls = [PollFd::new(&self.keyboard, PollFlags::IN)];
            let is_typed = !left.is_zero() && matches!(poll(&mut polls, Some(&timeout)), Ok(1));
            if !is_typed {
                show("\nNobody answered, which means no.\n");
                return None;
            }
            let mut bytes = [0; 1024];
            match self.keyboard.read(&mut bytes) {
                Ok(got) if got > 0 && self.typed.len() < MOST_TYPED => {
                    self.typed.extend_from_slice(&bytes[..got]);
                }
                _ => {
                    // The end of input leaves the cursor after the question.
                    show("\n");
                    return None;
                }
            }
        }
    }
}

fn named(covers: &Covers) -> String {
    match covers {
        Covers::Call { .. } => "this exact call".to_owned(),
        Covers::Argv(words) => format!("commands that begin with: {}", escape::line(&join(words))),
        Covers::Path(path) => format!("calls that change only: {}", escape::line(path)),
    }
}

/// Shows a text where questions are shown.
pub(super) fn show(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
}
