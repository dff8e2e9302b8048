//! Switching tools that exist: back to an earlier version, off, and on again.

use serde_json::json;
use toolcrib_core::{Principal, escape};

use crate::lifecycle::{ActivatedTool, Lifecycle};
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::tool_proposal::ProposalId;
use crate::tool_state::{ActivationKind, ToolState};
use crate::version_hash::VersionHash;
use crate::version_store::SavedVersion;

/// One tool, as it is listed.
#[derive(Clone, Debug)]
pub struct ToolSummary {
    /// The name.
    pub name: String,
    /// Which version is active, and which ones were.
    pub state: ToolState,
    /// The version that runs, or why none does. Nothing if the tool is disabled.
    pub running: Result<Option<SavedVersion>, PluginError>,
    /// Whether it is on offer: it is enabled, runs, and asks for no more than the settings allow.
    pub is_on_offer: bool,
    /// The proposal that waits for an answer.
    pub pending: Option<ProposalId>,
}

impl Lifecycle {
    /// Makes an earlier version active: the one that arrived before the active one, or the one whose hash begins with
    /// `version`. Calls that run finish on the version they began with.
    pub fn roll_back(
        &self,
        name: &str,
        version: Option<&str>,
        by: &Principal,
    ) -> Result<ActivatedTool, PluginError> {
        self.require_tool(name)?;
        let _lock = self.begin(name)?;
        let state = self.require_tool(name)?;
        let target = earlier_version(name, &state, version)?;
        let version = self.store.versions.load(&target)?;
        self.store.approvals.require(&version, self.rules.approval)?;
        let from = state.active.as_ref().map(VersionHash::as_str);
        let detail = json!({"version": target.as_str(), "from": from, "by": by.name});
        self.note("rolled_back", by.role.as_str(), name, detail)?;
        let at = self.clock.now();
        let written = self.activate(&version, ActivationKind::RolledBack, &by.name, at)?;
        Ok(ActivatedTool { name: name.to_owned(), hash: target, at, written })
    }

    /// Takes a tool off the shelf. Its versions stay. Returns whether it was on it.
    pub fn disable(&self, name: &str, by: &Principal) -> Result<bool, PluginError> {
        self.switch(name, Switch::Off, by)
    }

    /// Puts a tool back on the shelf. Returns whether it was off it.
    pub fn enable(&self, name: &str, by: &Principal) -> Result<bool, PluginError> {
        self.switch(name, Switch::On, by)
    }

    /// Returns every tool, by name.
    pub fn tools(&self) -> Result<Vec<ToolSummary>, PluginError> {
        let pending = self.store.proposals.pending(self.clock.now())?;
        let mut tools = Vec::new();
        for name in self.store.states.names()? {
            let (state, running) = match self.store.states.find(&name) {
                Ok(Some(state)) if state.active.is_some() => {
                    (state, self.store.active_version(&name, self.rules.approval))
                }
                Ok(_) => continue,
                Err(err) => (ToolState::default(), Err(err)),
            };
            let waits = pending.iter().find(|proposal| proposal.name == name);
            let pending = waits.map(|proposal| proposal.id.clone());
            let may_run = |version: &SavedVersion| {
                self.rules.is_enabled
                    && version.declaration.permissions.beyond(&self.rules.max).is_empty()
            };
            let is_on_offer = matches!(&running, Ok(Some(version)) if may_run(version));
            tools.push(ToolSummary { name, state, running, is_on_offer, pending });
        }
        Ok(tools)
    }

    fn switch(&self, name: &str, to: Switch, by: &Principal) -> Result<bool, PluginError> {
        self.require_tool(name)?;
        let _lock = self.begin(name)?;
        let mut state = self.require_tool(name)?;
        let (event, is_enabled) = match to {
            Switch::On => ("enabled", true),
            Switch::Off => ("disabled", false),
        };
        if state.is_enabled == is_enabled {
            return Ok(false);
        }
        let version = state.active.as_ref().map(VersionHash::as_str);
        let detail = json!({"version": version, "by": by.name});
        self.note(event, by.role.as_str(), name, detail)?;
        state.is_enabled = is_enabled;
        self.store.states.save(name, &state)?;
        self.store.next_generation()?;
        Ok(true)
    }

    /// Returns the state of a tool that has a version.
    fn require_tool(&self, name: &str) -> Result<ToolState, PluginError> {
        let state = self.store.states.find(name)?.filter(|state| state.active.is_some());
        state.ok_or_else(|| {
            PluginError::new(PluginErrorKind::NotFound, format!("there is no plugin `{name}`"))
                .hint("`toolcrib plugins list` shows all of them")
        })
    }
}

/// Whether a tool is on offer.
#[derive(Clone, Copy)]
enum Switch {
    On,
    Off,
}

