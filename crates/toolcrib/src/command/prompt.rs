//! Asks a person on the terminal about a call. What is shown is what will run. Enter, the end of input and
//! everything but yes mean no.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use serde_json::Value;
use toolcrib_core::command_reading::join;
use toolcrib_core::escape;
use toolcrib_core::policy::{Answer, Covers, Scope, Wish};
use toolcrib_runtime::{AnswerFuture, Approver, Prompt, Question};

use super::render::{LEFT_OUT, texts};
use super::screen::Screen;
use crate::terminal::{Paint, Terminal};

/// A person at the terminal.
pub(super) struct TerminalPrompt {
    terminal: Terminal,
    /// How long the person has to answer.
    time: Duration,
    /// Held while a question is open, so that there is one question at a time.
    asking: tokio::sync::Mutex<()>,
}

/// The most bytes that are read as one answer.
const MOST_TYPED_BYTES: usize = 64 << 10;

/// The name that the record has for the person at the terminal.
const ANSWERED_BY: &str = "terminal";

/// How much of a question is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Long texts are folded.
    Folded,
    /// Nothing is left out.
    Whole,
}

impl TerminalPrompt {
    /// Returns a prompt if a person can see the question and type an answer.
    pub(super) fn on_terminal(terminal: Terminal, time: Duration) -> Option<Self> {
        let is_seen = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        let is_attended = is_seen && keyboard().is_some();
        is_attended.then(|| Self { terminal, time, asking: tokio::sync::Mutex::new(()) })
    }

    /// Returns the text of the question, and how much of the question it shows.
    fn text(&self, question: &Question, extent: Extent, screen: Screen) -> (String, Extent) {
        let most = match extent {
            Extent::Folded => MOST_ARGUMENT_BYTES,
            Extent::Whole => usize::MAX,
        };
        let declaration = question.declaration;
        let mut text = format!(
            "{} {}\nParameters:\n",
            self.terminal.paint_err(Paint::Strong, "Tool:"),
            declaration.name,
        );
        let edits = &question.plan.edits;
        for (key, value) in question.args.as_object().into_iter().flatten() {
            // The difference below shows this text line by line, so only its size is shown here.
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
            let _ = writeln!(text, "Rule: {}, line {}", escape::line(&source.file), source.line);
        }
        if let Some(reading) = &question.decision.reading {
            let _ = writeln!(text, "Reading: {}", folded(&escape::line(reading), most));
        }
        for unpinned in &question.pins.unpinned {
            let _ = writeln!(text, "Your approval does not pin: {}", escape::line(unpinned));
        }
        for edit in edits {
            let (before, after) = (edit.before.as_deref(), edit.after.as_deref());
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            text.push_str(&match extent {
                Extent::Folded => texts(self.terminal, before, after),
                Extent::Whole => whole(before, after),
            });
        }
        let text = without_gaps(text.trim_end_matches('\n'));
        let is_cut = extent == Extent::Folded && (text.contains(HIDDEN) || text.contains(LEFT_OUT));
        let mut rows = screen.rows_of(&text);
        let folded = match extent {
            Extent::Folded => screen.folded(&rows, ROWS_BELOW),
            Extent::Whole => None,
        };
        let is_folded = is_cut || folded.is_some();
        rows = folded.unwrap_or(rows);
        rows.push(String::new());
        if is_folded {
            rows.push("Some of this is hidden. Type v to see all of it.".to_owned());
        }
        rows.push(screen.one_row(&target(question)));
        rows.push(QUESTION.to_owned());
        (rows.join("\n"), if is_folded { Extent::Folded } else { Extent::Whole })
    }
}

impl Prompt for TerminalPrompt {
    fn dismiss(&self) {
        show("\nAnswered elsewhere.\n");
    }
}

impl Approver for TerminalPrompt {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move {
            let _one = self.asking.lock().await;
            let screen = Screen::of_stderr();
            let (text, extent) = self.text(question, Extent::Folded, screen);
            let whole = self.text(question, Extent::Whole, screen).0;
            let (question, time) = (question.clone(), self.time);
            let text = QuestionText { text, extent, whole };
            let answer =
                tokio::task::spawn_blocking(move || Dialog::open(time)?.answer(text, &question));
            let start = Instant::now();
            let answer = answer.await.ok().flatten();
            answer.unwrap_or_else(|| {
                let is_late = start.elapsed() >= time;
                let words = format!("nobody answered within {} s", time.as_secs());
                if is_late {
                    Answer::No("nobody".to_owned(), words)
                } else {
                    Answer::No(ANSWERED_BY.to_owned(), String::new())
                }
            })
        })
    }
}

/// The last row of a question, behind which the answer is typed.
const QUESTION: &str = "Approve? (y/n/always): ";

