//! Proposing a tool: it is examined, and then waits for an answer.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use toolcrib_core::{Caller, counted};

use crate::examination::ProposalFaults;
use crate::lifecycle::{Lifecycle, require_short};
use crate::name_form::check_form;
use crate::plugin_declaration::PluginDeclaration;
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::plugin_source::PluginSource;
use crate::proposal_store::{MAX_PENDING, MAX_PENDING_OF_ONE, PendingCounts};
use crate::tool_proposal::{ExampleResult, ProposalId, ToolProposal};
use crate::tools_folder;
use crate::version_hash::VersionHash;

/// A tool that somebody proposes.
#[derive(Clone, Debug)]
pub struct NewTool {
    /// The name, which the code must export, too.
    pub name: String,
    /// What it does, in the proposer's words.
    pub description: String,
    /// The module or the program.
    pub source: PluginSource,
    /// Why it is proposed.
    pub reasoning: String,
}

/// A tool that was examined and has no faults.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The module or the program.
    pub source: PluginSource,
    /// What it declares.
    pub declaration: PluginDeclaration,
    /// What its examples did. A failed one is no fault: whoever answers the proposal sees it.
    pub examples: Vec<ExampleResult>,
}

impl Lifecycle {
    /// Examines a tool, and adds it to the proposals that wait. This takes as long as the tool's examples do.
    pub fn propose(&self, new: NewTool, by: &Caller) -> Result<ToolProposal, ProposalFaults> {
        let NewTool { name, description, source, reasoning } = new;
        self.require_enabled()?;
        check_form(&name)?;
        require_short("description", &description)?;
        require_short("reasoning", &reasoning)?;
        // Looked at before the examination, which is slow, and again when nobody else can change anything.
        self.require_room(&name, by)?;
        let Examined { source, declaration, examples } = self.examine(&name, source)?;
        // Without words of the proposer, the plugin's own stand for them.
        let description =
            if description.is_empty() { declaration.description.clone() } else { description };
        let _lock = self.begin(&name)?;
        self.require_room(&name, by)?;
        // Somebody may have proposed a name meanwhile that looks like this one.
        self.checks.check_name(&name, &self.other_names(&name)?)?;
        self.store.versions.remove_leftovers()?;
        self.forget_old()?;
        let created_at = self.clock.now();
        let lifetime = SignedDuration::try_from(self.rules.proposal_lifetime);
        let expires_at = lifetime.ok().and_then(|it| created_at.checked_add(it).ok());
        let proposal = ToolProposal {
            id: ProposalId::new(),
            kind: source.kind(),
            // The version comes before the proposal: a proposal always has its code.
            hash: self.store.versions.put(&source, &declaration)?,
            replaces: self.store.states.find(&name)?.and_then(|state| state.active),
            by: by.clone(),
            name,
            reasoning,
            description,
            examples,
            created_at,
            expires_at: expires_at.unwrap_or(Timestamp::MAX),
        };
        self.store.proposals.add(&proposal)?;
        let noted = self.note_proposal(&proposal);
        if noted.is_err() {
            self.store.proposals.remove(&proposal.id)?;
        }
        noted?;
        Ok(proposal)
    }

    /// Examines a tool and runs its examples, as a proposal does, and keeps nothing.
    pub fn examine(&self, name: &str, source: PluginSource) -> Result<Examined, ProposalFaults> {
        self.require_enabled()?;
        check_form(name)?;
        let others = self.other_names(name)?;
        let examination = self.examination(&others);
        let declaration = examination.describe(name, &source)?;
        let examples = examination.run_examples(&source, &declaration)?;
        Ok(Examined { source, declaration, examples })
    }

    /// Proposes a plugin that lies in the tools folder and waits there.
    pub fn propose_waiting(&self, name: &str, by: &Caller) -> Result<ToolProposal, ProposalFaults> {
        let (path, source) = tools_folder::read_there(&self.rules.tools_folder, name)?;
        let new = NewTool {
            name: name.to_owned(),
            description: String::new(),
            source,
            reasoning: format!("It lies in the tools folder: {}", path.display()),
        };
        self.propose(new, by)
    }

    fn require_room(&self, name: &str, by: &Caller) -> Result<(), PluginError> {
        let pending = self.store.proposals.pending(self.clock.now())?;
        if let Some(other) = pending.iter().find(|proposal| proposal.name == name) {
            let message = format!("`{name}` waits for an answer already: {}", other.id.as_str());
            return Err(PluginError::new(PluginErrorKind::AlreadyPending, message)
                .hint("wait until somebody answers or rejects it, or until its time is over"));
        }
        let counts = PendingCounts::of(&pending, &by.principal);
        let (whose, most) = if counts.all >= MAX_PENDING {
            ("", MAX_PENDING)
        } else if counts.of_principal >= MAX_PENDING_OF_ONE {
            (" of yours", MAX_PENDING_OF_ONE)
        } else {
            return Ok(());
        };
        let message = format!("{}{whose} wait for an answer", counted(most as u64, "proposal"));
        Err(PluginError::new(PluginErrorKind::Busy, message).hint("let somebody answer them first"))
    }

    /// Forgets old answered proposals, and their code if nobody else needs it. The code goes first: a crash between
    /// leaves a proposal without code, which goes the next time, and no code without a proposal.
    fn forget_old(&self) -> Result<(), PluginError> {
        let old = self.store.proposals.too_old()?;
        if old.is_empty() {
            return Ok(());
        }
        let all = self.store.proposals.all()?;
        let kept = all.iter().filter(|it| !old.iter().any(|gone| gone.id == it.id));
        let mut needed: Vec<VersionHash> = kept.map(|it| it.hash.clone()).collect();
        for name in self.store.states.names()? {
            let state = self.store.states.find(&name)?.unwrap_or_default();
            needed.extend(state.history.into_iter().map(|it| it.hash));
        }
        for proposal in old {
            let is_unapproved = matches!(self.store.approvals.find(&proposal.hash), Ok(None));
            if is_unapproved && !needed.contains(&proposal.hash) {
                self.store.versions.remove(&proposal.hash)?;
            }
            self.store.proposals.remove(&proposal.id)?;
        }
        Ok(())
    }

    fn note_proposal(&self, proposal: &ToolProposal) -> Result<(), PluginError> {
        let by = &proposal.by.principal;
        let detail = json!({
            "proposal": proposal.id.as_str(), "version": proposal.hash.as_str(),
            "replaces": proposal.replaces.as_ref().map(VersionHash::as_str),
            "by": by.name, "door": proposal.by.door.as_str(), "words": proposal.reasoning,
        });
        self.note("proposed", by.role.as_str(), &proposal.name, detail)
    }
}
