//! The folder of proposals. Each is a file. Its answer is a second file beside it, which only one process can make: the
//! first answer counts. A third file says that the answer has taken effect.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use toolcrib_core::Principal;

use crate::private_file::{if_there, make_private_folder, read_json, write_once};
use crate::tool_proposal::{ProposalAnswer, ProposalId, ProposalStatus, ToolProposal};

/// The most proposals that wait at once.
pub const MAX_PENDING: usize = 100;

/// The most proposals of one principal that wait at once.
pub const MAX_PENDING_OF_ONE: usize = 20;

/// The most answered proposals that are kept. The record has all of them.
const MAX_CLOSED: usize = 200;

/// The largest file of a proposal, in bytes.
const MAX_PROPOSAL_BYTES: u64 = 4 << 20;

/// The folder of proposals.
#[derive(Clone, Debug)]
pub(crate) struct ProposalStore {
    folder: PathBuf,
}

/// How many proposals wait.
pub(crate) struct PendingCounts {
    pub(crate) all: usize,
    pub(crate) of_principal: usize,
}

impl ProposalStore {
    pub(crate) fn new(plugins: &Path) -> Self {
        Self { folder: plugins.join("proposals") }
    }

    /// Adds a proposal.
    pub(crate) fn add(&self, proposal: &ToolProposal) -> io::Result<()> {
        make_private_folder(&self.folder)?;
        if write_once(&self.path(&proposal.id, "json"), proposal)? {
            return Ok(());
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Returns every proposal, the oldest first. A file that cannot be parsed is no proposal.
    pub(crate) fn all(&self) -> io::Result<Vec<ToolProposal>> {
        let Some(entries) = if_there(fs::read_dir(&self.folder))? else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let id = name.strip_suffix(".json").and_then(ProposalId::parse);
            if let Some(id) = id
                && let Some(proposal) = self.find(&id)?
            {
                all.push(proposal);
            }
        }
        all.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(all)
    }

    /// Finds a proposal. One that cannot be parsed, or has another's id, is none.
    pub(crate) fn find(&self, id: &ProposalId) -> io::Result<Option<ToolProposal>> {
        match read_json::<ToolProposal>(&self.path(id, "json"), MAX_PROPOSAL_BYTES) {
            Err(err) if err.kind() == io::ErrorKind::InvalidData => Ok(None),
            read => Ok(if_there(read)?.filter(|proposal| proposal.id == *id)),
        }
    }

    /// Returns the answer, if there is one. An answer that cannot be parsed approves nothing.
    pub(crate) fn answer(&self, id: &ProposalId) -> io::Result<Option<ProposalAnswer>> {
        match read_json(&self.path(id, "decided"), MAX_PROPOSAL_BYTES) {
            Err(err) if err.kind() == io::ErrorKind::InvalidData => Ok(Some(ProposalAnswer {
                status: ProposalStatus::Rejected,
                by: None,
                words: err.to_string(),
                at: Timestamp::UNIX_EPOCH,
            })),
            read => if_there(read),
        }
    }

    /// Answers a proposal. Returns whether this answer was the first.
    pub(crate) fn decide(&self, id: &ProposalId, answer: &ProposalAnswer) -> io::Result<bool> {
        write_once(&self.path(id, "decided"), answer)
    }

    /// Returns where a proposal is in its life.
    pub(crate) fn status(
        &self,
        proposal: &ToolProposal,
        now: Timestamp,
    ) -> io::Result<ProposalStatus> {
        Ok(match self.answer(&proposal.id)? {
            Some(answer) => answer.status,
            None if now >= proposal.expires_at => ProposalStatus::Expired,
            None => ProposalStatus::Pending,
        })
    }

    /// Returns the proposals that wait, the oldest first.
    pub(crate) fn pending(&self, now: Timestamp) -> io::Result<Vec<ToolProposal>> {
        let mut pending = Vec::new();
        for proposal in self.all()? {
            if self.status(&proposal, now)? == ProposalStatus::Pending {
                pending.push(proposal);
            }
        }
        Ok(pending)
    }

    /// Says that an answer has taken effect.
    pub(crate) fn mark_done(&self, id: &ProposalId) -> io::Result<()> {
        write_once(&self.path(id, "done"), &()).map(drop)
    }

    /// Whether an answer has taken effect.
    pub(crate) fn is_done(&self, id: &ProposalId) -> io::Result<bool> {
        fs::exists(self.path(id, "done"))
    }

    /// Removes a proposal. Its own file goes last: until then, the answer that is left belongs to something.
    pub(crate) fn remove(&self, id: &ProposalId) -> io::Result<()> {
        for kind in ["done", "decided", "json"] {
            if_there(fs::remove_file(self.path(id, kind)))?;
        }
        Ok(())
    }

    /// Returns the answered proposals that are too old to be kept.
    pub(crate) fn too_old(&self) -> io::Result<Vec<ToolProposal>> {
        let mut closed = Vec::new();
        for proposal in self.all()? {
            // An answer that has not taken effect yet is still needed.
            if self.is_done(&proposal.id)? {
                closed.push(proposal);
            }
        }
        closed.truncate(closed.len().saturating_sub(MAX_CLOSED));
        Ok(closed)
    }

    fn path(&self, id: &ProposalId, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", id.as_str()))
    }
}

impl PendingCounts {
    /// Counts the proposals that wait.
    pub(crate) fn of(pending: &[ToolProposal], principal: &Principal) -> Self {
        let own = pending.iter().filter(|it| it.by.principal.name == principal.name);
        Self { all: pending.len(), of_principal: own.count() }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use jiff::SignedDuration;
    use toolcrib_core::{Caller, Role};

    use super::*;
    use crate::plugin_source::PluginKind;
    use crate::version_hash::VersionHash;

    fn proposal(name: &str) -> ToolProposal {
        ToolProposal {
            id: ProposalId::new(),
            name: name.to_owned(),
            kind: PluginKind::Module,
            hash: VersionHash::parse(&"0".repeat(64)).unwrap(),
            replaces: None,
            by: Caller::at_terminal("ada"),
            reasoning: String::new(),
            description: String::new(),
            examples: Vec::new(),
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(60),
        }
    }

    fn answer(status: ProposalStatus) -> ProposalAnswer {
        let by = Principal { name: "bob".to_owned(), role: Role::Approver };
        ProposalAnswer { status, by: Some(by), words: String::new(), at: Timestamp::UNIX_EPOCH }
    }

    #[test]
    fn the_first_answer_counts_and_survives() {
        let folder = tempfile::tempdir().unwrap();
        let store = ProposalStore::new(folder.path());
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(store.all().unwrap(), []);
        let first = proposal("a");
        store.add(&first).unwrap();
        assert!(store.add(&first).is_err(), "an id is given once");
        assert_eq!(store.status(&first, now).unwrap(), ProposalStatus::Pending);
        assert_eq!(store.status(&first, first.expires_at).unwrap(), ProposalStatus::Expired);
        let won: usize = thread::scope(|scope| {
            let answers = (0..8).map(|number| {
                let approved = number % 2 == 0;
                let store = &store;
                let status =
                    if approved { ProposalStatus::Approved } else { ProposalStatus::Rejected };
                let id = &first.id;
                scope.spawn(move || store.decide(id, &answer(status)).unwrap())
            });
            let answers: Vec<_> = answers.collect();
            answers.into_iter().map(|it| usize::from(it.join().unwrap())).sum()
        });
        assert_eq!(won, 1);
        let again = ProposalStore::new(folder.path());
        assert_eq!(again.find(&first.id).unwrap(), Some(first.clone()));
        let told = again.answer(&first.id).unwrap().unwrap().status;
        assert_eq!(again.status(&first, first.expires_at).unwrap(), told, "after its time, too");
        store.remove(&first.id).unwrap();
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 0);
    }