/// Returns the version to roll back to.
fn earlier_version(
    name: &str,
    state: &ToolState,
    wanted: Option<&str>,
) -> Result<VersionHash, PluginError> {
    let not_found = |message: String| {
        Err(PluginError::new(PluginErrorKind::NotFound, message)
            .hint(format!("`toolcrib plugins show {name}` shows its versions")))
    };
    let Some(wanted) = wanted else {
        return match state.version_before() {
            Some(before) => Ok(before.clone()),
            None => not_found(format!("`{name}` has no version before the active one")),
        };
    };
    let found = state.versions().into_iter().find(|hash| hash.is_meant_by(wanted));
    match found {
        Some(hash) if Some(hash) == state.active.as_ref() => {
            not_found(format!("version {} of `{name}` is active already", hash.short()))
        }
        Some(hash) => Ok(hash.clone()),
        None => not_found(format!("`{name}` has no version `{}`", escape::line(wanted))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::lifecycle_fixture::{Fixture, approver, code};

    #[test]
    fn a_tool_is_rolled_back_to_any_approved_version_and_no_other() {
        let fixture = Fixture::new();
        let (lifecycle, bob) = (&fixture.lifecycle, approver("bob"));
        let first = fixture.approve("hello", "one");
        let kind =
            |version: Option<&str>| lifecycle.roll_back("hello", version, &bob).unwrap_err().kind;
        assert_eq!(kind(None), PluginErrorKind::NotFound, "there is none before");
        let second = fixture.approve("hello", "two");
        fixture.approve("hello", "three");
        let rejected = fixture.propose("hello", "bad");
        lifecycle.reject("hello", "", &bob).unwrap();
        let back = lifecycle.roll_back("hello", None, &bob).unwrap();
        assert_eq!((&back.hash, fixture.active()), (&second.hash, vec!["two".to_owned()]));
        let module = fs::read_to_string(fixture.module("hello")).unwrap();
        assert_eq!(module, code("hello", "two", json!({})), "the folder follows");
        lifecycle.roll_back("hello", Some(first.hash.short()), &bob).unwrap();
        assert_eq!(fixture.active(), ["one"]);
        for version in [rejected.hash.short(), first.hash.short(), "", "0", "../x"] {
            assert_eq!(kind(Some(version)), PluginErrorKind::NotFound, "{version}");
        }
        // To a version whose approval or files are gone, nobody rolls back.
        fs::remove_file(fixture.state(&format!("approvals/{}.json", second.hash))).unwrap();
        assert_eq!(kind(Some(second.hash.short())), PluginErrorKind::NotApproved);
        assert_eq!(fixture.active(), ["one"]);
        let events = fixture.events();
        assert_eq!(events[events.len() - 2..], ["rolled_back", "rolled_back"]);
        let notes = fixture.recorder.all.lock().unwrap();
        assert_eq!(notes.last().unwrap().2["from"], second.hash.as_str());
    }

    #[test]
    fn a_disabled_tool_is_not_loaded_until_it_is_enabled() {
        let fixture = Fixture::new();
        let (lifecycle, bob) = (&fixture.lifecycle, approver("bob"));
        for name in ["hello", "../hello"] {
            assert!(lifecycle.disable(name, &bob).is_err());
        }
        assert!(!fixture.state("").exists(), "what is not there makes nothing");
        fixture.approve("hello", "one");
        fixture.approve("hello", "two");
        let generation = || fs::read(lifecycle.store.generation_file()).unwrap();
        let before = generation();
        assert!(lifecycle.disable("hello", &bob).unwrap());
        assert!(!lifecycle.disable("hello", &bob).unwrap(), "it is off already");
        assert_ne!(before, generation());
        assert_eq!(fixture.active(), [""; 0]);
        lifecycle.roll_back("hello", None, &bob).unwrap();
        assert_eq!(fixture.active(), [""; 0], "a roll-back enables nothing");
        let listed = &lifecycle.tools().unwrap()[0];
        assert!(!listed.state.is_enabled && listed.running.as_ref().unwrap().is_none());
        assert!(lifecycle.enable("hello", &bob).unwrap());
        assert_eq!(fixture.active(), ["one"]);
        assert!(lifecycle.disable("hello", &bob).unwrap());
        fixture.approve("hello", "three");
        assert_eq!(fixture.active(), ["three"], "who approves a version wants it to run");
        let told = ["disabled", "rolled_back", "enabled", "disabled", "proposed", "approved"];
        assert_eq!(fixture.events()[4..], told);
    }

    #[test]
    fn every_tool_is_listed_with_its_trouble() {
        let fixture = Fixture::new();
        let lifecycle = &fixture.lifecycle;
        let good = fixture.approve("good", "one");
        fixture.approve("torn", "one");
        let waits = fixture.propose("good", "two");
        fixture.propose("fresh", "one");
        fs::write(fixture.state("tools/torn.json"), "{").unwrap();
        let tools = lifecycle.tools().unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["good", "torn"]);
        assert_eq!(tools[0].running.as_ref().unwrap().as_ref().unwrap().hash, good.hash);
        assert_eq!(tools[0].pending.as_ref(), Some(&waits.id));
        assert_eq!(tools[1].running.as_ref().unwrap_err().kind, PluginErrorKind::Store);
        // Trouble with one tool stops no other.
        lifecycle.approve("good", None, &approver("bob")).unwrap();
        assert_eq!(fixture.active(), ["two"]);
    }
}
