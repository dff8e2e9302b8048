//! Asks a person on the terminal about a call. What is shown is what will run.

mod change_call;
mod device;
mod dialog;
mod keys;
mod open_question;
mod page;
mod question_page;
mod text;
mod tool_question;
mod wink_form;

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use toolcrib_core::escape;
use toolcrib_core::policy::{Answer, NOBODY};
use toolcrib_ledger::new_call_id;
use toolcrib_runtime::{AnswerFuture, Approver, Prompt, Question};

use self::change_call::ChangedArgs;
use self::device::{Device, Input, KeyMode, TypedLine, Waker};
use self::dialog::{ANSWERED_BY, Dialog, Reaction};
use self::open_question::{OpenQuestion, take_screen};
pub(super) use self::question_page::ChangeOffer;
use self::question_page::{PageMaker, QuestionForm};
pub(super) use self::tool_question::PersonAtTerminal;
use super::screen::Screen;
use crate::settings::Settings;
use crate::settings::{AskStyle, table};
use crate::terminal::{Paint, Terminal};

/// A person at the terminal.
pub(super) struct TerminalPrompt {
    terminal: Terminal,
    manner: AskManner,
    /// Held while a question is open, so that there is one question at a time.
    asking: tokio::sync::Mutex<()>,
    /// The ids of the questions that were shown and have no answer from here.
    shown: Mutex<HashSet<String>>,
}

/// How a person is asked.
#[derive(Clone, Copy)]
pub(super) struct AskManner {
    /// How long the person has to answer.
    pub(super) time: Duration,
    pub(super) style: AskStyle,
    /// How long a question must be there before a key approves the call.
    pub(super) delay: Duration,
    pub(super) change: ChangeOffer,
}

impl AskManner {
    /// Returns what the settings say.
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            time: settings.get(table::POLICY_APPROVAL_SECONDS),
            style: settings.get(table::ASK_STYLE),
            delay: settings.get(table::ASK_DELAY_MS),
            change: ChangeOffer::Offered,
        }
    }
}

/// Whether a person was told that their answer is no.
static TOLD_NO: AtomicBool = AtomicBool::new(false);

/// How many seconds lie between two times that the page shows. A screen reader may read each of them.
const TIME_STEP: u64 = 10;

/// How much time is left when the person is told that there is little.
const LITTLE_TIME: Duration = Duration::from_secs(20);

impl TerminalPrompt {
    /// Returns a prompt if a person can see the question and type an answer.
    pub(super) fn on_terminal(terminal: Terminal, manner: AskManner) -> Option<Self> {
        let asking = tokio::sync::Mutex::new(());
        Device::is_there().then(|| Self { terminal, manner, asking, shown: Mutex::default() })
    }

    fn shown(&self) -> MutexGuard<'_, HashSet<String>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an answer is that of the person at the terminal, and not of the clock.
    pub(super) fn is_person(by: &str) -> bool {
        by == ANSWERED_BY
    }

    /// Whether the person at this terminal said no, and was told so.
    pub(super) fn told_no() -> bool {
        TOLD_NO.load(Ordering::Relaxed)
    }
}

/// Returns the form in which a question is asked.
fn form_for(question: &Question, style: AskStyle) -> QuestionForm {
    // The contract has no form for a host.
    if question.shown.host.is_some() {
        return QuestionForm::Toolcrib;
    }
    match (style, question.tool.catalogue()) {
        (AskStyle::Wink, _) | (AskStyle::Auto, Some("wink")) => QuestionForm::Wink,
        (AskStyle::Toolcrib | AskStyle::Auto, _) => QuestionForm::Toolcrib,
    }
}

/// Returns a question as it is asked, with all of its rows and without its keys.
pub(super) fn page_of(question: &Question, terminal: Terminal, style: AskStyle) -> String {
    let form = form_for(question, style);
    let screen = Screen::of(std::io::stdout());
    let change = ChangeOffer::NotOffered;
    PageMaker { question, terminal, form, screen, seconds_left: 0, change }.unfolded()
}

impl Prompt for TerminalPrompt {
    fn dismiss(&self, question: &Question) {
        // One that waited behind another question was never on the screen.
        if !self.shown().remove(&question.id) {
            return;
        }
        match &question.shown.host {
            None => self.terminal.note("Answered elsewhere."),
            Some(host) => {
                let host = host.to_string();
                self.terminal.note(&format!("Answered elsewhere: {}", escape::line(&host)));
            }
        }
    }
}

