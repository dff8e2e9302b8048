//! Pending approvals: calls that wait for an answer. Each is a file. Its answer is a second file beside it, which only
//! one process can make: the first answer counts. A third file marks the call as taken up, so that it runs once. A
//! fourth has the outcome of a call that nobody waited for, and a fifth says that it was told.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use serde::Serialize;
use toolcrib_core::approval::{
    ApprovalAnswer, ApprovalStatus, ApprovalStore, KeptOutcome, PendingApproval,
};

use crate::consent::tokens::TokenFile;
use crate::once_file::{is_first, read, write_new};
use crate::process_name::is_running;
use crate::record::redact::Redactor;
use crate::state::StateFolder;

/// How many approvals are added between two looks at the expired ones.
const ADDS_BETWEEN_SWEEPS: usize = 64;

/// The folder of pending approvals.
#[derive(Clone)]
pub struct Approvals {
    folder: PathBuf,
    /// Says whether the token that asked still counts.
    tokens: Arc<TokenFile>,
    /// How many approvals this process has added.
    added: Arc<AtomicUsize>,
}

impl Approvals {
    /// Opens the pending approvals in the state folder.
    pub fn new(state: &StateFolder) -> Self {
        let (folder, tokens) = (state.folder().join("approvals"), Arc::new(TokenFile::new(state)));
        Self { folder, tokens, added: Arc::default() }
    }

    /// Redacts the secrets in the arguments of a call that nobody needs any more, and forgets its pins.
    fn redact(&self, id: &str) -> io::Result<()> {
        let path = self.path(id, "json")?;
        let pending: PendingApproval = read(&path)?;
        let has_pins = !pending.pins.is_empty();
        let pending = serde_json::to_value(PendingApproval { pins: Vec::new(), ..pending })?;
        // The grants that were offered repeat the arguments, so all of it is redacted.
        let clean = Redactor::default().clean_json(&pending);
        if clean == pending && !has_pins {
            return Ok(());
        }
        replace(&path, &clean)
    }

    /// Whether the call was asked with a token that does not count any more.
    fn is_of_revoked(&self, pending: &PendingApproval) -> io::Result<bool> {
        let caller = &pending.caller;
        Ok(!caller.is_local_user() && !self.tokens.is_active(&caller.principal)?)
    }

    fn path(&self, id: &str, kind: &str) -> io::Result<PathBuf> {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if id.is_empty() || !id.bytes().all(is_part) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no such approval"));
        }
        Ok(self.folder.join(format!("{id}.{kind}")))
    }
}

/// Puts a file in the place of another one, whole or not at all.
fn replace<T: Serialize>(path: &Path, content: &T) -> io::Result<()> {
    let fresh = path.with_extension(format!("{}.fresh", ulid::Ulid::generate()));
    write_new(&fresh, content)?;
    fs::rename(&fresh, path)
}

