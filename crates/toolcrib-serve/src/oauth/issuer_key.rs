//! The public keys of an authorization server: reading a JWK Set (RFC 7517), and verifying signatures with its keys.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde_json::{Map, Value};
use toolcrib_core::json;

/// How many keys a set may have. Authorization servers publish a handful.
const MOST_KEYS: usize = 100;

/// How long a `kid` may be.
const LONGEST_KEY_ID: usize = 512;

/// The shortest modulus of an RSA key, in bits. Shorter ones can be factored.
const SHORTEST_MODULUS_BITS: usize = 2048;

/// The longest modulus, in bits, so that a check never takes long.
const LONGEST_MODULUS_BITS: usize = 8192;

/// The algorithms that are accepted. All of them have a public key, so that nobody can sign with what is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SigningAlgorithm {
    Rs256,
    Es256,
    EdDsa,
}

impl SigningAlgorithm {
    /// Reads the spelling in a header.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A public key. Its kind decides which algorithm it is for, whatever a token says.
pub(super) struct IssuerKey {
    id: Option<String>,
    material: KeyMaterial,
}

enum KeyMaterial {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// A point of P-256, not compressed.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl IssuerKey {
    /// Whether this key has signed a message.
    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.material {
            KeyMaterial::Rsa { modulus, exponent } => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            KeyMaterial::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            KeyMaterial::Ed25519(key) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature)
            }
        };
        verified.is_ok()
    }
}

impl KeyMaterial {
    fn algorithm(&self) -> SigningAlgorithm {
        match self {
            Self::Rsa { .. } => SigningAlgorithm::Rs256,
            Self::P256(_) => SigningAlgorithm::Es256,
            Self::Ed25519(_) => SigningAlgorithm::EdDsa,
        }
    }
}

/// The keys of an authorization server that can be used here.
#[derive(Default)]
pub(super) struct KeySet {
    keys: Vec<IssuerKey>,
}

/// Why a text is no set of keys.
#[derive(Debug, PartialEq, Eq)]
pub enum KeySetError {
    /// It is not JSON.
    NoJson,
    /// It has no list `keys` of objects.
    NoKeys,
    /// It has too many.
    TooMany,
}

impl fmt::Display for KeySetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoJson => f.write_str("it is not JSON"),
            Self::NoKeys => f.write_str("it is no JWK Set: there is no list `keys` of objects"),
            Self::TooMany => write!(f, "it has more than {MOST_KEYS} keys"),
        }
    }
}

impl std::error::Error for KeySetError {}

impl KeySet {
    /// Reads a set. Keys that cannot be used here are left out, as the standard says: those of other kinds, for
    /// encryption, too weak, or malformed.
    pub(super) fn parse(text: &[u8]) -> Result<Self, KeySetError> {
        let set = json::parse(text).map_err(|_| KeySetError::NoJson)?;
        let listed = set.get("keys").and_then(Value::as_array).ok_or(KeySetError::NoKeys)?;
        if listed.len() > MOST_KEYS {
            return Err(KeySetError::TooMany);
        }
        let objects: Option<Vec<_>> = listed.iter().map(Value::as_object).collect();
        let objects = objects.ok_or(KeySetError::NoKeys)?;
        Ok(Self { keys: objects.into_iter().filter_map(read_key).collect() })
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the key that a token names. If several fit, it names none.
    pub(super) fn find(&self, algorithm: SigningAlgorithm, id: Option<&str>) -> Option<&IssuerKey> {
        let fits = |key: &&IssuerKey| {
            key.material.algorithm() == algorithm && (id.is_none() || key.id.as_deref() == id)
        };
        let mut fitting = self.keys.iter().filter(fits);
        fitting.next().filter(|_| fitting.next().is_none())
    }
}

fn read_key(key: &Map<String, Value>) -> Option<IssuerKey> {
    let text = |name: &str| key.get(name).and_then(Value::as_str);
    if key.contains_key("use") && text("use") != Some("sig") {
        return None;
    }
    if let Some(operations) = key.get("key_ops") {
        let verify = Value::from("verify");
        operations.as_array().filter(|it| it.contains(&verify))?;
    }
    let id = match key.get("kid") {
        None => None,
        Some(id) => Some(id.as_str().filter(|id| id.len() <= LONGEST_KEY_ID)?.to_owned()),
    };
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
    let material = match (text("kty")?, text("crv")) {
        ("RSA", _) => {
            let (modulus, exponent) = (bytes("n")?, bytes("e")?);
            let range = SHORTEST_MODULUS_BITS..=LONGEST_MODULUS_BITS;
            let is_sound = range.contains(&bit_length(&modulus)) && bit_length(&exponent) >= 2;
            is_sound.then_some(KeyMaterial::Rsa { modulus, exponent })?
        }
        ("EC", Some("P-256")) => {
            let (x, y) = (bytes("x")?, bytes("y")?);
            let is_sound = x.len() == 32 && y.len() == 32;
            is_sound.then(|| KeyMaterial::P256([vec![4], x, y].concat()))?
        }
        ("OKP", Some("Ed25519")) => {
            let key = bytes("x").filter(|key| key.len() == 32)?;
            KeyMaterial::Ed25519(key)
        }
        _ => return None,
    };
    if key.contains_key("alg") {
        // RFC 9864 has a name of its own for the one curve that is accepted here.
        let named = text("alg").map(|alg| if alg == "Ed25519" { "EdDSA" } else { alg })?;
        SigningAlgorithm::parse(named).filter(|it| *it == material.algorithm())?;
    }
    Some(IssuerKey { id, material })
}

/// Returns how many bits a number has, most significant byte first.
fn bit_length(number: &[u8]) -> usize {
    let leading = number.iter().take_while(|byte| **byte == 0).count();
    let rest = &number[leading..];
    rest.first().map_or(0, |first| rest.len() * 8 - first.leading_zeros() as usize)
}
