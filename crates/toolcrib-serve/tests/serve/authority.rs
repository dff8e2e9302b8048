//! An authorization server for tests: it publishes real keys over HTTP, and signs tokens with them.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};

/// An authorization server that runs until it is dropped.
pub(crate) struct Authority {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// The status line and headers, and the body.
    reply: Mutex<(String, String)>,
    requests: AtomicUsize,
    is_over: AtomicBool,
}

impl Authority {
    pub(crate) fn start(keys: &[&TestKey]) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), keys)
    }

    pub(crate) fn start_at(address: SocketAddr, keys: &[&TestKey]) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let shared = Arc::new(Shared {
            reply: Mutex::default(),
            requests: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        });
        let (address, serving) = (listener.local_addr().unwrap(), Arc::clone(&shared));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let _ = stream.and_then(|stream| serving.answer(stream));
            }
        });
        let authority = Self { address, shared, thread: Some(thread) };
        authority.publish(keys);
        authority
    }

    /// Returns the URL of its keys.
    pub(crate) fn keys_url(&self) -> String {
        format!("http://{}/keys", self.address)
    }

    /// Publishes these keys and no others.
    pub(crate) fn publish(&self, keys: &[&TestKey]) {
        let keys: Vec<Value> = keys.iter().map(|key| key.jwk()).collect();
        self.answer_with("200 OK", &json!({ "keys": keys }).to_string());
    }

    /// Answers with this status, which can have headers after it, and this body.
    pub(crate) fn answer_with(&self, status: &str, body: &str) {
        *self.shared.reply.lock().unwrap() = (status.to_owned(), body.to_owned());
    }

    /// Returns how often the keys were asked for.
    pub(crate) fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        // Nothing of what clients send here may reach the authorization server.
        assert!(!head.to_ascii_lowercase().contains("authorization:"), "{head}");
        self.requests.fetch_add(1, Ordering::SeqCst);
        let (status, body) = self.reply.lock().unwrap().clone();
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close");
        stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes())
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|it| it.is_ok()) || std::thread::panicking());
    }
}

/// A key that signs tokens.
pub(crate) struct TestKey {
    pub(crate) id: &'static str,
    pair: SigningPair,
}

enum SigningPair {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl TestKey {
    pub(crate) fn rsa(id: &'static str) -> Self {
        // No crate here makes RSA keys, so there is one that is used for nothing else.
        let pair = RsaKeyPair::from_pkcs8(include_bytes!("test_only_rsa.pk8")).unwrap();
        Self { id, pair: SigningPair::Rsa(pair) }
    }

    pub(crate) fn p256(id: &'static str) -> Self {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        Self { id, pair: SigningPair::P256(pair) }
    }

    pub(crate) fn ed25519(id: &'static str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        Self { id, pair: SigningPair::Ed25519(pair) }
    }

    /// Returns the algorithm, as headers name it.
    pub(crate) fn algorithm(&self) -> &'static str {
        match self.pair {
            SigningPair::Rsa(_) => "RS256",
            SigningPair::P256(_) => "ES256",
            SigningPair::Ed25519(_) => "EdDSA",
        }
    }

    /// Returns the public key, as a JWK.
    pub(crate) fn jwk(&self) -> Value {
        let mut jwk = match &self.pair {
            SigningPair::Rsa(pair) => {
                let public: RsaPublicKeyComponents<Vec<u8>> = pair.public().into();
                json!({"kty": "RSA", "n": encode(&public.n), "e": encode(&public.e)})
            }
            SigningPair::P256(pair) => {
                let point = pair.public_key().as_ref();
                let (x, y) = (encode(&point[1..33]), encode(&point[33..]));
                json!({"kty": "EC", "crv": "P-256", "x": x, "y": y})
            }
            SigningPair::Ed25519(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref())})
            }
        };
        jwk["kid"] = self.id.into();
        jwk["use"] = "sig".into();
        jwk["alg"] = self.algorithm().into();
        jwk
    }

    /// Returns the usual header of its tokens.
    pub(crate) fn header(&self) -> Value {
        json!({"alg": self.algorithm(), "typ": "at+jwt", "kid": self.id})
    }

    /// Returns a token with the usual header.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.token_of(&self.header().to_string(), &claims.to_string())
    }

    /// Returns a token with a header and claims of any text.
    pub(crate) fn token_of(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", encode(header.as_bytes()), encode(claims.as_bytes()));
        format!("{message}.{}", encode(&self.sign(message.as_bytes())))
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            SigningPair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
            SigningPair::P256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            SigningPair::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }
}

/// Encodes bytes as JWTs have them.
pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
