//! What a person sees of a proposal before answering it. Everything that a plugin or its author wrote is escaped.

use std::time::Duration;

use similar::TextDiff;
use toolcrib_core::policy::grant::Grant;
use toolcrib_core::{ToolName, escape};

use crate::lifecycle::{Lifecycle, PLUGINS_CATALOGUE};
use crate::permissions::PermissionChanges;
use crate::plugin_declaration::PluginDeclaration;
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::source_text::source_text;
use crate::tool_proposal::{ExampleResult, ProposalAnswer, ProposalStatus, ToolProposal};
use crate::version_hash::VersionHash;
use crate::version_store::SavedVersion;

/// How long a difference is looked for. Then it is larger than it could be, and still right.
const DIFFERENCE_TIME: Duration = Duration::from_millis(500);

/// How many characters of the code a list shows.
const PREVIEW_CHARS: usize = 200;

/// A proposal with all that an answer needs.
#[derive(Clone, Debug)]
pub struct ProposalReview {
    /// The proposal. Its texts are escaped.
    pub proposal: ToolProposal,
    /// Where it is in its life.
    pub status: ProposalStatus,
    /// The answer, if it has one.
    pub answer: Option<ProposalAnswer>,
    /// What the plugin says of itself, as it came: escape it wherever it is shown.
    pub declaration: PluginDeclaration,
    /// The code of a module, or the files of a program, escaped.
    pub code: String,
    /// The version that is active now.
    pub active: Option<VersionHash>,
    /// The unified difference to the active version, escaped. Nothing if there is none.
    pub difference: Option<String>,
    /// The permissions that the active version does not have, and those that it alone has.
    pub permission_changes: PermissionChanges,
    /// What people granted to calls of the tool: it holds for the new version too. Escaped.
    pub grants: Vec<String>,
    /// What the examples of the active version did when it was proposed.
    pub examples_before: Vec<ExampleResult>,
}

/// A proposal, answered or not, as it is listed.
#[derive(Clone, Debug)]
pub struct KeptProposal {
    /// The proposal. Its texts are escaped.
    pub proposal: ToolProposal,
    /// Where it is in its life.
    pub status: ProposalStatus,
    /// The answer, if it has one.
    pub answer: Option<ProposalAnswer>,
}

/// A proposal that waits, as it is listed.
#[derive(Clone, Debug)]
pub struct PendingTool {
    /// The proposal. Its texts are escaped.
    pub proposal: ToolProposal,
    /// What the plugin says of itself, as it came: escape it wherever it is shown.
    pub declaration: PluginDeclaration,
    /// The first characters of the code, escaped.
    pub code_preview: String,
    /// The permissions that the active version does not have, and those that it alone has.
    pub permission_changes: PermissionChanges,
}

impl Lifecycle {
    /// Returns a proposal with all that an answer needs, by id, or by the tool's name: then the one that waits, or the
    /// newest.
    pub fn review(&self, tool: &str) -> Result<ProposalReview, PluginError> {
        let proposal = self.find_proposal(tool)?;
        let version = self.store.versions.load(&proposal.hash)?;
        let active = self.active_beside(&proposal)?;
        let difference = active.as_ref().map(|active| {
            let (before, after) = (source_text(&active.source), source_text(&version.source));
            escape::lines(&difference(&before, &after, &active.hash, &version.hash)).into_owned()
        });
        Ok(ProposalReview {
            status: self.store.proposals.status(&proposal, self.clock.now())?,
            answer: self.store.proposals.answer(&proposal.id)?,
            code: escape::lines(&source_text(&version.source)).into_owned(),
            difference,
            permission_changes: permission_changes(&version, active.as_ref()),
            examples_before: match &active {
                Some(active) => self.examples_of(&active.hash)?,
                None => Vec::new(),
            },
            active: active.map(|active| active.hash),
            grants: self.grants_on(&proposal.name)?,
            declaration: version.declaration,
            proposal: escaped(proposal),
        })
    }

    /// Returns what the examples of a version did when it was proposed last.
    fn examples_of(&self, version: &VersionHash) -> Result<Vec<ExampleResult>, PluginError> {
        let proposals = self.store.proposals.all()?.into_iter().rev();
        let found = proposals.into_iter().find(|proposal| proposal.hash == *version);
        Ok(found.map(|found| escaped(found).examples).unwrap_or_default())
    }

