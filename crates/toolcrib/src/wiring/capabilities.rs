//! Hands each call the capabilities that its tool reaches the world with.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_agent::SubagentOwner;
use toolcrib_core::pull_requests::{PullRequestQuestion, PullRequestStatus, PullRequests};
use toolcrib_core::{
    Call, CallId, CallTerms, Cancel, Catalogue, Clock, Commands, Connection, Ctx, ErrorKind,
    HeldCounts, Limits, Meter, NoClient, Outside, Principal, ToolError, ToolName, ToolSettings,
};
use toolcrib_host::{Root, Sandbox, TaskOwner, Workspace};
use toolcrib_repositories::RepositoryPlace;
use toolcrib_runtime::World;
use toolcrib_tools::catalogues;

use super::catalogue;
use super::connection::{ConnectedPlace, NamedPlace, RepositoryOpener, connected_place};
use super::file_area::FileArea;
use super::locations::absolute;
use super::named_connections::{NamedConnection, NamedConnections};
use super::roots::RootOpener;
use super::web::WebAccess;
use crate::error::CliError;
use crate::settings::Settings;

/// Makes the sandbox of a workspace, with the commands of the one whose place it takes.
pub(super) type SandboxFor<'a> =
    dyn Fn(&Arc<Workspace>, Option<&Sandbox>) -> Result<Arc<Sandbox>, CliError> + 'a;

/// Whether the sandboxes that are open are still those of the settings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenSandboxes {
    Keep,
    Renew,
}

/// A place that tools work in: its files, and commands there.
#[derive(Clone)]
struct WorkArea {
    area: FileArea,
    commands: Arc<Sandbox>,
}

/// What the calls of one catalogue are handed.
struct CatalogueArea {
    /// What the settings named when the directories were opened.
    places: AreaPlaces,
    work: WorkArea,
    /// The repository that the tools read, if their catalogue has such a setting and the session chooses no other.
    connection: Option<ConnectedPlace>,
    settings: Arc<ToolSettings>,
}

/// The directories that the settings of a catalogue name.
#[derive(Clone, PartialEq, Eq)]
struct AreaPlaces {
    root: String,
    connection: String,
    /// Where the connection leads, if it is one with a name.
    connected: Option<RepositoryPlace>,
}

impl AreaPlaces {
    /// Whether the tools read a connection, so that a session can choose another one.
    fn reads_a_connection(&self) -> bool {
        !matches!(self.connection.as_str(), "" | NO_CONNECTION)
    }
}

/// What the setting of a connection says if nothing is connected.
const NO_CONNECTION: &str = "none";

/// What the tools that read a connection say if nothing is connected.
const NOTHING_CONNECTED: &str = "No active GitHub connection found";

/// The pull requests of a call whose session chose a connection that it cannot have.
struct UnconnectedPullRequests {
    /// Why there is no connected repository.
    why: ToolError,
    /// Answers the questions that name a repository.
    others: Arc<dyn PullRequests>,
}

impl PullRequests for UnconnectedPullRequests {
    fn host(&self) -> Option<String> {
        self.others.host()
    }

    fn status(
        &self,
        question: &PullRequestQuestion,
        cancel: &Cancel,
    ) -> Result<PullRequestStatus, ToolError> {
        match question.repository {
            Some(_) => self.others.status(question, cancel),
            None => Err(self.why.clone()),
        }
    }
}

/// The capabilities that calls are handed.
pub(super) struct Capabilities {
    workspace: WorkArea,
    /// The area of each catalogue, by the catalogue's name.
    catalogues: Vec<(&'static str, CatalogueArea)>,
    /// The connections that sessions can choose.
    connections: NamedConnections,
    clock: Arc<dyn Clock>,
    web: WebAccess,
    /// Every sandbox that was opened, those of settings that hold no more included: calls may still use them.
    opened: Arc<Mutex<Vec<Arc<Sandbox>>>>,
}

/// Opens the areas that tools work in.
pub(super) struct AreaOpener<'a> {
    pub(super) roots: &'a RootOpener<'a>,
    pub(super) sandbox_for: &'a SandboxFor<'a>,
    pub(super) web: WebAccess,
    pub(super) repositories: RepositoryOpener,
    /// The state folder that holds the indexes, if there are to be any.
    pub(super) index_state: Option<&'a Path>,
}