impl ApprovalStore for Approvals {
    fn add(&self, pending: &PendingApproval) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        write_new(&self.path(&pending.id, "json")?, pending)?;
        // Expired approvals lose their secrets when new ones are added, but not each time: there can be many.
        let added = self.added.fetch_add(1, Ordering::Relaxed);
        if added.is_multiple_of(ADDS_BETWEEN_SWEEPS) { self.all().map(drop) } else { Ok(()) }
    }

    fn park(&self, pending: &PendingApproval) -> io::Result<()> {
        replace(&self.path(&pending.id, "json")?, pending)?;
        // Whoever answered it meanwhile has redacted what was there before.
        if self.answer(&pending.id)?.is_some() { self.redact(&pending.id) } else { Ok(()) }
    }

    fn all(&self) -> io::Result<Vec<PendingApproval>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut all = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let is_whole = path.extension().is_some_and(|it| it == "json");
            if is_whole && let Ok(pending) = read::<PendingApproval>(&path) {
                // An expired approval does not need its secrets any more.
                if pending.expires_at < Timestamp::now() {
                    self.redact(&pending.id)?;
                }
                all.push(pending);
            }
        }
        all.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(all)
    }

    fn find(&self, id: &str) -> io::Result<PendingApproval> {
        read(&self.path(id, "json")?)
    }

    fn status(&self, pending: &PendingApproval, now: Timestamp) -> io::Result<ApprovalStatus> {
        Ok(match self.answer(&pending.id)? {
            Some(answer) if !answer.is_approved => ApprovalStatus::Denied,
            Some(_) if self.path(&pending.id, "taken")?.exists() => ApprovalStatus::TakenUp,
            _ if self.is_of_revoked(pending)? => ApprovalStatus::Revoked,
            _ if now >= pending.expires_at => ApprovalStatus::Expired,
            // The process that would run the call is gone.
            _ if !pending.is_parked && !is_running(&pending.process) => ApprovalStatus::Expired,
            Some(_) => ApprovalStatus::Approved,
            None => ApprovalStatus::Pending,
        })
    }

    fn answer(&self, id: &str) -> io::Result<Option<ApprovalAnswer>> {
        match read(&self.path(id, "decided")?) {
            Ok(answer) => Ok(Some(answer)),
            // An answer that cannot be parsed does not approve anything.
            Err(err) if err.kind() == io::ErrorKind::InvalidData => Ok(Some(ApprovalAnswer {
                is_approved: false,
                by: String::new(),
                words: err.to_string(),
                wish: None,
                at: Timestamp::UNIX_EPOCH,
            })),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(err),
        }
    }

    fn decide(&self, id: &str, answer: &ApprovalAnswer) -> io::Result<bool> {
        let is_first = is_first(write_new(&self.path(id, "decided")?, answer))?;
        if is_first && !answer.is_approved {
            self.redact(id)?;
        }
        Ok(is_first)
    }

    fn take_up(&self, id: &str) -> io::Result<bool> {
        let is_first = is_first(write_new(&self.path(id, "taken")?, &()))?;
        if is_first {
            self.redact(id)?;
        }
        Ok(is_first)
    }

    fn keep_outcome(&self, id: &str, outcome: &KeptOutcome) -> io::Result<()> {
        write_new(&self.path(id, "outcome")?, outcome)
    }

    fn outcome(&self, id: &str) -> io::Result<Option<KeptOutcome>> {
        match read(&self.path(id, "outcome")?) {
            Ok(outcome) => Ok(Some(outcome)),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(err),
        }
    }

    fn mark_told(&self, id: &str) -> io::Result<bool> {
        is_first(write_new(&self.path(id, "told")?, &()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_name::this_process;
    use toolcrib_core::approval::ApprovalQuestion;

    #[test]
    fn the_first_answer_counts_and_a_call_is_taken_up_once() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(&StateFolder::open(&folder.path().join("state")).unwrap());
        let now = Timestamp::UNIX_EPOCH;
        let later = Timestamp::MAX;
        let pending = PendingApproval {
            id: "01A".to_owned(),
            tool: "t".into(),
            args: serde_json::json!({"command": "curl -u ada:letmein https://x"}),
            digest: String::new(),
            workspace: String::new(),
            requester: "r".to_owned(),
            caller: toolcrib_core::Caller::at_terminal("r"),
            conversation: None,
            trace: None,
            question: ApprovalQuestion::default(),
            pins: Vec::new(),
            is_parked: true,
            process: String::new(),
            created_at: now,
            expires_at: later,
        };
        approvals.add(&pending).unwrap();
        assert!(approvals.add(&pending).is_err(), "an id is given once");
        assert_eq!(approvals.status(&pending, now).unwrap(), ApprovalStatus::Pending);
        assert_eq!(approvals.status(&pending, later).unwrap(), ApprovalStatus::Expired);
        let asked = |process: &str| {
            let process = process.to_owned();
            let pending = PendingApproval { is_parked: false, process, ..pending.clone() };
            approvals.status(&pending, now).unwrap()
        };
        assert_eq!(asked(&this_process()), ApprovalStatus::Pending);
        assert_eq!(asked("1 0"), ApprovalStatus::Expired, "another process has that number");
        let kept = || fs::read_to_string(folder.path().join("state/approvals/01A.json")).unwrap();
        assert!(kept().contains("letmein"));
        let answer = |is_approved| ApprovalAnswer {
            is_approved,
            by: "someone".to_owned(),
            words: String::new(),
            wish: None,
            at: now,
        };
        let won: usize = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..8)
                .map(|number| {
                    let (approvals, answer) = (&approvals, answer(number % 2 == 0));
                    scope.spawn(move || approvals.decide("01A", &answer).unwrap())
                })
                .collect();
            tries.into_iter().map(|it| usize::from(it.join().unwrap())).sum()
        });
        assert_eq!(won, 1);
        let first = approvals.answer("01A").unwrap().unwrap();
        let expect =
            if first.is_approved { ApprovalStatus::Approved } else { ApprovalStatus::Denied };
        assert_eq!(approvals.status(&pending, now).unwrap(), expect);
        assert!(approvals.take_up("01A").unwrap());
        assert!(!approvals.take_up("01A").unwrap());
        assert!(!kept().contains("letmein") && kept().contains("curl"), "{}", kept());
        assert!(approvals.find("../x").is_err());
        assert_eq!(approvals.all().unwrap().len(), 1);
        assert_eq!(fs::read_dir(folder.path().join("state/approvals")).unwrap().count(), 3);
    }
}
