//! What follows from what a person types: an answer, or a text to show. Enter and the end of input mean no.

use std::fmt::Write as _;

use toolcrib_core::approval::GrantOffer;
use toolcrib_core::escape;
use toolcrib_core::policy::Answer;

use super::question_page::{PageMaker, QuestionPage};
use super::text::without_gaps;

/// The name that the record has for the person at the terminal.
pub(super) const ANSWERED_BY: &str = "terminal";

/// What follows from an input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    /// The question is answered.
    Answer(Answer),
    /// This text is shown, and the question stays.
    Show(String),
    /// This was no answer: the text says so, and the question stays.
    AskAgain(String),
    /// A line is read: why the answer is no.
    ReadReason,
    /// The call is opened in the person's editor.
    ChangeCall,
}

/// Where a person is between the question and the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// At the question.
    Question,
    /// At the list of scopes.
    Scopes,
    /// At the rule of one scope, which `y` stores.
    Rule(usize),
}

/// One question and what was said about it so far.
#[derive(Debug)]
pub(super) struct Dialog {
    stage: Stage,
    /// Whether the person has seen everything that is asked about, or was told that they have not.
    is_seen: bool,
    /// Whether the person has seen the grant that "always" makes.
    has_seen_grant: bool,
}

impl Dialog {
    pub(super) fn new(page: &QuestionPage) -> Self {
        Self { stage: Stage::Question, is_seen: page.is_whole, has_seen_grant: page.has_grant }
    }

    /// Returns what is shown on a screen of another size, where that is not the page of the question.
    pub(super) fn resized(&mut self, page: &QuestionPage, maker: &PageMaker<'_>) -> Option<String> {
        self.is_seen |= page.is_whole;
        self.has_seen_grant |= page.has_grant;
        match self.stage {
            Stage::Question => None,
            Stage::Scopes => Some(scopes(maker)),
            Stage::Rule(at) => maker.question.shown.grants.get(at).map(|offer| rule(offer, maker)),
        }
    }

    /// Returns what follows from a key, or from a word.
    pub(super) fn react(&mut self, typed: &str, maker: &PageMaker<'_>) -> Reaction {
        let (word, rest) = typed.split_once(' ').unwrap_or((typed, ""));
        let word = word.to_lowercase();
        let grants = &maker.question.shown.grants;
        match self.stage {
            Stage::Question => self.react_to_question(&word, rest.trim(), maker),
            Stage::Scopes => match word.parse::<usize>().ok().and_then(|it| it.checked_sub(1)) {
                Some(at) if at < grants.len() => {
                    self.stage = Stage::Rule(at);
                    Reaction::Show(rule(&grants[at], maker))
                }
                Some(_) => Reaction::Show(format!("Type a number from 1 to {}.\n", grants.len())),
                None => self.back(maker),
            },
            Stage::Rule(at) => match (word.as_str(), grants.get(at)) {
                ("y" | "yes", Some(_)) if rest.is_empty() && !self.is_seen => self.warn("y"),
                ("y" | "yes", Some(offer)) if rest.is_empty() => {
                    Reaction::Answer(Answer::Always(ANSWERED_BY.to_owned(), offer.wish.clone()))
                }
                _ => self.back(maker),
            },
        }
    }

