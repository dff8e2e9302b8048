//! The life of a plugin: proposed, examined, answered by somebody else, active.
//!
//! Every change holds the lock, and first finishes what a process that died has left. The order of the writes makes
//! that possible: the answer is the first file, because it can be made once and says everything. Then come the note in
//! the record, the approval, the module in the tools folder, the tool's state, and last the mark that all of it is
//! done. A version is loaded only if the state names it and the approval is there, so a crash at any point leaves the
//! old version active, or the new one whole.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib_core::policy::grant::Grants;
use toolcrib_core::{Clock, Note, Principal, Recorder, ToolName, escape};

use crate::examination::{Examination, Examiner, StaticChecks};
use crate::permissions::Permissions;
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::plugin_store::PluginStore;
use crate::program_run::ProgramResources;
use crate::tool_proposal::{ProposalAnswer, ProposalId, ProposalStatus, ToolProposal};
use crate::tool_state::{Activation, ActivationKind};
use crate::tools_folder;
use crate::version_approval::{ApprovalRule, VersionApproval};
use crate::version_hash::VersionHash;
use crate::version_store::SavedVersion;

/// The catalogue of the plugins.
pub const PLUGINS_CATALOGUE: &str = "plugins";

/// The subject of every note in the record.
pub(crate) const PLUGIN_ACT: &str = "plugin";

/// The longest text of a proposer, or of whoever answers, in bytes.
pub(crate) const MAX_WORDS_BYTES: usize = 16 << 10;

/// Proposes, answers and switches plugins, for every door.
#[derive(Clone)]
pub struct Lifecycle {
    /// The plugins.
    pub store: PluginStore,
    /// What the operator allows.
    pub rules: LifecycleRules,
    /// Checks names and schemas.
    pub checks: Arc<dyn StaticChecks>,
    /// Runs what nobody has approved yet.
    pub examiner: Arc<dyn Examiner>,
    /// The record.
    pub recorder: Arc<dyn Recorder>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// What people granted, for whoever reviews.
    pub grants: Arc<dyn Grants>,
}

/// What the operator allows.
#[derive(Clone, Debug)]
pub struct LifecycleRules {
    /// Whether tools of other authors are on. If not, nothing of theirs runs, not even to be examined.
    pub is_enabled: bool,
    /// The most that a plugin may ask for.
    pub max: Permissions,
    /// The most memory and processors of a program.
    pub most_resources: ProgramResources,
    /// How long a proposal waits.
    pub proposal_lifetime: Duration,
    /// Which versions need an approval.
    pub approval: ApprovalRule,
    /// The tools folder.
    pub tools_folder: PathBuf,
}

/// A version that has become active.
#[derive(Clone, Debug)]
pub struct ActivatedTool {
    /// The tool's name.
    pub name: String,
    /// The version.
    pub hash: VersionHash,
    /// When.
    pub at: Timestamp,
    /// The module in the tools folder. If it could not be written, the version is active all the same.
    pub written: Result<PathBuf, PluginError>,
}

impl Lifecycle {
    /// Approves the proposal of a tool, by name or id. `hash` is the version that was shown to whoever approves, or
    /// the beginning of it.
    pub fn approve(
        &self,
        tool: &str,
        hash: Option<&str>,
        by: &Principal,
    ) -> Result<ActivatedTool, PluginError> {
        self.require_enabled()?;
        let (_lock, proposal) = self.begin_answer(tool, by)?;
        if let Some(shown) = hash
            && !proposal.hash.is_meant_by(shown)
        {
            let short = proposal.hash.short();
            let message = format!("the proposal of `{}` is version {short}", proposal.name);
            return Err(PluginError::new(PluginErrorKind::Changed, message)
                .hint("read the proposal again, and name the first 12 digits of what it shows"));
        }
        // Whatever could fail is tried before the answer, which cannot be taken back. Settings can have become
        // stricter since the examination, and the files can have been changed.
        let version = self.store.versions.load(&proposal.hash)?;
        self.store.states.find(&proposal.name)?;
        let others = self.other_names(&proposal.name)?;
        let faults =
            self.examination(&others).faults(&proposal.name, &version.source, &version.declaration);
        if let Some(fault) = faults.into_iter().next() {
            return Err(fault);
        }
        let answer = self.answer(&proposal, ProposalStatus::Approved, by, "")?;
        let written = self.take_effect(&proposal, &answer, &version)?;
        let (name, hash) = (proposal.name, proposal.hash);
        Ok(ActivatedTool { name, hash, at: answer.at, written })
    }

