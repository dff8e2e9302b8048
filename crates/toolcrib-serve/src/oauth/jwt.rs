//! Reads a JWT access token (RFC 9068): its header before its signature was checked, and its claims only afterwards.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use toolcrib_core::json;

use super::issuer_key::SigningAlgorithm;
use super::token_fault::TokenFault;

/// How long a token may be. The head of a request has room for more, but no useful token needs it.
const LONGEST_ACCESS_TOKEN: usize = 16 << 10;

/// The last second that a date in a claim may name: the end of the year 9999.
const LAST_SECOND: i64 = 253_402_300_799;

/// The types of JWTs that are accepted. `JWT` is what servers write that are older than RFC 9068. Tokens for other
/// purposes have other types.
const TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "jwt"];

/// A token whose signature was not checked yet. Nothing about its owner can be read from it.
pub(super) struct UnverifiedToken<'a> {
    pub(super) algorithm: SigningAlgorithm,
    pub(super) key_id: Option<String>,
    /// What was signed.
    pub(super) message: &'a [u8],
    pub(super) signature: Vec<u8>,
    payload: &'a str,
}

impl<'a> UnverifiedToken<'a> {
    /// Reads the header. Keys and addresses of keys in it (`jwk`, `jku`, `x5c`, `x5u`) are not read: whoever forges a
    /// token would write their own.
    pub(super) fn parse(token: &'a str) -> Result<Self, TokenFault> {
        if token.len() > LONGEST_ACCESS_TOKEN {
            return Err(TokenFault::TooLong);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(TokenFault::Malformed)?;
        let parts = message.split_once('.').filter(|(_, payload)| !payload.contains('.'));
        let (header, payload) = parts.ok_or(TokenFault::Malformed)?;
        let header = object(header)?;
        let text = |name: &str| header.get(name).and_then(Value::as_str);
        let algorithm =
            text("alg").and_then(SigningAlgorithm::parse).ok_or(TokenFault::Algorithm)?;
        if header.contains_key("crit") {
            return Err(TokenFault::Critical);
        }
        let is_known = |typ: &&str| TYPES.iter().any(|it| it.eq_ignore_ascii_case(typ));
        text("typ").filter(is_known).ok_or(TokenFault::Type)?;
        let key_id = match header.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(TokenFault::Malformed),
        };
        let signature = decode(signature)?;
        Ok(Self { algorithm, key_id, message: message.as_bytes(), signature, payload })
    }

    /// Returns the claims. To be called when the signature was checked.
    pub(super) fn into_claims(self) -> Result<Claims, TokenFault> {
        object(self.payload).map(Claims)
    }
}

/// The claims of a token whose signature is good.
pub(super) struct Claims(Map<String, Value>);

impl Claims {
    /// Whether the claim is there at all.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns a claim that must be text.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, TokenFault> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(TokenFault::Malformed),
        }
    }

    /// Returns a claim that is a text, or a list of texts.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<&str>, TokenFault> {
        match self.0.get(name) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(Value::Array(items)) => {
                let texts: Option<Vec<_>> = items.iter().map(Value::as_str).collect();
                texts.ok_or(TokenFault::Malformed)
            }
            Some(_) => Err(TokenFault::Malformed),
        }
    }

    /// Returns a claim that is a date, in whole seconds since 1970. A fraction is cut off.
    pub(super) fn second(&self, name: &str) -> Result<Option<i64>, TokenFault> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        let whole = value.as_i64().or_else(|| {
            let number = value.as_f64()?;
            (0.0..=LAST_SECOND as f64).contains(&number).then_some(number as i64)
        });
        let is_date = |second: &i64| (0..=LAST_SECOND).contains(second);
        whole.filter(is_date).map(Some).ok_or(TokenFault::Malformed)
    }
}

fn object(part: &str) -> Result<Map<String, Value>, TokenFault> {
    // Two claims of one name would be read differently by different programs, so the parser refuses them.
    match json::parse(&decode(part)?) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(TokenFault::Malformed),
    }
}

/// Decodes base64url as JWTs have it: no padding, no whitespace, no stray bits at the end.
fn decode(part: &str) -> Result<Vec<u8>, TokenFault> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenFault::Malformed)
}
