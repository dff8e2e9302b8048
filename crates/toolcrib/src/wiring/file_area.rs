//! The files of a workspace, and search in them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::{Call, Cancel, Connection, Files, Search, SearchableTree, ToolName};
use toolcrib_host::Workspace;
use toolcrib_search::{Engine, IndexOptions};

use crate::settings::{Settings, table};

/// The files of a workspace, and search in them.
#[derive(Clone)]
pub(super) struct FileArea {
    pub(super) files: Arc<Workspace>,
    pub(super) search: Arc<Engine>,
}

impl FileArea {
    /// Puts search beside files. With a state folder, the roots have an index there if the settings want one.
    pub(super) fn new(
        files: Arc<Workspace>,
        settings: &Settings,
        index_state: Option<&Path>,
    ) -> Self {
        let trees = files.search_roots().into_iter().map(|root| {
            let tree = Arc::new(root) as Arc<dyn SearchableTree>;
            let options = index_state.and_then(|state| {
                let folder = toolcrib_search::index_folder(state, tree.path());
                index_options(settings, folder).filter(|options| {
                    !options.folder.as_deref().is_some_and(toolcrib_search::is_index_disabled)
                })
            });
            (tree, options)
        });
        let search = Arc::new(Engine::with(trees.collect()));
        Self { files, search }
    }

    /// Returns the files as one call of `tool` uses them.
    pub(super) fn files_for(
        &self,
        call: &Call,
        tool: &ToolName,
        cancel: &Cancel,
    ) -> Arc<dyn Files> {
        Arc::new(self.files.for_call(call.id.clone(), tool, cancel.clone()))
    }

    /// Returns search in the files.
    pub(super) fn search(&self) -> Arc<dyn Search> {
        Arc::clone(&self.search) as _
    }

    /// Returns files and search as one connection.
    pub(super) fn connect(&self, call: &Call, tool: &ToolName, cancel: &Cancel) -> Connection {
        Connection { host: None, files: self.files_for(call, tool, cancel), search: self.search() }
    }
}

/// Returns the options of an index that is kept in `folder`; nothing if the settings want no index.
pub fn index_options(settings: &Settings, folder: PathBuf) -> Option<IndexOptions> {
    if !settings.get(table::SEARCH_INDEX) {
        return None;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Some(IndexOptions {
        max_memory_bytes: settings.get(table::SEARCH_MEMORY_BYTES) as usize,
        folder: Some(folder),
        threads: (cores / 2).max(1),
        ignores_saved: false,
    })
}