    /// Returns the proposals that wait, the oldest first.
    pub fn pending(&self) -> Result<Vec<PendingTool>, PluginError> {
        let mut pending = Vec::new();
        for proposal in self.store.proposals.pending(self.clock.now())? {
            let version = self.store.versions.load(&proposal.hash)?;
            let active = self.active_beside(&proposal)?;
            let code: String = source_text(&version.source).chars().take(PREVIEW_CHARS).collect();
            pending.push(PendingTool {
                code_preview: escape::lines(&code).into_owned(),
                permission_changes: permission_changes(&version, active.as_ref()),
                declaration: version.declaration,
                proposal: escaped(proposal),
            });
        }
        Ok(pending)
    }

    /// Returns every proposal that is kept, the oldest first, answered or not. Their texts are escaped.
    pub fn proposals(&self) -> Result<Vec<KeptProposal>, PluginError> {
        let mut all = Vec::new();
        for proposal in self.store.proposals.all()? {
            let status = self.store.proposals.status(&proposal, self.clock.now())?;
            let answer = self.store.proposals.answer(&proposal.id)?;
            all.push(KeptProposal { proposal: escaped(proposal), status, answer });
        }
        Ok(all)
    }

    /// Returns the grants that are in force for calls of a tool, in words.
    fn grants_on(&self, name: &str) -> Result<Vec<String>, PluginError> {
        let (tool, now) = (ToolName::new(PLUGINS_CATALOGUE, name), self.clock.now());
        let all = self.grants.current().map_err(|err| {
            let message = format!("what was granted to `{name}` cannot be read: {err}");
            PluginError::new(PluginErrorKind::Store, message)
        })?;
        let holds = |it: &&Grant| {
            it.enabled && it.tool_name == tool && it.expires_at.is_none_or(|end| now < end)
        };
        let told = |it: &Grant| {
            let text = format!("{}: {} (always, said {})", it.id, it.covers.text(), it.by);
            escape::line(&text).into_owned()
        };
        Ok(all.iter().filter(holds).map(told).collect())
    }

    /// Returns the active version of the proposed tool. One that is damaged counts as none: the whole code is new then.
    fn active_beside(&self, proposal: &ToolProposal) -> Result<Option<SavedVersion>, PluginError> {
        let state = self.store.states.find(&proposal.name)?;
        let hash = state.and_then(|state| state.active);
        Ok(hash.and_then(|hash| self.store.versions.load(&hash).ok()))
    }
}

fn permission_changes(version: &SavedVersion, active: Option<&SavedVersion>) -> PermissionChanges {
    let old = active.map(|active| active.declaration.permissions.clone()).unwrap_or_default();
    version.declaration.permissions.changes_since(&old)
}

fn difference(before: &str, after: &str, old: &VersionHash, new: &VersionHash) -> String {
    let difference = TextDiff::configure().timeout(DIFFERENCE_TIME).diff_lines(before, after);
    difference.unified_diff().header(old.short(), new.short()).to_string()
}

