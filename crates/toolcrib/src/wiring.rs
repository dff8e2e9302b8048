//! Puts the parts together: settings, state, roots, tools, record.

mod catalogue;
mod commands;
mod places;
mod policy;
mod record;
mod upkeep;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::policy::Policy;
use toolcrib_core::{
    Call, Cancel, Catalogue, Clock, Commands, Connection, Ctx, Ground, Limits, Meter, Recorder,
    Search, SessionId, ToolSettings, Toolset,
};
use toolcrib_host::{Asker, Hardlinks, Root, Rules, Sandbox, SystemClock, UndoStore, Workspace};
use toolcrib_ledger::report::Spans;
use toolcrib_ledger::{GrantFile, Journal, Redactor, State};
use toolcrib_runtime::{Approver, Judge, Runtime, World};
use toolcrib_search::{Ceiling, Engine};
use toolcrib_shell::Bash;
use toolcrib_tools::CATALOGUES;

use crate::settings::{Overrides, Places, Settings};
pub use upkeep::Upkeep;

use places::{absolute, folder, own_places, state_folder};

/// What the operator wants, before anything is opened.
#[derive(Default)]
pub struct Wishes {
    /// The workspace; the current directory without it.
    pub workspace: Option<PathBuf>,
    /// The state folder; without it, where the environment says.
    pub state: Option<PathBuf>,
    /// What flags set.
    pub flags: Overrides,
    /// What `-c` sets.
    pub assignments: Vec<String>,
    /// Whether the process answers many calls, so that an index is worth having.
    pub lives_on: bool,
}

/// Everything, opened.
pub struct Crib {
    /// What holds.
    pub settings: Settings,
    /// The state folder.
    pub state: State,
    /// The journal of changes.
    pub journal: Arc<Journal>,
    /// The record of calls.
    pub recorder: Arc<dyn Recorder>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The workspace.
    pub workspace: Arc<Workspace>,
    /// Search in it.
    pub search: Arc<Engine>,
    /// Commands in it.
    pub sandbox: Arc<Sandbox>,
    /// The rules that hold.
    pub policy: Arc<Policy>,
    /// Who reads commands.
    pub shell: Arc<Bash>,
    /// Who takes secrets out of what is shown.
    pub redactor: Redactor,
    /// Where the user's own rules are, if there is a place for them.
    pub rules_file: Option<PathBuf>,
    /// What is done beside calls.
    pub upkeep: Upkeep,
    shut: upkeep::Shut,
    world: Arc<Shop>,
    hidden: Vec<PathBuf>,
}

/// Why things cannot be put together: wrong settings, no state folder, no workspace.
#[derive(Debug)]
pub struct WiringError(pub String);

impl<E: std::error::Error> From<E> for WiringError {
    fn from(err: E) -> Self {
        Self(err.to_string())
    }
}

impl Crib {
    /// Opens everything that `wishes` and the environment name.
    pub fn open(wishes: &Wishes) -> Result<Self, WiringError> {
        let Plans { settings, root, places, state, environment } = Plans::read(wishes)?;
        let (state, missing) = State::open_as_it_is(&state?)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let journal = Arc::new(Journal::new(&state));
        let hidden = own_places(&places, &state, &settings);
        let opener = Opener {
            settings: &settings,
            journal: &journal,
            clock: &clock,
            home: environment.get("HOME").map(PathBuf::from),
            hidden: hidden.clone(),
            index_state: wishes.lives_on.then_some(&state),
        };
        let mut warnings: Vec<String> = missing.map(|missing| missing.0).into_iter().collect();
        let shell = Arc::new(Bash::default());
        let rules = policy::policy(&settings, &places, &root, &*shell, &mut warnings)?;
        let workspace = opener.open(root)?;
        let redactor = record::redactor(&settings, &environment);
        let recorder = record::recorder(&settings, &rules.files, redactor.clone(), &state);
        warnings.extend(record::lost(&workspace, &state, &*recorder, &*clock));
        let sandbox = |workspace: &Arc<Workspace>| {
            let tally = policy::user_quota(&settings, &state);
            let state = state.folder();
            commands::sandbox(&settings, &environment, workspace, &clock, state, wishes)
                .map(|sandbox| commands::on_record(sandbox, &recorder, &clock, workspace, tally))
        };
        let world = Arc::new(opener.shop(&workspace, &sandbox, &mut warnings)?);
        let sandbox = Arc::clone(&world.workspace.commands);
        let mut settings = settings;
        settings.warnings.append(&mut warnings);
        let search = Arc::clone(&world.workspace.land.search);
        let shut = upkeep::Shut::default();
        let upkeep = Upkeep::new(&settings, &state, &recorder, &clock, &shut);
        upkeep.begin(wishes.lives_on)?;
        Ok(Self {
            settings,
            state,
            journal,
            recorder,
            clock,
            workspace,
            search,
            sandbox,
            policy: Arc::new(rules.policy),
            redactor,
            shell,
            rules_file: places.user.map(|path| path.with_file_name("rules.toml")),
            upkeep,
            shut,
            world,
            hidden,
        })
    }

