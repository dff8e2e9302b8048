//! The settings and rules of a process that runs. They change in one step, and only if all of them can be used.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use toolcrib_core::{Note, Principal, RecordError, Recorder, Role, escape};
use toolcrib_host::Root;
use toolcrib_ledger::{Act, EventKind};
use toolcrib_runtime::{Approver, LiveRuntime, Runtime};
use toolcrib_serve::{ChangedValue, SettingsState};

use super::capabilities::{Capabilities, OpenSandboxes};
use super::crib::Crib;
use super::locations::{environment, settings_files};
use super::options::OpenOptions;
use super::project_files::{OLD_PROJECT, project_texts, project_warning};
use super::record::changed_settings;
use super::reports::LiveToolLimits;
use super::rules::{self, LoadedRules};
use super::rules_seen::RulesSeen;
use super::sandbox;
use super::steady_files::SteadyFiles;
use crate::error::CliError;
use crate::settings::{ChangedSetting, ProjectTexts, Settings, SettingsFiles};

/// Settings that begin with these say how commands run, and whose quota their tasks count against.
const SANDBOX_SETTINGS: [&str; 2] = ["sandbox.", "policy.user_"];

/// What holds if the files have errors.
const ALL_OLD: &str = "the changed settings cannot be used, the old ones hold";

/// Makes the approver that the settings ask for.
pub type ApproverUnder = dyn Fn(&Settings) -> Arc<dyn Approver> + Send + Sync;

/// What a process with live settings is given.
pub struct LiveParts {
    /// What the process was opened with.
    pub options: OpenOptions,
    /// Makes the approver.
    pub approver: Box<ApproverUnder>,
    /// Records the calls.
    pub recorder: Arc<dyn Recorder>,
    /// Returns what would keep the process from starting under other settings.
    pub start_errors: fn(&Settings) -> Vec<String>,
    /// Prints a line about settings that changed, or that cannot be used.
    pub tell: Box<dyn Fn(&str) + Send + Sync>,
}

/// The settings and rules of a process that runs.
pub struct LiveSettings {
    crib: Arc<Crib>,
    parts: LiveParts,
    environment: BTreeMap<String, OsString>,
    files: SettingsFiles,
    /// The files of settings and rules.
    sources: SteadyFiles,
    runtime: Arc<LiveRuntime>,
    pub(super) limits: LiveToolLimits,
    /// Held by whoever changes the settings, from the first look to the last step.
    changing: Mutex<()>,
    in_force: Mutex<InForce>,
}

/// What holds now.
struct InForce {
    settings: Arc<Settings>,
    rules: RulesSeen,
    /// What the project's files said.
    project: Option<ProjectTexts>,
    capabilities: Arc<Capabilities>,
    state: SettingsState,
    /// What would keep the process from starting again.
    start_errors: Vec<String>,
}

impl InForce {
    /// Returns what the record says about the settings and rules.
    fn recorded(&self) -> Value {
        changed_settings(&self.settings, &self.rules.files)
    }
}

/// Settings and rules that can be put in force: everything that they name is open.
pub(super) struct PreparedSettings {
    in_force: InForce,
    runtime: Runtime,
    /// The values that will not be what they were.
    pub(super) changes: Vec<ChangedSetting>,
    /// What the rules will not be any more.
    rule_changes: Option<Value>,
    /// What the operator should know.
    pub(super) warnings: Vec<String>,
    has_new_restarts: bool,
    /// Whether the record has a note of the change.
    is_recorded: bool,
}

impl PreparedSettings {
    fn changes_something(&self) -> bool {
        !self.changes.is_empty() || self.rule_changes.is_some() || self.has_new_restarts
    }

    /// Returns the settings that hold only after a restart.
    pub(super) fn needs_restart(&self) -> &[ChangedValue] {
        &self.in_force.state.needs_restart
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.in_force.settings
    }

    /// Says what is wrong with the project's files on disk, if something is.
    pub(super) fn project_warning(&self) -> Option<String> {
        project_warning(&self.in_force.state.errors)
    }
}

/// Who changed settings.
#[derive(Clone, Copy)]
pub(super) enum ChangedBy<'a> {
    /// Somebody who changed a file.
    Files,
    /// A caller of the server.
    Principal(&'a Principal),
}

