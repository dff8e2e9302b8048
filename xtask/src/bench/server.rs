//! Calls over HTTP against a bare axum handler that reads the same body and replies with the same bytes.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::measure::middle;

/// How many requests one connection makes in a round.
const REQUESTS: usize = 1000;

/// How long many connections make requests in a round.
const ROUND: Duration = Duration::from_secs(2);

/// How many rounds each server has, in turn.
const ROUNDS: usize = 7;

/// How many connections there are in the second comparison.
const CONNECTIONS: usize = 64;

/// A server in a process of its own. It ends when this is dropped.
pub(super) struct ServerProcess {
    child: Child,
    pub(super) address: String,
    token: String,
}

impl ServerProcess {
    /// Starts a server, and waits for the line that says where it listens.
    pub(super) fn start(command: &mut Command) -> Result<Self, Box<dyn Error>> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no stdout")?).read_line(&mut line)?;
        let address = line.trim().rsplit("http://").next().unwrap_or_default().to_owned();
        Ok(Self { child, address, token: String::new() })
    }

    fn connect(&self) -> Result<KeptConnection, Box<dyn Error>> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        Ok(KeptConnection(BufReader::with_capacity(64 << 10, stream)))
    }

    fn request(&self, job: &AskedCall) -> Vec<u8> {
        let (address, token) = (&self.address, &self.token);
        let AskedCall { tool, body } = job;
        let length = body.len();
        format!(
            "POST /api/tools/execute/{tool} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is asked.
struct AskedCall {
    tool: &'static str,
    body: &'static str,
}

const CALLS: [AskedCall; 2] = [
    AskedCall { tool: "echo", body: r#"{"args":{"text":"hello"}}"# },
    AskedCall { tool: "read_file", body: r#"{"args":{"path":"ten-kilobytes.txt"}}"# },
];

/// A connection that is kept.
struct KeptConnection(BufReader<TcpStream>);

impl KeptConnection {
    /// Makes a request, and returns the body of the reply.
    fn ask(&mut self, request: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        self.0.get_mut().write_all(request)?;
        let (mut line, mut length) = (String::new(), 0);
        self.0.read_line(&mut line)?;
        if !line.starts_with("HTTP/1.1 200") {
            return Err(format!("not answered: {line}").into());
        }
        while line != "\r\n" {
            line.clear();
            self.0.read_line(&mut line)?;
            if let Some(rest) = line.strip_prefix("content-length: ") {
                length = rest.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok(body)
    }
}

/// Returns the median time of a request, over one connection.
fn latency(server: &ServerProcess, job: &AskedCall) -> Result<f64, Box<dyn Error>> {
    let (mut connection, request) = (server.connect()?, server.request(job));
    let mut times = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let start = Instant::now();
        connection.ask(&request)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(middle(&mut times))
}

/// Returns how many requests a second are answered over many connections.
fn throughput(server: &ServerProcess, job: &AskedCall) -> f64 {
    let (answered, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let request = server.request(job);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let Ok(mut connection) = server.connect() else { return };
                while !is_over.load(Ordering::Relaxed) && connection.ask(&request).is_ok() {
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(ROUND);
        is_over.store(true, Ordering::Relaxed);
    });
    answered.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
}

/// Compares, and prints the ratios.
pub(super) fn run(program: &Path) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (work, home) = (folder.path().join("work"), folder.path().join("home"));
    fs::create_dir(&work)?;
    fs::create_dir(&home)?;
    fs::write(work.join("ten-kilobytes.txt"), "0123456789abcde\n".repeat(640))?;
    let mut ours = start(program, &work, &home)?;
    ours.token = fs::read_to_string(home.join("state/toolcrib/first_tokens/agent"))?.trim().into();
    println!("Calls over HTTP against a bare axum handler that replies with the same bytes:");
    for job in &CALLS {
        let reply = folder.path().join("reply");
        fs::write(&reply, ours.connect()?.ask(&ours.request(job))?)?;
        let mut bare = Command::new(std::env::current_exe()?);
        let bare = ServerProcess::start(bare.arg("bare-server").arg(&reply))?;
        let (mut bare_times, mut our_times) = (Vec::new(), Vec::new());
        let (mut bare_rates, mut our_rates) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bare_times.push(latency(&bare, job)?);
            our_times.push(latency(&ours, job)?);
            bare_rates.push(throughput(&bare, job));
            our_rates.push(throughput(&ours, job));
        }
        let (bare_time, our_time) = (middle(&mut bare_times), middle(&mut our_times));
        let (bare_rate, our_rate) = (middle(&mut bare_rates), middle(&mut our_rates));
        println!(
            "  {:<9}  1 connection: {bare_time:.0} µs bare, {our_time:.0} µs ours, {:.2}x (goal: at most 1.6x)",
            job.tool,
            our_time / bare_time
        );
        println!(
            "  {:<9} {CONNECTIONS} connections: {bare_rate:.0} calls/s bare, {our_rate:.0} ours, {:.0} % (goal: at least 60 %)",
            "",
            our_rate / bare_rate * 100.0
        );
    }
    drop(ours);
    start_figures(program, &work, &home)?;
    println!();
    Ok(())
}

fn start(program: &Path, work: &Path, home: &Path) -> Result<ServerProcess, Box<dyn Error>> {
    let mut command = Command::new(program);
    command.args(["-c", "search.index=off", "-c", "log.level=error"]);
    command.args(["serve", "--address", "127.0.0.1:0"]).current_dir(work);
    command.env("HOME", home).env("XDG_STATE_HOME", home.join("state"));
    command.env_remove("XDG_CONFIG_HOME").stderr(Stdio::null());
    ServerProcess::start(&mut command)
}

/// Prints how long a server takes until it is ready, and how much memory it has then.
fn start_figures(program: &Path, work: &Path, home: &Path) -> Result<(), Box<dyn Error>> {
    let (mut times, mut sizes) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let server = start(program, work, home)?;
        let request = format!("GET /readyz HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
        let mut connection = server.connect()?;
        while connection.ask(request.as_bytes()).is_err() {
            connection = server.connect()?;
        }
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        let status = fs::read_to_string(format!("/proc/{}/status", server.child.id()))?;
        let size = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let size = size.unwrap_or_default().trim().trim_end_matches(" kB");
        sizes.push(size.parse::<f64>()? / 1024.0);
    }
    println!(
        "  from start to ready: {:.1} ms (goal: 20); memory then, without index: {:.1} MB (goal: 15)",
        middle(&mut times),
        middle(&mut sizes)
    );
    Ok(())
}