impl AreaOpener<'_> {
    fn settings(&self) -> &Settings {
        self.roots.settings
    }

    fn area(&self, files: Arc<Workspace>) -> FileArea {
        FileArea::new(files, self.settings(), self.index_state)
    }

    /// Opens the directory that `setting` names.
    fn area_at(&self, setting: &str, path: &str) -> Result<FileArea, CliError> {
        let files = absolute(Path::new(path)).and_then(|path| self.roots.open(Root::open(&path)?));
        files.map(|files| self.area(files)).map_err(|err| err.at(&format!("`{setting}`")))
    }

    /// Opens what `setting` connects tools to. A repository at a revision is opened when a call needs it.
    fn connected(&self, setting: &str, text: &str) -> Result<ConnectedPlace, CliError> {
        let place = connected_place(self.settings(), text)
            .map_err(|err| err.at(&format!("`{setting}`")))?;
        if let RepositoryPlace::Folder(path) = &place {
            let area = self.area_at(setting, &path.display().to_string())?;
            return Ok(ConnectedPlace::Folder(area));
        }
        Ok(ConnectedPlace::Repository(Arc::new(self.repositories.source(place))))
    }

    /// Opens the connections that have names. Those of `old` stay open if they lead to the same places.
    fn connections(
        &self,
        old: Option<&NamedConnections>,
        warnings: &mut Vec<String>,
    ) -> NamedConnections {
        let open = |NamedPlace { name, place }| {
            let connected = match &place {
                // Not indexed, because it may never be chosen.
                RepositoryPlace::Folder(path) => Root::open(path)
                    .map_err(CliError::from)
                    .and_then(|root| self.roots.open(root))
                    .map(|files| {
                        ConnectedPlace::Folder(FileArea::new(files, self.settings(), None))
                    })
                    .map_err(|err| ToolError::new(ErrorKind::Unavailable, err.to_string())),
                place => {
                    let source = self.repositories.source(place.clone());
                    Ok(ConnectedPlace::Repository(Arc::new(source)))
                }
            };
            let pull_requests = Arc::new(self.repositories.pull_requests(Some(&place)));
            NamedConnection { name, place, connected, pull_requests }
        };
        let places = NamedPlace::all(self.settings()).unwrap_or_else(|err| {
            warnings.push(err.to_string());
            Vec::new()
        });
        NamedConnections::open(places, old, open)
    }

    /// Opens the directories that the settings of a catalogue name. Those of `old` stay open if the settings name the
    /// same ones.
    fn catalogue(
        &self,
        catalogue: &Catalogue,
        (workspace, connections): (&WorkArea, &NamedConnections),
        old: Option<(&CatalogueArea, OpenSandboxes)>,
        warnings: &mut Vec<String>,
    ) -> Result<CatalogueArea, CliError> {
        let path = |name: Option<&'static str>| {
            let named = name.map(|name| (name, catalogue::text(self.settings(), name)));
            named.filter(|(_, path)| !path.is_empty())
        };
        let text = |name| path(name).map(|(_, path)| path.to_owned()).unwrap_or_default();
        let connection = text(catalogue.settings.connection);
        let named = connections.find(&connection);
        let connected = named.map(|it| it.place.clone());
        let places = AreaPlaces { root: text(catalogue.settings.root), connection, connected };
        // A folder is opened anew, so that it has an index here.
        let named = named.and_then(|it| it.connected.clone().ok());
        let named = named.filter(|it| matches!(it, ConnectedPlace::Repository(_)));
        let settings = Arc::new(catalogue::tool_settings(self.settings(), catalogue)?);
        if let Some((old, sandboxes)) = old.filter(|(old, _)| old.places == places) {
            let work = match places.root.as_str() {
                "" => workspace.clone(),
                _ => self.renewed(&old.work, sandboxes)?,
            };
            let connection = named.or_else(|| old.connection.clone());
            return Ok(CatalogueArea { places, work, connection, settings });
        }
        let work = match path(catalogue.settings.root) {
            None => workspace.clone(),
            Some((name, path)) => {
                let area = self.area_at(name, path)?;
                let commands = (self.sandbox_for)(&area.files, None)?;
                WorkArea { area, commands }
            }
        };
        let connection = match path(catalogue.settings.connection) {
            None | Some((_, NO_CONNECTION)) => None,
            _ if named.is_some() => named,
            Some((_, "workspace")) => Some(ConnectedPlace::Folder(workspace.area.clone())),
            // A folder that cannot be opened counts as not connected.
            Some((name, text)) => {
                self.connected(name, text).map_err(|err| warnings.push(err.to_string())).ok()
            }
        };
        Ok(CatalogueArea { places, work, connection, settings })
    }

    /// Opens every area that the settings name, beginning with the workspace.
    pub(super) fn open(
        &self,
        workspace: &Arc<Workspace>,
        warnings: &mut Vec<String>,
    ) -> Result<Capabilities, CliError> {
        let commands = (self.sandbox_for)(workspace, None)?;
        let workspace = WorkArea { area: self.area(Arc::clone(workspace)), commands };
        self.open_catalogues(workspace, None, warnings)
    }

    /// Opens what the settings name now and did not name for `old`. All else is shared with `old`.
    pub(super) fn reopen(
        &self,
        old: &Capabilities,
        sandboxes: OpenSandboxes,
        warnings: &mut Vec<String>,
    ) -> Result<Capabilities, CliError> {
        let workspace = self.renewed(&old.workspace, sandboxes)?;
        self.open_catalogues(workspace, Some((old, sandboxes)), warnings)
    }

    /// Returns the same files, with commands by the settings of now.
    fn renewed(&self, old: &WorkArea, sandboxes: OpenSandboxes) -> Result<WorkArea, CliError> {
        let commands = match sandboxes {
            OpenSandboxes::Keep => Arc::clone(&old.commands),
            OpenSandboxes::Renew => (self.sandbox_for)(&old.area.files, Some(&old.commands))?,
        };
        Ok(WorkArea { area: old.area.clone(), commands })
    }

    fn open_catalogues(
        &self,
        workspace: WorkArea,
        old: Option<(&Capabilities, OpenSandboxes)>,
        warnings: &mut Vec<String>,
    ) -> Result<Capabilities, CliError> {
        let connections = self.connections(old.map(|(old, _)| &old.connections), warnings);
        let mut areas = Vec::with_capacity(catalogues().len());
        for catalogue in catalogues() {
            let old = old.and_then(|(old, sandboxes)| {
                old.area_of(catalogue.name).map(|area| (area, sandboxes))
            });
            let area = self.catalogue(catalogue, (&workspace, &connections), old, warnings)?;
            areas.push((catalogue.name, area));
        }
        let opened = old.map(|(old, _)| Arc::clone(&old.opened)).unwrap_or_default();
        let all = areas.iter().map(|(_, area)| &area.work.commands);
        let mut held = opened.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|sandbox| {
            let is_in_use = Arc::strong_count(sandbox) > 1;
            if !is_in_use {
                sandbox.retire();
            }
            is_in_use
        });
        for sandbox in all.chain([&workspace.commands]) {
            if !held.iter().any(|it| Arc::ptr_eq(it, sandbox)) {
                held.push(Arc::clone(sandbox));
            }
        }
        drop(held);
        Ok(Capabilities {
            workspace,
            catalogues: areas,
            connections,
            clock: Arc::clone(self.roots.clock),
            web: self.web.clone(),
            opened,
        })
    }
}

