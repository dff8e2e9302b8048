//! Hands each call the capabilities that its tool reaches the world with.

use std::path::Path;
use std::sync::Arc;

use serde_json::Map;
use toolcrib_core::{Call, Cancel, Clock, Commands, Ctx, Limits, Meter, ToolSettings};
use toolcrib_host::{Root, Sandbox, TaskOwner, Workspace};
use toolcrib_runtime::World;

use super::file_area::FileArea;
use super::locations::absolute;
use super::roots::RootOpener;
use crate::error::CliError;
use crate::settings::{Settings, key};

/// Makes the sandbox of a workspace.
pub(super) type SandboxFor<'a> = dyn Fn(&Arc<Workspace>) -> Result<Arc<Sandbox>, CliError> + 'a;

/// A place that tools work in: its files, and commands there.
#[derive(Clone)]
struct WorkArea {
    area: FileArea,
    commands: Arc<Sandbox>,
}

/// The capabilities that calls are handed.
pub(super) struct Capabilities {
    workspace: WorkArea,
    /// Where forgekeeper's tools work: the workspace, or a root of their own.
    forgekeeper: WorkArea,
    /// The repository that hikai's tools read.
    connection: Option<FileArea>,
    clock: Arc<dyn Clock>,
    settings: Arc<ToolSettings>,
}

/// Opens the areas that tools work in.
pub(super) struct AreaOpener<'a> {
    pub(super) roots: &'a RootOpener<'a>,
    pub(super) sandbox_for: &'a SandboxFor<'a>,
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

    /// Returns the repository that hikai's tools read, if they have one.
    fn connection(&self, workspace: &FileArea, warnings: &mut Vec<String>) -> Option<FileArea> {
        match self.settings().get(key::HIKAI_CONNECTION).as_str() {
            "none" | "" => None,
            "workspace" => Some(workspace.clone()),
            // A repository that cannot be opened counts as not connected.
            path => self
                .area_at("hikai.connection", path)
                .map_err(|err| warnings.push(err.to_string()))
                .ok(),
        }
    }

    /// Opens every area that the settings name, beginning with the workspace.
    pub(super) fn open(
        &self,
        workspace: &Arc<Workspace>,
        warnings: &mut Vec<String>,
    ) -> Result<Capabilities, CliError> {
        let commands = (self.sandbox_for)(workspace)?;
        let workspace = WorkArea { area: self.area(Arc::clone(workspace)), commands };
        let settings = self.settings();
        let forgekeeper = match settings.get(key::FORGEKEEPER_ROOT).as_str() {
            "" => workspace.clone(),
            path => {
                let area = self.area_at("forgekeeper.root", path)?;
                let commands = (self.sandbox_for)(&area.files)?;
                WorkArea { area, commands }
            }
        };
        let connection = self.connection(&workspace.area, warnings);
        let schemas = settings.get(key::HIKAI_OUTPUT_TYPES);
        let output_types: Map<_, _> = schemas.load("hikai.output_types")?.into_iter().collect();
        Ok(Capabilities {
            workspace,
            forgekeeper,
            connection,
            clock: Arc::clone(self.roots.clock),
            settings: Arc::new(ToolSettings {
                search_time: settings.get(key::SEARCH_TIME_MS),
                max_read_bytes: settings.get(key::FORGEKEEPER_MAX_READ_BYTES),
                max_write_bytes: settings.get(key::FORGEKEEPER_MAX_WRITE_BYTES),
                max_output_lines: settings.get(key::FORGEKEEPER_MAX_OUTPUT_LINES) as usize,
                output_types,
            }),
        })
    }
}

impl Capabilities {
    /// Returns the files of the workspace, and search in them.
    pub(super) fn workspace(&self) -> &FileArea {
        &self.workspace.area
    }

    /// Returns the sandbox of the workspace.
    pub(super) fn sandbox(&self) -> &Arc<Sandbox> {
        &self.workspace.commands
    }

    /// Ends everything that commands left running.
    pub(super) fn close(&self) {
        self.workspace.commands.close();
        self.forgekeeper.commands.close();
    }
}

impl World for Capabilities {
    fn enter(&self, catalogue: &str, tool: &str, call: &Call, cancel: &Cancel) -> Ctx {
        let WorkArea { area, commands } =
            if catalogue == "forgekeeper" { &self.forgekeeper } else { &self.workspace };
        let owner = TaskOwner { session: call.conversation().clone(), tool: tool.to_owned() };
        let commands = Arc::new(commands.commands_for(owner)) as Arc<dyn Commands>;
        Ctx {
            call: call.id.clone(),
            files: area.files_for(call, tool, cancel),
            search: area.search(),
            commands,
            connection: self.connection.as_ref().map(|area| area.connect(call, tool, cancel)),
            clock: Arc::clone(&self.clock),
            cancel: cancel.clone(),
            settings: Arc::clone(&self.settings),
            limits: Limits::DEFAULT,
            meter: Meter::default(),
            is_read_only: false,
        }
    }
}