    /// Returns the runtime, with `approver` to ask.
    pub fn runtime(&self, approver: Arc<dyn Approver>) -> Result<Runtime, WiringError> {
        self.runtime_by(Arc::clone(&self.policy), approver)
    }

    /// The same under another policy.
    pub fn runtime_by(
        &self,
        policy: Arc<Policy>,
        approver: Arc<dyn Approver>,
    ) -> Result<Runtime, WiringError> {
        Ok(Runtime {
            toolset: self.toolset()?,
            judge: Arc::new(
                Judge::new(
                    policy,
                    Arc::clone(&self.shell) as _,
                    Arc::new(GrantFile::new(&self.state)),
                )
                .with_limits(policy::session_limits(&self.settings))
                .with_quarantine(Arc::clone(&self.shut))
                .with_user_quota(policy::user_quota(&self.settings, &self.state)),
            ),
            world: Arc::clone(&self.world) as Arc<dyn World>,
            approver,
            recorder: Arc::clone(&self.recorder),
            clock: Arc::clone(&self.clock),
        })
    }

    /// Returns what is on offer, within the operator's limits.
    pub fn toolset(&self) -> Result<Toolset, WiringError> {
        toolset(&self.settings)
    }

    /// How long what is, and what was, are when tools are compared with themselves.
    pub fn spans(&self) -> Spans {
        record::spans(&self.settings)
    }

    /// Returns the limits of a tool, as reports show them.
    pub fn limits_of(&self, tool: &str) -> Value {
        record::limits_of(&self.settings, self.toolset().ok().as_ref(), tool)
    }

    /// Other roots under the same rules, for taking changes back that were made there.
    pub fn workspace_of(&self, roots: Vec<Root>) -> Arc<Workspace> {
        let opener = Opener {
            settings: &self.settings,
            journal: &self.journal,
            clock: &self.clock,
            home: None,
            hidden: self.hidden.clone(),
            index_state: None,
        };
        Arc::new(opener.workspace(roots))
    }
}

impl Drop for Crib {
    fn drop(&mut self) {
        // Nothing that was started here outlives us.
        for area in self.world.areas() {
            area.commands.close();
        }
    }
}

/// Returns what is on offer by these settings.
pub fn toolset(settings: &Settings) -> Result<Toolset, WiringError> {
    let choices = settings.names("toolset");
    let mut toolset = if choices.is_empty() {
        Toolset::everything(CATALOGUES)
    } else {
        Toolset::choose(CATALOGUES, &choices)?
    };
    toolset.adjust(|offer| catalogue::narrow(settings, offer));
    Ok(toolset)
}

/// What is to be opened, read from settings and environment and not opened yet.
pub struct Plans {
    /// What holds.
    pub settings: Settings,
    /// The workspace.
    pub root: Root,
    /// Where the state folder is to be, or why there is no place for it.
    pub state: Result<PathBuf, WiringError>,
    places: Places,
    environment: BTreeMap<String, OsString>,
}

impl Plans {
    /// Returns who takes secrets out of what is shown.
    pub fn redactor(&self) -> Redactor {
        record::redactor(&self.settings, &self.environment)
    }

    /// Reads what `wishes` and the environment name.
    pub fn read(wishes: &Wishes) -> Result<Self, WiringError> {
        let environment: BTreeMap<String, OsString> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .collect();
        let given = absolute(wishes.workspace.as_deref().unwrap_or(Path::new(".")))?;
        let root = Root::open(&given)?;
        let places = Places {
            machine: PathBuf::from("/etc/toolcrib/config.toml"),
            user: folder(&environment, "XDG_CONFIG_HOME", ".config")
                .map(|folder| folder.join("toolcrib/config.toml")),
        };
        let settings =
            Settings::load(&places, &root, &environment, &wishes.flags, &wishes.assignments)?;
        let state = wishes.state.clone().map_or_else(|| state_folder(&environment), Ok);
        Ok(Self { settings, root, state, places, environment })
    }
}