    fn react_to_question(&mut self, word: &str, rest: &str, maker: &PageMaker<'_>) -> Reaction {
        let grants = &maker.question.shown.grants;
        match word {
            "" | "n" | "no" => {
                Reaction::Answer(Answer::No(ANSWERED_BY.to_owned(), rest.to_owned()))
            }
            "c" if !rest.is_empty() => {
                Reaction::Answer(Answer::No(ANSWERED_BY.to_owned(), rest.to_owned()))
            }
            "c" => Reaction::ReadReason,
            _ if !rest.is_empty() => wrong(word, maker),
            "v" | "view" => {
                self.is_seen = true;
                let keys = maker.keys().join("\n");
                Reaction::Show(format!("{}\n\n{keys}\n", maker.whole()))
            }
            "y" | "yes" | "a" | "always" if !self.is_seen => {
                self.warn(if word.starts_with('y') { "y" } else { "a" })
            }
            "y" | "yes" => Reaction::Answer(Answer::Yes(ANSWERED_BY.to_owned())),
            "a" | "always" => match grants.first() {
                None => Reaction::Show(
                    "\"always\" is not possible for this call: answer y or n.\n".to_owned(),
                ),
                Some(offer) if self.has_seen_grant => {
                    Reaction::Answer(Answer::Always(ANSWERED_BY.to_owned(), offer.wish.clone()))
                }
                Some(offer) => {
                    self.has_seen_grant = true;
                    let scopes = if maker.has_scopes() { "   e other grants" } else { "" };
                    let keys =
                        format!("press a again to store it and go on{scopes}   n no (Enter)");
                    Reaction::Show(format!("{}  {keys}\n", stored(offer, maker)))
                }
            },
            "e" if maker.has_scopes() => {
                self.stage = Stage::Scopes;
                Reaction::Show(scopes(maker))
            }
            "m" | "edit" | "modify" if maker.can_change() => Reaction::ChangeCall,
            "?" | "help" => Reaction::Show(help(maker)),
            _ => wrong(word, maker),
        }
    }

    /// Tells the person that they have not seen all of the question, once.
    fn warn(&mut self, key: &str) -> Reaction {
        self.is_seen = true;
        let view = if self.stage == Stage::Question { "v" } else { "n, then v," };
        Reaction::Show(format!(
            "You have not seen all of it. Press {view} to see the rest, or {key} again to go on without it.\n"
        ))
    }

    fn back(&mut self, maker: &PageMaker<'_>) -> Reaction {
        self.stage = Stage::Question;
        Reaction::Show(format!("\n{}\n", maker.keys().join("\n")))
    }
}

fn wrong(word: &str, maker: &PageMaker<'_>) -> Reaction {
    let word: String = word.chars().take(20).collect();
    let word = escape::line(&word).into_owned();
    Reaction::AskAgain(format!("`{word}` is not an answer: {}.\n", maker.common_keys()))
}

/// Returns the grant that would be stored, in words and as a rule.
fn stored(offer: &GrantOffer, maker: &PageMaker<'_>) -> String {
    let text = format!(
        "\nAlways: {}\n  stores {}\n",
        escape::line(&offer.words),
        escape::line(&offer.rule)
    );
    maker.screen.wrap(&without_gaps(&text))
}

/// Returns the rule of a scope, with the keys that store it or not.
fn rule(offer: &GrantOffer, maker: &PageMaker<'_>) -> String {
    format!("{}  y store it and run the call   n back to the question\n", stored(offer, maker))
}

/// Returns the list of scopes.
fn scopes(maker: &PageMaker<'_>) -> String {
    let shown = &maker.question.shown;
    let mut text = "\nAlways allow what?\n".to_owned();
    for (number, offer) in shown.grants.iter().enumerate() {
        let _ = writeln!(text, "  {}  {}", number + 1, escape::line(&offer.words));
    }
    for refused in &shown.refused_grants {
        let (words, why) = (escape::line(&refused.words), escape::line(&refused.why));
        let _ = writeln!(text, "  -  {words}: too broad: {why}");
    }
    text.push_str("Which number? (Enter: back to the question) ");
    maker.screen.wrap(&without_gaps(&text))
}

fn help(maker: &PageMaker<'_>) -> String {
    let meanwhile = match &maker.question.shown.host {
        Some(_) => "The time of the command goes on meanwhile. Ctrl-C stops the command.\n",
        None => "",
    };
    let elsewhere =
        format!("From another terminal: toolcrib approvals approve {}", maker.question.id);
    maker.screen.wrap(&format!("\n{}{meanwhile}{elsewhere}\n", maker.key_help()))
}
