//! A host of a test, with TLS or without, and clients for which its name leads there.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use toolcrib_core::net::{FetchReply, FetchRequest, Net};
use toolcrib_core::{Cancel, ToolError};
use toolcrib_host::NetClient;

pub(crate) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Writes the answer to a request. The first parameter is the request, the second how many came before it.
type Answer = dyn Fn(&str, usize, &mut dyn Write) + Send + Sync;

/// What a host proves itself with, and the certificate that a client trusts for it.
pub(crate) type Identity = (Arc<ServerConfig>, CertificateDer<'static>);

/// The identity of the hosts of most tests, which all clients trust.
static IDENTITY: LazyLock<Identity> = LazyLock::new(|| {
    let hops = (0..20).map(|number| format!("hop{number}.test"));
    let names = ["host.test", "other.test", "inner.test", "127.0.0.1"].map(str::to_owned);
    identity(CertificateParams::new(names.into_iter().chain(hops).collect::<Vec<_>>()).unwrap())
});

/// Makes an identity with a new key.
pub(crate) fn identity(params: CertificateParams) -> Identity {
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], private)
        .unwrap();
    (Arc::new(config), certificate)
}

/// A server that keeps what it was asked.
pub(crate) struct FetchHost {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    identity: Option<Identity>,
}

impl FetchHost {
    /// Serves with TLS.
    pub(crate) fn start(
        answer: impl Fn(&str, usize, &mut dyn Write) + Send + Sync + 'static,
    ) -> Self {
        Self::serve(Arc::new(answer), Some(IDENTITY.clone()))
    }

    /// Serves with TLS, as another host than those of most tests.
    pub(crate) fn proving(identity: Identity) -> Self {
        let reply = answer("200 OK", "", b"who");
        let answer = move |_: &str, _, stream: &mut dyn Write| {
            let _ = stream.write_all(&reply);
        };
        Self::serve(Arc::new(answer), Some(identity))
    }

    /// Serves the same bytes to everyone, without TLS.
    pub(crate) fn saying_plainly(reply: impl Into<Vec<u8>>) -> Self {
        let reply = reply.into();
        let answer = move |_: &str, _, stream: &mut dyn Write| {
            let _ = stream.write_all(&reply);
        };
        Self::serve(Arc::new(answer), None)
    }

    /// Serves the same bytes to everyone.
    pub(crate) fn saying(reply: impl Into<Vec<u8>>) -> Self {
        let reply = reply.into();
        Self::start(move |_, _, stream| {
            let _ = stream.write_all(&reply);
        })
    }

    fn serve(answer: Arc<Answer>, identity: Option<Identity>) -> Self {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (kept, config) = (Arc::clone(&asked), identity.clone().map(|(config, _)| config));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (kept, answer, config) =
                    (Arc::clone(&kept), Arc::clone(&answer), config.clone());
                thread::spawn(move || {
                    let Some(config) = config else {
                        return converse(&mut stream, &kept, &*answer);
                    };
                    let mut tls = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
                    // A client that does not trust us asks nothing.
                    if tls.conn.complete_io(&mut tls.sock).is_ok() {
                        converse(&mut tls, &kept, &*answer);
                        tls.conn.send_close_notify();
                        let _ = tls.flush();
                    }
                });
            }
        });
        Self { address, asked, identity }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self, rest: &str) -> String {
        let scheme = if self.identity.is_some() { "https" } else { "http" };
        format!("{scheme}://host.test:{}{rest}", self.port())
    }

    /// What the host was asked so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// The paths that the host was asked for so far.
    pub(crate) fn paths(&self) -> Vec<String> {
        let path = |asked: &String| asked.split(' ').nth(1).unwrap_or_default().to_owned();
        self.asked().iter().map(path).collect()
    }

    /// A client for which every name leads here.
    pub(crate) fn client(&self) -> NetClient {
        client(vec![self.port()])
    }

    pub(crate) fn fetch(&self, rest: &str) -> Result<FetchReply, ToolError> {
        fetch(&self.client(), &request(&self.url(rest)))
    }
}

fn converse(stream: &mut (impl Read + Write), kept: &Mutex<Vec<String>>, answer: &Answer) {
    let request = read_request(stream);
    let before = {
        let mut kept = kept.lock().unwrap();
        kept.push(request.clone());
        kept.len() - 1
    };
    answer(&request, before, stream);
    let _ = stream.flush();
}

fn read_request(stream: &mut impl Read) -> String {
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

/// A client for which every name leads here, but for two.
pub(crate) fn client(ports: Vec<u16>) -> NetClient {
    client_trusting(IDENTITY.1.clone(), ports)
}

/// A client that trusts another certificate than that of most tests.
pub(crate) fn client_trusting(certificate: CertificateDer<'static>, ports: Vec<u16>) -> NetClient {
    let tls = move || {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let config =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
    };
    let resolve = |name: &str, port: u16| match name {
        "inner.test" => Ok(vec![SocketAddr::from(([10, 0, 0, 1], port))]),
        "nowhere.test" => Err(std::io::Error::other("no such name")),
        _ => Ok(vec![SocketAddr::new(HERE, port)]),
    };
    NetClient::new(ports, Box::new(tls)).with_resolver(Box::new(resolve), vec![HERE])
}

pub(crate) fn request(url: &str) -> FetchRequest {
    FetchRequest { time: Duration::from_secs(20), ..FetchRequest::get(url) }
}

pub(crate) fn fetch(net: &dyn Net, request: &FetchRequest) -> Result<FetchReply, ToolError> {
    net.fetch(request, &Cancel::default())
}

/// Returns why a fetch failed.
#[track_caller]
pub(crate) fn reason(result: Result<FetchReply, ToolError>) -> String {
    let err = result.unwrap_err();
    err.context.get("reason").and_then(Value::as_str).unwrap_or(err.kind.as_str()).to_owned()
}

/// Returns a whole reply with these headers, each with its end of line.
pub(crate) fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}
