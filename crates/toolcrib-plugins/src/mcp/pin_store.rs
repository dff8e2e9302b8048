//! The definitions of tools that the operator has accepted, by server. If a server later sends another definition, that one waits for the operator.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::canonical::Digest;
use toolcrib_core::{Clock, Note, Recorder, ToolName};

use super::definition::ToolDefinition;
use super::failed_starts::FailedStarts;
use super::server_spec::ServerSpec;
use crate::lifecycle::PLUGIN_ACT;
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::plugin_store::PluginStore;
use crate::private_file::{PRIVATE_MODE, if_there, make_private_folder, read_json, replace};

/// The largest file of pins, in bytes.
const MAX_PINS_BYTES: u64 = 32 << 20;

/// What is known of a server from earlier.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerPins {
    /// Which command the server had.
    pub(crate) identity: String,
    /// Whether the server knows only the protocol that begins with `initialize`.
    #[serde(default)]
    pub(crate) is_legacy: bool,
    /// The definitions that were accepted, by their names on the wire.
    pub accepted: BTreeMap<String, ToolDefinition>,
    /// The definitions that are new or differ, by the same names.
    #[serde(default)]
    pub waiting: BTreeMap<String, ToolDefinition>,
}

impl ServerPins {
    /// Returns the definitions that are on offer: those that were accepted and have not changed.
    pub fn on_offer(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.accepted.values().filter(|it| !self.waiting.contains_key(&it.name))
    }

    /// Returns the hash of all that waits, if anything does.
    pub fn waiting_hash(&self) -> Option<String> {
        let waiting = || self.waiting.values();
        (!self.waiting.is_empty()).then(|| Digest::of("waiting", &hashes(waiting())).to_string())
    }

    /// Whether these are the pins of this server, not of another one that has had the name.
    pub fn are_of(&self, spec: &ServerSpec) -> bool {
        self.identity == spec.identity()
    }
}

/// What a server told when it was connected.
pub(crate) struct ToldListing {
    pub(crate) is_legacy: bool,
    pub(crate) tools: Vec<ToolDefinition>,
}

/// The pins of all servers.
#[derive(Clone)]
pub struct PinStore {
    store: PluginStore,
    recorder: Arc<dyn Recorder>,
    clock: Arc<dyn Clock>,
}

impl PinStore {
    /// Names the pins in the folder of the plugins. Nothing is read or made.
    pub fn new(store: PluginStore, recorder: Arc<dyn Recorder>, clock: Arc<dyn Clock>) -> Self {
        Self { store, recorder, clock }
    }

    /// Accepts what waits of a server, and returns the names. `shown` is what whoever accepts has seen.
    pub fn accept(
        &self,
        server: &str,
        shown: &ServerPins,
        actor: &str,
    ) -> Result<Vec<String>, PluginError> {
        let _lock = self.store.lock()?;
        let Some(mut pins) = pins_in(&self.store, server)? else {
            let message = format!("the MCP server `{server}` was never mounted");
            return Err(PluginError::new(PluginErrorKind::NotFound, message)
                .hint("its tools are accepted when it is mounted first"));
        };
        if pins.waiting != shown.waiting {
            let message = format!("the MCP server `{server}` has changed its tools again");
            return Err(PluginError::new(PluginErrorKind::Changed, message)
                .hint("look at them again, and accept what is shown"));
        }
        let names: Vec<String> = pins.waiting.keys().cloned().collect();
        if names.is_empty() {
            return Ok(names);
        }
        self.note("approved", actor, server, hashes(pins.waiting.values()))?;
        pins.accepted.append(&mut pins.waiting);
        self.save(server, &pins)?;
        Ok(names)
    }

    /// Compares what a server told with what was accepted. The first time, all of it is accepted: the operator has
    /// just put the server into the settings. Returns the pins that hold now.
    pub(crate) fn compare(
        &self,
        spec: &ServerSpec,
        listing: &ToldListing,
    ) -> Result<ServerPins, PluginError> {
        let _lock = self.store.lock()?;
        let told: BTreeMap<String, ToolDefinition> =
            listing.tools.iter().map(|tool| (tool.name.clone(), tool.clone())).collect();
        let known = pins_in(&self.store, &spec.name)?.filter(|pins| pins.are_of(spec));
        let Some(known) = known else {
            let pins = ServerPins {
                identity: spec.identity(),
                is_legacy: listing.is_legacy,
                accepted: told,
                waiting: BTreeMap::new(),
            };
            self.note("loaded", "system", &spec.name, hashes(pins.accepted.values()))?;
            self.save(&spec.name, &pins)?;
            return Ok(pins);
        };
        let differs = |(name, tool): &(String, ToolDefinition)| {
            known.accepted.get(name).is_none_or(|pinned| pinned.hash() != tool.hash())
        };
        let waiting: BTreeMap<_, _> = told.into_iter().filter(differs).collect();
        let is_legacy = listing.is_legacy;
        let pins = ServerPins { is_legacy, waiting, ..known.clone() };
        if pins != known {
            if pins.waiting != known.waiting && !pins.waiting.is_empty() {
                self.note("waiting", "system", &spec.name, hashes(pins.waiting.values()))?;
            }
            self.save(&spec.name, &pins)?;
        }
        Ok(pins)
    }

