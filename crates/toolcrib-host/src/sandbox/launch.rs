//! Launching a command: the launcher and the view are prepared once, then every command gets its guards, its pipes and
//! its plan.

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, OnceLock};

use rustix::pipe::{PipeFlags, pipe_with};
use toolcrib_core::command::CommandRequest;
use toolcrib_core::host_access::HostGate;
use toolcrib_core::policy::DeniedPaths;
use toolcrib_core::{ErrorKind, ToolError};
use toolcrib_inside::canary::Canary;
use toolcrib_inside::landlock_version;
use toolcrib_inside::wire::{self, Inside, Launch, Rlimits, Setup};

use super::config::{Operator, SandboxRules};
use super::cover_cache::CoverCache;
use super::egress::Egress;
use super::guard::Guard;
use super::mask;
use super::mechanism;
use super::pipes::Pipes;
use super::program_search::ProgramSearch;
use super::shell;
use super::spawner::Spawner;
use super::state_folder::SandboxFolder;
use super::sweep::{Freshness, Sweeper};
use super::view::{Access, SandboxView, home_of};
use crate::files::root::{Root, real_path};
use crate::files::workspace::Workspace;

/// What every launch in one workspace needs.
pub(super) struct LaunchContext {
    pub(super) rules: SandboxRules,
    pub(super) operator: Operator,
    pub(super) workspace: Arc<Workspace>,
    pub(super) egress: Arc<Egress>,
    pub(super) folder: SandboxFolder,
    /// The launcher, once the first command was wanted.
    pub(super) launcher: Mutex<Option<Arc<ReadyLauncher>>>,
    pub(super) sweeper: Sweeper,
    pub(super) covers: CoverCache,
    pub(super) reaches: mask::ReachCache,
    /// Where commands find programs, once somebody asked.
    pub(super) programs: OnceLock<ProgramSearch>,
}

/// A running launcher, and what the commands that it starts see.
pub(super) struct ReadyLauncher {
    pub(super) view: SandboxView,
    pub(super) spawner: Spawner,
}

/// A command that the launcher was asked to start.
pub(super) struct Launched {
    pub(super) pipes: Pipes,
    pub(super) guards: Vec<Guard>,
    /// Held for as long as the command runs, because the command ends with its launcher.
    pub(super) launcher: Arc<ReadyLauncher>,
}

/// Whether a command gets a way to the proxy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ProxyNeed {
    /// It reaches no host.
    None,
    /// It can ask the proxy for hosts.
    Wanted,
}

impl LaunchContext {
    /// Returns where commands find programs.
    pub(super) fn programs(&self) -> &ProgramSearch {
        self.programs.get_or_init(|| {
            let roots = self.workspace.roots.iter().map(Root::path);
            ProgramSearch::new(&self.rules, &self.operator, &home_of(&self.operator), roots)
        })
    }

    /// Starts a launcher, whether or not the self-test passes with it.
    pub(super) fn prepare(&self) -> Result<ReadyLauncher, ToolError> {
        if self.workspace.has_hidden() {
            let message = "commands cannot run here: Toolcrib's own state or settings are inside the workspace";
            return Err(ToolError::new(ErrorKind::Unavailable, message)
                .hint("choose another workspace, or set TOOLCRIB_STATE to another folder"));
        }
        if let Some(root) = self.workspace.roots.iter().find(|root| root.path().to_str().is_none())
        {
            let shown = root.path().display();
            let message = format!("commands cannot run in `{shown}`: its name is not UTF-8");
            return Err(ToolError::new(ErrorKind::Unavailable, message).hint("rename the folder"));
        }
        let roots: Vec<_> =
            self.workspace.roots.iter().map(|root| (root.path(), root.handle())).collect();
        let view =
            SandboxView::new(&self.rules, &self.operator, &roots, &self.folder, self.programs())
                .map_err(|err| not_prepared(&err))?;
        self.start_launcher(view)
    }