/// Returns the session that calls of this process belong to.
pub fn session() -> SessionId {
    SessionId(format!("cli-{}", toolcrib_ledger::new_call_id()))
}

/// Makes the sandbox of a workspace.
type SandboxFor<'a> = dyn Fn(&Arc<Workspace>) -> Result<Arc<Sandbox>, WiringError> + 'a;

struct Opener<'a> {
    settings: &'a Settings,
    journal: &'a Arc<Journal>,
    clock: &'a Arc<dyn Clock>,
    home: Option<PathBuf>,
    /// Our own folders, which no call may reach.
    hidden: Vec<PathBuf>,
    /// Where indexes are kept, if there are to be any.
    index_state: Option<&'a State>,
}

impl Opener<'_> {
    /// Opens the workspace with the operator's other roots beside it.
    fn open(&self, root: Root) -> Result<Arc<Workspace>, WiringError> {
        self.check_root(&root)?;
        let mut roots = vec![root];
        for path in self.settings.names("roots") {
            if !Path::new(&path).is_absolute() {
                return Err(WiringError(format!("`roots`: `{path}` is not an absolute path")));
            }
            let root = Root::open(Path::new(&path))?;
            self.check_root(&root)?;
            roots.push(root);
        }
        Ok(Arc::new(self.workspace(roots)))
    }

    fn workspace(&self, roots: Vec<Root>) -> Workspace {
        let hardlinks = match self.settings.text("files.hardlinks") {
            "allow" => Hardlinks::Allow,
            _ => Hardlinks::Refuse,
        };
        let rules = Rules {
            hardlinks,
            protected: self.settings.names("files.protected"),
            undo_bytes: self.settings.count("undo.max_bytes"),
        };
        let journal = Arc::clone(self.journal);
        let undo = UndoStore { snapshots: Arc::clone(&journal) as _, journal };
        Workspace::new(roots, rules, &self.hidden, undo, Arc::clone(self.clock))
    }

    /// Puts search beside files.
    fn land(&self, files: Arc<Workspace>) -> Land {
        let grounds = files.search_roots().into_iter().map(|root| {
            let ground = Arc::new(root) as Arc<dyn Ground>;
            let ceiling = self.index_state.and_then(|state| {
                let folder = toolcrib_search::folder_of(state.folder(), ground.path());
                ceiling(self.settings, folder).filter(|ceiling| {
                    !ceiling.folder.as_deref().is_some_and(toolcrib_search::is_off)
                })
            });
            (ground, ceiling)
        });
        let search = Arc::new(Engine::with(grounds.collect()));
        Land { files, search }
    }

    /// Refuses roots that hold more than anyone could mean.
    fn check_root(&self, root: &Root) -> Result<(), WiringError> {
        const BROAD: [&str; 13] = [
            "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/proc", "/root", "/run",
            "/sys", "/usr", "/var",
        ];
        if self.settings.text("files.broad_root") == "allow" {
            return Ok(());
        }
        let path = root.path();
        let shown = path.display();
        let home = self.home.as_deref().and_then(|home| std::fs::canonicalize(home).ok());
        let holds_home = home.is_some_and(|home| home.starts_with(path));
        if holds_home || BROAD.iter().any(|broad| path == Path::new(broad)) {
            return Err(WiringError(format!(
                "`{shown}` is too broad a root: tools could reach what has nothing to do with the \
                 work; use a project's directory, or set `files.broad_root=allow`"
            )));
        }
        for own in &self.hidden {
            if own.starts_with(path) || path.starts_with(own) {
                return Err(WiringError(format!(
                    "the root `{shown}` and our own folder `{}` must be apart: no tool may reach \
                     the record or the settings; choose another root, or set TOOLCRIB_STATE to \
                     another folder",
                    own.display()
                )));
            }
        }
        Ok(())
    }

    fn shop(
        &self,
        workspace: &Arc<Workspace>,
        sandbox_for: &SandboxFor<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Shop, WiringError> {
        let workspace = Area {
            commands: sandbox_for(workspace)?,
            land: self.land(Arc::clone(workspace)),
            connection: None,
            settings: Arc::default(),
        };
        let areas = CATALOGUES
            .iter()
            .map(|catalogue| {
                let area = self.area(catalogue, &workspace, sandbox_for, warnings)?;
                Ok((catalogue.name, area))
            })
            .collect::<Result<_, WiringError>>()?;
        Ok(Shop { workspace, areas, clock: Arc::clone(self.clock) })
    }

    /// Opens the directories that the settings of a catalogue name.
    fn area(
        &self,
        catalogue: &Catalogue,
        workspace: &Area,
        sandbox_for: &SandboxFor<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Area, WiringError> {
        let setting = |name: Option<&'static str>| {
            name.map(|name| (name, self.settings.text(name))).filter(|(_, path)| !path.is_empty())
        };
        let (land, commands) = match setting(catalogue.settings.root) {
            None => (workspace.land.clone(), Arc::clone(&workspace.commands)),
            Some((name, path)) => {
                let land = self.other(name, path)?;
                let commands = sandbox_for(&land.files)?;
                (land, commands)
            }
        };
        let connection = match setting(catalogue.settings.connection) {
            None | Some((_, "none")) => None,
            Some((_, "workspace")) => Some(workspace.land.clone()),
            // A repository that cannot be opened counts as not connected.
            Some((name, path)) => match self.other(name, path) {
                Ok(land) => Some(land),
                Err(err) => {
                    warnings.push(err.0);
                    None
                }
            },
        };
        let settings = Arc::new(catalogue::tool_settings(self.settings, catalogue)?);
        Ok(Area { land, commands, connection, settings })
    }

    /// Opens the directory that a setting names in place of the workspace.
    fn other(&self, setting: &str, path: &str) -> Result<Land, WiringError> {
        let opened = absolute(Path::new(path)).and_then(|path| self.open(Root::open(&path)?));
        opened
            .map(|files| self.land(files))
            .map_err(|err| WiringError(format!("`{setting}`: {}", err.0)))
    }
}

