//! Finding tools in a large set. If the settings say so, clients are listed two tools only: one that finds tools by words,
//! and one that calls what was found. A call through it is a call of the tool itself, decided and recorded as such.

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations,
};
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::nearest::nearest;

use super::offered_tool::OfferedTool;
use super::server::McpServer;

/// The tool that finds tools.
pub(super) const FIND_TOOLS: &str = "find_tools";

/// The tool that calls a tool that was found.
pub(super) const USE_TOOL: &str = "use_tool";

/// How many tools are returned, unless the caller says.
const USUAL_COUNT: usize = 5;

/// The most tools that are returned.
const MOST_COUNT: usize = 20;

/// What is looked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolQuery {
    query: String,
    limit: Option<usize>,
}

/// A call of a tool that was found.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FoundCall {
    name: String,
    #[serde(default)]
    arguments: JsonObject,
}

impl McpServer {
    /// Returns the two tools that are listed in place of all.
    pub(super) fn searching_tools(&self) -> Vec<Tool> {
        let count = self.offered().len();
        let find = Tool::new(
            FIND_TOOLS,
            format!(
                "Find tools by what they do. There are {count}. Returns their names, what they do, and their \
                 parameters; call one with `{USE_TOOL}`."
            ),
            object(json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Words, such as `read file` or `run command`"},
                    "limit": {
                        "type": "integer", "minimum": 1, "maximum": MOST_COUNT,
                        "description": format!("The most tools to return. (default: {USUAL_COUNT})")
                    }
                },
                "required": ["query"],
                "additionalProperties": false
            })),
        );
        let call = Tool::new(
            USE_TOOL,
            format!("Call a tool that `{FIND_TOOLS}` has found. Returns the reply of that tool."),
            object(json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The name of the tool"},
                    "arguments": {"type": "object", "description": "What its parameters ask for"}
                },
                "required": ["name"],
                "additionalProperties": false
            })),
        );
        let reads = ToolAnnotations::new().read_only(true).destructive(false).open_world(false);
        vec![find.with_title("Find tools").with_annotations(reads), call.with_title("Use a tool")]
    }

    /// Answers a call of `find_tools`.
    pub(super) fn find_tools(&self, request: CallToolRequestParams) -> CallToolResult {
        let args = Value::Object(request.arguments.unwrap_or_default());
        let query = match ToolQuery::deserialize(&args) {
            Ok(query) => query,
            Err(err) => return refused(&format!("`{FIND_TOOLS}` needs {{query, limit}}: {err}")),
        };
        let offered = self.offered();
        let found = found(&offered, &query.query);
        let shown = found.into_iter().take(query.limit.unwrap_or(USUAL_COUNT).clamp(1, MOST_COUNT));
        let tools: Vec<Value> = shown
            .map(|tool| {
                let declared = tool.declared();
                json!({
                    "name": declared.name,
                    "description": declared.description,
                    "inputSchema": declared.input_schema,
                })
            })
            .collect();
        if tools.is_empty() {
            let names: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
            let near = nearest(&query.query, names.iter().copied(), 5);
            let names = if near.is_empty() { names.join(", ") } else { near.join(", ") };
            return refused(&format!("no tool has these words; there are: {names}"));
        }
        let reply = json!({"tools": tools});
        let mut result = CallToolResult::success(vec![ContentBlock::text(reply.to_string())]);
        result.structured_content = Some(reply);
        result
    }
}

/// Returns the call of the tool that `use_tool` is to call.
pub(super) fn found_call(
    request: CallToolRequestParams,
) -> Result<CallToolRequestParams, Box<CallToolResult>> {
    let args = Value::Object(request.arguments.clone().unwrap_or_default());
    let FoundCall { name, arguments } = FoundCall::deserialize(&args).map_err(|err| {
        Box::new(refused(&format!("`{USE_TOOL}` needs {{name, arguments}}: {err}")))
    })?;
    let mut wanted = request;
    wanted.name = name.into();
    wanted.arguments = Some(arguments);
    Ok(wanted)
}

/// Returns the tools that have words of the query, those with more of them first.
fn found<'a>(offered: &'a [OfferedTool], query: &str) -> Vec<&'a OfferedTool> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let score = |tool: &OfferedTool| -> usize {
        let name = tool.name.to_lowercase();
        let summary = tool.offer.tool.declaration().summary.to_lowercase();
        let of_word = |word: &String| {
            3 * usize::from(name.contains(word.as_str()))
                + usize::from(summary.contains(word.as_str()))
        };
        words.iter().map(of_word).sum()
    };
    let mut scored: Vec<(usize, &OfferedTool)> =
        offered.iter().map(|tool| (score(tool), tool)).filter(|(score, _)| *score > 0).collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, tool)| tool).collect()
}

fn refused(text: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text.to_owned())])
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}
