//! Reloading: what changed in the tools folder becomes active if it is approved, and is listed if it is not.

use std::path::PathBuf;

use serde_json::json;
use toolcrib_core::Principal;

use crate::examination::ProposalFaults;
use crate::lifecycle::{ActivatedTool, Lifecycle};
use crate::name_form::check_form;
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::plugin_source::PluginSource;
use crate::tool_state::{ActivationKind, ToolState};
use crate::tools_folder::{self, ScannedFile};
use crate::version_approval::ApprovalRule;
use crate::version_hash::VersionHash;
use crate::version_store::{SavedVersion, VersionStore};

/// A module of the tools folder.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundPlugin {
    /// The tool's name, by the file's name. Escaped if it is none.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What became of it.
    pub state: FoundState,
}

/// What became of a module of the tools folder.
#[derive(Clone, Debug, PartialEq)]
pub enum FoundState {
    /// It is the active version.
    Active(VersionHash),
    /// It changed, is approved, and has become active now.
    Loaded(VersionHash),
    /// It is an approved version that somebody rolled back from.
    Inactive(VersionHash),
    /// Nobody has approved it.
    Waiting(VersionHash),
    /// It cannot be a tool.
    Broken(PluginError),
}

/// A module that was read, and what it is if it is not known.
struct ModuleCandidate {
    file: ScannedFile,
    /// The version that the module would be. Nothing if its tool had the same code before.
    unknown: Option<Result<SavedVersion, PluginError>>,
}

impl Lifecycle {
    /// Looks through the tools folder. A module that changed and whose version is approved becomes active. One that is
    /// gone from the folder changes nothing: the version that runs is the copy among the versions.
    pub fn reload(&self, by: &Principal) -> Result<Vec<FoundPlugin>, PluginError> {
        self.require_enabled()?;
        self.expire()?;
        let files = tools_folder::scan(&self.rules.tools_folder)?;
        // Modules that are not known are loaded before the lock is taken: that is slow, and they are not trusted.
        let candidates: Vec<ModuleCandidate> =
            files.into_iter().map(|it| self.candidate(it)).collect();
        Ok(candidates.into_iter().map(|candidate| self.take_up(candidate, by)).collect())
    }

    /// Makes a module the active version of a tool where the settings want no approval, and writes it to the tools
    /// folder.
    pub fn write(
        &self,
        name: &str,
        code: &str,
        by: &Principal,
    ) -> Result<ActivatedTool, ProposalFaults> {
        self.require_enabled()?;
        check_form(name)?;
        if self.rules.approval == ApprovalRule::Always {
            let message = "a tool needs an approval before it is written";
            return Err(PluginError::new(PluginErrorKind::NotApproved, message)
                .hint("propose it")
                .into());
        }
        let source = PluginSource::of_module(code)?;
        let version = self.describe(name, source)?;
        self.store.approvals.require(&version, self.rules.approval)?;
        let _lock = self.begin(name)?;
        // Somebody may have taken a name meanwhile that looks like this one.
        self.checks.check_name(name, &self.other_names(name)?)?;
        Ok(self.save_and_activate(&version, ActivationKind::Written, by)?)
    }

    fn candidate(&self, file: ScannedFile) -> ModuleCandidate {
        let unknown = file.source.as_ref().ok().and_then(|source| {
            let state = self.store.states.find(&file.name).ok()?.unwrap_or_default();
            let digest = tools_folder::digest_of(source);
            let is_known = state.version_of_code(&digest).is_some();
            let first = |faults: ProposalFaults| {
                faults.0.into_iter().next().unwrap_or_else(|| {
                    PluginError::new(PluginErrorKind::BadModule, "the module has faults")
                })
            };
            (!is_known).then(|| self.describe(&file.name, source.clone()).map_err(first))
        });
        ModuleCandidate { file, unknown }
    }

