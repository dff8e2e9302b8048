//! The servers of an existing `.mcp.json`, the file in which many clients of MCP keep theirs. All servers of a file are
//! accepted when it is imported first. What is new or differs later waits, because a file in a project can be changed by
//! agents, and a server gets values of variables.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::canonical::Digest;

use super::pin_store::PinStore;
use super::server_spec::{ServerSpec, ServerWay, bad, require_url};
use super::server_text::ServerText;
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::plugin_store::PluginStore;
use crate::private_file::{PRIVATE_MODE, if_there, make_private_folder, read_json, replace};

/// The largest file of servers, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The largest file of what was accepted, in bytes.
const MAX_ACCEPTED_BYTES: u64 = 16 << 20;

/// What was accepted: by file, the entry of each server by its name there.
type AcceptedImports = BTreeMap<String, BTreeMap<String, Value>>;

/// A server of a file.
#[derive(Clone, Debug)]
pub struct ImportedServer {
    /// The file.
    pub file: PathBuf,
    /// Its name there.
    written_name: String,
    /// What the file says about it.
    entry: Value,
    /// The server, if it can be mounted.
    pub spec: Result<ServerSpec, PluginError>,
}

/// The servers of a file, by what holds for them.
#[derive(Debug, Default)]
pub struct SortedServers {
    /// Those that are mounted.
    pub accepted: Vec<ImportedServer>,
    /// Those that are new or have changed.
    pub waiting: Vec<ImportedServer>,
}

/// An entry of the file. Other clients have fields of their own in it.
#[derive(Deserialize)]
struct ImportedEntry {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(rename = "type")]
    transport: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl ImportedServer {
    /// Returns the name that the server has with us.
    pub fn name(&self) -> String {
        safe_name(&self.written_name)
    }

    /// Returns the hash of what the file says about the server.
    pub fn hash(&self) -> String {
        let file = self.file.display().to_string();
        Digest::of(&self.written_name, &json!([file, self.entry])).to_string()
    }

    /// Returns what the file says about the server, for people.
    pub fn written(&self) -> String {
        serde_json::to_string_pretty(&self.entry).unwrap_or_default()
    }
}

/// Reads the servers of a file.
pub fn read_file(file: &Path) -> Result<Vec<ImportedServer>, PluginError> {
    let shown = file.display();
    let failed = |err: io::Error| bad(format!("`{shown}` cannot be imported: {err}"));
    let text: Value = read_json(file, MAX_FILE_BYTES).map_err(failed)?;
    let Some(entries) = text["mcpServers"].as_object() else {
        return Err(bad(format!("`{shown}` cannot be imported: it has no `mcpServers`")));
    };
    let server = |(name, entry): (&String, &Value)| ImportedServer {
        file: file.to_owned(),
        written_name: name.clone(),
        entry: entry.clone(),
        spec: spec_of(name, entry),
    };
    Ok(entries.iter().map(server).collect())
}

fn spec_of(name: &str, entry: &Value) -> Result<ServerSpec, PluginError> {
    let entry = ImportedEntry::deserialize(entry).map_err(|err| bad(err.to_string()))?;
    let template = |text: &String| ServerText::Template(text.clone());
    let pairs = |map: &BTreeMap<String, String>| {
        map.iter().map(|(name, text)| (name.clone(), template(text))).collect()
    };
    let way = match (&entry.command, &entry.url, entry.transport.as_deref()) {
        (_, _, Some("sse")) => {
            return Err(bad("its transport `sse` is no longer part of MCP".to_owned())
                .hint("most such servers also speak `http`"));
        }
        (Some(command), None, _) => {
            let words = [command].into_iter().chain(&entry.args);
            ServerWay::Command(words.map(template).collect())
        }
        (None, Some(url), _) => {
            if !url.starts_with("${") {
                require_url(url)?;
            }
            ServerWay::Url { url: template(url), headers: pairs(&entry.headers) }
        }
        _ => return Err(bad("it has neither a `command` nor a `url`".to_owned())),
    };
    let spec = ServerSpec::imported(&safe_name(name), way)?;
    Ok(ServerSpec { environment: pairs(&entry.env), ..spec })
}

/// Makes a name that a catalogue can have.
fn safe_name(name: &str) -> String {
    let is_part = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_');
    let lower = name.trim().to_ascii_lowercase();
    let safe: String = lower.chars().map(|c| if is_part(c) { c } else { '-' }).collect();
    safe.replace("__", "_")
}

/// Sorts the servers of a file as they were accepted. Of a file that nobody has imported, all are.
pub fn sorted_in(store: &PluginStore, servers: Vec<ImportedServer>) -> SortedServers {
    let accepted = accepted_in(store).unwrap_or_default();
    sorted(&accepted, servers)
}

fn sorted(accepted: &AcceptedImports, servers: Vec<ImportedServer>) -> SortedServers {
    let mut sorted = SortedServers::default();
    for server in servers {
        let known = accepted.get(&key(&server.file));
        let is_accepted =
            known.is_none_or(|known| known.get(&server.written_name) == Some(&server.entry));
        if is_accepted { &mut sorted.accepted } else { &mut sorted.waiting }.push(server);
    }
    sorted
}