    /// Returns the state folder, which no server sees.
    pub(super) fn state_folder(&self) -> PathBuf {
        let folder = self.store.folder();
        folder.parent().unwrap_or(folder).to_owned()
    }

    pub(super) fn store(&self) -> &PluginStore {
        &self.store
    }

    /// Returns which servers failed.
    pub fn failed_starts(&self) -> FailedStarts {
        FailedStarts::new(self.store.clone(), Arc::clone(&self.clock))
    }

    /// Records that a server asked for something that no server gets.
    pub(crate) fn note_refused(&self, server: &str, asked_for: &str) {
        // The server gets nothing either way.
        let _ = self.note("refused", "system", server, json!({"asked_for": asked_for}));
    }

    /// Returns the pins of a server, if it was mounted before.
    pub fn pins(&self, server: &str) -> Result<Option<ServerPins>, PluginError> {
        pins_in(&self.store, server)
    }

    /// Writes pins, and tells the processes that run. The caller holds the lock.
    fn save(&self, server: &str, pins: &ServerPins) -> Result<(), PluginError> {
        let path = pin_file(&self.store, server);
        if let Some(folder) = path.parent() {
            make_private_folder(folder)?;
        }
        let text = serde_json::to_vec_pretty(pins).map_err(io::Error::from)?;
        replace(&path, &text, PRIVATE_MODE)?;
        self.store.next_generation()?;
        Ok(())
    }

    /// Records a step. What cannot be recorded does not happen.
    pub(super) fn note(
        &self,
        event: &str,
        actor: &str,
        server: &str,
        detail: Value,
    ) -> Result<(), PluginError> {
        let tool = ToolName::from(server);
        let (at, tool) = (self.clock.now(), Some(&tool));
        let note = Note { at, actor, act: PLUGIN_ACT, event, tool, call: "", detail };
        self.recorder.note(&note).map_err(|err| {
            let message = format!("the step `{event}` of `{server}` cannot be recorded: {err}");
            PluginError::new(PluginErrorKind::Store, message)
        })
    }
}

/// Returns the pins of a server, if it was mounted before.
pub fn pins_in(store: &PluginStore, server: &str) -> Result<Option<ServerPins>, PluginError> {
    Ok(if_there(read_json(&pin_file(store, server), MAX_PINS_BYTES))?)
}

fn pin_file(store: &PluginStore, server: &str) -> PathBuf {
    store.folder().join("pins").join(format!("{server}.json"))
}

fn hashes<'a>(tools: impl Iterator<Item = &'a ToolDefinition>) -> Value {
    let hashes: BTreeMap<&str, String> =
        tools.map(|tool| (tool.name.as_str(), tool.hash())).collect();
    json!({"definitions": hashes})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle_fixture::Fixture;

    fn tool(name: &str, description: &str) -> ToolDefinition {
        ToolDefinition {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: json!({"type": "object"}),
            output_schema: Value::Null,
            annotations: Value::Null,
        }
    }

    #[test]
    fn the_first_listing_is_accepted_and_later_changes_wait() {
        let fixture = Fixture::new();
        let lifecycle = &fixture.lifecycle;
        let pins = PinStore::new(
            lifecycle.store.clone(),
            lifecycle.recorder.clone(),
            lifecycle.clock.clone(),
        );
        let spec = |command: &str| ServerSpec::of_table("s", &json!({"command": command})).unwrap();
        let compare = |command: &str, tools: &[ToolDefinition]| {
            let listing = ToldListing { is_legacy: true, tools: tools.to_vec() };
            pins.compare(&spec(command), &listing).unwrap()
        };
        let offered = |pins: &ServerPins| -> Vec<String> {
            pins.on_offer().map(|it| it.name.clone()).collect()
        };
        let first = compare("a", &[tool("x", "1"), tool("y", "1")]);
        assert_eq!(offered(&first), ["x", "y"]);
        let changed = compare("a", &[tool("x", "2"), tool("y", "1"), tool("z", "1")]);
        assert_eq!(offered(&changed), ["y"], "what changed or is new waits");
        assert_eq!(changed.waiting.len(), 2);
        assert_eq!(pins.pins("s").unwrap().unwrap(), changed);
        let back = compare("a", &[tool("x", "1"), tool("y", "1")]);
        assert_eq!(offered(&back), ["x", "y"], "as it was accepted, it is on offer again");
        compare("a", &[tool("x", "2"), tool("y", "1"), tool("z", "1")]);
        let err = pins.accept("s", &first, "user 0").unwrap_err();
        assert_eq!(err.kind, PluginErrorKind::Changed, "nobody has seen what waits now");
        assert_eq!(pins.accept("s", &changed, "user 0").unwrap(), ["x", "z"]);
        assert_eq!(offered(&pins.pins("s").unwrap().unwrap()), ["x", "y", "z"]);
        let other = compare("another command", &[tool("q", "1")]);
        assert_eq!(offered(&other), ["q"], "another command is another server");
        let events = fixture.recorder.all.lock().unwrap();
        let events: Vec<&str> = events.iter().map(|(event, ..)| event.as_str()).collect();
        assert_eq!(events, ["loaded", "waiting", "waiting", "approved", "loaded"]);
        assert!(pins.accept("t", &first, "user 0").is_err());
    }
}
