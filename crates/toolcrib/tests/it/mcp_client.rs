//! A client of MCP that a test speaks for, message by message.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::scratch::{Ended, Scratch};

/// The two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// 2025-11-25, with a handshake.
    Session,
    /// 2026-07-28, in which each request says all about its client.
    Stateless,
}

pub(crate) const PROTOCOLS: [Protocol; 2] = [Protocol::Session, Protocol::Stateless];

/// A client, and the server that it started.
pub(crate) struct McpClient {
    pub(crate) child: Ended,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    protocol: Protocol,
    capabilities: Value,
    next: u64,
    /// The notifications that came while something else was awaited.
    pub(crate) notifications: Vec<Value>,
}

/// A client that can show forms.
pub(crate) fn with_forms() -> Value {
    json!({"elicitation": {"form": {}}})
}

impl McpClient {
    pub(crate) fn start(
        scratch: &Scratch,
        protocol: Protocol,
        capabilities: Value,
        words: &[&str],
    ) -> Self {
        let mut command = scratch.command();
        command.arg("mcp").args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut client = Self {
            child: Ended(child),
            input,
            output: BufReader::new(output),
            protocol,
            capabilities,
            next: 0,
            notifications: Vec::new(),
        };
        if protocol == Protocol::Session {
            let params = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": client.capabilities,
                "clientInfo": {"name": "test-client", "version": "1"},
            });
            let reply = client.request("initialize", params);
            assert_eq!(reply["result"]["protocolVersion"], "2025-11-25", "{reply}");
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    /// Returns what the client writes to, for somebody else. Nothing more can be sent with this client.
    pub(crate) fn take_input(&mut self) -> ChildStdin {
        self.input.take().unwrap()
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    pub(crate) fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Returns the next message of the server.
    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|err| panic!("{err}: {line:?}"))
    }

    /// Sends a request. Returns its id.
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if self.protocol == Protocol::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
                "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1"},
            });
        }
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request, and returns the reply to it.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.reply_to(id)
    }

    /// Returns the reply to a request. The server must ask nothing meanwhile.
    pub(crate) fn reply_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            assert!(message.get("id").is_none(), "not awaited: {message}");
            self.notifications.push(message);
        }
    }

    /// Calls a tool, and returns the result.
    pub(crate) fn call(&mut self, tool: &str, args: Value) -> Value {
        let reply = self.request("tools/call", json!({"name": tool, "arguments": args}));
        assert!(reply.get("error").is_none(), "{reply}");
        reply["result"].clone()
    }

    /// Calls a tool that a person is asked about, and answers. Returns the form that they were shown, and the result.
    pub(crate) fn call_asked(&mut self, tool: &str, args: Value, answer: Value) -> (Value, Value) {
        let id = self.ask("tools/call", json!({"name": tool, "arguments": args}));
        match self.protocol {
            Protocol::Session => {
                let question = self.receive();
                assert_eq!(question["method"], "elicitation/create", "{question}");
                let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": answer});
                self.send(&reply);
                (question["params"].clone(), self.reply_to(id)["result"].clone())
            }
            Protocol::Stateless => {
                let asked = self.reply_to(id)["result"].clone();
                assert_eq!(asked["resultType"], "input_required", "{asked}");
                let questions = asked["inputRequests"].as_object().unwrap();
                assert_eq!(questions.len(), 1, "{asked}");
                let (name, question) = questions.iter().next().unwrap();
                let question = question["params"].clone();
                let params = json!({
                    "name": tool,
                    "arguments": args,
                    "inputResponses": {name: answer},
                    "requestState": asked["requestState"],
                });
                (question, self.request("tools/call", params)["result"].clone())
            }
        }
    }

    /// Closes the connection, and returns how the server ended.
    pub(crate) fn close(mut self) -> i32 {
        self.input.take();
        self.child.0.wait().unwrap().code().unwrap_or(-1)
    }
}

/// Returns the answer of a person who fills in the form.
pub(crate) fn accept(decision: &str, reason: &str) -> Value {
    json!({"action": "accept", "content": {"decision": decision, "reason": reason}})
}
