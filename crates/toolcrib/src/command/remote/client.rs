//! The client of a server: one request on one connection.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::connection::{ByteStream, Connector};
use super::server_error::{not_reached, server_error};
use crate::command::event_loop::{block_on, interrupted};
use crate::error::{CliError, CliErrorKind};
use crate::terminal::Terminal;

/// The media types of a server's replies.
const REPLY_TYPES: [&str; 4] =
    ["application/json", "application/x-ndjson", "text/csv", "text/event-stream"];

/// How long a stream of events may be silent. A server says every 15 seconds how it does.
const LONGEST_SILENCE: Duration = Duration::from_secs(45);

/// The largest reply, or line of a longer one, that is read, in bytes.
const MOST_REPLY_BYTES: usize = 64 << 20;

/// A server that this process asks, and the token it asks with.
pub(in crate::command) struct ServerClient {
    connector: Connector,
    token: String,
    token_file: PathBuf,
    /// The connection that calls read, if one was chosen.
    connection: Option<String>,
}

/// A reply in JSON.
pub(in crate::command) struct ServerReply {
    pub(in crate::command) status: u16,
    pub(in crate::command) body: Vec<u8>,
    /// When to come again, if the server has too much to do.
    pub(in crate::command) retry_after: Option<Duration>,
}

/// How a stream of events ended.
pub(in crate::command) enum StreamEnd {
    /// Its reader wants no more.
    Stopped,
    /// The connection was cut or could not be made, which can pass.
    Cut(CliError),
}

/// Why there are no more lines.
enum LinesEnd {
    /// Their reader wants no more.
    Stopped,
    /// That was all.
    Whole,
    /// The connection was cut.
    Cut(CliError),
}

/// A reply that says why the server does not do what it was asked for.
#[derive(Deserialize)]
struct RefusalBody {
    error: String,
    message: String,
}

#[derive(Deserialize)]
struct VersionBody {
    name: String,
    version: String,
}

impl ServerReply {
    /// Reads the reply as this type.
    pub(in crate::command) fn parse<T: DeserializeOwned>(&self) -> Result<T, CliError> {
        serde_json::from_slice(&self.body).map_err(|err| {
            server_error(format!("the server's reply cannot be read: {err}"))
                .hint("use the version of Toolcrib that the server has")
        })
    }

    /// Whether the server did what it was asked for.
    fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the code and the message of a reply that has the form of all errors.
    pub(in crate::command) fn refusal(&self) -> Option<(String, String)> {
        let body: RefusalBody = serde_json::from_slice(&self.body).ok()?;
        Some((body.error, body.message))
    }
}

impl ServerClient {
    pub(super) fn new(connector: Connector, token: String, token_file: PathBuf) -> Self {
        Self { connector, token, token_file, connection: None }
    }

    /// Returns a client whose calls read this connection.
    pub(in crate::command) fn choosing(self, connection: Option<String>) -> Self {
        Self { connection, ..self }
    }

    /// Asks the server for its version, so that a wrong address or token is told before anything else.
    pub(super) fn greet(&self, terminal: Terminal) -> Result<(), CliError> {
        let VersionBody { name, version } = self.get("/api/version")?;
        if name != "toolcrib" {
            return Err(self.not_ours("its name is another"));
        }
        let own = env!("CARGO_PKG_VERSION");
        if version != own {
            terminal.warn(&format!(
                "the server has version {version} of Toolcrib and this is {own}, so some of what is shown may differ"
            ));
        }
        Ok(())
    }