impl Approver for TerminalPrompt {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move {
            let _one = self.asking.lock().await;
            let Some(waker) = Waker::new() else { return Answer::Nobody };
            self.shown().insert(question.id.clone());
            let conversation = Conversation {
                question: question.clone(),
                terminal: self.terminal,
                form: form_for(question, self.manner.style),
                deadline: Cell::new(Instant::now() + self.manner.time),
                draft: Cell::default(),
                manner: self.manner,
            };
            let (over, is_over) = mpsc::channel();
            // When the question is taken away, the terminal is put back before anything else happens.
            let _open = OpenQuestion { waker: waker.clone(), is_over };
            let answer = tokio::task::spawn_blocking(move || {
                let answer = Device::open(waker).and_then(|device| conversation.hold(device));
                let _ = over.send(());
                answer
            });
            let answer = answer.await;
            self.shown().remove(&question.id);
            answer.ok().flatten().unwrap_or(Answer::Nobody)
        })
    }
}

/// Whether a key or word could approve a call.
fn approves(typed: &str) -> bool {
    typed.starts_with(['y', 'Y', 'a', 'A'])
}

/// One question, from the page to the answer.
struct Conversation {
    question: Question,
    terminal: Terminal,
    form: QuestionForm,
    /// Until when there is time to answer.
    deadline: Cell<Instant>,
    /// What the person wrote in place of the call, and is not one yet.
    draft: Cell<Option<String>>,
    manner: AskManner,
}

/// How a question goes on.
enum NextStep {
    Answered(Answer),
    /// The question was taken away.
    TakenAway,
    /// Something was shown that the person reads before the next key.
    Shown,
    /// It stays as it is.
    Stays,
}

impl Conversation {
    /// Shows the question and returns the answer; nothing if the question is taken away.
    fn hold(&self, mut device: Device) -> Option<Answer> {
        // What a running command prints would push the question away.
        let _screen = take_screen(&device);
        let mut size = device.screen();
        let mut maker = self.page_maker(&device, size);
        let mut page = maker.page();
        let mut dialog = Dialog::new(&page);
        self.show_page(&device, &page.rows);
        let mut shown_at = Instant::now();
        // Whether the cursor is still behind the last row of the page.
        let mut is_at_page = device.mode() == KeyMode::Keys;
        let mut is_warned = self.manner.time <= LITTLE_TIME;
        let answer = loop {
            let input = device.next(self.deadline.get());
            is_at_page &= input == Input::Tick;
            let reaction = match input {
                // Nobody has read what has just appeared. Without this, a key held for the text before would answer it.
                Input::Text(typed)
                    if device.mode() == KeyMode::Keys
                        && approves(&typed)
                        && shown_at.elapsed() < self.manner.delay =>
                {
                    let text = "\nThe question has only just appeared. Read it, then press the key again.\n";
                    self.show(&device, text);
                    continue;
                }
                Input::Text(typed) => {
                    maker.seconds_left = self.seconds_left();
                    device.show("\n");
                    dialog.react(&typed, &maker)
                }
                Input::Burst => {
                    device.forget_what_was_typed();
                    Reaction::Show("\nSeveral keys arrived at once. Press one key.\n".to_owned())
                }
                Input::End => {
                    device.show("\n");
                    break Answer::No(ANSWERED_BY.to_owned(), String::new());
                }
                Input::Woken => {
                    device.show("\n");
                    return None;
                }
                Input::Tick if Instant::now() >= self.deadline.get() => {
                    let words = format!("nobody answered within {} s", self.manner.time.as_secs());
                    device.show("\n");
                    break Answer::No(NOBODY.to_owned(), words);
                }
                Input::Tick if device.screen() != size => {
                    size = device.screen();
                    maker = self.page_maker(&device, size);
                    page = maker.page();
                    match dialog.resized(&page, &maker) {
                        Some(text) => self.show(&device, &text),
                        None => self.show_page(&device, &page.rows),
                    }
                    shown_at = Instant::now();
                    continue;
                }
                Input::Tick => {
                    if !is_warned && self.seconds_left() <= LITTLE_TIME.as_secs() {
                        is_warned = true;
                        device.show(&format!("\n{} s left to answer.\n", self.seconds_left()));
                        is_at_page = false;
                    }
                    maker.seconds_left = self.seconds_left();
                    if is_at_page
                        && maker.seconds_left.is_multiple_of(TIME_STEP)
                        && let Some(row) = maker.row_of_time(&page)
                    {
                        device.show(&format!("\r{row}\u{1b}[K"));
                    }
                    continue;
                }
            };
            match self.follow(reaction, &mut device, size) {
                NextStep::Answered(answer) => break answer,
                NextStep::TakenAway => return None,
                NextStep::Shown => shown_at = Instant::now(),
                NextStep::Stays => {}
            }
        };
        self.confirm(&device, &answer);
        Some(answer)
    }

