//! Everything, opened: what subcommands and doors work with.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_agent::{ProcessLifetime, SubagentPool};
use toolcrib_core::policy::Policy;
use toolcrib_core::{Call, Caller, NoClient, Principal, SessionId};
use toolcrib_host::{Sandbox, Workspace};
use toolcrib_ledger::{GrantFile, StateFolder};
use toolcrib_runtime::{Approver, Judge, Latest, Runtime, World};
use toolcrib_search::Engine;
use toolcrib_shell::BashReader;

use super::capabilities::{AreaOpener, Capabilities, OpenSandboxes};
use super::config::Config;
use super::connection::RepositoryOpener;
use super::late_dispatcher::LateDispatcher;
use super::net::open_net;
use super::options::OpenOptions;
use super::plugins::Plugins;
use super::state_access::{StateAccess, StateSources};
use super::toolset::toolset;
use super::web::WebAccess;
use super::{quota, rules, sandbox};
use crate::error::CliError;
use crate::settings::Settings;

/// Everything, opened.
pub struct Crib {
    access: StateAccess,
    /// The rules in force.
    pub rules: RulesInForce,
    /// What people allowed with "always". Those for a session are in memory, so everybody must have the same ones.
    pub grants: Arc<GrantFile>,
    /// Places calls on other machines, once the process is connected to a bus.
    pub dispatcher: Arc<LateDispatcher>,
    capabilities: Arc<Capabilities>,
    plugins: Plugins,
}

/// A crib is its state folder, and what calls need besides.
impl Deref for Crib {
    type Target = StateAccess;

    fn deref(&self) -> &StateAccess {
        &self.access
    }
}

/// The rules in force, and what they are applied with.
pub struct RulesInForce {
    /// The policy that the rules make.
    pub policy: Arc<Policy>,
    /// The parser that reads commands.
    pub shell: Arc<BashReader>,
    /// Where the user's own rules are, if there is a place for them.
    pub user_file: Option<PathBuf>,
    /// The path and the hash of each file that people wrote rules in.
    pub(super) files: Vec<(String, String)>,
}

impl Crib {
    /// Opens everything that `options`, the settings and the environment name.
    pub fn open(options: &OpenOptions) -> Result<Self, CliError> {
        let Config { settings, root, files, state, environment } = Config::read(options)?;
        let (state, missing) = StateFolder::open_if_possible(&state?)?;
        let mut warnings: Vec<String> =
            missing.map(|missing| missing.to_string()).into_iter().collect();
        let shell = Arc::new(BashReader::default());
        let rules = rules::load(&settings, &files, Some(&root), &*shell, &mut warnings)?;
        let mut access = StateAccess::new(StateSources {
            settings,
            files: &files,
            environment: &environment,
            state,
            rules: &rules.files,
            root: Some(&root),
        });
        let roots = access.roots();
        let workspace = roots.open(root)?;
        warnings.extend(access.recover(&workspace));
        let sandbox_for = |workspace: &Arc<Workspace>, old: Option<&Sandbox>| {
            open_sandbox(&access, &access.settings, &environment, options, workspace, old)
        };
        let net = open_net(&access.settings, options)?;
        let repositories =
            RepositoryOpener::new(net, &access.settings, &environment, &roots.hidden);
        let subagents = Arc::new(SubagentPool::new(if options.is_long_lived {
            ProcessLifetime::ManyCalls
        } else {
            ProcessLifetime::SingleCall
        }));
        let areas = AreaOpener {
            roots: &roots,
            sandbox_for: &sandbox_for,
            web: WebAccess::new(&repositories, &access.settings, &environment, subagents),
            repositories,
            index_state: options.is_long_lived.then(|| access.state.folder()),
        };
        let capabilities = Arc::new(areas.open(&workspace, &mut warnings)?);
        if options.is_long_lived {
            access.maintenance.start()?;
        } else {
            access.maintenance.start_once()?;
        }
        let plugins = Plugins::new(&access, &files, capabilities.sandbox(), &environment, options);
        warnings.extend(plugins.load(&access.settings));
        access.settings.warnings.append(&mut warnings);
        let rules = RulesInForce {
            policy: Arc::new(rules.policy),
            files: rules.files,
            shell,
            user_file: files.user.map(|path| path.with_file_name("rules.toml")),
        };
        let grants = Arc::new(GrantFile::new(&access.state));
        Ok(Self { access, rules, grants, dispatcher: Arc::default(), capabilities, plugins })
    }