impl LiveSettings {
    /// Puts the settings in force that `crib` was opened with.
    pub fn start(
        crib: Arc<Crib>,
        limits: LiveToolLimits,
        parts: LiveParts,
    ) -> Result<Self, CliError> {
        let environment = environment(&parts.options);
        let runtime = crib.runtime((parts.approver)(&crib.settings))?;
        let runtime = Runtime { recorder: Arc::clone(&parts.recorder), ..runtime };
        let in_force = InForce {
            settings: Arc::new(crib.settings.clone()),
            rules: RulesSeen::new(&crib.rules.files, &crib.rules.policy),
            project: crib.workspace().root().and_then(|root| project_texts(root).ok()),
            capabilities: Arc::clone(crib.capabilities()),
            state: SettingsState::default(),
            start_errors: (parts.start_errors)(&crib.settings),
        };
        let files = settings_files(&environment);
        Ok(Self {
            sources: SteadyFiles::new(sources(&files, crib.workspace().root())),
            files,
            environment,
            runtime: Arc::new(LiveRuntime::new(runtime)),
            limits,
            parts,
            changing: Mutex::default(),
            in_force: Mutex::new(in_force),
            crib,
        })
    }

    /// Returns the runtime that holds the settings in force.
    pub fn runtime(&self) -> &Arc<LiveRuntime> {
        &self.runtime
    }

    /// Reads settings and rules again, and puts them in force if they changed. If something is wrong with them, those in
    /// force stay, and the operator is told once.
    pub fn read_again(&self) -> Result<(), CliError> {
        let _changing = self.begin_change();
        self.take_up(ChangedBy::Files)
    }

    /// Puts rules in force that a caller has written to the rules file.
    pub fn take_up_rules(&self, by: &Principal) -> Result<(), CliError> {
        let _changing = self.begin_change();
        self.take_up(ChangedBy::Principal(by))
    }

    /// Returns what would keep the process from starting under prepared settings, and does not under those on disk now.
    pub(super) fn new_start_errors(&self, prepared: &PreparedSettings) -> Vec<String> {
        let held = self.in_force().start_errors.clone();
        let errors = prepared.in_force.start_errors.iter();
        errors.filter(|error| !held.contains(error)).cloned().collect()
    }

    /// Says what is wrong with the project's files, after everything else was taken up.
    pub fn project_warning(&self) -> Option<String> {
        project_warning(&self.in_force().state.errors)
    }

    /// Waits until nobody else changes the settings.
    pub(super) fn begin_change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up what the files say. `by` is who changed them. The caller holds the right to change settings.
    pub(super) fn take_up(&self, by: ChangedBy<'_>) -> Result<(), CliError> {
        let prepared = self.sources.read(|| self.prepare(None));
        let mut prepared = prepared.inspect_err(|err| self.note_errors(&lines_of(err), ALL_OLD))?;
        self.note_errors(&prepared.in_force.state.errors, OLD_PROJECT);
        for error in self.new_start_errors(&prepared) {
            self.tell(&format!("the server could not start again: {error}"));
        }
        self.in_force().start_errors.clone_from(&prepared.in_force.start_errors);
        if !prepared.changes_something() {
            return Ok(());
        }
        // Rules that forbid more must hold even if the disk is full.
        if let Err(err) = self.record(&mut prepared, by) {
            self.tell(&format!("a change of the settings could not be recorded: {err}"));
        }
        self.put_in_force(prepared, by);
        Ok(())
    }

    /// Reads settings and rules, and opens everything that they name. `user_text` is what the user's settings file is going
    /// to have. If only the project's files are wrong, what they said before counts: whoever works on the project must
    /// not keep the operator from changing anything.
    pub(super) fn prepare(&self, user_text: Option<&str>) -> Result<PreparedSettings, CliError> {
        let found = self.crib.workspace().root().map(project_texts).transpose();
        let prepared = found.and_then(|project| self.prepare_with(user_text, project));
        prepared.or_else(|err| {
            let held = self.in_force().project.clone().ok_or_else(|| err.clone());
            let mut prepared = held
                .and_then(|held| self.prepare_with(user_text, Some(held)))
                .map_err(|_| err.clone())?;
            prepared.in_force.state.errors = lines_of(&err);
            Ok(prepared)
        })
    }

