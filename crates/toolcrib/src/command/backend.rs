//! What the server's API needs of this process: the settings, the workspace and the sandbox.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::approval::KeptOutcome;
use toolcrib_core::command::{Excerpt, Lines, Stream, TaskSpent, TaskStatus};
use toolcrib_core::{Caller, Change, ErrorKind, Outcome, Principal, Recorder, ToolError, ToolName};
use toolcrib_host::{OutputStore, SavedCommand};
use toolcrib_runtime::Preview;
use toolcrib_runtime::undo::{Restored, UndoScope};
use toolcrib_serve::{
    Backend, ChangedCallList, ClientSnippet, DifferenceLength, FileDifference, FullOutcome,
    PlannedEdit, RestoredFile, RulesChanged, RulesReplay, TaskState, TaskSummary, UndoPreview,
    UndoReport, WantedChanges, WantedReplay,
};

use super::difference;
use super::doctor::DoctorFindings;
use super::mcp::snippets::snippets;
use super::outcome_gathering;
use super::rules::{self, RuleEdit, RuleEditFault, RuleEditFaultKind};
use super::rules_replay;
use super::undo;
use crate::error::CliError;
use crate::wiring::{Crib, LiveSettings, OpenOptions};

/// What the server's API needs of this process.
pub(super) struct ServerBackend {
    pub(super) crib: Arc<Crib>,
    /// What the process was opened with, to examine it anew.
    pub(super) options: OpenOptions,
    /// Records calls, and counts them.
    pub(super) recorder: Arc<dyn Recorder>,
    /// The settings and rules in force.
    pub(super) live: Arc<LiveSettings>,
}

impl ServerBackend {
    /// Refuses a change while the files have errors: the rules could be written, and would not hold.
    fn check_files(&self) -> Result<(), ToolError> {
        self.live.read_again().map_err(|err| {
            let message =
                format!("nothing was changed: the settings or rules files have errors: {err}");
            ToolError::new(ErrorKind::Changed, message).hint("correct the files first")
        })
    }

    /// Puts the rules in force, so that they hold before the reply.
    fn taken_up(
        &self,
        edit: Result<Result<RuleEdit, RuleEditFault>, CliError>,
        by: &Principal,
    ) -> Result<RulesChanged, ToolError> {
        let edit = rules_told(edit);
        self.live.take_up_rules(by).map_err(|err| {
            let message = format!("the rules file was changed, but the old rules hold: {err}");
            ToolError::new(ErrorKind::Changed, message)
        })?;
        Ok(RulesChanged {
            ids: edit?.ids,
            warnings: self.live.project_warning().into_iter().collect(),
        })
    }

    /// Returns the path of the workspace.
    fn here(&self) -> String {
        let root = self.crib.workspace().root();
        root.map(|root| root.path().display().to_string()).unwrap_or_default()
    }

    /// Refuses to undo a call that changed something outside of the workspace.
    fn check_here(&self, call: &str) -> Result<(), ToolError> {
        if undo::reaches_elsewhere(&self.crib, call).map_err(|err| unreadable_journal(&err))? {
            let message = format!("no call `{call}` changed files of the server's workspace");
            let hint = "GET /api/undo lists the calls that did";
            return Err(ToolError::new(ErrorKind::NotFound, message).hint(hint));
        }
        Ok(())
    }

    fn outputs(&self) -> OutputStore {
        OutputStore::of_person(self.crib.state.folder())
    }
}

impl Backend for ServerBackend {
    fn full_outcome(&self, outcome: &Outcome) -> FullOutcome {
        outcome_gathering::of_outcome(&self.crib, outcome)
    }

    fn kept_outcome(&self, call: &str, tool: &ToolName, kept: &KeptOutcome) -> FullOutcome {
        outcome_gathering::of_kept(&self.crib, call, tool, kept)
    }

    fn planned_edits(&self, preview: &Preview, length: DifferenceLength) -> Vec<PlannedEdit> {
        difference::of_preview(preview, length)
    }

    fn differences(&self, changes: &[Change]) -> Vec<Option<FileDifference>> {
        let (journal, redactor) = (&self.crib.journal, &self.crib.redactor);
        changes.iter().map(|it| difference::of_change(journal, redactor, it)).collect()
    }

    fn text_difference(&self, before: &str, after: &str) -> Option<FileDifference> {
        let clean = |text: &str| self.crib.redactor.clean(text).into_owned();
        difference::of_texts(&clean(before), &clean(after), DifferenceLength::Usual)
    }

    fn changed_calls(&self, wanted: &WantedChanges) -> Result<ChangedCallList, ToolError> {
        undo::gather(&self.crib, wanted).map_err(|err| unreadable_journal(&err))
    }