impl PinStore {
    /// Sorts the servers of a file. If nobody has imported it yet, all are accepted, also if there are none: those that
    /// come later wait.
    pub fn import(
        &self,
        file: &Path,
        servers: Vec<ImportedServer>,
    ) -> Result<SortedServers, PluginError> {
        let file = key(file);
        let mut accepted = accepted_in(self.store())?;
        if !accepted.contains_key(&file) {
            let _lock = self.store().lock()?;
            let entries = servers.iter().map(|it| (it.written_name.clone(), it.entry.clone()));
            accepted.insert(file.clone(), entries.collect());
            for server in &servers {
                self.note("loaded", "system", &server.name(), json!({"imported_from": file}))?;
            }
            self.save_accepted(&accepted)?;
        }
        Ok(sorted(&accepted, servers))
    }

    /// Accepts what a file says about a server.
    pub fn accept_import(&self, server: &ImportedServer, actor: &str) -> Result<(), PluginError> {
        let _lock = self.store().lock()?;
        let file = key(&server.file);
        let mut accepted = accepted_in(self.store())?;
        let held = accepted.entry(file.clone()).or_default();
        held.insert(server.written_name.clone(), server.entry.clone());
        self.note("approved", actor, &server.name(), json!({"imported_from": file}))?;
        self.save_accepted(&accepted)
    }

    /// Writes what was accepted, and tells the processes that run. The caller holds the lock.
    fn save_accepted(&self, accepted: &AcceptedImports) -> Result<(), PluginError> {
        let text = serde_json::to_vec_pretty(accepted).map_err(io::Error::from)?;
        make_private_folder(self.store().folder())?;
        replace(&accepted_file(self.store()), &text, PRIVATE_MODE)?;
        Ok(self.store().next_generation()?)
    }
}

fn key(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

fn accepted_file(store: &PluginStore) -> PathBuf {
    store.folder().join("imports.json")
}

/// Returns what was accepted. What cannot be read accepts nothing new.
fn accepted_in(store: &PluginStore) -> Result<AcceptedImports, PluginError> {
    let accepted = if_there(read_json(&accepted_file(store), MAX_ACCEPTED_BYTES));
    let accepted = accepted.map_err(|err| {
        let message = format!("which imported servers were accepted cannot be read: {err}");
        PluginError::new(PluginErrorKind::Store, message)
    })?;
    Ok(accepted.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::Lifecycle;
    use crate::lifecycle_fixture::Fixture;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".mcp.json");
        std::fs::write(&file, text).unwrap();
        (folder, file)
    }

    #[test]
    fn entries_become_servers_and_bad_ones_are_told() {
        let (_folder, file) = file(
            r#"{"mcpServers": {
                "My Files": {"command": "node", "args": ["a.js", "${ROOT}"], "env": {"T": "${T:-x}"}, "timeout": 5},
                "there": {"type": "http", "url": "https://a.example/mcp", "headers": {"X": "1"}},
                "old": {"type": "sse", "url": "https://a.example/sse"},
                "none": {}
            }}"#,
        );
        let servers = read_file(&file).unwrap();
        let spec = |at: usize| servers[at].spec.as_ref();
        assert_eq!(spec(0).unwrap().name, "my-files");
        assert_eq!(spec(0).unwrap().way.written(), "node a.js ${ROOT}");
        let environment = &spec(0).unwrap().environment;
        assert_eq!(environment[0], ("T".to_owned(), ServerText::Template("${T:-x}".to_owned())));
        assert!(matches!(spec(1).unwrap().way, ServerWay::Url { .. }));
        assert!(spec(2).unwrap_err().message.contains("no longer part"));
        assert!(spec(3).unwrap_err().message.contains("neither"));
        assert!(read_file(Path::new("/nowhere/.mcp.json")).is_err());
    }

    #[test]
    fn the_first_import_is_accepted_and_what_changes_later_waits() {
        let fixture = Fixture::new();
        let lifecycle = &fixture.lifecycle;
        let store = lifecycle.store.clone();
        let pins =
            PinStore::new(store.clone(), lifecycle.recorder.clone(), lifecycle.clock.clone());
        let (_folder, path) = file(r#"{"mcpServers": {"a": {"command": "a"}}}"#);
        let names = |servers: &[ImportedServer]| -> Vec<String> {
            servers.iter().map(ImportedServer::name).collect()
        };
        let import = || pins.import(&path, read_file(&path).unwrap()).unwrap();
        assert_eq!(names(&import().accepted), ["a"]);
        let changed = r#"{"mcpServers": {"a": {"command": "evil"}, "b": {"command": "b"}}}"#;
        std::fs::write(&path, changed).unwrap();
        let sorted = import();
        assert_eq!(
            (names(&sorted.accepted).len(), names(&sorted.waiting)),
            (0, vec!["a".to_owned(), "b".to_owned()])
        );
        pins.accept_import(&sorted.waiting[1], "user 0").unwrap();
        assert_eq!(names(&import().accepted), ["b"]);
        let listed = sorted_in(&store, read_file(&path).unwrap());
        assert_eq!(
            (names(&listed.accepted), names(&listed.waiting)),
            (vec!["b".to_owned()], vec!["a".to_owned()])
        );
    }

    #[test]
    fn what_comes_to_a_file_that_was_empty_waits() {
        let fixture = Fixture::new();
        let Lifecycle { store, recorder, clock, .. } = &fixture.lifecycle;
        let pins = PinStore::new(store.clone(), recorder.clone(), clock.clone());
        let (_folder, path) = file(r#"{"mcpServers": {}}"#);
        let import = || pins.import(&path, read_file(&path).unwrap()).unwrap();
        assert!(import().accepted.is_empty());
        std::fs::write(&path, r#"{"mcpServers": {"a": {"command": "evil"}}}"#).unwrap();
        let sorted = import();
        assert_eq!((sorted.accepted.len(), sorted.waiting.len()), (0, 1));
    }
}