/// How many rows stand below what is asked about: an empty one, the note that something is hidden, the target, the
/// question.
const ROWS_BELOW: usize = 4;

/// Returns what is asked about in a few words, for the row above the question: whatever stands further up may have
/// been pushed out of sight.
fn target(question: &Question) -> String {
    let edits = &question.plan.edits;
    let what = match (&question.plan.command, &edits[..]) {
        (Some(command), _) => command.text.clone(),
        (None, [edit, others @ ..]) => {
            let more = if others.is_empty() {
                String::new()
            } else {
                format!(" and {} more", others.len())
            };
            format!("{}{more}", edit.path)
        }
        (None, []) => question.plan.reads.join(", "),
    };
    let colon = if what.is_empty() { "" } else { ": " };
    without_gaps(&format!("{}{colon}{}", question.tool, escape::line(&what)))
}

/// The longest argument that is not folded at first.
const MOST_ARGUMENT_BYTES: usize = 4000;

/// The mark that stands for the folded part of a text.
const HIDDEN: &str = "bytes not shown …]";

/// A question in words.
struct QuestionText {
    /// The text that is shown first.
    text: String,
    /// How much of the question that text shows.
    extent: Extent,
    /// The text with nothing left out.
    whole: String,
}

/// Returns a text with each of its lines on a row of its own, marked at the left, so that a line break in the
/// text cannot begin a row of ours.
fn block(text: &str) -> String {
    if !text.contains('\n') {
        return escape::line(text).into_owned();
    }
    let lines = text.split('\n').map(|line| format!("\n    | {}", escape::line(line)));
    lines.collect()
}

/// The longest run of blanks that is shown as it is. A longer run could push the text before it out of sight.
const MOST_BLANKS: usize = 40;

/// Returns a text in which long runs of blanks are replaced by their count.
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

/// Returns both sides of a change in full.
fn whole(before: &str, after: &str) -> String {
    let side = |name: &str, text: &str| {
        format!("  {name} ({} bytes):{}\n", text.len(), block(&format!("{text}\n")))
    };
    format!("{}{}", side("before", before), side("after", after))
}

/// Returns a long text with its middle replaced by a count, so that its end is not pushed out of sight.
fn folded(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(most / 4 * 3);
    let tail = text.ceil_char_boundary(text.len() - most / 4);
    let hidden = tail - head;
    Cow::Owned(format!("{} [… {hidden} {HIDDEN} {}", &text[..head], &text[tail..]))
}

/// Returns the file that a person types into: stdin, or the terminal itself if stdin is something else.
fn keyboard() -> Option<File> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return stdin.as_fd().try_clone_to_owned().ok().map(File::from);
    }
    File::open("/dev/tty").ok()
}

/// One question and what follows from its answer. An answer that is not clearly yes is no.
struct Dialog {
    keyboard: File,
    /// The bytes that were typed and not ended by Enter yet.
    typed: Vec<u8>,
    /// When the time to answer is over.
    deadline: Instant,
}

impl Dialog {
    fn open(time: Duration) -> Option<Self> {
        let keyboard = keyboard()?;
        // Input from before the question is not an answer to it.
        let _ = tcflush(&keyboard, QueueSelector::IFlush);
        Some(Self { keyboard, typed: Vec::new(), deadline: Instant::now() + time })
    }

    /// Shows the question and returns the answer; nothing if there is none.
    fn answer(&mut self, text: QuestionText, question: &Question) -> Option<Answer> {
        show(&text.text);
        let mut is_seen = text.extent == Extent::Whole;
        let mut wrong = 0;
        while wrong < 3 {
            let line = self.line()?;
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match word.to_lowercase().as_str() {
                "v" | "view" if rest.is_empty() => {
                    show(&text.whole);
                    is_seen = true;
                }
                "y" | "yes" | "a" | "always" if !is_seen && rest.is_empty() => {
                    is_seen = true;
                    show(
                        "You have not seen all of it. Type v to see it, or y again to run it anyway: ",
                    );
                }
                "y" | "yes" if rest.is_empty() => return Some(Answer::Yes(ANSWERED_BY.to_owned())),
                "a" | "always" if rest.is_empty() => {
                    let wish = self.grant(question)?;
                    return Some(Answer::Always(ANSWERED_BY.to_owned(), wish));
                }
                "n" | "no" | "" => {
                    return Some(Answer::No(ANSWERED_BY.to_owned(), rest.trim().to_owned()));
                }
                _ => {
                    wrong += 1;
                    show("Type y, n or always; after n you can add a message for the agent: ");
                }
            }
        }
        None
    }

