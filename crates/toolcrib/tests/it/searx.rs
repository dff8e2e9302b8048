//! A real searx, the metasearch engine of Debian, whose engines ask a host of the test instead of the internet.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::running_server::wait_until;
use crate::scratch::{Ended, Scratch};

/// The program of the package `searx`.
const PROGRAM: &str = "/usr/bin/searx-run";

/// What a host of the test answers: a status and a body.
pub(crate) type Answered = (&'static str, String);

/// A host that answers each path, until the process ends.
pub(crate) struct AnsweringHost(pub(crate) SocketAddr);

impl AnsweringHost {
    pub(crate) fn start(answer: impl Fn(&str) -> Answered + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = Arc::clone(&answer);
                std::thread::spawn(move || reply(stream, &*answer));
            }
        });
        Self(address)
    }
}

/// Answers one request without a body.
fn reply(stream: TcpStream, answer: &dyn Fn(&str) -> Answered) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let (status, body) = answer(head.split(' ').nth(1).unwrap_or_default());
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    reader.get_mut().write_all((head + &body).as_bytes())
}

/// A searx that runs. It ends with the test.
pub(crate) struct Searx {
    pub(crate) port: u16,
    _process: Ended,
}

impl Searx {
    /// Starts one with an engine for each name, which reads `http://HOST/NAME?q=…`.
    pub(crate) fn start(scratch: &Scratch, host: SocketAddr, engines: &[&str]) -> Self {
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let settings = scratch.path("searx.yml");
        // JSON is YAML, too.
        std::fs::write(&settings, settings_of(port, host, engines).to_string()).unwrap();
        let log = File::create(scratch.path("searx.log")).unwrap();
        let mut command = Command::new(PROGRAM);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("SEARX_SETTINGS_PATH", settings);
        command
            .current_dir(scratch.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = command
            .spawn()
            .unwrap_or_else(|err| panic!("{PROGRAM}: {err}; install the package searx"));
        let mut process = Ended(child);
        wait_until(|| {
            let end = process.0.try_wait().unwrap();
            let log = || std::fs::read_to_string(scratch.path("searx.log")).unwrap();
            assert!(end.is_none(), "searx ended: {}", log());
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
        });
        Self { port, _process: process }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

/// Returns the settings: searx wants all of them, because Debian's package has no defaults.
fn settings_of(port: u16, host: SocketAddr, engines: &[&str]) -> Value {
    let engine = |name: &&str| {
        json!({
            "name": name, "shortcut": name, "engine": "json_engine", "categories": "general",
            "search_url": format!("http://{host}/{name}?q={{query}}"), "enable_http": true,
            "results_query": "hits", "url_query": "url", "title_query": "title", "content_query": "text",
            "timeout": 20.0,
        })
    };
    json!({
        "general": {"debug": false, "instance_name": "searx", "contact_url": false, "enable_stats": false},
        "brand": {},
        // Without a ban, an engine that failed is asked again.
        "search": {"safe_search": 0, "autocomplete": "", "default_lang": "", "ban_time_on_fail": 0,
            "max_ban_time_on_fail": 0, "prefer_configured_language": false},
        "server": {"port": port, "bind_address": "127.0.0.1", "secret_key": "of a test", "base_url": false,
            "image_proxy": false, "http_protocol_version": "1.0", "method": "GET", "default_http_headers": {}},
        "ui": {"autofocus": true, "archive_today": false, "static_path": "/usr/share/python3-searx/static",
            "templates_path": "/usr/share/python3-searx/templates", "default_theme": "oscar",
            "default_locale": "", "theme_args": {"oscar_style": "logicodev"}},
        "outgoing": {"request_timeout": 20.0, "useragent_suffix": "", "pool_connections": 10, "pool_maxsize": 10},
        "locales": {"en": "English"},
        "doi_resolvers": {"none": "http://127.0.0.1:1/"}, "default_doi_resolver": "none",
        "engines": engines.iter().map(engine).collect::<Vec<_>>(),
    })
}