    /// Takes a module up. Trouble with one of them does not keep the others from being loaded.
    fn take_up(&self, candidate: ModuleCandidate, by: &Principal) -> FoundPlugin {
        let ModuleCandidate { file: ScannedFile { name, path, source }, unknown } = candidate;
        let state = match (source, unknown) {
            (Err(err), _) | (Ok(_), Some(Err(err))) => Err(err),
            (Ok(_), Some(Ok(version))) => self.take_up_unknown(&name, &version, by),
            (Ok(source), None) => self.take_up_known(&name, &source, by),
        };
        FoundPlugin { name, path, state: state.unwrap_or_else(FoundState::Broken) }
    }

    fn take_up_known(
        &self,
        name: &str,
        source: &PluginSource,
        by: &Principal,
    ) -> Result<FoundState, PluginError> {
        let digest = tools_folder::digest_of(source);
        let settled = |state: &ToolState| {
            let hash = state.version_of_code(&digest).map(|known| known.hash.clone())?;
            if state.active.as_ref() == Some(&hash) {
                return Some(self.active_state(hash));
            }
            let is_seen = state.seen.as_ref() == Some(&digest);
            is_seen.then_some(Ok(FoundState::Inactive(hash)))
        };
        let find = || self.store.states.find(name).map(Option::unwrap_or_default);
        // Most files did not change, and need no lock.
        if let Some(found) = settled(&find()?) {
            return found;
        }
        let _lock = self.begin(name)?;
        let state = find()?;
        if let Some(found) = settled(&state) {
            return found;
        }
        let Some(known) = state.version_of_code(&digest) else {
            let message = format!("`{name}` changed while it was loaded");
            return Err(PluginError::new(PluginErrorKind::Busy, message).hint("reload again"));
        };
        let version = self.store.versions.load(&known.hash)?;
        if self.store.approvals.require(&version, self.rules.approval).is_err() {
            return Ok(FoundState::Waiting(version.hash));
        }
        let detail = json!({"version": version.hash.as_str(), "by": by.name});
        self.note("loaded", by.role.as_str(), name, detail)?;
        let at = self.clock.now();
        let _ = self.activate(&version, ActivationKind::Reloaded, &by.name, at)?;
        Ok(FoundState::Loaded(version.hash))
    }

    /// Returns what a module is whose version is active. It may have needed no approval when it became so.
    fn active_state(&self, hash: VersionHash) -> Result<FoundState, PluginError> {
        let version = self.store.versions.load(&hash)?;
        match self.store.approvals.require(&version, self.rules.approval) {
            Ok(()) => Ok(FoundState::Active(hash)),
            Err(err) if err.kind == PluginErrorKind::NotApproved => Ok(FoundState::Waiting(hash)),
            Err(err) => Err(err),
        }
    }

    fn take_up_unknown(
        &self,
        name: &str,
        version: &SavedVersion,
        by: &Principal,
    ) -> Result<FoundState, PluginError> {
        let hash = version.hash.clone();
        if self.store.approvals.require(version, self.rules.approval).is_ok() {
            let _lock = self.begin(name)?;
            self.save_and_activate(version, ActivationKind::Reloaded, by)?;
            return Ok(FoundState::Loaded(hash));
        }
        let digest = tools_folder::digest_of(&version.source);
        let is_told = |state: &ToolState| state.seen.as_ref() == Some(&digest);
        let find = || self.store.states.find(name).map(Option::unwrap_or_default);
        if is_told(&find()?) {
            return Ok(FoundState::Waiting(hash));
        }
        // The record is told once of a file that waits.
        let _lock = self.begin(name)?;
        let detail = json!({"version": hash.as_str(), "by": by.name});
        self.note("waiting", by.role.as_str(), name, detail)?;
        let state = ToolState { seen: Some(digest), ..find()? };
        self.store.states.save(name, &state)?;
        Ok(FoundState::Waiting(hash))
    }

    /// Loads a module and returns the version that it would be.
    fn describe(&self, name: &str, source: PluginSource) -> Result<SavedVersion, ProposalFaults> {
        let others = self.other_names(name)?;
        let declaration = self.examination(&others).describe(name, &source)?;
        let hash = VersionStore::hash_of(&source, &declaration)?;
        Ok(SavedVersion { hash, declaration, source })
    }