impl Capabilities {
    /// Returns the files of the workspace, and search in them.
    pub(super) fn workspace(&self) -> &FileArea {
        &self.workspace.area
    }

    /// Returns what tools reach of the web.
    pub(super) fn web(&self) -> &WebAccess {
        &self.web
    }

    /// Returns the sandbox of the workspace.
    pub(super) fn sandbox(&self) -> &Arc<Sandbox> {
        &self.workspace.commands
    }

    /// Returns the directory that the tools of a catalogue work in.
    pub(super) fn root_of(&self, catalogue: &str) -> Option<&Path> {
        let area = self.area_of(catalogue).map_or(&self.workspace.area, |own| &own.work.area);
        area.files.root().map(Root::path)
    }

    /// Ends the commands of principals of which `is_gone` says that they are nobody any more.
    pub(super) fn end_commands_of(&self, is_gone: &dyn Fn(&Principal) -> bool) {
        self.web.subagents.pool.end_subagents_of(is_gone);
        self.workspace.commands.end_commands_of(is_gone);
        for (_, catalogue) in &self.catalogues {
            catalogue.work.commands.end_commands_of(is_gone);
        }
    }

    /// Ends the subagents, and then everything that commands left running.
    pub(super) fn close(&self) {
        self.web.subagents.pool.close();
        for sandbox in &*self.opened.lock().unwrap_or_else(PoisonError::into_inner) {
            sandbox.close();
        }
    }

