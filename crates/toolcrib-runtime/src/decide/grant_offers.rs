//! The grants that "always" can make: one that is sensible for the call, and others.

use std::path::Path;

use toolcrib_core::approval::{GrantOffer, RefusedGrant};
use toolcrib_core::command_reading::join;
use toolcrib_core::host_access::HostRequest;
use toolcrib_core::policy::grant::{Covers, Scope, Wish};
use toolcrib_core::{ToolName, escape};

use super::grant_comparison::CallPrograms;
use super::judge::Choice;
use crate::call::review::SessionKind;

/// How long a grant holds that is not for a session and not until it is revoked.
const WORKDAY_MINUTES: u32 = 8 * 60;

/// The most beginnings of a command that are offered.
const MOST_BEGINNINGS: usize = 4;

/// The most files that an offer names because a change of them is asked about.
const MOST_NAMED_FILES: usize = 3;

/// The place and time of the question, which decide what a grant can be for.
pub(crate) struct GrantPlace<'a> {
    pub(crate) tool: &'a ToolName,
    /// The workspace.
    pub(crate) root: &'a str,
    pub(crate) session: &'a str,
    pub(crate) session_kind: SessionKind,
    /// What the command of the call runs, if it has one.
    pub(crate) programs: Option<CallPrograms<'a>>,
}

impl GrantPlace<'_> {
    /// Returns the grants to offer for what "always" could cover, the most sensible first.
    pub(crate) fn offers(&self, choices: &[Choice]) -> Vec<GrantOffer> {
        let open = || choices.iter().filter(|(_, refused)| refused.is_none()).map(|it| &it.0);
        let edits: Vec<&Covers> = open().filter(|it| matches!(it, Covers::Edits(_))).collect();
        let beginnings: Vec<&Covers> = open().filter(|it| matches!(it, Covers::Argv(_))).collect();
        let file = open().find(|it| matches!(it, Covers::Path(_)));
        let call = open().find(|it| matches!(it, Covers::Call { .. }));
        let mut all = Vec::new();
        let mut add = |covers: &Covers, scope: Scope, minutes: Option<u32>| {
            all.push(Wish { covers: covers.clone(), scope, minutes });
        };
        let here = || Scope::Project(self.root.to_owned());
        let in_session = || Scope::Session(self.session.to_owned());
        let has_session = self.session_kind == SessionKind::ManyCalls;
        // The shortest beginning that says what the program does.
        if let Some((shortest, longer)) = beginnings.split_last() {
            add(shortest, here(), Some(WORKDAY_MINUTES));
            if has_session {
                add(shortest, in_session(), None);
            }
            add(shortest, here(), None);
            add(shortest, Scope::User, None);
            for covers in longer.iter().rev().take(MOST_BEGINNINGS - 1) {
                add(covers, here(), Some(WORKDAY_MINUTES));
            }
        }
        let (all_edits, below) = match &edits[..] {
            [below, all] => (Some(*all), Some(*below)),
            [all] => (Some(*all), None),
            _ => (None, None),
        };
        if let Some(below) = below {
            if has_session {
                add(below, in_session(), None);
            }
            add(below, here(), Some(WORKDAY_MINUTES));
        }
        if let Some(file) = file {
            add(file, here(), Some(WORKDAY_MINUTES));
            add(file, here(), None);
        }
        if let Some(all_edits) = all_edits {
            if has_session {
                add(all_edits, in_session(), None);
            }
            add(all_edits, here(), Some(WORKDAY_MINUTES));
        }
        if let Some(call) = call {
            if file.is_none() && beginnings.is_empty() {
                add(call, here(), Some(WORKDAY_MINUTES));
            }
            add(call, here(), None);
        }
        all.into_iter().map(|wish| self.offer(wish)).collect()
    }

    /// Returns the grants to offer for a host, the most sensible first.
    pub(crate) fn host_offers(&self, host: &HostRequest) -> Vec<GrantOffer> {
        let here = || Scope::Project(self.root.to_owned());
        let mut scopes = vec![(here(), Some(WORKDAY_MINUTES)), (here(), None)];
        if self.session_kind == SessionKind::ManyCalls {
            scopes.push((Scope::Session(self.session.to_owned()), None));
        }
        scopes.push((Scope::User, Some(WORKDAY_MINUTES)));
        let offer = |(scope, minutes): (Scope, Option<u32>)| {
            self.offer(Wish { covers: Covers::Host(host.clone()), scope, minutes })
        };
        scopes.into_iter().map(offer).collect()
    }

    /// Returns what no grant can cover.
    pub(crate) fn refused(&self, choices: &[Choice]) -> Vec<RefusedGrant> {
        let refused = choices.iter().filter_map(|(covers, why)| Some((covers, why.as_ref()?)));
        let refused = refused
            .map(|(covers, why)| RefusedGrant { words: self.covered(covers), why: why.clone() });
        refused.collect()
    }

    fn offer(&self, wish: Wish) -> GrantOffer {
        let scope = match &wish.scope {
            Scope::Session(_) => "in this session",
            Scope::Project(_) => "here",
            Scope::User => "everywhere",
        };
        let time = match (&wish.scope, wish.minutes) {
            (Scope::Session(_), None) => String::new(),
            (_, None) => ", until revoked".to_owned(),
            (_, Some(minutes)) => format!(", for {} hours", minutes / 60),
        };
        let (covered, but) = (self.covered(&wish.covers), self.asked_about(&wish.covers));
        let words = format!("{covered}{but}, {scope}{time}");
        let rule = match &wish.covers {
            Covers::Edits(_) | Covers::Host(_) => wish.covers.text(),
            _ => format!("{} {}", self.tool, wish.covers.text()),
        };
        GrantOffer { words, rule, wish }
    }

    /// Returns what a grant covers, in words.
    fn covered(&self, covers: &Covers) -> String {
        let shown = |path: &str| match Path::new(path).strip_prefix(self.root) {
            Ok(below) if !below.as_os_str().is_empty() => {
                escape::line(&below.display().to_string()).into_owned()
            }
            _ => escape::line(path).into_owned(),
        };
        match covers {
            Covers::Call { .. } => "this exact call".to_owned(),
            Covers::Argv(words) => {
                format!("commands that begin with `{}`", escape::line(&join(words)))
            }
            Covers::Path(path) => format!("changes to {}", shown(path)),
            Covers::Edits(folder) if folder == self.root => "all edits".to_owned(),
            Covers::Edits(folder) => format!("edits below {}/", shown(folder)),
            Covers::Host(host) => format!("connections to {host}"),
        }
    }

    /// Returns what a grant does not cover although it may seem to, in parentheses.
    fn asked_about(&self, covers: &Covers) -> String {
        let names = self.programs.map_or_else(Vec::new, |it| it.compared_names(covers));
        let mut what = Vec::new();
        if covers.asks_about_new_flags() {
            what.push("new flags".to_owned());
        }
        if !names.is_empty() {
            let shown = names.iter().take(MOST_NAMED_FILES);
            let mut files: Vec<String> =
                shown.map(|name| format!("`{}`", escape::line(name))).collect();
            if names.len() > MOST_NAMED_FILES {
                files.push(format!("{} more files", names.len() - MOST_NAMED_FILES));
            }
            what.push(format!("changes to {}", files.join(", ")));
        }
        if what.is_empty() {
            return String::new();
        }
        format!(" ({} are asked about)", what.join(" and "))
    }
}
