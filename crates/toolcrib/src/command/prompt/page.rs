//! A question as a page of rows: what will happen, why it is asked, and the keys that answer it.

use std::fmt::Write as _;

use serde_json::Value;
use toolcrib_core::approval::{ExpectedChange, ExpectedChangeKind};
use toolcrib_core::escape;
use toolcrib_core::policy::Covers;
use toolcrib_core::{Principal, Role};
use toolcrib_runtime::Question;

use super::keys::stored_row;
use super::question_page::{PageMaker, QuestionForm, QuestionPage};
use super::text::{block, block_lines, labelled, without_gaps};
use super::wink_form;
use crate::command::difference::{LEFT_OUT, texts};
use crate::command::screen::width_of;
use crate::terminal::Paint;

/// On a narrower screen, names of facts stand on rows of their own.
const FEWEST_LABEL_COLUMNS: usize = 60;

/// The fewest rows of what is asked about that stand above the whole list of keys. With less room, the list is short.
const FEWEST_BODY_ROWS: usize = 3;

impl PageMaker<'_> {
    /// Returns the page that fits on the screen. What does not fit is folded.
    pub(super) fn page(&self) -> QuestionPage {
        let keys = self.keys();
        let is_short = self.screen.rows() < keys.len() + 2 + FEWEST_BODY_ROWS;
        let below = if is_short { vec![self.short_keys()] } else { keys };
        let head = self.head();
        let body = self.screen.rows_of(&without_gaps(&self.body()));
        // Differences say themselves what they leave out.
        let is_cut = body.iter().any(|row| row.contains(LEFT_OUT));
        let blank = usize::from(!is_short);
        let folded = self.screen.folded(&body, head.len() + below.len() + blank);
        let is_whole = folded.is_none() && !is_cut;
        let mut rows = head;
        rows.extend(folded.unwrap_or(body));
        rows.extend((0..blank).map(|_| String::new()));
        rows.extend(below);
        let grant = self.question.shown.grants.first();
        let has_grant = grant.is_some_and(|grant| match &grant.wish.covers {
            // A grant for this call and no other is said by the call itself.
            Covers::Call { links, .. } if links.is_empty() && is_whole => true,
            _ => width_of(&stored_row(grant)) <= self.screen.columns(),
        });
        let has_grant = has_grant && !is_short && self.form == QuestionForm::Toolcrib;
        QuestionPage { rows, is_whole, has_grant }
    }

    /// Returns all rows of what is asked about, without the keys.
    pub(super) fn unfolded(&self) -> String {
        let mut rows = self.head();
        rows.extend(self.screen.rows_of(&without_gaps(&self.body())));
        rows.join("\n")
    }

    /// Returns everything about the call, with nothing left out.
    pub(super) fn whole(&self) -> String {
        let Question { args, shown, .. } = self.question;
        let place = shown.place.as_ref().unwrap_or(&self.question.root);
        let mut text = format!("{} of {place}\n", self.question.tool);
        for (key, value) in args.as_object().into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = writeln!(text, "{}", labelled(&escape::line(key), &block(&value)));
        }
        for edit in &self.question.plan.edits {
            let path = escape::line(&edit.path).into_owned();
            for (name, side) in [("before", &edit.before), ("after", &edit.after)] {
                if let Some(side) = side {
                    let _ = writeln!(text, "  {path}, {name}:{}", block_lines(side));
                }
            }
        }
        for (name, fact) in self.facts() {
            let _ = writeln!(text, "{}", labelled(name, &fact));
        }
        let _ = writeln!(text, "{}", labelled("Rule", &escape::line(&shown.rule)));
        if let Some(source) = &shown.rule_source {
            let _ = writeln!(text, "{}", labelled("", &escape::line(source)));
        }
        self.screen.wrap(&without_gaps(text.trim_end()))
    }

    /// Returns the first rows: who wants what where.
    fn head(&self) -> Vec<String> {
        if self.form == QuestionForm::Wink {
            return Vec::new();
        }
        let title = self.title();
        let tool = self.question.tool.as_str();
        let used = width_of(&title) + width_of(tool);
        let gap = self.screen.columns().saturating_sub(used);
        let strong = |text: &str| self.terminal.paint_err(Paint::Strong, text);
        if gap >= 2 {
            return vec![format!("{}{}{tool}", strong(&title), " ".repeat(gap))];
        }
        vec![strong(&self.screen.one_row(&title)), self.screen.one_row(&format!("  {tool}"))]
    }

    fn title(&self) -> String {
        let Question { asker, root, shown, .. } = self.question;
        let session = &asker.session;
        let who = match &asker.caller.principal {
            // The session of a single call has no name that says anything.
            Principal { role: Role::User, .. } if session.starts_with("cli-") => "This call",
            Principal { role: Role::User, .. } => session,
            principal => &principal.name,
        };
        let here = || root.rsplit('/').next().unwrap_or(root);
        let place = shown.place.as_deref().unwrap_or_else(here);
        let title = match &shown.host {
            Some(_) => format!("{who}'s command was stopped at the network"),
            None => format!("{who} wants to {} in {place}", shown.what),
        };
        without_gaps(&escape::line(&title))
    }

    /// Returns what will happen and why it is asked.
    fn body(&self) -> String {
        if self.form == QuestionForm::Wink {
            return wink_form::body(self.question, self.terminal);
        }
        let mut text = String::new();
        let Question { args, plan, .. } = self.question;
        if let Some(command) = &plan.command {
            for line in command.text.trim_end_matches('\n').split('\n') {
                let _ = writeln!(text, "  │ {}", escape::line(line));
            }
        }
        for edit in &plan.edits {
            let (before, after) = (edit.before.as_deref(), edit.after.as_deref());
            if plan.edits.len() > 1 {
                let _ = writeln!(text, "  {}", escape::line(&edit.path));
            }
            if before.is_none() && after.is_none() {
                text.push_str("  (not text, so it is not shown)\n");
                continue;
            }
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            let difference = texts(self.terminal, before, after);
            // The first row counts the lines, as the title does.
            text.push_str(difference.split_once('\n').map_or("", |it| it.1));
        }
        let is_shown = |value: &Value| {
            let text = value.as_str();
            plan.command.as_ref().is_some_and(|command| text == Some(&command.text))
        };
        if plan.edits.is_empty() {
            for (key, value) in args.as_object().into_iter().flatten().filter(|it| !is_shown(it.1))
            {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let _ = writeln!(text, "{}", labelled(&escape::line(key), &block(&value)));
            }
        }
        for (name, fact) in self.facts() {
            if self.screen.columns() < FEWEST_LABEL_COLUMNS {
                let _ = writeln!(text, "  {name}\n    {fact}");
            } else {
                let _ = writeln!(text, "{}", labelled(name, &fact));
            }
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }

    /// Returns what is known about the call, each fact with its name.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let Question { shown, plan, .. } = self.question;
        let mut facts = Vec::new();
        if let Some(reading) = &shown.runs {
            let is_said = plan.command.as_ref().is_some_and(|command| {
                reading.uncertain.is_none()
                    && reading.writes.is_empty()
                    && reading.runs[..] == [format!("`{}`", command.text.trim())]
            });
            let runs = escape::line(&reading.runs.join("  ·  ")).into_owned();
            match &reading.uncertain {
                None if is_said => {}
                None => facts.push(("Runs", runs)),
                Some(why) => {
                    let more = match reading.more {
                        0 => String::new(),
                        more => format!(" and {more} more"),
                    };
                    if runs.is_empty() {
                        facts.push(("Runs", "something unknown".to_owned()));
                    } else {
                        facts.push(("Runs", format!("probably {runs}{more}")));
                    }
                    facts.push(("Not sure", escape::line(why).into_owned()));
                }
            }
        }
        if plan.command.is_none() {
            let title = self.title();
            let is_in_title = shown.changes.len() == 1 && self.screen.one_row(&title) == title;
            let is_wanted = |it: &&ExpectedChange| it.spelt.is_some() || !is_in_title;
            facts.extend(shown.changes.iter().filter(is_wanted).map(|it| ("File", file(it))));
        } else if !shown.changes.is_empty() {
            let changes: Vec<String> = shown.changes.iter().map(changed).collect();
            facts.push(("Changes", changes.join(", ")));
        }
        match shown.network.as_deref() {
            // Who is asked here is asked about hosts, too.
            Some([]) => facts.push(("Network", "none; you are asked about each host".to_owned())),
            Some(hosts) if plan.command.is_none() => {
                facts.push(("Network", format!("asks {}", hosts.join(", "))));
            }
            Some(hosts) => {
                let hosts = hosts.join(", ");
                facts.push(("Network", format!("can reach {hosts}; you are asked about others")));
            }
            None => {}
        }
        if let Some(host) = &shown.host {
            facts.push(("Wants", escape::line(&host.to_string()).into_owned()));
        }
        facts.push(("Asks", escape::line(&shown.why).into_owned()));
        if !shown.unpinned.is_empty() {
            facts.push(("Unpinned", escape::line(&shown.unpinned.join("; ")).into_owned()));
        }
        facts
    }
}

/// Returns the path of a file, and how the caller spelt it if that is not the same.
fn file(change: &ExpectedChange) -> String {
    let path = escape::line(&change.path);
    match &change.spelt {
        Some(spelt) => format!("{path}, spelled {}", escape::line(spelt)),
        None => path.into_owned(),
    }
}

/// Returns what becomes of a file, in words.
fn changed(change: &ExpectedChange) -> String {
    let verb = match change.kind {
        ExpectedChangeKind::Create => "creates",
        ExpectedChangeKind::Change => "changes",
        ExpectedChangeKind::Delete => "deletes",
    };
    let files = match (change.kind, change.files) {
        (ExpectedChangeKind::Delete, Some(1)) => " (1 file, undo possible)".to_owned(),
        (ExpectedChangeKind::Delete, Some(files)) if files > 1 => {
            format!(" ({files} files, undo possible)")
        }
        (ExpectedChangeKind::Delete, None) => " (many files)".to_owned(),
        _ => String::new(),
    };
    format!("{verb} {}{files}", file(change))
}
