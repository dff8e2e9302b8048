//! Everything, opened in a scratch place as a process that answers many calls has it, and the calls to it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use serde_json::{Value, json};
use toolcrib::CliError;
use toolcrib::wiring::{Crib, OpenOptions, call_at_terminal, session, user_at_terminal};
use toolcrib_core::policy::grant::Grants;
use toolcrib_core::policy::{Answer, Covers, Grant, Scope};
use toolcrib_core::{Call, Cancel, Outcome, SessionId, ToolError};
use toolcrib_ledger::{Approvals, GrantFile, new_call_id, this_process};
use toolcrib_runtime::undo::{Restored, UndoScope};
use toolcrib_runtime::{
    AlwaysYes, AnswerFuture, ApprovalQueue, Approver, ConfirmationSource, ParkedQuestions, Preview,
    Question, Runtime, SessionKind, Unattended,
};

use crate::place::{NOBODY, Place, User, users};

/// A scratch place, and what is to be opened there.
pub(crate) struct Scratch {
    place: Place,
    /// The environment variables that the process would have.
    pub(crate) environment: BTreeMap<String, OsString>,
}

impl Deref for Scratch {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self::of(User::Own)
    }

    pub(crate) fn of(user: User) -> Self {
        let place = Place::of(user);
        let environment = [
            ("PATH", OsString::from("/usr/bin:/bin")),
            ("HOME", place.path("home").into()),
            ("TOOLCRIB_STATE", place.state().into()),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value)).into();
        Self { place, environment }
    }

    /// Puts the user's own rules in place.
    pub(crate) fn put_rules(&self, rules: &str) {
        self.put_at("home/.config/toolcrib/rules.toml", rules);
    }

    pub(crate) fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.work().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Puts a pipe that everybody may use into the workspace, and returns its path.
    pub(crate) fn put_pipe(&self, name: &str) -> PathBuf {
        let path = self.work().join(name);
        mkfifoat(CWD, &path, Mode::RUSR).unwrap();
        self.set_mode(name, 0o666);
        path
    }

    /// Returns what opens the workspace with these settings, each as `KEY=VALUE`.
    pub(crate) fn options(&self, settings: &[&str]) -> OpenOptions {
        OpenOptions {
            workspace: Some(self.work()),
            environment: Some(self.environment.clone()),
            assignments: settings.iter().map(|it| (*it).to_owned()).collect(),
            ..OpenOptions::default()
        }
    }

    #[track_caller]
    pub(crate) fn open(&self) -> Opened {
        self.open_with(&[])
    }

    #[track_caller]
    pub(crate) fn open_with(&self, settings: &[&str]) -> Opened {
        self.try_open(settings).unwrap_or_else(|err| panic!("{err}"))
    }

    /// Opens the workspace with more environment variables.
    #[track_caller]
    pub(crate) fn open_where(&self, variables: &[(&str, &str)]) -> Opened {
        let mut environment = self.environment.clone();
        environment
            .extend(variables.iter().map(|(name, value)| ((*name).to_owned(), value.into())));
        let options = OpenOptions { environment: Some(environment), ..self.options(&[]) };
        Opened::of(&options).unwrap_or_else(|err| panic!("{err}"))
    }

    pub(crate) fn try_open(&self, settings: &[&str]) -> Result<Opened, CliError> {
        Opened::of(&self.options(settings))
    }

    #[track_caller]
    pub(crate) fn open_at(&self, root: &Path, settings: &[&str]) -> Opened {
        self.try_open_at(root, settings).unwrap_or_else(|err| panic!("{err}"))
    }

    pub(crate) fn try_open_at(&self, root: &Path, settings: &[&str]) -> Result<Opened, CliError> {
        let workspace = Some(PathBuf::from(root));
        Opened::of(&OpenOptions { workspace, ..self.options(settings) })
    }
}

/// Runs a test as everyone the tests can be, each in a scratch place of their own.
pub(crate) fn for_each_user(test: impl Fn(&Scratch) + Sync) {
    for user in users() {
        let scratch = Scratch::of(user);
        match user {
            User::Own => test(&scratch),
            User::Nobody => as_nobody(|| test(&scratch)),
        }
    }
}

/// Does something as `nobody`. The kernel has a user for each thread, and a thread inherits it from the one that
/// starts it, so this takes a thread and no process.
pub(crate) fn as_nobody<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let worked = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
            set_thread_groups(&[]).unwrap();
            set_thread_res_gid(gid, gid, gid).unwrap();
            set_thread_res_uid(uid, uid, uid).unwrap();
            work()
        });
        thread.join()
    });
    worked.unwrap_or_else(|_| panic!("it failed as `nobody`: see above"))
}

/// What a call came to.
pub(crate) struct Reply(pub(crate) Outcome);

impl Reply {
    /// `ok`, or the kind of the error.
    pub(crate) fn kind(&self) -> &'static str {
        self.0.error.as_ref().map_or("ok", |err| err.kind.as_str())
    }

    /// The reply, as programs get it.
    pub(crate) fn json(&self) -> &Value {
        &self.0.reply
    }

    /// The reply as text.
    pub(crate) fn text(&self) -> &str {
        &self.0.text
    }

    pub(crate) fn id(&self) -> &str {
        &self.0.call.0
    }

    /// Asserts that the call succeeded, and returns its id.
    #[track_caller]
    pub(crate) fn done(&self) -> String {
        assert_eq!(self.kind(), "ok", "{}", self.text());
        self.id().to_owned()
    }
}

/// Everything, opened.
pub(crate) struct Opened {
    pub(crate) crib: Crib,
    /// Without anyone who could be asked.
    unattended: Runtime,
    /// With every question answered yes, as by `--yes`.
    approved: Runtime,
    session: SessionId,
    events: tokio::runtime::Runtime,
}

