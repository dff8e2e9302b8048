//! `--server https://…`: a server is believed if an authority that is trusted vouches for its name.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};

use crate::remote_errors::fails;
use crate::running_server::RunningServer;
use crate::scratch::{Ran, Scratch};

/// An authority, and the files of a server beside a scratch workspace.
struct TestAuthority {
    scratch: Scratch,
    issuer: Issuer<'static, KeyPair>,
}

impl TestAuthority {
    fn new() -> Self {
        let (params, key) = authority();
        let scratch = Scratch::new();
        scratch.put("a.txt", "one\ntwo\n");
        let certificate = params.self_signed(&key).unwrap();
        let authority = Self { scratch, issuer: Issuer::new(params, key) };
        authority.write("ca.pem", &certificate.pem());
        authority
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path.display().to_string()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    fn named(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Puts a certificate for these names and its key in place.
    fn issue(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        self.write("cert.pem", &params.signed_by(&key, &self.issuer).unwrap().pem());
        self.write("key.pem", &key.serialize_pem());
    }

    fn serve(&self) -> RunningServer<'_> {
        let certificate = format!("serve.tls_certificate={}", self.named("cert.pem"));
        let key = format!("serve.tls_key={}", self.named("key.pem"));
        RunningServer::start_with(&self.scratch, &["-c", &certificate, "-c", &key])
    }

    /// Reads a file through a server, with these words and environment.
    fn read(&self, url: &str, words: &[&str], environment: &[(&str, &str)]) -> Ran {
        let token = self.scratch.state().join("first_tokens/agent");
        let mut command = self.scratch.command();
        command.envs(environment.iter().copied()).current_dir("/").env_remove("TOOLCRIB_STATE");
        command.args(["--server", url, "--token-file", token.to_str().unwrap()]);
        command.args(words).args(["call", "wink/read_file", "path=a.txt"]);
        command.output().unwrap().into()
    }
}

fn authority() -> (CertificateParams, KeyPair) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params, KeyPair::generate().unwrap())
}

#[test]
fn a_server_is_believed_for_an_authority_in_a_file_or_of_the_system() {
    let authority = TestAuthority::new();
    authority.issue(&["127.0.0.1"], |_| {});
    let server = authority.serve();
    let url = format!("https://{}", server.address);
    let ca = authority.named("ca.pem");
    for (words, environment) in [
        (&["--ca-file", ca.as_str()][..], &[][..]),
        (&[], &[("TOOLCRIB_CA_FILE", ca.as_str())]),
        (&[], &[("SSL_CERT_FILE", ca.as_str())]),
        // The command line counts before the environment, and a file before the system.
        (&["--ca-file", ca.as_str()], &[("TOOLCRIB_CA_FILE", "/nonexistent")]),
        (&[], &[("TOOLCRIB_CA_FILE", ca.as_str()), ("SSL_CERT_FILE", "/nonexistent")]),
    ] {
        let ran = authority.read(&url, words, environment);
        assert_eq!(ran.code, 0, "{words:?} {environment:?}: {}", ran.stderr);
        assert!(ran.stdout.contains("one\ntwo"), "{}", ran.stdout);
        assert_eq!(ran.stderr, "");
    }
    let (params, key) = self::authority();
    let other = authority.write("other.pem", &params.self_signed(&key).unwrap().pem());
    let ran = authority.read(&url, &[], &[("SSL_CERT_FILE", &other)]);
    fails(&ran, 1, "from an authority that this machine does not trust", "add --ca-file PEM");
    let ran = authority.read(&url, &["--ca-file", &other], &[("SSL_CERT_FILE", &ca)]);
    fails(&ran, 1, &format!("from an authority that is not in `{other}`"), "--ca-file needs");
    // Two authorities in one file.
    let both = fs::read_to_string(&other).unwrap() + &fs::read_to_string(&ca).unwrap();
    let both = authority.write("both.pem", &both);
    assert_eq!(authority.read(&url, &["--ca-file", &both], &[]).code, 0);
}

