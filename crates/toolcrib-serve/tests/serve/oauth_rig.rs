//! A server that accepts the tokens of an authorization server, and tokens for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use toolcrib_serve::{
    ListenAddress, OAuthConfig, PublishedKeys, RequestRate, ResourceServer, ServerConfig,
};

use crate::authority::Authority;
use crate::client::RawReply;
use crate::rig::{Rig, bearer};
use crate::set_clock::{NOW, SetClock};

pub(crate) const ISSUER: &str = "https://login.example.org";
pub(crate) const AUDIENCE: &str = "https://tools.example.org/mcp";

/// A server, and its clock.
pub(crate) struct OAuthRig {
    pub(crate) rig: Rig,
    pub(crate) clock: Arc<SetClock>,
}

impl OAuthRig {
    pub(crate) fn new(authority: &Authority) -> Self {
        let rig = Self::with(PublishedKeys::Url(authority.keys_url()), |_| {});
        // From here on, keys are loaded only because a token names one that is not known.
        while authority.requests() == 0 {
            std::thread::yield_now();
        }
        rig
    }

    pub(crate) fn with(keys: PublishedKeys, change: impl FnOnce(&mut OAuthConfig)) -> Self {
        let mut config = OAuthConfig::new(ISSUER.to_owned(), AUDIENCE.to_owned(), keys);
        change(&mut config);
        let clock = Arc::<SetClock>::default();
        let server = ResourceServer::new(config, Arc::clone(&clock) as _).unwrap();
        let address = ListenAddress::Tcp("127.0.0.1:0".parse().unwrap());
        let mut config = ServerConfig::new(address);
        config.requests.wrong_tokens = RequestRate { per_second: 0, burst: 1000 };
        let rig = Rig::start_with(config, Some(Arc::new(server)), Arc::clone(&clock));
        Self { rig, clock }
    }

    pub(crate) fn ask(&self, token: &str) -> RawReply {
        self.rig.ask(self.rig.request("GET /echo", &bearer(token), ""))
    }

    /// Checks that a token is refused with these words.
    #[track_caller]
    pub(crate) fn refuses(&self, token: &str, words: &str) {
        let runs = self.rig.runs();
        let reply = self.ask(token);
        let message = reply.is_error(401, "unauthorized");
        assert!(message.contains(words), "{message} {token}");
        let challenge = reply.header("www-authenticate").unwrap();
        let start = format!("Bearer error=\"invalid_token\", error_description=\"{message}\", ");
        assert!(challenge.starts_with(&start), "{challenge}");
        assert_eq!(self.rig.runs(), runs);
        let is_logged = token.len() > 20 && self.rig.log().contains(token);
        assert!(!is_logged, "{}", self.rig.log());
    }

    /// Lets time pass, so that keys can be loaded again.
    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.elapsed.fetch_add(seconds, Ordering::SeqCst);
    }
}

/// Returns the claims of a good token.
pub(crate) fn good() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "client_id": "app", "jti": "1",
        "scope": "openid toolcrib:agent", "iat": NOW - 60, "exp": NOW + 300,
    })
}

/// Returns the claims of a good token with one that is different. Null removes it.
pub(crate) fn with(name: &str, value: Value) -> Value {
    let mut claims = good();
    match value {
        Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
        value => claims[name] = value,
    }
    claims
}