    /// Asks what "always" covers, where and for how long, and shows the grant before it is stored.
    fn grant(&mut self, question: &Question) -> Option<Wish> {
        let open: Vec<&Covers> =
            question.choices.iter().filter(|it| it.1.is_none()).map(|it| &it.0).collect();
        let mut text = "\nAlways allow what?\n".to_owned();
        let mut number = 0;
        for (covers, refused) in &question.choices {
            if let Some(why) = refused {
                let covered = named(covers);
                let covered = covered.trim_end_matches(NEW_FLAGS);
                let _ = writeln!(text, "  -  {covered}: too broad: {}", escape::line(why));
            } else {
                number += 1;
                let _ = writeln!(text, "  {number}  {}", named(covers));
            }
        }
        text.push_str("Number (Enter: no): ");
        show(&text);
        let covers = open.get(self.line()?.parse::<usize>().ok()?.checked_sub(1)?)?;
        show("Where? s: this session, p: this project, u: everywhere (Enter: no): ");
        let (scope, place) = match self.line()?.as_str() {
            "s" => (Scope::Session(question.session.clone()), "in this session".to_owned()),
            "p" => {
                let place = format!("in {}", escape::line(&question.root));
                (Scope::Project(question.root.clone()), place)
            }
            "u" => (Scope::User, "everywhere".to_owned()),
            _ => return None,
        };
        show("How long? 1: 15 minutes, 2: 8 hours, 3: until revoked (Enter: no): ");
        let (minutes, time) = match self.line()?.as_str() {
            "1" => (Some(15), "for 15 minutes"),
            "2" => (Some(8 * 60), "for 8 hours"),
            "3" => (None, "until revoked"),
            _ => return None,
        };
        let tool = &question.tool;
        let rule = escape::line(&covers.text()).into_owned();
        show(&format!(
            "\nThis grant will be stored, {place}, {time}:\n  tool = \"{tool}\"\n  {rule}\nStore it and run the call? (y/n): "
        ));
        let is_yes = matches!(self.line()?.to_lowercase().as_str(), "y" | "yes");
        is_yes.then(|| Wish { covers: (*covers).clone(), scope, minutes })
    }

