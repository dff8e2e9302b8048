//! The definition of a tool of an MCP server, as the server told it: what an operator accepts, and what a change is
//! measured by.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use similar::TextDiff;
use toolcrib_core::canonical::{self, Digest};
use toolcrib_core::escape;

/// The longest name of a tool, as we show it.
const MAX_TOOL_NAME: usize = 48;

/// The longest description of a tool that models are shown, in characters.
const MAX_DESCRIPTION: usize = 8_000;

/// How long a difference is looked for. Then it is larger than it could be, and still right.
const DIFFERENCE_TIME: Duration = Duration::from_millis(500);

/// The definition of a tool, as its server told it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// The name on the wire.
    pub name: String,
    /// What the tool does, in the server's words.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// The JSON Schema of the structured part of the result. Without one, it is null.
    #[serde(default)]
    pub output_schema: Value,
    /// What the server hints at about the tool. Without hints, it is null.
    #[serde(default)]
    pub annotations: Value,
}

impl ToolDefinition {
    /// Takes what Toolcrib uses of a tool from what its server listed.
    pub(crate) fn of_listed(tool: &rmcp::model::Tool) -> Self {
        let object = |schema: &rmcp::model::JsonObject| Value::Object(schema.clone());
        Self {
            name: tool.name.to_string(),
            description: tool.description.as_deref().unwrap_or_default().to_owned(),
            input_schema: object(&tool.input_schema),
            output_schema: tool.output_schema.as_deref().map_or(Value::Null, object),
            annotations: json!(tool.annotations),
        }
    }

    /// Returns the hash of all that models, people and policy see of the tool.
    pub fn hash(&self) -> String {
        Digest::of(&self.name, &self.fields()).to_string()
    }

    /// Returns what changed since the definition that was accepted, as lines. Without one, all of it is new.
    pub fn difference(&self, accepted: Option<&Self>) -> String {
        let before = accepted.map_or_else(String::new, Self::lines);
        let after = self.lines();
        let difference = TextDiff::configure().timeout(DIFFERENCE_TIME).diff_lines(&before, &after);
        escape::lines(&difference.unified_diff().to_string()).into_owned()
    }

    fn lines(&self) -> String {
        let text = serde_json::to_string_pretty(&self.fields()).unwrap_or_default();
        // Long descriptions are one line of JSON, in which a change is hard to see.
        text.replace("\\n", "\\n\n") + "\n"
    }

    /// Returns the name under which the tool is on offer: names with other characters cannot be called everywhere.
    pub fn safe_name(&self) -> String {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let chars = self.name.chars().take(MAX_TOOL_NAME);
        chars.map(|c| if is_safe(c) { c } else { '_' }).collect()
    }

    /// Returns the description as models are shown it, without characters that hide something from people.
    pub(crate) fn summary(&self, server: &str) -> String {
        if self.description.trim().is_empty() {
            return format!("The tool `{}` of the MCP server {server}.", self.safe_name());
        }
        let cut: String = self.description.chars().take(MAX_DESCRIPTION).collect();
        escape::lines(cut.trim()).into_owned()
    }

    /// Returns the fields in one order, whatever the order on the wire was.
    fn fields(&self) -> Value {
        let sorted = |value: &Value| {
            serde_json::from_str(&canonical::text(value)).unwrap_or_else(|_| value.clone())
        };
        json!({
            "name": self.name,
            "description": self.description,
            "input_schema": sorted(&self.input_schema),
            "output_schema": sorted(&self.output_schema),
            "annotations": sorted(&self.annotations),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> ToolDefinition {
        ToolDefinition {
            name: "get sum!".to_owned(),
            description: "Adds.".to_owned(),
            input_schema: json!({"type": "object", "properties": {}}),
            output_schema: Value::Null,
            annotations: Value::Null,
        }
    }

    #[test]
    fn every_change_is_another_hash_and_the_order_of_keys_is_none() {
        let first = definition();
        let mut turned = definition();
        turned.input_schema = json!({"properties": {}, "type": "object"});
        assert_eq!(first.hash(), turned.hash());
        let changes: [fn(&mut ToolDefinition); 5] = [
            |it| it.name.push('x'),
            |it| it.description.push('x'),
            |it| it.input_schema["x"] = 1.into(),
            |it| it.output_schema = json!({}),
            |it| it.annotations = json!({"readOnlyHint": true}),
        ];
        for change in changes {
            let mut other = definition();
            change(&mut other);
            assert_ne!(other.hash(), first.hash(), "{other:?}");
        }
    }

    #[test]
    fn names_become_callable_and_summaries_hide_nothing() {
        assert_eq!(definition().safe_name(), "get_sum_");
        let mut hidden = definition();
        hidden.description = "Adds.\u{202e}x\u{e0041}".to_owned();
        assert!(!hidden.summary("s").contains(['\u{202e}', '\u{e0041}']));
        hidden.description = String::new();
        assert!(hidden.summary("s").contains("MCP server s"));
    }
}
