//! A model that plays a script, behind the two protocols that agents speak with models.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// What an agent sends to the model, as far as a script needs it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    /// The names of the tools on offer.
    pub(crate) tools: Vec<String>,
    /// The results of the calls so far.
    pub(crate) results: Vec<String>,
}

/// What the model does next.
pub(crate) enum Step {
    Call(&'static str, Value),
    Say(&'static str),
}

/// The protocol of an agent.
#[derive(Clone, Copy)]
pub(crate) enum Wire {
    /// The messages of Anthropic.
    Messages,
    /// The responses of `OpenAI`.
    Responses,
}

/// An endpoint at which the model answers. It ends with the test.
pub(crate) struct ScriptedModel {
    pub(crate) address: SocketAddr,
    last: Arc<Mutex<Turn>>,
    is_over: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

impl ScriptedModel {
    pub(crate) fn start(
        wire: Wire,
        script: impl Fn(&Turn) -> Step + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (last, is_over) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (last_turn, over) = (Arc::clone(&last), Arc::clone(&is_over));
        let script = Arc::new(script);
        let server = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let (script, last_turn) = (Arc::clone(&script), Arc::clone(&last_turn));
                // An agent can open connections that it does not use, and can go away at any time.
                std::thread::spawn(move || wire.answer(stream, &*script, &last_turn));
            }
        });
        Self { address, last, is_over, server: Some(server) }
    }

    /// Returns what the agent sent last.
    pub(crate) fn last_turn(&self) -> Turn {
        self.last.lock().unwrap().clone()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        let _ = self.server.take().map(JoinHandle::join);
    }
}

impl Wire {
    /// Answers one request.
    fn answer(
        self,
        stream: TcpStream,
        script: &dyn Fn(&Turn) -> Step,
        last: &Mutex<Turn>,
    ) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        let (path, body) = read_request(&mut reader)?;
        let path = path.split('?').next().unwrap_or_default();
        let mut stream = reader.into_inner();
        let is_for_model = match self {
            Self::Messages => path == "/v1/messages",
            Self::Responses => path == "/v1/responses",
        };
        if !is_for_model {
            return stream.write_all(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
        let body: Value = serde_json::from_slice(&body)?;
        let turn = self.turn(&body);
        let step = script(&turn);
        let events = self.events(&step, turn.results.len());
        *last.lock().unwrap() = turn;
        let event = |it: &Value| {
            format!("event: {}\ndata: {it}\n\n", it["type"].as_str().unwrap_or_default())
        };
        let text: String = events.iter().map(event).collect();
        let length = text.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{text}"
        )
    }

    fn turn(self, body: &Value) -> Turn {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
        match self {
            Self::Messages => {
                let messages = list(&body["messages"]);
                let blocks = messages.iter().flat_map(|message| list(&message["content"]));
                let results = blocks.filter(|block| block["type"] == "tool_result");
                Turn {
                    tools: list(&body["tools"]).iter().map(name).collect(),
                    results: results.map(|block| block["content"].to_string()).collect(),
                }
            }
            Self::Responses => {
                let tools = list(&body["tools"]);
                let of_server = tools.iter().filter(|tool| tool["name"] == "mcp__toolcrib");
                let inner = of_server.flat_map(|server| list(&server["tools"]));
                let items = list(&body["input"]);
                let results = items.iter().filter(|item| item["type"] == "function_call_output");
                Turn {
                    tools: inner.map(|tool| format!("mcp__toolcrib__{}", name(&tool))).collect(),
                    results: results.map(|item| item["output"].to_string()).collect(),
                }
            }
        }
    }

    fn events(self, step: &Step, number: usize) -> Vec<Value> {
        match self {
            Self::Messages => message_events(step, number),
            Self::Responses => response_events(step, number),
        }
    }
}

fn message_events(step: &Step, number: usize) -> Vec<Value> {
    let (block, delta, reason) = match step {
        Step::Call(tool, args) => {
            let (id, name) = (format!("toolu_{number}"), format!("mcp__toolcrib__{tool}"));
            let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
            let args = args.to_string();
            (block, json!({"type": "input_json_delta", "partial_json": args}), "tool_use")
        }
        Step::Say(text) => {
            let delta = json!({"type": "text_delta", "text": text});
            (json!({"type": "text", "text": ""}), delta, "end_turn")
        }
    };
    let message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "scripted",
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    let end = json!({"stop_reason": reason, "stop_sequence": null});
    vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ]
}

fn response_events(step: &Step, number: usize) -> Vec<Value> {
    let item = match step {
        Step::Call(tool, args) => json!({
            "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
            "name": tool, "namespace": "mcp__toolcrib", "arguments": args.to_string(),
        }),
        Step::Say(text) => json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        }),
    };
    let id = format!("resp_{number}");
    let usage = json!({
        "input_tokens": 1, "input_tokens_details": null,
        "output_tokens": 1, "output_tokens_details": null, "total_tokens": 2,
    });
    vec![
        json!({"type": "response.created", "response": {"id": id}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": id, "usage": usage}}),
    ]
}

/// Reads a request. Returns its path and its body.
fn read_request(reader: &mut BufReader<TcpStream>) -> std::io::Result<(String, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    while line != "\r\n" && !line.is_empty() {
        line.clear();
        reader.read_line(&mut line)?;
        let field = line.to_ascii_lowercase();
        if let Some(value) = field.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((path, body))
}
