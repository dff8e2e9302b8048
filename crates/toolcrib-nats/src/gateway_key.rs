//! The key of a gateway. A worker runs only what a gateway that it trusts has signed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use async_nats::{HeaderMap, Message};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nkeys::KeyPair;

/// The name of the header with the signature.
const SIGNATURE_HEADER: &str = "Toolcrib-Signature";

/// Keeps a signature from being one of anything else that the key may sign some day.
const SIGNED_BYTES_BEGIN: &str = "toolcrib gateway message 1";

/// The key with which a gateway signs what it sends to workers.
pub struct GatewayKey(KeyPair);

/// The public key of a gateway that a worker trusts.
#[derive(Debug)]
pub struct TrustedGateway(KeyPair);

impl GatewayKey {
    /// Reads the key from a file, or makes one there.
    pub fn open(path: &Path) -> io::Result<Self> {
        let named = |err: io::Error| {
            io::Error::new(
                err.kind(),
                format!("the key of the gateway, `{}`: {err}", path.display()),
            )
        };
        if !path.exists() {
            let seed = KeyPair::new_service().seed().map_err(io::Error::other)?;
            write_new(path, &seed).map_err(named)?;
        }
        let mode = fs::metadata(path).map_err(named)?.permissions().mode();
        if mode & 0o077 != 0 {
            let why = "other users can read it; make it private: chmod 600";
            return Err(named(io::Error::new(io::ErrorKind::PermissionDenied, why)));
        }
        let seed = fs::read_to_string(path).map_err(named)?;
        KeyPair::from_seed(seed.trim()).map(Self).map_err(|err| named(io::Error::other(err)))
    }

    /// Returns the public key, which workers are told.
    pub fn public_key(&self) -> String {
        self.0.public_key()
    }

    /// Signs a message. The reply goes where the gateway wants it: nobody else can have it sent elsewhere.
    pub(crate) fn sign(&self, subject: &str, reply: &str, body: &[u8]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Ok(signature) = self.0.sign(&signed_bytes(subject, reply, body)) {
            headers.insert(SIGNATURE_HEADER, STANDARD.encode(signature));
        }
        headers
    }
}

impl TrustedGateway {
    /// Reads a public key, as `toolcrib nats key` prints it.
    pub fn parse(text: &str) -> Option<Self> {
        KeyPair::from_public_key(text.trim()).ok().map(Self)
    }

    /// Whether this gateway signed a message.
    pub(crate) fn has_signed(&self, message: &Message) -> bool {
        let signature = message.headers.as_ref().and_then(|it| it.get(SIGNATURE_HEADER));
        let signature = signature.and_then(|it| STANDARD.decode(it.as_str()).ok());
        let reply = message.reply.as_deref().unwrap_or_default();
        let signed = signed_bytes(message.subject.as_str(), reply, &message.payload);
        signature.is_some_and(|it| self.0.verify(&signed, &it).is_ok())
    }
}

fn signed_bytes(subject: &str, reply: &str, body: &[u8]) -> Vec<u8> {
    [SIGNED_BYTES_BEGIN.as_bytes(), subject.as_bytes(), reply.as_bytes(), body].join(&0)
}

/// Writes a file that only its owner reads, whole or not at all. If another process was faster, its file stays.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    let written = writeln!(file, "{text}").and_then(|()| file.sync_all());
    let linked = written.and_then(|()| match fs::hard_link(&fresh, path) {
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    });
    fs::remove_file(&fresh)?;
    linked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(key: &GatewayKey, subject: &str, reply: &str, body: &'static [u8]) -> Message {
        Message {
            subject: subject.into(),
            reply: Some(reply.into()),
            payload: body.into(),
            headers: Some(key.sign(subject, reply, body)),
            status: None,
            description: None,
            length: 0,
        }
    }

    #[test]
    fn a_signature_is_for_one_subject_one_reply_and_one_body() {
        let folder = tempfile::tempdir().unwrap();
        let key = GatewayKey::open(&folder.path().join("gateway.nk")).unwrap();
        let trusted = TrustedGateway::parse(&key.public_key()).unwrap();
        let signed = || message(&key, "a.run", "_INBOX.1", b"{}");
        assert!(trusted.has_signed(&signed()), "the control");
        for forged in [
            Message { subject: "b.run".into(), ..signed() },
            Message { reply: Some("_INBOX.2".into()), ..signed() },
            Message { reply: None, ..signed() },
            Message { payload: "[]".into(), ..signed() },
            Message { headers: None, ..signed() },
            Message { headers: Some(HeaderMap::new()), ..signed() },
        ] {
            assert!(!trusted.has_signed(&forged), "{forged:?}");
        }
        let other = GatewayKey::open(&folder.path().join("other.nk")).unwrap();
        let of_other = TrustedGateway::parse(&other.public_key()).unwrap();
        assert!(!of_other.has_signed(&signed()), "another gateway");
    }

    #[test]
    fn a_key_is_made_once_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.nk");
        let key = GatewayKey::open(&path).unwrap().public_key();
        assert_eq!(GatewayKey::open(&path).unwrap().public_key(), key);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(GatewayKey::open(&path).is_err_and(|err| err.to_string().contains("chmod 600")));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "SXAINVALID").unwrap();
        assert!(GatewayKey::open(&path).is_err());
        assert!(
            TrustedGateway::parse("SXAINVALID").is_none() && TrustedGateway::parse("").is_none()
        );
    }
}
