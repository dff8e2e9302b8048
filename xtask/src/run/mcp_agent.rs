//! An agent of the scratch project that reaches Toolcrib over MCP, as most clients do.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::expected_end::ExpectedEnd;

/// An agent, and the `toolcrib mcp` that it started.
pub(super) struct McpAgent {
    child: Child,
    /// Closed at the end, which ends the child.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl McpAgent {
    /// Starts `toolcrib mcp`, and introduces the agent.
    pub(super) fn start(mut toolcrib: Command) -> Result<Self, Box<dyn Error>> {
        toolcrib.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = toolcrib.spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let mut agent = Self { child, input, output, next: 0 };
        let client = json!({"name": "review-agent", "version": "1.0"});
        agent.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        )?;
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(agent)
    }

    /// Makes a call. Returns how it went, in a few words.
    pub(super) fn call(&mut self, tool: &str, args: &Value) -> Result<ExpectedEnd, Box<dyn Error>> {
        let result = self.request("tools/call", &json!({"name": tool, "arguments": args}))?;
        let reason = result["_meta"]["dev.toolcrib/error"]["context"]["reason"].as_str();
        Ok(match (result["isError"] == true, reason) {
            (false, _) => ExpectedEnd::Done,
            (true, Some("approval_required")) => ExpectedEnd::Waits,
            (true, _) => ExpectedEnd::Failed,
        })
    }

    /// Sends a request, and returns its result.
    fn request(&mut self, method: &str, params: &Value) -> Result<Value, Box<dyn Error>> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err("the MCP server of the scratch project ended".into());
            }
            let mut message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                return Ok(message["result"].take());
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), Box<dyn Error>> {
        let input = self.input.as_mut().ok_or("the agent has ended")?;
        Ok(writeln!(input, "{message}")?)
    }
}

impl Drop for McpAgent {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