/// Files, and search in them.
#[derive(Clone)]
struct Land {
    files: Arc<Workspace>,
    search: Arc<Engine>,
}

/// Where the calls of one catalogue work, and by which settings.
struct Area {
    land: Land,
    commands: Arc<Sandbox>,
    connection: Option<Land>,
    settings: Arc<ToolSettings>,
}

/// Hands out capabilities.
struct Shop {
    workspace: Area,
    /// The area of each catalogue, by its name.
    areas: Vec<(&'static str, Area)>,
    clock: Arc<dyn Clock>,
}

impl Shop {
    fn areas(&self) -> impl Iterator<Item = &Area> {
        std::iter::once(&self.workspace).chain(self.areas.iter().map(|(_, area)| area))
    }
}

impl World for Shop {
    fn enter(&self, catalogue: &str, tool: &str, call: &Call, cancel: &Cancel) -> Ctx {
        let area = self.areas.iter().find(|(name, _)| *name == catalogue);
        let Area { land, commands, connection, settings } =
            area.map_or(&self.workspace, |(_, area)| area);
        let asker = Asker { session: call.conversation().clone(), tool: tool.to_owned() };
        let commands = Arc::new(commands.commands_for(asker)) as Arc<dyn Commands>;
        let files =
            |land: &Land| Arc::new(land.files.for_call(call.id.clone(), tool, cancel.clone()));
        let search = |land: &Land| Arc::clone(&land.search) as Arc<dyn Search>;
        let connect = |land| Connection { files: files(land), search: search(land) };
        Ctx {
            call: call.id.clone(),
            files: files(land),
            search: search(land),
            commands,
            connection: connection.as_ref().map(connect),
            clock: Arc::clone(&self.clock),
            cancel: cancel.clone(),
            settings: Arc::clone(settings),
            limits: Limits::DEFAULT,
            meter: Meter::default(),
            is_read_only: false,
        }
    }
}

/// Returns what an index may cost; nothing if there is to be none.
pub fn ceiling(settings: &Settings, folder: PathBuf) -> Option<Ceiling> {
    if settings.text("search.index") == "off" {
        return None;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Some(Ceiling {
        memory: settings.count("search.memory_bytes") as usize,
        folder: Some(folder),
        threads: (cores / 2).max(1),
        starts_anew: false,
    })
}