    /// Starts a launcher of what sees this view.
    pub(super) fn start_launcher(&self, view: SandboxView) -> Result<ReadyLauncher, ToolError> {
        let bubblewrap = mechanism::find_bubblewrap(self.rules.bubblewrap.as_deref())
            .map_err(|err| mechanism::missing("bubblewrap", &err.to_string()))?;
        landlock_version().map_err(|err| mechanism::missing("landlock", &err.to_string()))?;
        let staged = view.staged().map_err(|err| not_prepared(&err))?;
        let setup = Setup { bubblewrap: bubblewrap.display().to_string(), user: view.user, staged };
        let spawner =
            Spawner::start(&setup).map_err(|no| mechanism::missing(&no.mechanism, &no.why))?;
        Ok(ReadyLauncher { view, spawner })
    }

    /// Returns whether a command gets a way to the proxy: settings list a host, or somebody can be asked about hosts.
    pub(super) fn proxy_need(&self, gate: Option<&dyn HostGate>) -> ProxyNeed {
        if self.egress.hosts().is_empty() && gate.is_none() {
            ProxyNeed::None
        } else {
            ProxyNeed::Wanted
        }
    }

    /// Asks the launcher to start a command, or the canary in its place. What is denied is masked.
    pub(super) fn launch(
        &self,
        launcher: &Arc<ReadyLauncher>,
        request: &CommandRequest,
        denied: Option<&DeniedPaths>,
        proxy: ProxyNeed,
        canary: Option<Canary>,
    ) -> Result<Launched, ToolError> {
        let arguments = match &canary {
            Some(_) => Vec::new(),
            None => shell::arguments(request, &self.operator)?,
        };
        let directory = self.directory(request.directory.as_deref())?;
        // What we take for a command that only reads cannot write, even if we are mistaken about it.
        let access = match &canary {
            None if request.is_read_only => Access::ReadOnly,
            _ => Access::Writable,
        };
        let guards = self.guards(denied, access)?;
        let shields: Vec<_> = guards.iter().map(Guard::shields).collect();
        let failed = |err: std::io::Error| {
            ToolError::new(ErrorKind::Io, format!("the command cannot be started: {err}"))
        };
        let (control, control_there) = wire::pair().map_err(failed)?;
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed(errno.into()));
        let (stdout, stdout_there) = pipe()?;
        let (stderr, stderr_there) = pipe()?;
        let mut plan = self.plan(launcher, access, arguments, directory, proxy, canary);
        if request.is_read_only {
            // A repository that lacks objects would fetch them, with the programs of its settings.
            plan.environment.push("GIT_NO_LAZY_FETCH=1".to_owned());
        }
        for (number, shields) in shields.iter().enumerate() {
            plan.shields.extend(shields.iter().map(|shield| (number, shield.clone())));
        }
        wire::send(control.as_fd(), &plan, &[]).map_err(|err| too_long(&err))?;
        let launch = Launch {
            options: launcher.view.options(access),
            shields: shields.iter().map(|shields| shields.to_vec()).collect(),
            nested: launcher.view.nested().map_err(failed)?,
            has_input: false,
        };
        let ends = [control_there.as_fd(), stdout_there.as_fd(), stderr_there.as_fd()];
        let sent = launcher.spawner.launch(&launch, &ends);
        sent.map_err(|err| failed(err).with("launcher", "gone"))?;
        let pipes = Pipes { control, stdout, stderr };
        Ok(Launched { pipes, guards, launcher: Arc::clone(launcher) })
    }

    /// Protects every root, and masks what is denied there. A root that is only read needs no other protection.
    pub(super) fn guards(
        &self,
        denied: Option<&DeniedPaths>,
        access: Access,
    ) -> Result<Vec<Guard>, ToolError> {
        let covers = self.folder.covers();
        let guard = |root: &Root| {
            root.verify()?;
            if access == Access::ReadOnly && denied.is_none() {
                return Ok(Guard::of_nothing(root));
            }
            let freshness = match access {
                Access::ReadOnly => Freshness::Any,
                Access::Writable => Freshness::Recent,
            };
            if self.rules.lives_on && access == Access::Writable {
                self.covers.hold(root, &covers);
            }
            let reaches = denied.map(|denied| self.reaches.get(root, denied));
            let roaming = denied.filter(|_| reaches.as_deref().is_some_and(mask::roams));
            let folders = self.sweeper.folders.look_before_command(root, roaming, freshness);
            if folders.closed.iter().any(|folder| folder.as_os_str().is_empty()) {
                let message = "the command was not run: the workspace cannot be listed";
                return Err(ToolError::new(ErrorKind::Io, message)
                    .hint("give its owner the permission to read it (`chmod u+rwx`)"));
            }
            let made = self.sweeper.made.of(root);
            let mut guard = match access {
                Access::ReadOnly => Guard::of_nothing(root),
                Access::Writable => Guard::set(root, &self.rules, &folders, &made, &covers)?,
            };
            if let (Some(denied), Some(reaches)) = (denied, &reaches) {
                let roots = &self.workspace.roots;
                let found = mask::denied_below(root, roots, denied, reaches, &folders)?;
                guard.mask(root, found)?;
            }
            Ok(guard)
        };
        self.workspace.roots.iter().map(guard).collect()
    }

    /// Returns what the first process inside is told.
    fn plan(
        &self,
        launcher: &ReadyLauncher,
        access: Access,
        arguments: Vec<String>,
        directory: String,
        proxy: ProxyNeed,
        canary: Option<Canary>,
    ) -> Inside {
        let limits = &self.rules.limits;
        let mut environment = launcher.view.environment.clone();
        let has_egress = proxy == ProxyNeed::Wanted && access == Access::Writable;
        if has_egress {
            environment.extend(shell::proxy_environment());
        }
        let root =
            |root: &Root| (root.path().display().to_string(), root.id().device, root.id().inode);
        Inside {
            arguments,
            environment,
            directory,
            roots: self.workspace.roots.iter().map(root).collect(),
            shields: Vec::new(),
            writable: launcher.view.writable(access),
            limits: Rlimits {
                memory: limits.memory,
                processes: limits.processes,
                cpu_seconds: limits.cpu_seconds,
                file_size: limits.file_size,
                open_files: limits.open_files,
            },
            cores: Vec::new(),
            has_egress,
            tells_running: false,
            canary,
        }
    }

    /// Returns the directory to start in, as the command will see it.
    pub(super) fn directory(&self, given: Option<&str>) -> Result<String, ToolError> {
        let place = self.workspace.locate(given.unwrap_or("."))?;
        let (handle, meta) = self.workspace.open(&place)?;
        if rustix::fs::FileType::from_raw_mode(meta.st_mode) != rustix::fs::FileType::Directory {
            let shown = place.shown;
            return Err(ToolError::new(ErrorKind::NotDirectory, format!("`{shown}` is a file"))
                .hint("give a directory of the workspace")
                .at(shown));
        }
        let path = real_path(handle.as_fd());
        Ok(path.map_or_else(|| ".".to_owned(), |path| path.display().to_string()))
    }
}

/// Returns the error for a sandbox whose files could not be prepared.
pub(super) fn not_prepared(err: &std::io::Error) -> ToolError {
    ToolError::new(ErrorKind::Io, format!("the sandbox cannot be prepared: {err}"))
        .hint("check the state folder; `toolcrib doctor` shows where it is")
}

fn too_long(err: &std::io::Error) -> ToolError {
    ToolError::new(
        ErrorKind::TooLarge,
        format!("the command could not be sent to its sandbox: {err}"),
    )
    .hint("write the command to a file in the workspace and run that file")
}