    /// Rejects the proposal of a tool, by name or id, with a reason. Returns the proposal and the time.
    pub fn reject(
        &self,
        tool: &str,
        words: &str,
        by: &Principal,
    ) -> Result<(ToolProposal, Timestamp), PluginError> {
        require_short("reason", words)?;
        let (_lock, proposal) = self.begin_answer(tool, by)?;
        let answer = self.answer(&proposal, ProposalStatus::Rejected, by, words)?;
        self.finish(&proposal, &answer)?;
        Ok((proposal, answer.at))
    }

    /// Ends the proposals whose time is over, and finishes what a process that died has left. A server does this at
    /// its start; every change does it first.
    pub fn expire(&self) -> Result<(), PluginError> {
        let (now, proposals) = (self.clock.now(), &self.store.proposals);
        for proposal in proposals.all()? {
            let is_settled = match proposals.answer(&proposal.id)? {
                Some(_) => proposals.is_done(&proposal.id)?,
                None => now < proposal.expires_at,
            };
            if !is_settled {
                return self.begin("").map(drop);
            }
        }
        // Without anything to do, no folder is made and no lock is taken.
        Ok(())
    }

    /// Fails if tools of other authors are switched off.
    pub(crate) fn require_enabled(&self) -> Result<(), PluginError> {
        if self.rules.is_enabled {
            return Ok(());
        }
        let message = "tools of other authors are switched off";
        Err(PluginError::new(PluginErrorKind::Off, message)
            .hint("the setting `plugins.enabled` switches them on"))
    }

    /// Takes the lock, finishes what was left, and ends what is over. Trouble with the leavings of another tool than
    /// `name` stops nothing: they are tried again at the next change.
    pub(crate) fn begin(&self, name: &str) -> Result<File, PluginError> {
        let lock = self.store.lock()?;
        let now = self.clock.now();
        let proposals = &self.store.proposals;
        for proposal in proposals.all()? {
            let answer = match proposals.answer(&proposal.id)? {
                None if now < proposal.expires_at => continue,
                None => {
                    let (status, words) = (ProposalStatus::Expired, String::new());
                    let answer = ProposalAnswer { status, by: None, words, at: now };
                    proposals.decide(&proposal.id, &answer)?;
                    answer
                }
                Some(answer) => answer,
            };
            if !proposals.is_done(&proposal.id)? {
                let finished = self.finish(&proposal, &answer);
                if proposal.name == name {
                    finished?;
                }
            }
        }
        Ok(lock)
    }

    /// Makes a version active: the module in the tools folder, then the state, then the generation. The caller holds
    /// the lock. The folder comes first because the state remembers what lies there; if a crash comes between, a
    /// reload finds a module that changed and is approved, and makes the same version active.
    pub(crate) fn activate(
        &self,
        version: &SavedVersion,
        how: ActivationKind,
        by: &str,
        at: Timestamp,
    ) -> Result<Result<PathBuf, PluginError>, PluginError> {
        let name = &version.declaration.name;
        let mut state = self.store.states.find(name)?.unwrap_or_default();
        let folder = &self.rules.tools_folder;
        let code = tools_folder::digest_of(&version.source);
        let written = match how {
            ActivationKind::Reloaded => tools_folder::place_of(folder, name, version.source.kind()),
            ActivationKind::Approved | ActivationKind::RolledBack | ActivationKind::Written => {
                tools_folder::write(folder, name, &version.source)
            }
        };
        state.seen = match &written {
            Ok(_) => Some(code.clone()),
            // What lies there is not this version, and must not take its place at the next reload.
            Err(_) => tools_folder::digest_there(folder, name).or(state.seen),
        };
        // Who approves a version wants it to run. A roll-back or a file on the disk enables nothing.
        state.is_enabled |= matches!(how, ActivationKind::Approved | ActivationKind::Written);
        let activation =
            Activation { hash: version.hash.clone(), code, at, by: by.to_owned(), how };
        // After a crash, this may have happened already.
        if state.history.last() != Some(&activation) {
            state.activate(activation);
        }
        self.store.states.save(name, &state)?;
        self.store.next_generation()?;
        Ok(written)
    }