    /// Returns what a path has, read as this type.
    pub(in crate::command) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.done(self.send(Method::GET, path, None, None)?)?.parse()
    }

    /// Sends a body to a path. Returns the reply, read as this type.
    pub(in crate::command) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, CliError> {
        self.done(self.post_for_reply(path, body, None)?)?.parse()
    }

    /// Sends a body to a path, with what the client prefers. Returns the reply, whatever it is.
    pub(in crate::command) fn post_for_reply(
        &self,
        path: &str,
        body: &Value,
        prefer: Option<&str>,
    ) -> Result<ServerReply, CliError> {
        self.send(Method::POST, path, Some(body), prefer)
    }

    /// Returns what a path has, whatever the reply is.
    pub(in crate::command) fn get_for_reply(&self, path: &str) -> Result<ServerReply, CliError> {
        self.send(Method::GET, path, None, None)
    }

    /// Returns a reply, unless it says that the server does not do what it was asked for.
    pub(in crate::command) fn done(&self, reply: ServerReply) -> Result<ServerReply, CliError> {
        if reply.is_success() {
            return Ok(reply);
        }
        Err(self.refused(&reply))
    }

    /// Returns the error for a reply that says why the server does not do what it was asked for.
    pub(in crate::command) fn refused(&self, reply: &ServerReply) -> CliError {
        let Some((code, message)) = reply.refusal() else {
            return self.not_ours(&format!("it replied with the status {}", reply.status));
        };
        match (reply.status, code.as_str()) {
            (401, _) => {
                let file = self.token_file.display();
                let message =
                    format!("{} does not accept the token in `{file}`", self.connector.address);
                server_error(message).hint(
                    "`toolcrib tokens list` on the server's machine lists the tokens, and `toolcrib tokens add` makes one",
                )
            }
            (400, "tls_required") => {
                let https = self.connector.address.with_other_scheme().unwrap_or_default();
                let message = format!("the server at {} speaks only TLS", self.connector.address);
                server_error(message).hint(format!("use {https}"))
            }
            (429, _) => server_error(message).hint("try again later"),
            _ => server_error(message),
        }
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        prefer: Option<&str>,
    ) -> Result<ServerReply, CliError> {
        let request = self.request(method, path, body, prefer)?;
        block_on(async {
            tokio::select! {
                reply = self.exchange(request) => reply,
                // The connection ends with this process. The server then cancels a call that runs.
                () = interrupted() => Err(was_interrupted()),
            }
        })?
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        prefer: Option<&str>,
    ) -> Result<Request<Full<Bytes>>, CliError> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.connector.address.authority())
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(ACCEPT, "application/json")
            .header("user-agent", concat!("toolcrib/", env!("CARGO_PKG_VERSION")));
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(prefer) = prefer {
            request = request.header("prefer", prefer);
        }
        if let Some(connection) = &self.connection {
            request = request.header("x-toolcrib-connection", connection);
        }
        let body = body.map(ToString::to_string).unwrap_or_default();
        request
            .body(Full::new(Bytes::from(body)))
            .map_err(|err| CliError::usage(format!("the request cannot be made: {err}")))
    }

    /// Gives each line that a path has to `take`, until that returns false.
    pub(in crate::command) fn read_lines(
        &self,
        path: &str,
        mut take: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), CliError> {
        let request = self.request(Method::GET, path, None, None)?;
        block_on(async {
            tokio::select! {
                read = self.stream_lines(request, &mut take) => read,
                () = interrupted() => Err(was_interrupted()),
            }
        })?
    }

    /// Gives each line of a stream of events to `take`, until that returns false. The stream begins after the event with
    /// the number `last`.
    pub(in crate::command) fn follow_events(
        &self,
        path: &str,
        last: u64,
        mut take: impl FnMut(&[u8]) -> bool,
    ) -> Result<StreamEnd, CliError> {
        let mut request = self.request(Method::GET, path, None, None)?;
        request.headers_mut().insert("last-event-id", last.into());
        block_on(async {
            tokio::select! {
                ended = self.stream_events(request, &mut take) => ended,
                () = interrupted() => Err(was_interrupted()),
            }
        })?
    }

    async fn stream_events(
        &self,
        request: Request<Full<Bytes>>,
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<StreamEnd, CliError> {
        let response = match self.respond(request).await {
            Ok(response) => response,
            Err(err) if err.kind == CliErrorKind::Server => return Ok(StreamEnd::Cut(err)),
            Err(err) => return Err(err),
        };
        let status = response.status();
        if !status.is_success() {
            let refused = self.refused(&self.collect(response).await?);
            let can_pass = status.is_server_error() || status.as_u16() == 429;
            return if can_pass { Ok(StreamEnd::Cut(refused)) } else { Err(refused) };
        }
        Ok(match self.take_lines(response, LONGEST_SILENCE, take).await? {
            LinesEnd::Stopped => StreamEnd::Stopped,
            LinesEnd::Whole => StreamEnd::Cut(self.cut("it sends no more")),
            LinesEnd::Cut(err) => StreamEnd::Cut(err),
        })
    }

    async fn stream_lines(
        &self,
        request: Request<Full<Bytes>>,
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<(), CliError> {
        let response = self.respond(request).await?;
        if !response.status().is_success() {
            return Err(self.refused(&self.collect(response).await?));
        }
        match self.take_lines(response, Duration::MAX, take).await? {
            LinesEnd::Stopped | LinesEnd::Whole => Ok(()),
            LinesEnd::Cut(err) => Err(err),
        }
    }

    /// Gives each line of a body to `take`, until that returns false or nothing comes for as long as `silence`.
    async fn take_lines(
        &self,
        response: Response<Incoming>,
        silence: Duration,
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<LinesEnd, CliError> {
        let mut body = response.into_body();
        let mut open: Vec<u8> = Vec::new();
        loop {
            let data = match tokio::time::timeout(silence, body.frame()).await {
                Err(_) => return Ok(LinesEnd::Cut(self.cut("it has fallen silent"))),
                Ok(None) => break,
                Ok(Some(Err(err))) => return Ok(LinesEnd::Cut(self.cut(&err.to_string()))),
                Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            };
            open.extend_from_slice(&data);
            while let Some(end) = open.iter().position(|byte| *byte == b'\n') {
                let rest = open.split_off(end + 1);
                if !take(&open[..end]) {
                    return Ok(LinesEnd::Stopped);
                }
                open = rest;
            }
            if open.len() > MOST_REPLY_BYTES {
                return Err(self.not_ours("a line of its reply does not end"));
            }
        }
        if !open.is_empty() {
            take(&open);
        }
        Ok(LinesEnd::Whole)
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<ServerReply, CliError> {
        let response = self.respond(request).await?;
        self.collect(response).await
    }

    /// Sends a request. Returns the reply, whose body is not read yet.
    async fn respond(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, CliError> {
        let stream = self.connector.connect().await?;
        let response = self.send_over(stream, request).await?;
        let status = response.status().as_u16();
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !REPLY_TYPES.iter().any(|known| content_type.starts_with(known)) {
            let what = format!("its reply, with the status {status}, is no JSON");
            return Err(self.not_ours(&what));
        }
        Ok(response)
    }

    async fn collect(&self, response: Response<Incoming>) -> Result<ServerReply, CliError> {
        let status = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|it| it.to_str().ok());
        let retry_after = retry_after.and_then(|it| it.parse().ok()).map(Duration::from_secs);
        let body = Limited::new(response.into_body(), MOST_REPLY_BYTES).collect().await;
        let body = body.map_err(|err| match err.downcast_ref::<LengthLimitError>() {
            Some(_) => {
                let most = MOST_REPLY_BYTES >> 20;
                server_error(format!("the server's reply is larger than {most} MiB"))
                    .hint("ask for less, for example with --limit")
            }
            None => self.cut(&err.to_string()),
        })?;
        Ok(ServerReply { status, body: body.to_bytes().to_vec(), retry_after })
    }

    async fn send_over(
        &self,
        stream: Box<dyn ByteStream>,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, CliError> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|err| not_reached(&self.connector.address, &err.to_string()))?;
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(|err| {
            if err.is_parse() {
                return self.not_ours("it does not reply in HTTP, and may speak TLS (https://)");
            }
            self.cut(&err.to_string())
        })
    }

    fn not_ours(&self, why: &str) -> CliError {
        server_error(format!(
            "what answers at {} is no Toolcrib server: {why}",
            self.connector.address
        ))
        .hint("check the address; `toolcrib serve` prints its own when it starts")
    }

    fn cut(&self, why: &str) -> CliError {
        server_error(format!("the server at {} ended the connection: {why}", self.connector.address)).hint(
            "it may have stopped; `toolcrib audit search` shows what became of a call, once it runs again",
        )
    }
}

/// Waits, unless the process is told to end.
pub(in crate::command) fn pause(time: Duration) -> Result<(), CliError> {
    block_on(async {
        tokio::select! {
            () = tokio::time::sleep(time) => Ok(()),
            () = interrupted() => Err(was_interrupted()),
        }
    })?
}

fn was_interrupted() -> CliError {
    let message = "interrupted; the connection is closed, and the server cancels a call that runs";
    CliError::new(CliErrorKind::Interrupted, message)
}

/// Returns a text as one part of a path, or as a value in a query.
pub(in crate::command) fn path_part(text: &str) -> String {
    let mut part = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            part.push(char::from(byte));
        } else {
            let _ = write!(part, "%{byte:02X}");
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_part_of_a_path() {
        assert_eq!(path_part("read_file"), "read_file");
        assert_eq!(path_part("../a b?é"), "..%2Fa%20b%3F%C3%A9");
    }
}