fn escaped(proposal: ToolProposal) -> ToolProposal {
    let line = |text: &str| escape::line(text).into_owned();
    let examples = proposal.examples.into_iter().map(|mut example| {
        example.about = line(&example.about);
        example.message = example.message.as_deref().map(line);
        example
    });
    ToolProposal {
        examples: examples.collect(),
        reasoning: escape::lines(&proposal.reasoning).into_owned(),
        description: escape::lines(&proposal.description).into_owned(),
        ..proposal
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;
    use toolcrib_core::policy::grant::{Covers, Scope, Wish};

    use super::*;
    use crate::lifecycle_fixture::{Fixture, approver, code, new_tool};

    #[test]
    fn a_review_shows_code_difference_and_permissions() {
        let fixture = Fixture::new();
        let lifecycle = &fixture.lifecycle;
        let first = fixture.propose("hello", "one");
        let review = lifecycle.review("hello").unwrap();
        assert_eq!(review.code, code("hello", "one", json!({})));
        assert_eq!((review.difference, review.active), (None, None));
        assert_eq!(review.permission_changes, PermissionChanges::default());
        lifecycle.approve("hello", None, &approver("bob")).unwrap();
        let wider = code("hello", "one", json!({"read": ["logs"]}));
        let second = fixture.propose_code("hello", wider);
        let review = lifecycle.review("hello").unwrap();
        assert_eq!((review.proposal.id, review.active), (second.id.clone(), Some(first.hash)));
        let difference = review.difference.unwrap();
        assert!(difference.contains("\n-  \"permissions\": {},\n"), "{difference}");
        assert!(difference.contains("\n+      \"logs\"\n"), "{difference}");
        let added = &review.permission_changes.added;
        assert_eq!((added[0].list.as_str(), added[0].entry.as_str()), ("read", "logs"));
        let pending = lifecycle.pending().unwrap();
        assert_eq!(pending[0].permission_changes, review.permission_changes);
        assert!(pending[0].code_preview.chars().count() <= PREVIEW_CHARS);
        lifecycle.reject("hello", "why", &approver("bob")).unwrap();
        let review = lifecycle.review(second.id.as_str()).unwrap();
        assert_eq!(review.status, ProposalStatus::Rejected);
        assert_eq!(review.answer.unwrap().words, "why");
        let all: Vec<_> = lifecycle.proposals().unwrap().into_iter().map(|it| it.status).collect();
        assert_eq!(all, [ProposalStatus::Approved, ProposalStatus::Rejected]);
        assert_eq!(lifecycle.review("absent").unwrap_err().kind, PluginErrorKind::NotFound);
    }

    #[test]
    fn a_review_tells_what_was_granted_to_the_tool_and_holds_for_the_new_version() {
        let fixture = Fixture::new();
        let lifecycle = &fixture.lifecycle;
        let wish = Wish {
            covers: Covers::Call { args: "{\"a\":1}".to_owned(), links: Vec::new() },
            scope: Scope::User,
            minutes: None,
        };
        let grant = |id: &str, tool: &str| {
            wish.granted(id.to_owned(), &tool.into(), "bob", lifecycle.clock.now())
        };
        lifecycle.grants.add(grant("g1", "plugins/hello")).unwrap();
        lifecycle.grants.add(grant("g2", "plugins/other")).unwrap();
        let revoked = Grant { enabled: false, ..grant("g3", "plugins/hello") };
        lifecycle.grants.add(revoked).unwrap();
        fixture.propose("hello", "one");
        let told = lifecycle.review("hello").unwrap().grants;
        assert_eq!(told, ["g1: call = {\"a\":1} (always, said bob)"]);
    }

    #[test]
    fn what_authors_wrote_is_escaped_when_shown_and_kept_as_it_came() {
        let fixture = Fixture::new();
        let lifecycle = &fixture.lifecycle;
        let hidden = "always\u{e0041} \u{1b}[2J\u{202e}";
        // In the toy format, control characters would be escapes of JSON.
        let seen_by_models = code("hello", "a\u{202e}b\u{e0041}", json!({}));
        let agent = crate::lifecycle_fixture::agent("ada");
        let refused = lifecycle.propose(new_tool("hello", seen_by_models), &agent).unwrap_err();
        assert_eq!(refused.0[0].kind, PluginErrorKind::BadModule);
        let note = "{\"note\": \"a\u{202e}b\u{e0041}\",";
        let text = code("hello", "ab", json!({})).replacen('{', note, 1);
        let mut new = new_tool("hello", text.clone());
        (new.reasoning, new.description) = (hidden.to_owned(), hidden.to_owned());
        lifecycle.propose(new, &agent).unwrap();
        let review = lifecycle.review("hello").unwrap();
        let shown = [&review.proposal.reasoning, &review.proposal.description, &review.code];
        for text in shown {
            assert!(!text.contains(|c| escape::is_deceptive(c) && c != '\n'), "{text:?}");
        }
        assert!(review.code.contains(r"a\u{202e}b\u{e0041}"));
        let file = fixture.state(&format!("versions/{}/files/tool.mjs", review.proposal.hash));
        assert_eq!(fs::read_to_string(file).unwrap(), text);
        let pending = lifecycle.pending().unwrap().remove(0);
        assert!(!pending.code_preview.contains('\u{202e}'));
    }

    #[test]
    fn the_difference_of_hostile_texts_is_found_in_time() {
        let lines = |step: usize| -> String {
            (0..100_000)
                .flat_map(|number| [(b'0' + (number * step % 7) as u8).into(), '\n'])
                .collect()
        };
        let hash = |digit: &str| VersionHash::parse(&digit.repeat(64)).unwrap();
        let (one, two) = (lines(3), lines(5));
        let shown = difference(&one, &two, &hash("1"), &hash("2"));
        assert!(shown.starts_with("--- 111111111111\n+++ 222222222222\n"));
    }
}