    #[test]
    fn files_that_are_no_proposals_are_passed_over_and_a_torn_answer_approves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = ProposalStore::new(folder.path());
        let good = proposal("a");
        store.add(&good).unwrap();
        let other = ProposalId::new();
        fs::write(store.path(&other, "json"), "{").unwrap();
        let copied = ProposalId::new();
        fs::copy(store.path(&good.id, "json"), store.path(&copied, "json")).unwrap();
        fs::write(store.folder.join("prop_x.json"), "{}").unwrap();
        assert_eq!(store.all().unwrap(), std::slice::from_ref(&good));
        fs::write(store.path(&good.id, "decided"), "").unwrap();
        let told = store.status(&good, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(told, ProposalStatus::Rejected);
    }

    #[test]
    fn old_answered_proposals_are_forgotten_and_unfinished_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let store = ProposalStore::new(folder.path());
        let all: Vec<_> = (0..MAX_CLOSED + 3).map(|_| proposal("a")).collect();
        for proposal in &all {
            store.add(proposal).unwrap();
        }
        let ids = |found: Vec<ToolProposal>| found.into_iter().map(|it| it.id).collect::<Vec<_>>();
        let mut sorted = ids(all);
        sorted.sort();
        assert_eq!(ids(store.too_old().unwrap()), []);
        store.decide(&sorted[0], &answer(ProposalStatus::Approved)).unwrap();
        for id in &sorted[1..] {
            store.decide(id, &answer(ProposalStatus::Rejected)).unwrap();
            store.mark_done(id).unwrap();
        }
        assert_eq!(ids(store.too_old().unwrap()), sorted[1..3]);
        store.mark_done(&sorted[0]).unwrap();
        assert_eq!(ids(store.too_old().unwrap()), sorted[..3]);
    }
}
