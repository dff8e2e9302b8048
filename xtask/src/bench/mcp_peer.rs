//! An MCP server over pipes, and its one client.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Returns the texts of a reply to a call.
pub(super) fn text_of(line: &str) -> Result<String, Box<dyn Error>> {
    let reply: Value = serde_json::from_str(line)?;
    let content = reply["result"]["content"].as_array().ok_or("the reply has no content")?;
    let texts = content.iter().filter_map(|block| block["text"].as_str());
    Ok(texts.collect::<Vec<_>>().join("\n"))
}

/// A server that runs, and its client.
pub(super) struct RunningPeer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl RunningPeer {
    /// Starts a server, and waits for its first answer.
    pub(super) fn start(
        program: &Path,
        words: &[String],
        folder: &Path,
        home: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(program);
        command.args(words).current_dir(folder).env("HOME", home);
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = BufReader::with_capacity(1 << 20, child.stdout.take().ok_or("no stdout")?);
        let mut peer = Self { child, input, output, next: 0 };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        });
        peer.request("initialize", &hello)?;
        peer.input
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(peer)
    }

    /// Sends a request. Returns the line of its reply.
    pub(super) fn request(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Result<String, Box<dyn Error>> {
        self.next += 1;
        let id = self.next;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.input.write_all(format!("{request}\n").as_bytes())?;
        let mark = format!("\"id\":{id}");
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err(format!("the server ended at `{method}`").into());
            }
            // Notices have no id.
            if line.contains(&mark) {
                return Ok(line);
            }
        }
    }

    pub(super) fn call(&mut self, tool: &str, args: &Value) -> Result<String, Box<dyn Error>> {
        let line = self.request("tools/call", &json!({"name": tool, "arguments": args}))?;
        if line.contains("\"isError\":true") || line.contains("\"error\":{") {
            return Err(format!("{tool} failed: {}", &line[..line.len().min(300)]).into());
        }
        Ok(line)
    }

    /// Returns the memory that the process has for itself alone, in megabytes, and with what it shares.
    pub(super) fn memory(&self) -> Result<(f64, f64), Box<dyn Error>> {
        let id = self.child.id();
        let kilobytes = |text: &str, name: &str| {
            let lines = text.lines().filter(|line| line.starts_with(name));
            lines
                .filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok())
                .sum::<f64>()
        };
        let own = kilobytes(&fs::read_to_string(format!("/proc/{id}/smaps_rollup"))?, "Private_");
        let all = kilobytes(&fs::read_to_string(format!("/proc/{id}/status"))?, "VmRSS:");
        Ok((own / 1024.0, all / 1024.0))
    }
}

impl Drop for RunningPeer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