    /// Records a step. What cannot be recorded does not happen.
    pub(crate) fn note(
        &self,
        event: &str,
        actor: &str,
        name: &str,
        detail: Value,
    ) -> Result<(), PluginError> {
        let tool = ToolName::new(PLUGINS_CATALOGUE, name);
        let (at, tool) = (self.clock.now(), Some(&tool));
        let note = Note { at, actor, act: PLUGIN_ACT, event, tool, call: "", detail };
        self.recorder.note(&note).map_err(|err| {
            let message = format!("the step `{event}` of `{name}` cannot be recorded: {err}");
            PluginError::new(PluginErrorKind::Store, message)
        })
    }

    /// Returns the names of the other plugins: those that have a version, and those that are proposed.
    pub(crate) fn other_names(&self, name: &str) -> Result<Vec<String>, PluginError> {
        let mut names = Vec::new();
        for other in self.store.states.names()? {
            // A state that cannot be read holds its name: whatever it was, nothing else may look like it.
            let is_plugin = self
                .store
                .states
                .find(&other)
                .map_or(true, |state| state.is_some_and(|state| state.active.is_some()));
            names.extend(is_plugin.then_some(other));
        }
        let pending = self.store.proposals.pending(self.clock.now())?;
        names.extend(pending.into_iter().map(|proposal| proposal.name));
        names.retain(|other| other != name);
        Ok(names)
    }

    /// Returns what examines a plugin.
    pub(crate) fn examination<'a>(&'a self, others: &'a [String]) -> Examination<'a> {
        Examination {
            examiner: &*self.examiner,
            checks: &*self.checks,
            max: &self.rules.max,
            most_resources: self.rules.most_resources,
            scratch: self.store.examined_folder(),
            others,
        }
    }

    /// Finds a proposal by its id, or the newest one of a tool: the one that waits, if one does.
    pub(crate) fn find_proposal(&self, tool: &str) -> Result<ToolProposal, PluginError> {
        let proposals = &self.store.proposals;
        let found = if let Some(id) = ProposalId::parse(tool) {
            proposals.find(&id)?
        } else {
            let of_tool = |proposal: &ToolProposal| proposal.name == tool;
            let pending = proposals.pending(self.clock.now())?.into_iter().find(of_tool);
            let newest = || proposals.all().map(|all| all.into_iter().rfind(of_tool));
            pending.map_or_else(newest, |pending| Ok(Some(pending)))?
        };
        found.ok_or_else(|| {
            let message = format!("there is no proposal of `{}`", escape::line(tool));
            PluginError::new(PluginErrorKind::NotFound, message)
        })
    }

    /// Takes the lock, and finds a proposal that `by` may answer.
    fn begin_answer(
        &self,
        tool: &str,
        by: &Principal,
    ) -> Result<(File, ToolProposal), PluginError> {
        // Looked for before the lock is taken, which makes the folder of the plugins.
        let name = self.find_proposal(tool)?.name;
        let lock = self.begin(&name)?;
        let proposal = self.find_proposal(tool)?;
        if let Some(answer) = self.store.proposals.answer(&proposal.id)? {
            return Err(closed(&proposal, &answer));
        }
        if !by.may_answer_for(&proposal.by.principal) {
            let message = format!("`{}` proposed `{}`", by.name, proposal.name);
            return Err(PluginError::new(PluginErrorKind::OwnProposal, message)
                .hint("nobody answers their own proposal; ask somebody else"));
        }
        Ok((lock, proposal))
    }