    /// Returns the workspace.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.capabilities.workspace().files
    }

    /// Returns search in the workspace.
    pub fn search(&self) -> &Arc<Engine> {
        &self.capabilities.workspace().search
    }

    /// Returns the sandbox that commands in the workspace run in.
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        self.capabilities.sandbox()
    }

    /// Returns the tools from other authors.
    pub fn plugins(&self) -> &Plugins {
        &self.plugins
    }

    /// Ends the commands of principals of which `is_gone` says that they are nobody any more, also those in the
    /// background.
    pub fn end_commands_of(&self, is_gone: &dyn Fn(&Principal) -> bool) {
        self.capabilities.end_commands_of(is_gone);
    }

    /// Returns the runtime, with `approver` to ask.
    pub fn runtime(&self, approver: Arc<dyn Approver>) -> Result<Runtime, CliError> {
        self.runtime_with(Arc::clone(&self.rules.policy), approver)
    }

    /// Returns the runtime under another policy.
    pub fn runtime_with(
        &self,
        policy: Arc<Policy>,
        approver: Arc<dyn Approver>,
    ) -> Result<Runtime, CliError> {
        self.runtime_under(&self.settings, policy, &self.capabilities, approver)
    }

    /// Returns the runtime under other settings.
    pub(super) fn runtime_under(
        &self,
        settings: &Settings,
        policy: Arc<Policy>,
        capabilities: &Arc<Capabilities>,
        approver: Arc<dyn Approver>,
    ) -> Result<Runtime, CliError> {
        let grants = Arc::clone(&self.grants) as _;
        Ok(Runtime {
            toolset: Arc::new(toolset(settings, self.plugins.shelf())?),
            judge: Arc::new(
                Judge::new(policy, Arc::clone(&self.rules.shell) as _, grants)
                    .with_limits(quota::session_limits(settings))
                    .with_quarantine(Arc::clone(&self.quarantined))
                    .with_user_quota(quota::user_quota(settings, &self.state)),
            ),
            world: Arc::clone(capabilities) as Arc<dyn World>,
            approver,
            client: Arc::new(NoClient),
            recorder: Arc::clone(&self.recorder),
            clock: Arc::clone(&self.clock),
            dispatcher: Some(Arc::clone(&self.dispatcher) as _),
            latest: Latest::default(),
        })
    }

    pub(super) fn capabilities(&self) -> &Arc<Capabilities> {
        &self.capabilities
    }

    /// Returns the capabilities under other settings. `old` are those that hold now, and share what stays as it is.
    pub(super) fn capabilities_under(
        &self,
        settings: &Settings,
        environment: &BTreeMap<String, OsString>,
        options: &OpenOptions,
        old: (&Capabilities, OpenSandboxes),
        warnings: &mut Vec<String>,
    ) -> Result<Capabilities, CliError> {
        let sandbox_for = |workspace: &Arc<Workspace>, old: Option<&Sandbox>| {
            open_sandbox(&self.access, settings, environment, options, workspace, old)
        };
        let net = Arc::clone(&old.0.web().net);
        let subagents = Arc::clone(&old.0.web().subagents.pool);
        let roots = self.access.roots_under(settings);
        let repositories = RepositoryOpener::new(net, settings, environment, &roots.hidden);
        let areas = AreaOpener {
            roots: &roots,
            sandbox_for: &sandbox_for,
            web: WebAccess::new(&repositories, settings, environment, subagents),
            repositories,
            index_state: options.is_long_lived.then(|| self.state.folder()),
        };
        areas.reopen(old.0, old.1, warnings)
    }

    /// Returns the subagents of this process.
    pub fn subagents(&self) -> Arc<SubagentPool> {
        Arc::clone(&self.capabilities.web().subagents.pool)
    }

    /// Ends every command that still runs: none outlives the process that started it.
    pub fn close(&self) {
        self.plugins.close();
        self.capabilities.close();
    }
}

impl Drop for Crib {
    fn drop(&mut self) {
        self.close();
    }
}

/// Opens the sandbox of a workspace. It takes the place of `old`, if there is one.
fn open_sandbox(
    access: &StateAccess,
    settings: &Settings,
    environment: &BTreeMap<String, OsString>,
    options: &OpenOptions,
    workspace: &Arc<Workspace>,
    old: Option<&Sandbox>,
) -> Result<Arc<Sandbox>, CliError> {
    let StateAccess { state, recorder, clock, .. } = access;
    let quota = quota::user_quota(settings, state);
    let opened = sandbox::open(settings, environment, workspace, clock, state.folder(), options)?;
    let opened = match old {
        Some(old) => opened.succeeding(old),
        None => opened,
    };
    Ok(sandbox::record_tasks(opened, recorder, clock, workspace, quota))
}

/// Returns the user of this process, who calls at a terminal.
pub fn user_at_terminal() -> Arc<Caller> {
    Arc::new(Caller::at_terminal(format!("user {}", rustix::process::getuid().as_raw())))
}

/// Returns a new call of the user at the terminal.
pub fn call_at_terminal(session: SessionId, tool: &str, args: Value) -> Call {
    Call::new(toolcrib_ledger::new_call_id(), session, user_at_terminal(), tool.into(), args)
}

/// Returns a new session for the calls of this process.
pub fn session() -> SessionId {
    SessionId(format!("cli-{}", toolcrib_ledger::new_call_id()))
}
