//! A server that speaks TLS.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{CertificateParams, Issuer, KeyPair, date_time_ymd};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};
use tempfile::TempDir;
use toolcrib_serve::{BindErrorKind, ListenAddress, Server, ServerConfig, TlsErrorKind, TlsFiles};

use crate::client::{Client, Wire};
use crate::page_rig::Browser;
use crate::rig::{AGENT, Rig, bearer};

/// An authority that clients trust, and a folder with the files of a server.
struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    folder: TempDir,
}

type TlsClient = StreamOwned<ClientConnection, TcpStream>;

impl Wire for TlsClient {
    fn end_writing(&self) {
        panic!("no test ends the writing side of TLS");
    }
}

impl Authority {
    /// Makes an authority, and a good certificate with its key.
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        let folder = tempfile::tempdir().unwrap();
        let authority = Self { certificate, issuer: Issuer::new(params, key), folder };
        authority.issue("localhost", 2100);
        authority
    }

    fn files(&self) -> TlsFiles {
        let at = |name: &str| self.folder.path().join(name);
        TlsFiles { certificate: at("cert.pem"), key: at("key.pem") }
    }

    /// Puts a new certificate and its key in place.
    fn issue(&self, name: &str, until_year: i32) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = date_time_ymd(until_year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        replace(&self.files().certificate, &certificate.pem(), 0o644);
        replace(&self.files().key, &key.serialize_pem(), 0o600);
    }

    fn rig(&self, change: impl FnOnce(&mut ServerConfig)) -> Rig {
        Rig::with(|config| {
            config.tls = Some(self.files());
            change(config);
        })
    }

    fn connect(&self, rig: &Rig) -> Client {
        Client::over(self.handshake(rig, "localhost", rustls::DEFAULT_VERSIONS).unwrap())
    }

    fn handshake(
        &self,
        rig: &Rig,
        name: &str,
        versions: &[&'static SupportedProtocolVersion],
    ) -> std::io::Result<TlsClient> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let mut config = builder
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let name = name.to_owned().try_into().unwrap();
        let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = TcpStream::connect(rig.tcp()).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
        while connection.is_handshaking() {
            connection.complete_io(&mut stream)?;
        }
        Ok(StreamOwned::new(connection, stream))
    }
}

fn replace(path: &Path, text: &str, mode: u32) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(mode)).unwrap();
    fs::rename(&new, path).unwrap();
}

/// Tries to start a server with these files.
fn bind_error(config: ServerConfig) -> Option<(BindErrorKind, String)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let bound = Server::bind(config, Arc::new(|_| {}));
        bound.err().map(|err| (err.kind, err.to_string()))
    })
}

fn loopback() -> ServerConfig {
    ServerConfig::new(ListenAddress::Tcp("127.0.0.1:0".parse().unwrap()))
}

#[test]
fn requests_are_answered_over_both_versions_of_tls() {
    let authority = Authority::new();
    let rig = authority.rig(|_| {});
    let request = rig.agents("POST /echo", "", r#"{"a":1}"#);
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let stream = authority.handshake(&rig, "localhost", &[version]).unwrap();
        assert_eq!(stream.conn.alpn_protocol(), Some(b"http/1.1".as_slice()));
        let mut client = Client::over(stream);
        for _ in 0..3 {
            assert_eq!(client.send(&request).reply().is_ok()["body"]["a"], 1);
        }
    }
    // A client that does not know the authority, or wants another name, does not get that far.
    assert!(Authority::new().handshake(&rig, "localhost", rustls::DEFAULT_VERSIONS).is_err());
    assert!(authority.handshake(&rig, "other.example", rustls::DEFAULT_VERSIONS).is_err());
}

#[test]
fn the_origin_of_a_page_has_the_scheme_of_the_server() {
    let authority = Authority::new();
    let rig = authority.rig(|config| config.host_names = vec!["tools.example".to_owned()]);
    let ask = |origin: &str| {
        let request = rig.agents("GET /echo", &format!("Origin: {origin}\r\n"), "");
        authority.connect(&rig).send(request).reply()
    };
    ask(&format!("https://{}", rig.tcp())).is_ok();
    ask(&format!("http://{}", rig.tcp())).is_error(403, "origin_not_allowed");
    let host = |name: &str| {
        let request = format!("GET /echo HTTP/1.1\r\nHost: {name}\r\n{}\r\n", bearer(AGENT));
        authority.connect(&rig).send(request).reply()
    };
    host("tools.example").is_ok();
    let message = host("other.example").is_error(403, "host_not_allowed");
    assert!(message.contains("`serve.host_names`"), "{message}");
}