    /// Answers a proposal, if nobody has.
    fn answer(
        &self,
        proposal: &ToolProposal,
        status: ProposalStatus,
        by: &Principal,
        words: &str,
    ) -> Result<ProposalAnswer, PluginError> {
        let (by, words) = (Some(by.clone()), words.to_owned());
        let answer = ProposalAnswer { status, by, words, at: self.clock.now() };
        if self.store.proposals.decide(&proposal.id, &answer)? {
            return Ok(answer);
        }
        let first = self.store.proposals.answer(&proposal.id)?;
        Err(closed(proposal, &first.unwrap_or(answer)))
    }

    /// Lets an answer take effect. What was done already is done again, which changes nothing; a note may then be in
    /// the record twice, and is never missing.
    fn finish(&self, proposal: &ToolProposal, answer: &ProposalAnswer) -> Result<(), PluginError> {
        match answer.status {
            ProposalStatus::Approved => match self.store.versions.load(&proposal.hash) {
                Ok(version) => return self.take_effect(proposal, answer, &version).map(drop),
                Err(err) => {
                    // The code is gone, so nothing can become active, now or later.
                    let detail = json!({"proposal": proposal.id.as_str(), "error": err.message});
                    self.note("waiting", "system", &proposal.name, detail)?;
                }
            },
            ProposalStatus::Rejected | ProposalStatus::Expired | ProposalStatus::Pending => {
                self.note_answer(proposal, answer)?;
            }
        }
        Ok(self.store.proposals.mark_done(&proposal.id)?)
    }

    fn take_effect(
        &self,
        proposal: &ToolProposal,
        answer: &ProposalAnswer,
        version: &SavedVersion,
    ) -> Result<Result<PathBuf, PluginError>, PluginError> {
        let Some(by) = answer.by.clone() else {
            let message = format!("the approval of `{}` names nobody", proposal.name);
            return Err(PluginError::new(PluginErrorKind::NotApproved, message));
        };
        self.note_answer(proposal, answer)?;
        let approval = VersionApproval {
            hash: proposal.hash.clone(),
            name: proposal.name.clone(),
            by: by.clone(),
            at: answer.at,
            proposal: proposal.id.clone(),
        };
        self.store.approvals.add(&approval)?;
        let written = self.activate(version, ActivationKind::Approved, &by.name, answer.at)?;
        self.store.proposals.mark_done(&proposal.id)?;
        Ok(written)
    }

    fn note_answer(
        &self,
        proposal: &ToolProposal,
        answer: &ProposalAnswer,
    ) -> Result<(), PluginError> {
        let by = answer.by.as_ref();
        let detail = json!({
            "proposal": proposal.id.as_str(), "version": proposal.hash.as_str(),
            "by": by.map(|by| &by.name), "words": answer.words,
            "proposer": proposal.by.principal.name,
        });
        self.note(answer.status.as_str(), answer.actor(), &proposal.name, detail)
    }
}

/// Returns the error for a proposal that has an answer.
fn closed(proposal: &ToolProposal, answer: &ProposalAnswer) -> PluginError {
    let name = &proposal.name;
    let message = match answer.status {
        ProposalStatus::Expired => format!("the time to answer the proposal of `{name}` is over"),
        status => format!("`{name}` was {} by {}", status.as_str(), answer.answerer()),
    };
    let told = PluginError::new(PluginErrorKind::Closed, message);
    match answer.status {
        ProposalStatus::Rejected | ProposalStatus::Expired => told.hint("it can be proposed again"),
        ProposalStatus::Approved | ProposalStatus::Pending => told,
    }
}

/// Fails if words are longer than anybody reads.
pub(crate) fn require_short(part: &str, words: &str) -> Result<(), PluginError> {
    if words.len() <= MAX_WORDS_BYTES {
        return Ok(());
    }
    let message = format!("the {part} is longer than {MAX_WORDS_BYTES} bytes");
    Err(PluginError::new(PluginErrorKind::TooLarge, message))
}

#[cfg(test)]
mod tests;