    /// Returns what a call of a catalogue's tool is connected to: what its session chose, or else what the settings say.
    fn connection_of(
        &self,
        own: &CatalogueArea,
        call: &Call,
        tool: &ToolName,
        cancel: &Cancel,
    ) -> Option<Connection> {
        match &call.caller.connection {
            Some(name) if own.places.reads_a_connection() => {
                Some(self.connections.connect(name, call, tool, cancel))
            }
            _ => own.connection.as_ref().map(|place| place.connect(call, tool, cancel)),
        }
    }

    /// Returns the pull requests that a call asks about. What its session chose holds as it does for `connection_of`.
    fn pull_requests_of(
        &self,
        call: &Call,
        tool: &ToolName,
        cancel: &Cancel,
    ) -> Arc<dyn PullRequests> {
        let others = Arc::clone(&self.web.pull_requests);
        let Some(name) = &call.caller.connection else {
            return others;
        };
        let nothing = || ToolError::new(ErrorKind::NoConnection, NOTHING_CONNECTED);
        if !self.catalogues.iter().any(|(_, area)| area.places.reads_a_connection()) {
            return Arc::new(UnconnectedPullRequests { why: nothing(), others });
        }
        if let Some(named) = self.connections.find(name) {
            return Arc::clone(&named.pull_requests);
        }
        // Whatever reads from a connection that is unknown says why it cannot.
        let unknown = self.connections.connect(name, call, tool, cancel);
        let why = unknown.files.stat("").err().unwrap_or_else(nothing);
        Arc::new(UnconnectedPullRequests { why, others })
    }

    fn area_of(&self, catalogue: &str) -> Option<&CatalogueArea> {
        self.catalogues.iter().find(|(name, _)| *name == catalogue).map(|(_, area)| area)
    }
}

impl World for Capabilities {
    fn new_call_id(&self) -> CallId {
        toolcrib_ledger::new_call_id()
    }

    fn held_counts(&self) -> HeldCounts {
        self.sandbox().held_counts()
    }

    fn enter(&self, tool: &ToolName, call: &Call, cancel: &Cancel) -> Ctx {
        let meter = Meter::default();
        let cancel = &cancel.counting(Arc::new(meter.clone()));
        let own = tool.catalogue().and_then(|catalogue| self.area_of(catalogue));
        let WorkArea { area, commands } = own.map_or(&self.workspace, |own| &own.work);
        let principal = (!call.caller.is_local_user()).then(|| call.caller.principal.clone());
        let (session, tool_name) = (call.conversation().clone(), tool.clone());
        let subagent_owner =
            SubagentOwner { principal: principal.clone(), session: call.session.clone() };
        let owner = TaskOwner { principal, session, tool: tool_name };
        let commands = Arc::new(commands.commands_for(owner)) as Arc<dyn Commands>;
        Ctx {
            call: call.id.clone(),
            files: area.files_for(call, tool, cancel),
            search: area.search(),
            commands,
            outside: Outside {
                connection: own.and_then(|own| self.connection_of(own, call, tool, cancel)),
                net: Arc::clone(&self.web.net),
                web_search: Arc::clone(&self.web.search),
                model: Arc::clone(&self.web.model),
                pull_requests: self.pull_requests_of(call, tool, cancel),
                subagents: self.web.subagents.of(subagent_owner),
                reader: call.caller.principal.name.clone(),
            },
            client: Arc::new(NoClient),
            clock: Arc::clone(&self.clock),
            cancel: cancel.clone(),
            settings: own.map(|own| Arc::clone(&own.settings)).unwrap_or_default(),
            terms: CallTerms { limits: Limits::DEFAULT, is_read_only: false },
            meter,
            calls: None,
        }
    }
}