    /// Reads one line that was ended by Enter. Returns nothing at the end of input or when the time is over.
    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.typed.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line).trim().to_owned());
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            };
            let mut polls = [PollFd::new(&self.keyboard, PollFlags::IN)];
            let is_typed = !left.is_zero() && matches!(poll(&mut polls, Some(&timeout)), Ok(1));
            if !is_typed {
                show("\nNo answer in time, so the answer is no.\n");
                return None;
            }
            let mut bytes = [0; 1024];
            match self.keyboard.read(&mut bytes) {
                Ok(got) if got > 0 && self.typed.len() < MOST_TYPED_BYTES => {
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

/// What a grant for a program whose flags are not known says beside its words.
const NEW_FLAGS: &str = " (asks about new flags)";

/// Returns what a grant would cover, in words.
fn named(covers: &Covers) -> String {
    match covers {
        Covers::Call { .. } => "this exact call".to_owned(),
        Covers::Argv(words) => {
            let but = if covers.asks_about_new_flags() { NEW_FLAGS } else { "" };
            format!("commands that begin with: {}{but}", escape::line(&join(words)))
        }
        Covers::Path(path) => format!("calls that change only: {}", escape::line(path)),
    }
}

/// Writes a text to stderr, where questions are shown.
fn show(text: &str) {
    let text = Screen::of_stderr().wrap(text);
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;
    use toolcrib_core::policy::{Mode, Source, by_tier};
    use toolcrib_core::tool::ProposedEdit;
    use toolcrib_core::{CallId, Plan, ToolName};
    use toolcrib_runtime::Pins;
    use toolcrib_tools::CATALOGUES;

    use super::*;
    use crate::cli::Cli;

    /// Returns the question about a call of `tool`, with this plan.
    fn question(tool: &str, args: Value, plan: Plan) -> Question {
        let tool = ToolName::from(tool);
        let catalogue = CATALOGUES.iter().find(|it| Some(it.name) == tool.catalogue()).unwrap();
        let declarations = catalogue.tools.iter().map(|tool| tool.declaration());
        let declaration = declarations.into_iter().find(|it| it.name == tool.tool()).unwrap();
        let places = plan.edits.iter().map(|edit| format!("/proj/{}", edit.path)).collect();
        Question {
            call: CallId("01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned()),
            digest: String::new(),
            pins: Pins::default(),
            tool,
            declaration,
            args,
            plan,
            places,
            decision: by_tier(declaration.tier, Mode::Standard),
            choices: Vec::new(),
            session: "cli-1".to_owned(),
            root: "/proj".to_owned(),
        }
    }

    fn edit(path: &str, before: Option<&str>, after: &str) -> Plan {
        let (before, after) = (before.map(str::to_owned), Some(after.to_owned()));
        let edits = vec![ProposedEdit { path: path.to_owned(), before, after }];
        Plan { edits, ..Plan::default() }
    }

    fn shown(question: &Question, extent: Extent) -> String {
        shown_on(Screen::new(80, 24), question, extent).0
    }

    fn shown_on(screen: Screen, question: &Question, extent: Extent) -> (String, Extent) {
        let cli = Cli::parse_from(["toolcrib", "--color", "never", "tour"]);
        let terminal = Terminal::new(&cli.global);
        let asking = tokio::sync::Mutex::new(());
        TerminalPrompt { terminal, time: Duration::ZERO, asking }.text(question, extent, screen)
    }

    #[test]
    fn questions_are_asked_in_these_words() {
        let new = "print('hello')\n";
        let create = question(
            "wink/create_file",
            json!({"path": "hello.py", "content": new}),
            edit("hello.py", None, new),
        );
        let mut ruled = question(
            "clemini/bash",
            json!({"command": "sh run.sh \u{1b}[2J\necho two", "timeout": 5}),
            Plan::default(),
        );
        ruled.pins.unpinned = vec![
            "`$HOME` is only known when it runs".to_owned(),
            "the other files that `sh` reads".to_owned(),
        ];
        let source = Source { file: "/home/user/rules.toml".to_owned(), line: 7 };
        ruled.decision.source = Some(source);
        ruled.decision.reading = Some("runs `sh run.sh`, then `echo two`".to_owned());
        let long = question(
            "wink/create_file",
            json!({"path": "a", "content": "b", "note": "x".repeat(5000) + &" ".repeat(50) + "y"}),
            edit("a", Some("a\n"), "b"),
        );
        let all = [
            ("a new file", shown(&create, Extent::Folded)),
            ("a new file, in full", shown(&create, Extent::Whole)),
            ("a command, by a rule", shown(&ruled, Extent::Folded)),
            ("a long argument", shown(&long, Extent::Folded)),
        ];
        let all = all.map(|(about, text)| format!("# {about}\n{text}\n"));
        insta::assert_snapshot!("questions", all.concat());
    }

    #[test]
    fn what_does_not_fit_on_the_screen_is_folded() {
        let command = |text: &str| {
            let mut question = question("clemini/bash", json!({"command": text}), Plan::default());
            question.decision.reading = Some("runs something".to_owned());
            question
        };
        // A command that would scroll its end off the screen.
        let long = command(&format!("{}touch PWNED", "true; ".repeat(500)));
        // An argument that is padded to the width would begin a row of its own.
        let forged = command(&format!("true{}Approve? (y/n/always): y", " ".repeat(30)));
        for columns in [20, 40, 80, 200] {
            for rows in [5, 10, 24, 50] {
                let screen = Screen::new(columns, rows);
                let (text, extent) = shown_on(screen, &long, Extent::Folded);
                assert!(text.lines().count() <= rows, "{columns} x {rows}: {text}");
                let is_seen = !text.contains("not shown …]");
                assert_eq!(is_seen, extent == Extent::Whole, "{columns} x {rows}: {text}");
                let whole = shown_on(screen, &long, Extent::Whole).0;
                assert!(whole.replace("\n    ↪ ", "").contains("touch PWNED"), "{whole}");
                let text = shown_on(screen, &forged, Extent::Whole).0;
                let questions = text.lines().filter(|row| row.starts_with("Approve?"));
                assert_eq!(questions.count(), 1, "{text}");
            }
        }
        // The control: on a large screen, everything is there, and one yes is enough.
        let (text, extent) = shown_on(Screen::new(200, 100), &long, Extent::Folded);
        assert!(extent == Extent::Whole && text.contains("PWNED"), "{text}");
        let narrow = shown_on(Screen::new(60, 12), &long, Extent::Folded).0;
        let padded = shown_on(Screen::new(40, 24), &forged, Extent::Folded).0;
        insta::assert_snapshot!("folded", format!("{narrow}\n\n{padded}\n"));
    }

    #[test]
    fn what_always_could_cover_is_named_in_these_words() {
        let words = ["touch".to_owned(), "a b".to_owned()];
        let all = [
            Covers::Call { args: "{}".to_owned(), links: Vec::new() },
            Covers::Argv(words.to_vec()),
            Covers::Argv(["svn".to_owned(), "diff".to_owned()].to_vec()),
            Covers::Path("/proj/a\u{1b}".to_owned()),
        ];
        let all = all.map(|covers| format!("{}\n  {}\n", named(&covers), covers.text()));
        insta::assert_snapshot!("covers", all.concat());
    }
}