impl Opened {
    pub(crate) fn of(options: &OpenOptions) -> Result<Self, CliError> {
        let crib = Crib::open(options)?;
        let unattended = crib.runtime(queue(&crib, Unattended::Refuse, SessionKind::SingleCall))?;
        let approved = crib.runtime(Arc::new(AlwaysYes("--yes".to_owned())))?;
        let events = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { crib, unattended, approved, session: session(), events })
    }

    fn ask_for(&self, tool: &str, args: Value) -> Call {
        call_at_terminal(self.session.clone(), tool, args)
    }

    /// Stores a grant in this project until revoked, as the answer "always" does.
    pub(crate) fn grant(&self, tool: &str, covers: &Covers) {
        let root = self.crib.workspace().root().unwrap().path().display().to_string();
        let grant = Grant {
            id: new_call_id().0,
            tool_name: tool.into(),
            param_pattern: covers.param_pattern(),
            description: String::new(),
            created_at: jiff::Timestamp::now(),
            last_used_at: None,
            use_count: 0,
            expires_at: None,
            enabled: true,
            scope: Scope::Project(root),
            covers: covers.clone(),
            by: "a person".to_owned(),
            principal: None,
            files: None,
        };
        GrantFile::new(&self.crib.state).add(grant).unwrap();
    }

    /// Calls a tool where nobody can be asked.
    pub(crate) fn call(&self, tool: &str, args: Value) -> Reply {
        self.call_in(&self.unattended, tool, args)
    }

    /// Calls a tool with every question answered yes.
    pub(crate) fn approve(&self, tool: &str, args: Value) -> Reply {
        self.call_in(&self.approved, tool, args)
    }

    /// Returns the reply to a call with every question answered yes, as programs get it.
    pub(crate) fn reply(&self, tool: &str, args: &Value) -> Value {
        self.approve(tool, args.clone()).0.reply
    }

    /// Writes a file with every question answered yes.
    pub(crate) fn write(&self, path: &str, content: &str) -> Reply {
        self.approve("clemini/write_file", json!({"file_path": path, "content": content}))
    }

    /// Calls a tool where a person answers.
    pub(crate) fn ask(
        &self,
        tool: &str,
        args: Value,
        person: impl Fn(&Question) -> Answer + Send + Sync + 'static,
    ) -> Reply {
        self.answer_call(self.ask_for(tool, args), person)
    }

    /// Carries out a call that somebody else put together, where a person answers.
    pub(crate) fn answer_call(
        &self,
        call: Call,
        person: impl Fn(&Question) -> Answer + Send + Sync + 'static,
    ) -> Reply {
        let runtime = self.crib.runtime(Arc::new(Person(person))).unwrap();
        self.carry_out(&runtime, call)
    }

    /// Calls a tool where a person says yes, after something else happened.
    pub(crate) fn answer_after(
        &self,
        tool: &str,
        args: Value,
        happens: impl Fn() + Send + Sync + 'static,
    ) -> Reply {
        self.ask(tool, args, move |_| {
            happens();
            Answer::Yes("a person".to_owned())
        })
    }

    /// Calls a tool through another runtime of this crib.
    pub(crate) fn call_in(&self, runtime: &Runtime, tool: &str, args: Value) -> Reply {
        self.carry_out(runtime, self.ask_for(tool, args))
    }

    /// Carries out a call that somebody else put together.
    pub(crate) fn carry_out(&self, runtime: &Runtime, call: Call) -> Reply {
        Reply(self.events.block_on(runtime.call(call, Cancel::default())))
    }

    /// Returns what would be decided about a call.
    #[track_caller]
    pub(crate) fn explain(&self, tool: &str, args: Value) -> Preview {
        let explained = self.unattended.explain(self.ask_for(tool, args), Cancel::default());
        self.events.block_on(explained).unwrap_or_else(|outcome| panic!("{}", outcome.text))
    }

    /// Returns the verdict about a call.
    #[track_caller]
    pub(crate) fn decide(&self, tool: &str, args: Value) -> &'static str {
        self.explain(tool, args).decision.verdict().as_str()
    }

    /// Returns the verdict about a command of clemini's `bash`.
    #[track_caller]
    pub(crate) fn decide_command(&self, command: &str) -> &'static str {
        self.decide("clemini/bash", json!({"command": command}))
    }

    /// Undoes a call. Returns the id of the undo, and what was done to each path.
    pub(crate) fn undo(
        &self,
        call: &str,
        scope: UndoScope,
    ) -> Result<(String, Vec<Restored>), ToolError> {
        let id = new_call_id();
        self.crib.undo(&id, user_at_terminal(), call, scope).map(|restored| (id.0, restored))
    }
}

/// A person at a prompt.
pub(crate) struct Person<F>(pub(crate) F);

impl<F: Fn(&Question) -> Answer + Send + Sync> Approver for Person<F> {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        let answer = (self.0)(question);
        Box::pin(async { answer })
    }

    fn confirmation(&self) -> ConfirmationSource {
        ConfirmationSource::NotNeeded
    }
}

/// Returns the queue that answers where there is no terminal.
pub(crate) fn queue(
    crib: &Crib,
    unattended: Unattended,
    session: SessionKind,
) -> Arc<dyn Approver> {
    Arc::new(ApprovalQueue {
        store: Arc::new(Approvals::new(&crib.state)),
        prompt: None,
        unattended,
        session,
        prompt_time: std::time::Duration::from_secs(1),
        process: this_process(),
        clock: Arc::clone(&crib.clock),
        parked: ParkedQuestions::default(),
    })
}
