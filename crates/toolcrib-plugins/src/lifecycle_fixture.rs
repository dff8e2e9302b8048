//! A store in a temporary folder for tests, with plugins in a toy format: the code is the JSON of its exports.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_core::policy::grant::{Grant, GrantError, Grants};
use toolcrib_core::{
    Caller, Clock, Door, Durability, Event, Note, Principal, RecordError, RecordErrorKind,
    Recorder, Role, Usage,
};

use crate::examination::{Examiner, RunnablePlugin, StaticChecks};
use crate::lifecycle::{Lifecycle, LifecycleRules};
use crate::permissions::Permissions;
use crate::plugin_declaration::{PluginDeclaration, PluginExample};
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::plugin_source::PluginSource;
use crate::plugin_store::PluginStore;
use crate::program_run::ProgramResources;
use crate::propose::NewTool;
use crate::tool_proposal::ToolProposal;
use crate::version_approval::ApprovalRule;

/// Everything that a test of the lifecycle needs.
pub(crate) struct Fixture {
    pub(crate) folder: TempDir,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) recorder: Arc<Notes>,
    pub(crate) clock: Arc<SetClock>,
}

/// A recorder that keeps the notes, unless it is broken.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) all: Mutex<Vec<(String, String, Value)>>,
    pub(crate) is_broken: AtomicBool,
}

/// A clock that stands still.
#[derive(Default)]
pub(crate) struct SetClock(AtomicI64);

struct ToyExaminer;
struct ToyChecks;

/// Grants in memory.
#[derive(Default)]
pub(crate) struct ToyGrants(Mutex<Vec<Grant>>);

pub(crate) fn agent(name: &str) -> Caller {
    let principal = Principal { name: name.to_owned(), role: Role::Agent };
    Caller { principal, door: Door::Http, client: None, connection: None, via: None }
}

pub(crate) fn approver(name: &str) -> Principal {
    Principal { name: name.to_owned(), role: Role::Approver }
}

/// Returns a module in the toy format. `text` makes it another version.
pub(crate) fn code(name: &str, text: &str, permissions: Value) -> String {
    let exports = json!({
        "name": name, "description": text, "parameters": {"type": "object"},
        "permissions": permissions,
        "examples": [{"about": "Echoes.", "args": {"a": 1}, "reply": {"a": 1}}],
    });
    serde_json::to_string_pretty(&exports).unwrap()
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (recorder, clock) = (Arc::<Notes>::default(), Arc::<SetClock>::default());
        let list = |entries: &[&str]| entries.iter().map(|it| (*it).to_owned()).collect();
        let lifecycle = Lifecycle {
            store: PluginStore::new(&folder.path().join("state")),
            rules: LifecycleRules {
                is_enabled: true,
                max: Permissions { read: list(&["logs"]), ..Permissions::default() },
                most_resources: ProgramResources::DEFAULT,
                proposal_lifetime: Duration::from_mins(1),
                approval: ApprovalRule::Always,
                tools_folder: folder.path().join("tools"),
            },
            checks: Arc::new(ToyChecks),
            examiner: Arc::new(ToyExaminer),
            recorder: recorder.clone(),
            clock: clock.clone(),
            grants: Arc::<ToyGrants>::default(),
        };
        Self { folder, lifecycle, recorder, clock }
    }

    pub(crate) fn propose(&self, name: &str, text: &str) -> ToolProposal {
        self.propose_code(name, code(name, text, json!({})))
    }

    pub(crate) fn propose_code(&self, name: &str, code: String) -> ToolProposal {
        let new = new_tool(name, code);
        self.lifecycle.propose(new, &agent("ada")).unwrap()
    }

    /// Proposes a version and lets somebody else approve it.
    pub(crate) fn approve(&self, name: &str, text: &str) -> ToolProposal {
        let proposal = self.propose(name, text);
        self.lifecycle.approve(name, None, &approver("bob")).unwrap();
        proposal
    }

    /// Returns the descriptions of the versions that a process would load.
    pub(crate) fn active(&self) -> Vec<String> {
        let active = self.lifecycle.store.active(self.lifecycle.rules.approval).unwrap();
        active.tools.into_iter().map(|version| version.declaration.description).collect()
    }

    pub(crate) fn module(&self, name: &str) -> PathBuf {
        self.lifecycle.rules.tools_folder.join(format!("{name}.mjs"))
    }

    /// Puts a file into the tools folder.
    pub(crate) fn drop_module(&self, name: &str, code: &str) {
        fs::create_dir_all(&self.lifecycle.rules.tools_folder).unwrap();
        fs::write(self.module(name), code).unwrap();
    }

    pub(crate) fn state(&self, path: &str) -> PathBuf {
        self.folder.path().join("state/plugins").join(path)
    }

    /// Returns the events of the record.
    pub(crate) fn events(&self) -> Vec<String> {
        self.recorder.all.lock().unwrap().iter().map(|note| note.0.clone()).collect()
    }
}