    fn prepare_with(
        &self,
        user_text: Option<&str>,
        project: Option<ProjectTexts>,
    ) -> Result<PreparedSettings, CliError> {
        let (options, environment) = (&self.parts.options, &self.environment);
        let files = SettingsFiles {
            user_text: user_text.map(str::to_owned),
            project,
            ..self.files.clone()
        };
        let (root, project) = (self.crib.workspace().root(), files.project.clone());
        let (flags, assignments) = (&options.flags, &options.assignments);
        let mut settings = Settings::load(&files, root, environment, flags, assignments)?;
        let mut warnings = Vec::new();
        let shell = Arc::clone(&self.crib.rules.shell);
        let LoadedRules { policy, files } =
            rules::load(&settings, &files, root, &*shell, &mut warnings)?;
        sandbox::check(&settings, environment, options)?;
        let held = self.in_force();
        let (running, old) = (Arc::clone(&held.settings), Arc::clone(&held.capabilities));
        let (old_rules, old_state) = (held.rules.clone(), held.state.clone());
        drop(held);
        let start_errors = (self.parts.start_errors)(&settings);
        let restarts = settings.keep_until_restart(&running);
        let needs_restart: Vec<ChangedValue> = restarts.iter().map(changed_value).collect();
        let changes = settings.changes_since(&running);
        let is_of_sandbox = |change: &ChangedSetting| {
            SANDBOX_SETTINGS.iter().any(|start| change.setting.name.starts_with(start))
        };
        let sandboxes = if changes.iter().any(is_of_sandbox) {
            OpenSandboxes::Renew
        } else {
            OpenSandboxes::Keep
        };
        let old = (&*old, sandboxes);
        let capabilities =
            self.crib.capabilities_under(&settings, environment, options, old, &mut warnings)?;
        let (policy, capabilities) = (Arc::new(policy), Arc::new(capabilities));
        let approver = (self.parts.approver)(&settings);
        let rules = RulesSeen::new(&files, &policy);
        let runtime = self.crib.runtime_under(&settings, policy, &capabilities, approver)?;
        let runtime = Runtime { recorder: Arc::clone(&self.parts.recorder), ..runtime };
        settings.warnings.append(&mut warnings);
        let is_new = |warning: &&String| !running.warnings.contains(warning);
        Ok(PreparedSettings {
            changes,
            rule_changes: rules.changes_since(&old_rules),
            warnings: settings.warnings.iter().filter(is_new).cloned().collect(),
            has_new_restarts: needs_restart != old_state.needs_restart,
            is_recorded: false,
            runtime,
            in_force: InForce {
                settings: Arc::new(settings),
                rules,
                project,
                capabilities,
                state: SettingsState { needs_restart, errors: Vec::new(), ..old_state },
                start_errors,
            },
        })
    }

    /// Records a change, before it holds: who made it, what changed, and all that is set then.
    pub(super) fn record(
        &self,
        prepared: &mut PreparedSettings,
        by: ChangedBy<'_>,
    ) -> Result<(), RecordError> {
        let changed: Vec<ChangedValue> = prepared.changes.iter().map(changed_value).collect();
        let mut detail = json!({"changed": changed, "settings": prepared.in_force.recorded()});
        if let Some(rules) = &prepared.rule_changes {
            detail["rules"] = rules.clone();
        }
        if prepared.has_new_restarts {
            detail["needs_restart"] = json!(prepared.needs_restart());
        }
        self.note(&EventKind::Changed, by, detail)?;
        prepared.is_recorded = true;
        Ok(())
    }

    /// Puts prepared settings in force, all at once.
    pub(super) fn put_in_force(&self, prepared: PreparedSettings, by: ChangedBy<'_>) {
        let line = told(&prepared, by);
        let PreparedSettings { in_force: mut next, runtime, warnings, is_recorded, .. } = prepared;
        next.state.changed_at = Some(format!("{:.3}", self.crib.clock.now()));
        next.state.changed_by = by.name();
        // What was asked for before belongs to the settings before.
        self.crib.recorder.flush();
        let (lines, redactor) = (self.crib.writer.settings(), &self.crib.redactor);
        if is_recorded {
            lines.replace_told(&next.recorded(), redactor);
        } else {
            lines.replace(&next.recorded(), redactor);
        }
        self.runtime.replace(runtime);
        *self.in_force() = next;
        self.load_plugins();
        self.tell(&line);
        for warning in warnings {
            self.tell(&warning);
        }
    }

