//! The tools that a subagent gets, under the names that its model is told.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use toolcrib_core::{CallableTool, ToolName};
use toolcrib_runtime::dialect::openai_function;

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
    /// Returns the tools of `catalogue`, and those of other authors.
    pub(crate) fn of(offered: Vec<CallableTool>, catalogue: &str) -> Self {
        let is_wanted = |tool: &CallableTool| {
            (tool.name.catalogue() == Some(catalogue) || tool.is_loaded)
                && !NEVER.contains(&tool.name.as_str())
        };
        let mut taken = HashSet::new();
        let (mut declared, mut by_name) = (Vec::new(), HashMap::new());
        for tool in offered.into_iter().filter(is_wanted) {
            let CallableTool { name, summary, schema, is_read_only, .. } = tool;
            // A name that another tool has already is told with its catalogue.
            let is_free = taken.insert(name.tool().to_owned());
            let told = if is_free { name.tool().to_owned() } else { name.without_slash() };
            declared.push(openai_function(&told, &summary, schema));
            by_name.insert(told, LoopTool { name, is_read_only });
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