pub(crate) fn new_tool(name: &str, code: String) -> NewTool {
    let (description, reasoning) = ("It helps.".to_owned(), "I need it.".to_owned());
    let source = PluginSource::of_module(code).unwrap();
    NewTool { name: name.to_owned(), description, source, reasoning }
}

/// Copies a folder with everything in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &place);
        } else {
            fs::copy(entry.path(), place).unwrap();
        }
    }
}

impl SetClock {
    pub(crate) fn set(&self, seconds: i64) {
        self.0.store(seconds, Ordering::Relaxed);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn used(&self) -> Usage {
        Usage::default()
    }
}

impl Recorder for Notes {
    fn record(&self, _: &Event<'_>, _: Durability) -> Result<(), RecordError> {
        Ok(())
    }

    fn flush(&self) {}

    fn note(&self, note: &Note<'_>) -> Result<(), RecordError> {
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(RecordError::new(RecordErrorKind::Unwritten, "the disk is full"));
        }
        assert_eq!(note.act, "plugin");
        let (event, actor) = (note.event.to_owned(), note.actor.to_owned());
        self.all.lock().unwrap().push((event, actor, note.detail.clone()));
        Ok(())
    }
}

impl Examiner for ToyExaminer {
    fn describe(&self, _: &str, source: &str) -> Result<PluginDeclaration, PluginError> {
        let exports: Value = serde_json::from_str(source).map_err(|err| {
            let place = (err.line() as u32, err.column() as u32);
            PluginError::new(PluginErrorKind::BadModule, err.to_string()).at(Some(place))
        })?;
        PluginDeclaration::of_exports(&exports)
    }

    fn run_example(
        &self,
        _: RunnablePlugin<'_>,
        _: &PluginDeclaration,
        example: &PluginExample,
    ) -> Result<Value, PluginError> {
        let args = &example.args;
        if args["throw"] == true {
            return Err(PluginError::new(PluginErrorKind::ExampleFailed, "it threw"));
        }
        Ok(args.clone())
    }
}

impl Grants for ToyGrants {
    fn current(&self) -> Result<Vec<Grant>, GrantError> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn add(&self, grant: Grant) -> Result<(), GrantError> {
        self.0.lock().unwrap().push(grant);
        Ok(())
    }

    fn used(&self, _: &str, _: Timestamp) {}
}

impl StaticChecks for ToyChecks {
    fn check_name(&self, name: &str, others: &[String]) -> Result<(), PluginError> {
        let skeleton = |name: &str| name.replace('_', "");
        if name == "shell" || others.iter().any(|other| skeleton(other) == skeleton(name)) {
            return Err(PluginError::new(PluginErrorKind::NameTaken, "it is taken"));
        }
        Ok(())
    }

    fn check_schema(&self, schema: &Value) -> Result<(), PluginError> {
        match schema["type"].as_str() {
            Some("object") => Ok(()),
            _ => Err(PluginError::new(PluginErrorKind::BadSchema, "it is no object")),
        }
    }
}