#[test]
fn a_certificate_that_does_not_fit_is_refused_with_the_reason() {
    let authority = TestAuthority::new();
    let ca = authority.named("ca.pem");
    authority.issue(&["127.0.0.1"], |_| {});
    let server = authority.serve();
    let url = format!("https://{}", server.address);
    let ask = || authority.read(&url, &["--ca-file", &ca], &[]);
    assert_eq!(ask().code, 0);
    // The server takes up changed files at the next connection.
    authority.issue(&["crib.example"], |_| {});
    fails(&ask(), 1, "is not for this name; it is for", "crib.example");
    authority.issue(&["127.0.0.1"], |params| params.not_after = date_time_ymd(2001, 2, 3));
    fails(&ask(), 1, "expired 2001-02-03T00:00:00Z", "serve.tls_certificate");
    authority.issue(&["127.0.0.1"], |params| params.not_before = date_time_ymd(2999, 1, 1));
    fails(&ask(), 1, "is not valid before 2999-01-01", "check the clock");
    authority.issue(&["127.0.0.1"], |params| {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    });
    fails(&ask(), 1, "is that of an authority, and not of a server", "CA:FALSE");
    authority.issue(&["127.0.0.1"], |_| {});
    assert_eq!(ask().code, 0);
}

#[test]
fn tls_and_plain_text_are_told_apart() {
    let authority = TestAuthority::new();
    let ca = authority.named("ca.pem");
    authority.issue(&["127.0.0.1"], |_| {});
    let server = authority.serve();
    let (http, https) =
        (format!("http://{}", server.address), format!("https://{}", server.address));
    fails(&authority.read(&http, &[], &[]), 1, "speaks only TLS", &format!("use {https}"));
    assert_eq!(authority.read(&https, &["--ca-file", &ca], &[]).code, 0);
    drop(server);

    let server = RunningServer::start(&authority.scratch);
    let (http, https) =
        (format!("http://{}", server.address), format!("https://{}", server.address));
    let ran = authority.read(&https, &["--ca-file", &ca], &[]);
    fails(&ran, 1, "does not speak TLS", &format!("use {http}"));
    assert_eq!(authority.read(&http, &[], &[("TOOLCRIB_CA_FILE", &ca)]).code, 0);
    let ran = authority.read(&http, &["--ca-file", &ca], &[]);
    fails(&ran, 2, "--ca-file is for a server with TLS", "write https://");
}

#[test]
fn a_file_of_authorities_that_cannot_be_used_is_named() {
    let authority = TestAuthority::new();
    // Nothing is asked before the file is read, so no server is there.
    let ask = |path: &str| authority.read("https://127.0.0.1:1", &["--ca-file", path], &[]);
    authority.issue(&["127.0.0.1"], |_| {});
    let token = authority.scratch.state().join("first_tokens");
    fs::create_dir_all(&token).unwrap();
    authority.write("state/first_tokens/agent", "tcb_any");
    let expected = "-----BEGIN CERTIFICATE-----";
    fails(&ask("/nonexistent.pem"), 2, "cannot be read from `/nonexistent.pem`", expected);
    fails(&ask("/tmp"), 2, "`/tmp` is no file with certificates", "");
    fails(&ask(&authority.write("x.pem", "")), 2, "it is empty", expected);
    fails(&ask(&authority.write("x.pem", "hello\n")), 2, "no certificate in PEM form", expected);
    fails(&ask(&authority.named("key.pem")), 2, "a private key, and no certificate", expected);
    let garbled = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    fails(&ask(&authority.write("x.pem", garbled)), 2, "cannot be read", expected);
    fails(&ask(&authority.named("ca.pem")), 1, "cannot be reached", "");
    let run = |words: &[&str]| authority.scratch.run(words);
    let ran = run(&["--ca-file", "x.pem", "tools"]);
    fails(&ran, 2, "--ca-file needs --server", "add --server URL");
    let ran = run(&["--ca-file", "x.pem", "doctor"]);
    fails(&ran, 2, "--ca-file is not for this subcommand", "work with a server");
}