    /// Does what follows from what was typed.
    fn follow(&self, reaction: Reaction, device: &mut Device, size: Screen) -> NextStep {
        match reaction {
            Reaction::Answer(answer) => NextStep::Answered(answer),
            Reaction::Show(text) => {
                self.show(device, &text);
                NextStep::Shown
            }
            Reaction::AskAgain(text) => {
                // The rest of what was pasted is no answer either.
                device.forget_what_was_typed();
                self.show(device, &text);
                NextStep::Stays
            }
            Reaction::ReadReason => {
                device.show("Why not? (Enter alone: no reason) ");
                let no = |reason| NextStep::Answered(Answer::No(ANSWERED_BY.to_owned(), reason));
                match device.line(self.deadline.get()) {
                    TypedLine::Line(reason) => no(reason),
                    TypedLine::Nothing => no(String::new()),
                    TypedLine::TakenAway => NextStep::TakenAway,
                }
            }
            Reaction::ChangeCall => {
                let began = Instant::now();
                let mut draft = self.draft.take();
                let changed = change_call::change(&self.question.args, &mut draft, device);
                self.draft.set(draft);
                match changed {
                    ChangedArgs::Changed(args) => {
                        let (by, call) = (ANSWERED_BY.to_owned(), new_call_id());
                        NextStep::Answered(Answer::Changed { by, call, args })
                    }
                    ChangedArgs::Unchanged(text) => {
                        // Nobody is hurried while they write.
                        self.deadline.set(self.deadline.get() + began.elapsed());
                        let keys = self.page_maker(device, size).keys().join("\n");
                        self.show(device, &format!("{text}\n\n{keys}\n"));
                        NextStep::Shown
                    }
                    ChangedArgs::TakenAway => NextStep::TakenAway,
                }
            }
        }
    }

    fn page_maker(&self, device: &Device, size: Screen) -> PageMaker<'_> {
        PageMaker {
            question: &self.question,
            terminal: self.terminal,
            form: self.form,
            screen: match device.mode() {
                KeyMode::Keys => size,
                // The last row is for what is typed.
                KeyMode::Lines => size.without_last_row(),
            },
            seconds_left: self.seconds_left(),
            change: self.manner.change,
        }
    }

    fn seconds_left(&self) -> u64 {
        let left = self.deadline.get().saturating_duration_since(Instant::now());
        left.as_secs() + u64::from(left.subsec_nanos() > 0)
    }

    fn show_page(&self, device: &Device, rows: &[String]) {
        self.show(device, &rows.join("\n"));
    }

    /// Shows a text. Where whole lines are read, a mark says that one is waited for.
    fn show(&self, device: &Device, text: &str) {
        device.show(&device.screen().wrap(text));
        if device.mode() == KeyMode::Lines && self.form == QuestionForm::Toolcrib {
            let line_end = if text.ends_with('\n') { "" } else { "\n" };
            device.show(&format!("{line_end}> "));
        }
    }

    /// Tells the person what their answer does.
    fn confirm(&self, device: &Device, answer: &Answer) {
        let good = |text: &str| self.terminal.paint_err(Paint::Good, text);
        let bad = |text: &str| self.terminal.paint_err(Paint::Bad, text);
        let text = match answer {
            Answer::Yes(_) if self.question.shown.host.is_some() => {
                format!("{} let through for this command", good("✓"))
            }
            Answer::Yes(_) => format!("{} approved once", good("✓")),
            Answer::Always(_, wish) => {
                let offers = &self.question.shown.grants;
                let offer = offers.iter().find(|offer| offer.wish == *wish);
                let words =
                    offer.map_or_else(String::new, |it| escape::line(&it.words).into_owned());
                let revoke = format!("Revoke with: toolcrib grants revoke {}", self.question.id);
                format!("{} approved, and from now on: {words}\n  {revoke}", good("✓"))
            }
            Answer::No(..) if self.question.shown.host.is_some() => {
                format!("{} not let through; the command goes on", bad("✗"))
            }
            Answer::Changed { .. } => {
                "Changed. Toolcrib decides about the changed call.".to_owned()
            }
            Answer::No(by, words) => {
                TOLD_NO.store(true, Ordering::Relaxed);
                let words = escape::line(words);
                if by == ANSWERED_BY && words.is_empty() {
                    format!("{} not run: you said no", bad("✗"))
                } else if by == ANSWERED_BY {
                    format!("{} not run: you said no (\"{words}\")", bad("✗"))
                } else {
                    format!("{} not run: {words}", bad("✗"))
                }
            }
            Answer::Nobody | Answer::Parked(_) | Answer::RanElsewhere(_) => return,
        };
        device.show(&format!("{}\n", device.screen().wrap(&text)));
    }
}

#[cfg(test)]
mod tests;
