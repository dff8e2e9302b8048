//! A host of a test, which stands for the internet.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::ClientConfig;
use toolcrib_host::NetClient;

pub(crate) const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

/// A server that answers each path with what was put there, and keeps what it was asked.
pub(crate) struct TestHost {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl TestHost {
    /// Serves without TLS. `answer` writes what comes after the request.
    pub(crate) fn start(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&asked);
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                thread::spawn(move || {
                    let mut stream = stream;
                    let request = read_request(&mut stream);
                    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                    kept.lock().unwrap().push(request);
                    answer(&path, &mut stream);
                });
            }
        });
        Self { address, asked }
    }

    /// Serves one text at every path.
    pub(crate) fn saying(reply: &'static str) -> Self {
        Self::start(move |_, stream| {
            let _ = stream.write_all(reply.as_bytes());
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self, rest: &str) -> String {
        format!("http://host.test:{}{rest}", self.port())
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// A client for which every name leads here.
    pub(crate) fn client(&self) -> NetClient {
        client(vec![self.port()], no_tls)
    }
}

pub(crate) fn no_tls() -> std::io::Result<Arc<ClientConfig>> {
    Err(std::io::Error::other("no TLS in this test"))
}

pub(crate) fn client(
    ports: Vec<u16>,
    tls: impl Fn() -> std::io::Result<Arc<ClientConfig>> + Send + Sync + 'static,
) -> NetClient {
    let resolve = |name: &str, port: u16| match name {
        "inner.test" => Ok(vec![SocketAddr::from(([10, 0, 0, 1], port))]),
        "slow.test" => loop {
            thread::park();
        },
        "nowhere.test" => Err(std::io::Error::other("no such name")),
        _ => Ok(vec![SocketAddr::new(HERE, port)]),
    };
    NetClient::new(ports, Box::new(tls)).with_resolver(Box::new(resolve), vec![HERE])
}

pub(crate) fn read_request(stream: &mut impl Read) -> String {
    let mut text = String::new();
    let mut input = BufReader::new(stream);
    let mut length = 0;
    loop {
        let start = text.len();
        if input.read_line(&mut text).unwrap_or(0) == 0 || text[start..].trim().is_empty() {
            break;
        }
        let line = text[start..].to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).unwrap();
    text + &String::from_utf8(body).unwrap()
}