    /// Saves a version that needs no approval, and makes it active. The caller holds the lock.
    fn save_and_activate(
        &self,
        version: &SavedVersion,
        how: ActivationKind,
        by: &Principal,
    ) -> Result<ActivatedTool, PluginError> {
        let name = version.declaration.name.clone();
        let hash = self.store.versions.put(&version.source, &version.declaration)?;
        let detail = json!({"version": hash.as_str(), "by": by.name, "approved": "by the setting"});
        self.note("loaded", by.role.as_str(), &name, detail)?;
        let at = self.clock.now();
        let written = self.activate(version, how, &by.name, at)?;
        Ok(ActivatedTool { name, hash, at, written })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use serde_json::json;
    use toolcrib_core::Role;

    use super::*;
    use crate::lifecycle_fixture::{Fixture, agent, approver, code};

    fn admin() -> Principal {
        Principal { name: "root".to_owned(), role: Role::Admin }
    }

    /// Reloads, and returns what became of each module, in a word.
    fn reload(lifecycle: &Lifecycle) -> Vec<String> {
        let found = lifecycle.reload(&admin()).unwrap();
        let told = found.into_iter().map(|plugin| {
            let word = match plugin.state {
                FoundState::Active(_) => "active",
                FoundState::Loaded(_) => "loaded",
                FoundState::Inactive(_) => "inactive",
                FoundState::Waiting(_) => "waiting",
                FoundState::Broken(err) => err.kind.as_str(),
            };
            format!("{} {word}", plugin.name)
        });
        told.collect()
    }

    #[test]
    fn only_an_approved_module_that_changed_becomes_active() {
        let fixture = Fixture::new();
        let lifecycle = &fixture.lifecycle;
        assert_eq!(reload(lifecycle), [""; 0]);
        assert!(!fixture.state("").exists());
        fixture.approve("hello", "one");
        fixture.approve("hello", "two");
        assert_eq!(reload(lifecycle), ["hello active"]);
        fixture.drop_module("hello", &code("hello", "evil", json!({})));
        assert_eq!(reload(lifecycle), ["hello waiting"]);
        assert_eq!(fixture.active(), ["two"], "the copy among the versions runs");
        fixture.drop_module("hello", &code("hello", "one", json!({})));
        assert_eq!(reload(lifecycle), ["hello loaded"]);
        assert_eq!(fixture.active(), ["one"]);
        assert_eq!(reload(lifecycle), ["hello active"]);
        fs::remove_file(fixture.module("hello")).unwrap();
        assert_eq!(reload(lifecycle), [""; 0]);
        assert_eq!(fixture.active(), ["one"], "a module that is gone changes nothing");
        assert_eq!(fixture.events()[4..], ["waiting", "loaded"]);
    }

    #[test]
    fn a_reload_takes_no_roll_back_back() {
        let fixture = Fixture::new();
        let mut lifecycle = fixture.lifecycle.clone();
        fixture.approve("hello", "one");
        fixture.approve("hello", "two");
        // A folder that cannot be written keeps the newer module.
        lifecycle.rules.tools_folder = fixture.module("hello");
        let back = lifecycle.roll_back("hello", None, &approver("bob")).unwrap();
        assert!(back.written.is_err());
        assert_eq!(fixture.active(), ["one"]);
        let module = fs::read_to_string(fixture.module("hello")).unwrap();
        assert_eq!(module, code("hello", "two", json!({})));
        assert_eq!(reload(&fixture.lifecycle), ["hello inactive"]);
        assert_eq!(fixture.active(), ["one"]);
    }

    #[test]
    fn a_module_that_waits_is_told_once_and_can_be_proposed() {
        let fixture = Fixture::new();
        let lifecycle = &fixture.lifecycle;
        fixture.drop_module("hello", &code("hello", "one", json!({})));
        assert_eq!(reload(lifecycle), ["hello waiting"]);
        assert_eq!(reload(lifecycle), ["hello waiting"]);
        assert_eq!(fixture.events(), ["waiting"]);
        assert_eq!((fixture.active(), lifecycle.tools().unwrap().len()), (vec![], 0));
        let proposal = lifecycle.propose_waiting("hello", &agent("ada")).unwrap();
        let found = lifecycle.reload(&admin()).unwrap();
        assert_eq!(found[0].state, FoundState::Waiting(proposal.hash), "the same version");
        lifecycle.approve("hello", None, &approver("bob")).unwrap();
        assert_eq!(
            (fixture.active(), reload(lifecycle)),
            (vec!["one".into()], vec!["hello active".into()])
        );
        let absent = lifecycle.propose_waiting("absent", &agent("ada")).unwrap_err();
        assert_eq!(absent.0[0].kind, PluginErrorKind::NotFound);
        assert!(lifecycle.propose_waiting("../hello", &agent("ada")).is_err());
    }

    #[test]
    fn broken_modules_are_told_and_stop_no_other() {
        let fixture = Fixture::new();
        let lifecycle = &fixture.lifecycle;
        fixture.approve("good", "one");
        fixture.drop_module("syntax", "{");
        fixture.drop_module("name", &code("other", "x", json!({})));
        fixture.drop_module("wide", &code("wide", "x", json!({"write": ["."]})));
        fixture.drop_module("go_od", &code("go_od", "x", json!({})));
        symlink(fixture.module("good"), fixture.module("link")).unwrap();
        fixture.drop_module("good", &code("good", "two", json!({})));
        let told = [
            "go_od name_taken",
            "good waiting",
            "link bad_module",
            "name bad_name",
            "syntax bad_module",
            "wide too_many_permissions",
        ];
        assert_eq!(reload(lifecycle), told);
        assert_eq!(fixture.active(), ["one"]);
        // A damaged version is told, too.
        let version = lifecycle.store.states.find("good").unwrap().unwrap().active.unwrap();
        fs::write(fixture.state(&format!("versions/{version}/files/tool.mjs")), "x").unwrap();
        fixture.drop_module("good", &code("good", "one", json!({})));
        assert_eq!(reload(lifecycle)[1], "good store_failed");
    }

    #[test]
    fn where_no_approval_is_needed_modules_without_permissions_run() {
        let fixture = Fixture::new();
        let mut lifecycle = fixture.lifecycle.clone();
        let text = code("hello", "one", json!({}));
        let refused = lifecycle.write("hello", &text, &admin()).unwrap_err();
        assert_eq!(refused.0[0].kind, PluginErrorKind::NotApproved);
        lifecycle.rules.approval = ApprovalRule::WithPermissions;
        let written = lifecycle.write("hello", &text, &admin()).unwrap();
        assert_eq!(fs::read_to_string(written.written.unwrap()).unwrap(), text);
        let wide = code("wide", "x", json!({"read": ["logs"]}));
        let refused = lifecycle.write("wide", &wide, &admin()).unwrap_err();
        assert_eq!(refused.0[0].kind, PluginErrorKind::NotApproved);
        fixture.drop_module("wide", &wide);
        fixture.drop_module("other", &code("other", "two", json!({})));
        assert_eq!(reload(&lifecycle), ["hello active", "other loaded", "wide waiting"]);
        let active = lifecycle.store.active(ApprovalRule::WithPermissions).unwrap();
        assert_eq!((active.tools.len(), active.problems.len()), (2, 0));
        // The setting approves only while it holds.
        assert_eq!(fixture.active(), [""; 0]);
        let told = reload(&fixture.lifecycle);
        assert_eq!(told, ["hello waiting", "other waiting", "wide waiting"]);
        fixture.lifecycle.propose_waiting("hello", &agent("ada")).unwrap();
        fixture.lifecycle.approve("hello", None, &approver("bob")).unwrap();
        assert_eq!(fixture.active(), ["one"]);
        assert!(lifecycle.write("../x", &text, &admin()).is_err());
    }
}