    fn preview_undo(&self, calls: &[String]) -> Result<Vec<UndoPreview>, ToolError> {
        for call in calls {
            self.check_here(call)?;
        }
        undo::preview(&self.crib, calls)
    }

    fn undo(
        &self,
        call: &str,
        caller: Arc<Caller>,
        scope: UndoScope,
    ) -> Result<UndoReport, ToolError> {
        self.check_here(call)?;
        let by = toolcrib_ledger::new_call_id();
        let undone = self.crib.undo_recorded_by(&*self.recorder, &by, caller, call, scope);
        let restored = undone.map_err(|mut err| {
            err.hint = err.hint.as_deref().map(undo::over_http);
            err
        })?;
        let file =
            |one: Restored| RestoredFile { root: one.root, path: one.path, action: one.action };
        let files = restored.into_iter().map(file).collect();
        let has_other_changes = undo::has_other_changes(&self.crib, call);
        Ok(UndoReport { undone: call.to_owned(), by, files, has_other_changes })
    }

    fn add_rules(&self, text: &str, by: &Principal) -> Result<RulesChanged, ToolError> {
        self.check_files()?;
        self.taken_up(rules::add_rules(&self.crib, text, "the body", by), by)
    }

    fn remove_rule(&self, rule: &str, by: &Principal) -> Result<RulesChanged, ToolError> {
        self.check_files()?;
        self.taken_up(rules::remove_rule(&self.crib, rule, by), by)
    }

    fn rules_file(&self) -> Option<String> {
        self.crib.rules.user_file.as_deref().map(|path| path.display().to_string())
    }

    fn replay_rules(&self, wanted: &WantedReplay) -> Result<RulesReplay, ToolError> {
        let rules = rules_told(rules::check_rules(&self.crib, &wanted.text, "the body"))?;
        rules_replay::replay(&self.live, rules, wanted)
    }

    fn client_snippets(&self) -> Vec<ClientSnippet> {
        snippets(Path::new(&self.here()))
    }

    fn tasks(&self) -> Vec<TaskSummary> {
        let here = self.here();
        let saved = self.outputs().all().into_iter().filter(|it| it.workspace == here);
        saved.filter_map(task_summary).collect()
    }

    fn spent_by_tasks(&self) -> Vec<TaskSpent> {
        self.crib.sandbox().spent_by_tasks()
    }

    fn kill_task(&self, id: &str) -> Result<bool, ToolError> {
        if let Some(was_running) = self.crib.sandbox().kill_task(id) {
            return Ok(was_running);
        }
        if self.tasks().iter().any(|task| task.id == id && task.status == TaskState::Running) {
            let message =
                format!("the task {id} runs in another process, and only that process can end it");
            return Err(ToolError::new(ErrorKind::Unavailable, message));
        }
        Ok(false)
    }

    fn output(&self, call: &str, stream: Stream, lines: Lines) -> Result<Excerpt, ToolError> {
        let (outputs, here) = (self.outputs(), self.here());
        // A reply that was saved has no workspace, and no output of a command.
        let is_elsewhere =
            |it: &SavedCommand| it.call == call && !it.workspace.is_empty() && it.workspace != here;
        if outputs.all().iter().any(is_elsewhere) {
            let message = format!("no output of the server's workspace is saved under `{call}`");
            return Err(ToolError::new(ErrorKind::NotFound, message));
        }
        outputs.read(call, stream, lines)
    }

    fn diagnosis(&self) -> Value {
        DoctorFindings::gather(&self.options).to_json()
    }
}

fn unreadable_journal(err: &std::io::Error) -> ToolError {
    ToolError::new(ErrorKind::Io, format!("the journal of changes cannot be read: {err}"))
}

fn task_summary(saved: SavedCommand) -> Option<TaskSummary> {
    let SavedCommand { call, command, started, principal, status, .. } = saved;
    let (status, end) = match status? {
        TaskStatus::Running => (TaskState::Running, None),
        TaskStatus::Ended(end) => (TaskState::Ended, Some(end)),
        TaskStatus::Lost => (TaskState::Lost, None),
    };
    Some(TaskSummary { id: call, command, started, principal, status, end })
}

/// Returns what was done with rules, or the error that every door tells.
fn rules_told<T>(done: Result<Result<T, RuleEditFault>, CliError>) -> Result<T, ToolError> {
    match done {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(fault)) => {
            let kind = match fault.kind {
                RuleEditFaultKind::NotFound => ErrorKind::NotFound,
                RuleEditFaultKind::Unusual => ErrorKind::Changed,
                RuleEditFaultKind::Wrong => ErrorKind::BadArgs,
            };
            Err(ToolError::new(kind, fault.message.replace('\n', "; ")).hint(fault.hint))
        }
        Err(err) => {
            let message = format!("the rules were not changed: {err}");
            Err(ToolError::new(ErrorKind::Io, message))
        }
    }
}
