//! The keys that answer a question: which there are, what each does, and the rows that say so.

use toolcrib_core::approval::GrantOffer;
use toolcrib_core::escape;

use super::question_page::{ChangeOffer, PageMaker, QuestionForm, QuestionPage};
use super::text::without_gaps;
use super::wink_form;
use crate::terminal::Paint;

/// A key that does something at this question.
struct OfferedKey {
    key: &'static str,
    /// What it does, in a few words behind the key.
    label: String,
    /// The same for a small screen. Nothing if the key is not shown there.
    short: Option<&'static str>,
    /// What it does, in a sentence. The key is its subject.
    does: &'static str,
}

impl PageMaker<'_> {
    /// Returns the last rows: the keys and what they do.
    pub(super) fn keys(&self) -> Vec<String> {
        if self.form == QuestionForm::Wink {
            return wink_form::keys(self.screen, self.question);
        }
        let offered = self.offered();
        let (first, others) = offered.split_at(1 + usize::from(self.first_grant().is_some()));
        let row = |keys: &[OfferedKey]| {
            let key = |it: &OfferedKey| {
                let gap = if it.label.is_empty() { "" } else { " " };
                format!("{}{gap}{}", self.terminal.paint_err(Paint::Strong, it.key), it.label)
            };
            format!("  {}", keys.iter().map(key).collect::<Vec<_>>().join("   "))
        };
        let mut rows = self.screen.rows_of(&row(first));
        rows.extend(self.first_grant().map(|grant| self.screen.one_row(&stored_row(grant))));
        let time = format!("{}:{:02} left", self.seconds_left / 60, self.seconds_left % 60);
        rows.extend(self.screen.rows_of(&format!("{}   {time}", row(others))));
        rows
    }

    /// Returns the last row with the time that is left now; nothing if it does not say it.
    pub(super) fn row_of_time(&self, page: &QuestionPage) -> Option<String> {
        let now = self.page();
        let is_like = now.rows.len() == page.rows.len() && self.form == QuestionForm::Toolcrib;
        now.rows.into_iter().last().filter(|row| is_like && row.ends_with(" left"))
    }

    /// Returns the keys on one row, for a small screen.
    pub(super) fn short_keys(&self) -> String {
        if self.form == QuestionForm::Wink {
            return wink_form::QUESTION.to_owned();
        }
        let offered = self.offered();
        let shown = || offered.iter().filter_map(|it| Some((it.key, it.short?)));
        let long = shown().map(|(key, short)| format!("{key} {short}").trim_end().to_owned());
        let long = long.collect::<Vec<_>>().join("  ");
        if self.screen.columns() > long.len() {
            return long;
        }
        let keys = shown().map(|(key, _)| if key == "n" { "n=Enter" } else { key });
        keys.collect::<Vec<_>>().join(" ")
    }

    /// Returns what each key does, a row for each.
    pub(super) fn key_help(&self) -> String {
        let offered = self.offered();
        offered
            .iter()
            .filter(|it| !it.does.is_empty())
            .fold(String::new(), |text, it| format!("{text}  {}  {}\n", it.key, it.does))
    }

    /// Returns the keys of the common answers in a few words.
    pub(super) fn common_keys(&self) -> String {
        let always = if self.first_grant().is_some() { "a always, " } else { "" };
        format!("y once, {always}n no, ? help")
    }

    /// Whether there are other grants than the first.
    pub(super) fn has_scopes(&self) -> bool {
        self.question.shown.grants.len() > 1
    }

    /// Whether the person can change the call. A host is no call.
    pub(super) fn can_change(&self) -> bool {
        self.change == ChangeOffer::Offered && self.question.shown.host.is_none()
    }

    fn first_grant(&self) -> Option<&GrantOffer> {
        self.question.shown.grants.first()
    }

    /// Returns the keys that do something here, in the order in which they are shown.
    fn offered(&self) -> Vec<OfferedKey> {
        let is_host = self.question.shown.host.is_some();
        let of = |call: &'static str, host: &'static str| if is_host { host } else { call };
        let mut keys = vec![OfferedKey {
            key: "y",
            label: of("once", "let it through once").to_owned(),
            short: Some("once"),
            does: of(
                "runs the call this once",
                "lets the command reach this host and port, as long as it runs",
            ),
        }];
        keys.extend(self.first_grant().map(|grant| OfferedKey {
            key: "a",
            label: format!("always: {}", escape::line(&grant.words)),
            short: Some("always"),
            does: of(
                "runs it, and stores the rule shown, so that such calls run without asking",
                "does so, and stores the rule shown, so that commands reach it unasked",
            ),
        }));
        keys.push(OfferedKey {
            key: "n",
            label: "no (Enter)".to_owned(),
            short: Some("no (Enter)"),
            does: of(
                "does not run it; Enter, Escape and no answer in time do the same",
                "refuses the connection; the command goes on. So do Enter, Escape and no answer in time",
            ),
        });
        let plain =
            |key, label: &str, does| OfferedKey { key, label: label.to_owned(), short: None, does };
        let why =
            of("does not run it, and tells the agent why", "refuses it, and tells the agent why");
        keys.push(plain("c", "no, and say why", why));
        if self.has_scopes() {
            keys.push(plain("e", "grants", "lists other grants"));
        }
        if self.can_change() {
            let does = "opens the call in your editor; Toolcrib decides about what you save";
            keys.push(plain("m", "edit", does));
        }
        let does = of("shows everything about the call", "shows everything about the command");
        keys.push(OfferedKey { short: Some("view"), ..plain("v", "view", does) });
        keys.push(OfferedKey { short: Some(""), ..plain("?", "", "") });
        keys
    }
}

/// Returns the row that says which rule a grant stores.
pub(super) fn stored_row(grant: &GrantOffer) -> String {
    without_gaps(&format!("           stores {}", escape::line(&grant.rule)))
}