    /// Says once what is wrong with what was read, and what holds therefore. Without errors, says that they are gone.
    fn note_errors(&self, errors: &[String], what_holds: &str) {
        let mut held = self.in_force();
        if held.state.errors == errors {
            return;
        }
        held.state.errors = errors.to_vec();
        drop(held);
        if errors.is_empty() {
            return self.tell("the settings and rules on disk have no errors any more");
        }
        self.tell(&format!("{what_holds}: {}", errors.join("; ")));
        if let Err(err) =
            self.note(&EventKind::Rejected, ChangedBy::Files, json!({"errors": errors}))
        {
            self.tell(&format!("that could not be recorded: {err}"));
        }
    }

    fn note(
        &self,
        event: &EventKind,
        by: ChangedBy<'_>,
        mut detail: Value,
    ) -> Result<(), RecordError> {
        let (actor, name) = match by {
            ChangedBy::Files => ("system", "a change of the files"),
            ChangedBy::Principal(Principal { name, role: Role::User }) => ("user", name.as_str()),
            ChangedBy::Principal(Principal { name, role }) => (role.as_str(), name.as_str()),
        };
        detail["by"] = name.into();
        self.crib.recorder.note(&Note {
            at: self.crib.clock.now(),
            actor,
            act: Act::Settings.as_str(),
            event: event.as_str(),
            tool: None,
            call: "",
            detail,
        })
    }

    /// Prints a line for the operator.
    pub(super) fn tell(&self, line: &str) {
        (self.parts.tell)(&escape::line(line));
    }

    fn in_force(&self) -> MutexGuard<'_, InForce> {
        self.in_force.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the settings in force.
    pub(super) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.in_force().settings)
    }

    /// Returns the capabilities in force.
    pub(super) fn capabilities(&self) -> Arc<Capabilities> {
        Arc::clone(&self.in_force().capabilities)
    }

    /// Returns how the settings stand.
    pub(super) fn state(&self) -> SettingsState {
        self.in_force().state.clone()
    }

    pub(super) fn crib(&self) -> &Crib {
        &self.crib
    }

    /// Returns the paths of the settings files of the operator.
    pub(super) fn files(&self) -> &SettingsFiles {
        &self.files
    }

    /// Returns every file that settings and rules are read from, whether or not it exists.
    pub(super) fn sources(&self) -> &SteadyFiles {
        &self.sources
    }
}

/// Returns every file that settings and rules are read from.
fn sources(files: &SettingsFiles, root: Option<&Root>) -> Vec<PathBuf> {
    let project = root.map(|root| root.path().join(".toolcrib/config.toml"));
    let files = [Some(files.machine.clone()), files.user.clone(), project];
    let both = |settings: PathBuf| [settings.with_file_name("rules.toml"), settings];
    files.into_iter().flatten().flat_map(both).collect()
}

/// Returns a changed setting as it is shown and recorded.
pub(super) fn changed_value(change: &ChangedSetting) -> ChangedValue {
    let json = |value: &toml::Value| serde_json::to_value(value).unwrap_or_default();
    ChangedValue {
        setting: change.setting.name.to_owned(),
        field: None,
        old: json(&change.old),
        new: json(&change.new),
        from: change.origin.to_string(),
    }
}

/// Returns each thing that is wrong, with what to do about it.
pub(super) fn lines_of(err: &CliError) -> Vec<String> {
    std::iter::once(err).chain(&err.others).map(ToString::to_string).collect()
}

/// Returns one line that says what changed.
fn told(prepared: &PreparedSettings, by: ChangedBy<'_>) -> String {
    let value = |change: &ChangedSetting| {
        format!("{} = {} (was {})", change.setting.name, change.new, change.old)
    };
    let mut parts: Vec<String> = prepared.changes.iter().map(value).collect();
    let mut about = "settings";
    if let Some(rules) = &prepared.rule_changes {
        let count = |key: &str| rules[key].as_array().map_or(0, Vec::len);
        about = if parts.is_empty() { "rules" } else { "settings and rules" };
        parts.push(format!("{} added, {} removed", count("added"), count("removed")));
    }
    if prepared.has_new_restarts && !prepared.needs_restart().is_empty() {
        let names: Vec<&str> =
            prepared.needs_restart().iter().map(|it| it.setting.as_str()).collect();
        parts.push(format!("after a restart: {}", names.join(", ")));
    }
    let who = match by {
        ChangedBy::Files => String::new(),
        ChangedBy::Principal(principal) => format!(" by {}", principal.name),
    };
    let what = if parts.is_empty() { "nothing differs".to_owned() } else { parts.join("; ") };
    format!("{about} changed{who}: {what}")
}