#[test]
fn the_cookie_of_the_page_stays_within_tls() {
    let authority = Authority::new();
    let rig = authority.rig(|_| {});
    let body = format!(r#"{{"token":"{AGENT}"}}"#);
    let request = rig.request("POST /page/login", "", &body);
    let reply = authority.connect(&rig).send(request).reply();
    let browser = Browser::of(&reply);
    let cookie = reply.header("set-cookie").unwrap();
    let name = format!("__Host-toolcrib_page_{}", rig.tcp().port());
    assert!(cookie.starts_with(&format!("{name}=")), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
    let ask = |headers: &str| {
        authority.connect(&rig).send(rig.request("GET /api/echo", headers, "")).reply()
    };
    ask(&browser.headers()).is_ok();
    // Without the prefix, anybody at this host could have set it.
    ask(&browser.headers().replace("__Host-", "")).is_error(401, "unauthorized");
}

#[test]
fn an_address_that_others_reach_needs_tls() {
    let authority = Authority::new();
    let mut config = ServerConfig::new(ListenAddress::Tcp("0.0.0.0:0".parse().unwrap()));
    let (kind, message) = bind_error(config.clone()).unwrap();
    assert_eq!(kind, BindErrorKind::NotLoopback);
    assert!(message.contains("`serve.tls_certificate` and `serve.tls_key`"), "{message}");
    config.tls = Some(authority.files());
    assert_eq!(bind_error(config.clone()), None);
    let rig = Rig::start(config);
    let (loopback, all) = (format!("127.0.0.1:{}", rig.tcp().port()), rig.tcp());
    let host = |name: &str| {
        let request = format!("GET /echo HTTP/1.1\r\nHost: {name}\r\n{}\r\n", bearer(AGENT));
        authority.connect(&rig).send(request).reply()
    };
    host(&loopback).is_ok();
    host(&all.to_string()).is_error(403, "host_not_allowed");
}

#[test]
fn a_client_without_tls_is_told_and_one_that_stalls_holds_nobody_up() {
    let authority = Authority::new();
    let rig = authority.rig(|config| config.connections.most_open = 4);
    let plain = rig.ask(rig.agents("GET /echo", "", ""));
    let message = plain.is_error(400, "tls_required");
    assert!(message.contains("https://"), "{message}");
    // They fill the server: silent ones, some in the middle of a handshake, some that send nonsense.
    let mut stalled: Vec<Client> = (0..12).map(|_| rig.connect()).collect();
    for (number, client) in stalled.iter_mut().enumerate() {
        match number % 3 {
            0 => {}
            1 => drop(client.try_send(b"\x16\x03\x01\x02\x00\x01\x00")),
            _ => drop(client.try_send([0xff; 64])),
        }
    }
    let request = rig.agents("GET /echo", "", "");
    authority.connect(&rig).send(&request).reply().is_ok();
    // A handshake counts as a connection: the first of them had to go.
    stalled[0].end();
    assert_eq!(rig.runs(), 1);
}

#[test]
fn a_client_with_tls_is_told_at_once_where_there_is_none() {
    let rig = Rig::new();
    let mut client = rig.connect();
    let message = client.send(b"\x16\x03\x01\x02\x00\x01\x00").reply().is_error(400, "no_tls");
    assert!(message.contains("http://"), "{message}");
    rig.ask(rig.agents("GET /echo", "", "")).is_ok();
}

#[test]
fn a_handshake_has_a_time() {
    let authority = Authority::new();
    let rig = authority.rig(|config| config.connections.head_time = Duration::from_millis(20));
    let (mut silent, mut half) = (rig.connect(), rig.connect());
    half.send(b"\x16\x03\x01\x02\x00\x01\x00");
    silent.end();
    half.end();
}

#[test]
fn a_server_that_stops_does_not_wait_for_a_handshake() {
    let authority = Authority::new();
    let rig = authority.rig(|_| {});
    let mut silent = rig.connect();
    authority.connect(&rig).send(rig.agents("GET /echo", "", "")).reply().is_ok();
    assert_eq!(rig.end().cut, 0);
    silent.end();
}

#[test]
fn a_client_that_leaves_ends_its_request_over_tls_too() {
    let authority = Authority::new();
    let mut rig = authority.rig(|config| config.requests.in_flight_each = 1);
    let mut client = authority.connect(&rig);
    client.send(rig.agents("GET /wait", "", ""));
    rig.wait_for_handler();
    let second = rig.agents("GET /echo", "", "");
    authority.connect(&rig).send(&second).reply().is_error(429, "too_many_in_flight");
    drop(client);
    while authority.connect(&rig).send(&second).reply().status != 200 {}
    rig.tell_to_stop();
}

#[test]
fn changed_files_are_taken_up_and_wrong_ones_are_not() {
    let authority = Authority::new();
    let rig = authority.rig(|_| {});
    let shows = |name: &str| authority.handshake(&rig, name, rustls::DEFAULT_VERSIONS).is_ok();
    assert!(shows("localhost") && !shows("new.example"));
    assert!(rig.take_notices().is_empty());
    replace(&authority.files().key, "no key", 0o600);
    assert!(shows("localhost") && shows("localhost"));
    let notices = rig.take_notices();
    assert_eq!(notices.len(), 1, "told once: {notices:?}");
    assert!(notices[0].contains("the old TLS certificate stays in use"), "{notices:?}");
    fs::remove_file(authority.files().certificate).unwrap();
    assert!(shows("localhost"));
    rig.take_notices();
    authority.issue("new.example", 2100);
    assert!(shows("new.example") && !shows("localhost"));
    assert_eq!(rig.take_notices(), ["the changed TLS certificate is in use"]);
    // The mode of the key counts as a change too.
    authority.issue("third.example", 2100);
    fs::set_permissions(authority.files().key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(shows("new.example"));
    fs::set_permissions(authority.files().key, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(shows("third.example"));
}

#[test]
fn wrong_files_are_refused_with_what_to_do() {
    let authority = Authority::new();
    let files = authority.files();
    let check = |files: &TlsFiles, kind: TlsErrorKind, words: &str| {
        let config = ServerConfig { tls: Some(files.clone()), ..loopback() };
        let (got, message) = bind_error(config).unwrap();
        assert_eq!(got, BindErrorKind::Tls(kind), "{message}");
        assert!(message.contains(words), "{message}");
    };
    let missing = authority.folder.path().join("missing.pem");
    let without = TlsFiles { certificate: missing.clone(), ..files.clone() };
    check(&without, TlsErrorKind::Unreadable, "set `serve.tls_certificate`");
    let without = TlsFiles { key: missing, ..files.clone() };
    check(&without, TlsErrorKind::Unreadable, "set `serve.tls_key`");
    let same = TlsFiles { certificate: files.key.clone(), ..files.clone() };
    check(&same, TlsErrorKind::NoCertificate, "BEGIN CERTIFICATE");
    let good = fs::read_to_string(&files.key).unwrap();
    for mode in [0o604, 0o606, 0o622, 0o644] {
        replace(&files.key, &good, mode);
        check(&files, TlsErrorKind::Exposed, &format!("chmod 600 {}", files.key.display()));
    }
    for (text, kind, words) in [
        ("", TlsErrorKind::NoKey, "no private key"),
        (
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
            TlsErrorKind::Encrypted,
            "openssl pkey",
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n",
            TlsErrorKind::Encrypted,
            "openssl pkey",
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            TlsErrorKind::Unfit,
            "belong together",
        ),
        (
            &KeyPair::generate().unwrap().serialize_pem(),
            TlsErrorKind::Unfit,
            "is not that of the certificate",
        ),
    ] {
        replace(&files.key, text, 0o600);
        check(&files, kind, words);
    }
    replace(&files.key, &good, 0o600);
    let config = ServerConfig { tls: Some(files), ..loopback() };
    assert_eq!(bind_error(config), None);
}

#[test]
fn a_certificate_that_ran_out_is_used_with_a_warning() {
    let authority = Authority::new();
    authority.issue("localhost", 2001);
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    let config = ServerConfig { tls: Some(authority.files()), ..loopback() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let notice = Arc::new(move |text: &str| listener.lock().unwrap().push(text.to_owned()));
    assert!(runtime.block_on(async { Server::bind(config, notice).is_ok() }));
    let told = told.lock().unwrap();
    assert!(told[0].contains("ran out at 2001-01-01T00:00:00Z"), "{told:?}");
}
