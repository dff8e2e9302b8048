//! The shelf: every tool there is, on offer or not. Compiled tools stay on it; loaded ones come and go.

use std::sync::Arc;

use crate::catalogue::Catalogue;
use crate::loaded_tool::ToolHandle;
use crate::tool_name::ToolName;

/// Every tool there is. A clone costs one count. A change of the loaded tools makes another shelf, so whoever holds
/// one sees no change.
#[derive(Clone)]
pub struct Shelf {
    compiled: &'static [&'static Catalogue],
    loaded: Option<Arc<LoadedTools>>,
}

/// The tools that arrived while the process runs, and their catalogues.
#[derive(Clone, Default)]
pub struct LoadedTools {
    /// The catalogues. One may have no tools yet.
    pub catalogues: Vec<&'static Catalogue>,
    /// The tools.
    pub tools: Vec<ShelvedTool>,
}

/// A tool and its catalogue.
#[derive(Clone)]
pub struct ShelvedTool {
    /// The catalogue, which gives replies their form.
    pub catalogue: &'static Catalogue,
    /// The tool.
    pub tool: ToolHandle,
}

impl ShelvedTool {
    /// Returns the tool's full name.
    pub fn full_name(&self) -> ToolName {
        ToolName::new(self.catalogue.name, self.tool.declaration().name)
    }
}

impl From<&'static [&'static Catalogue]> for Shelf {
    fn from(compiled: &'static [&'static Catalogue]) -> Self {
        Self { compiled, loaded: None }
    }
}

impl Shelf {
    /// Returns a shelf with the same compiled tools and these loaded ones. Fails with the first full name that two
    /// tools would have.
    pub fn with(&self, loaded: LoadedTools) -> Result<Self, ToolName> {
        let shelf = Self { compiled: self.compiled, loaded: Some(Arc::new(loaded)) };
        let mut names: Vec<ToolName> = shelf.tools().map(|shelved| shelved.full_name()).collect();
        names.sort();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(pair[0].clone()),
            None => Ok(shelf),
        }
    }

    /// Returns every catalogue.
    pub fn catalogues(&self) -> impl Iterator<Item = &'static Catalogue> + '_ {
        let loaded = self.loaded.iter().flat_map(|loaded| loaded.catalogues.iter());
        self.compiled.iter().chain(loaded).copied()
    }

    /// Returns every tool.
    pub fn tools(&self) -> impl Iterator<Item = ShelvedTool> + '_ {
        let compiled = self.compiled.iter().flat_map(|catalogue| {
            let tools = catalogue.tools.iter().map(|tool| ToolHandle::Compiled(*tool));
            tools.map(|tool| ShelvedTool { catalogue, tool })
        });
        let loaded = self.loaded.iter().flat_map(|loaded| loaded.tools.iter());
        compiled.chain(loaded.cloned())
    }

    /// Whether there is a tool with this name, full or bare.
    pub fn has(&self, name: &ToolName) -> bool {
        let named = |full: &ToolName| full == name || full.tool() == name.as_str();
        self.tools().any(|shelved| named(&shelved.full_name()))
    }
}
