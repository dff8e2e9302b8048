//! The tools that a subagent gets, under the names that its model is told.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use toolcrib_core::toolset::Offer;
use toolcrib_core::{Effect, ToolName, Toolset};
use toolcrib_runtime::dialect::{Dialect, Names, declare};

/// Tools that no subagent gets: it has no subagents of its own, and nobody answers it.
const NEVER: [&str; 2] = ["clemini/task", "clemini/ask_user"];

/// The tools of one loop.
pub(crate) struct LoopTools {
    /// The declarations, as OpenAI's function calling has them.
    pub(crate) declared: Value,
    by_name: HashMap<String, LoopTool>,
}

/// A tool of a loop.
#[derive(Clone, Debug)]
pub(crate) struct LoopTool {
    pub(crate) name: ToolName,
    /// Whether its calls can run side by side.
    pub(crate) is_read_only: bool,
}

impl LoopTools {
    /// Returns the tools of `catalogue` that are on offer, and those of other authors.
    pub(crate) fn of(toolset: &Toolset, catalogue: &str) -> Self {
        let is_wanted = |offer: &&Offer| {
            (offer.catalogue.name == catalogue || offer.tool.loaded().is_some())
                && !NEVER.contains(&offer.full_name().as_str())
        };
        let mut taken = HashSet::new();
        let (mut declared, mut by_name) = (Vec::new(), HashMap::new());
        for offer in toolset.offers().iter().filter(is_wanted) {
            // A name that another tool has already is told with its catalogue.
            let is_free = taken.insert(offer.full_name().tool().to_owned());
            let names = if is_free { Names::Plain } else { Names::Full };
            let Value::Array(mut one) =
                declare(Dialect::OpenAi, names, std::slice::from_ref(offer))
            else {
                continue;
            };
            let name = one[0]["function"]["name"].as_str().unwrap_or_default().to_owned();
            declared.append(&mut one);
            let is_read_only = offer.tool.declaration().effect != Effect::Write;
            by_name.insert(name, LoopTool { name: offer.full_name().clone(), is_read_only });
        }
        Self { declared: Value::Array(declared), by_name }
    }

    /// Returns the tool that a model means.
    pub(crate) fn find(&self, name: &str) -> Option<&LoopTool> {
        self.by_name.get(name)
    }

    /// Returns the names of all tools, sorted.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }
}
