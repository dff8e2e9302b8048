//! A server that a test starts, and the requests to it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::scratch::Scratch;

/// What the server writes to stderr, beside the workspace.
pub(crate) const LOG: &str = "server.log";

/// A server that runs.
pub(crate) struct RunningServer<'a> {
    scratch: &'a Scratch,
    pub(crate) child: Child,
    out: BufReader<ChildStdout>,
    pub(crate) address: String,
}

impl<'a> RunningServer<'a> {
    pub(crate) fn start(scratch: &'a Scratch) -> Self {
        Self::start_with(scratch, &[])
    }

    pub(crate) fn start_with(scratch: &'a Scratch, words: &[&str]) -> Self {
        let log = File::create(scratch.path(LOG)).unwrap();
        Self::start_logging_to(scratch, words, log.into())
    }

    pub(crate) fn start_logging_to(scratch: &'a Scratch, words: &[&str], log: Stdio) -> Self {
        let mut command = scratch.command();
        command.args(words);
        Self::over(scratch, command, log)
    }

    /// One that prints the link to its page. Returns the code of the link too.
    pub(crate) fn start_with_link(scratch: &'a Scratch) -> (Self, String) {
        let log = File::create(scratch.path(LOG)).unwrap();
        let mut server = Self::serving(scratch, scratch.command(), &["--login-link"], log.into());
        let mut line = String::new();
        server.out.read_line(&mut line).unwrap();
        let start = format!("Open http://{}/login#link=", server.address);
        let end = " in a browser. The link works once, within 10 minutes.\n";
        let code = line.strip_prefix(&start).and_then(|rest| rest.strip_suffix(end));
        let code = code.unwrap_or_else(|| panic!("{line:?}")).to_owned();
        (server, code)
    }

    /// One that a command of the caller's starts.
    pub(crate) fn over(scratch: &'a Scratch, command: Command, log: Stdio) -> Self {
        Self::serving(scratch, command, &[], log)
    }

    fn serving(scratch: &'a Scratch, mut command: Command, words: &[&str], log: Stdio) -> Self {
        command.args(["serve", "--address", "127.0.0.1:0"]).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("Listening on ").and_then(|it| it.split_once("://"));
        let log = || std::fs::read_to_string(scratch.path(LOG)).unwrap_or_default();
        let (_, address) = address.unwrap_or_else(|| panic!("{line:?} {}", log()));
        let address = address.to_owned();
        Self { scratch, child, out, address }
    }

    /// Returns the token of this name from the first start.
    pub(crate) fn token(&self, name: &str) -> String {
        let path = self.scratch.state().join("first_tokens").join(name);
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }

    pub(crate) fn send(
        &self,
        token: &str,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> (u16, Value) {
        let (head, body) = self.exchange(&self.request(token, method, path, headers, body));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body:?}")))
    }

    /// Sends a request that closes its connection. Returns the head and the body of the reply.
    pub(crate) fn exchange(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{reply:?}"));
        (head.to_owned(), body.to_owned())
    }

    /// Ends the server at once, as a crash would.
    pub(crate) fn kill(&self) {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, Signal::KILL).unwrap();
    }

    /// Returns the bytes of a request that closes its connection.
    pub(crate) fn request(
        &self,
        token: &str,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> String {
        let (host, length) = (&self.address, body.len());
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{headers}\
             Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    }

    pub(crate) fn get(&self, token: &str, path: &str) -> (u16, Value) {
        self.send(token, "GET", path, "", "")
    }

    pub(crate) fn post(&self, token: &str, path: &str, body: &Value) -> (u16, Value) {
        self.send(token, "POST", path, "", &body.to_string())
    }

    pub(crate) fn execute(&self, token: &str, tool: &str, args: Value) -> (u16, Value) {
        self.post(token, &format!("/api/tools/execute/{tool}"), &json!({ "args": args }))
    }

    /// Tells the server to stop. Returns its exit code and what it printed last.
    pub(crate) fn stop(mut self) -> (i32, String) {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, Signal::TERM).unwrap();
        let code = self.child.wait().unwrap().code().unwrap();
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (code, rest)
    }
}

impl Drop for RunningServer<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something is so.
pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Reads a request or a reply with a length. Returns its head and its body.
pub(crate) fn read_message(stream: &mut BufReader<TcpStream>) -> (String, Vec<u8>) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    (head, body)
}
