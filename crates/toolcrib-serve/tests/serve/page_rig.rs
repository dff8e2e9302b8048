//! A browser that is logged in to the page.

use serde_json::{Value, json};

use crate::client::{Client, RawReply};
use crate::rig::Rig;

/// What a browser has after it logged in.
#[derive(Clone)]
pub(crate) struct Browser {
    /// The name and the value of the cookie.
    pub(crate) cookie: String,
    pub(crate) csrf: String,
}

/// Sends the body of a login.
pub(crate) fn log_in(rig: &Rig, body: &Value) -> RawReply {
    rig.ask(rig.request("POST /page/login", "", &body.to_string()))
}

impl Browser {
    /// Logs in with a token.
    #[track_caller]
    pub(crate) fn new(rig: &Rig, token: &str) -> Self {
        Self::of(&log_in(rig, &json!({"token": token})))
    }

    /// Takes what a login gave.
    #[track_caller]
    pub(crate) fn of(reply: &RawReply) -> Self {
        let csrf = reply.is_ok()["csrf"].as_str().unwrap().to_owned();
        let cookie = reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        Self { cookie, csrf }
    }

    /// Returns the headers of a request that the page makes.
    pub(crate) fn headers(&self) -> String {
        let Self { cookie, csrf } = self;
        format!("Cookie: {cookie}\r\nX-Toolcrib-Csrf: {csrf}\r\nSec-Fetch-Site: same-origin\r\n")
    }

    /// Returns the header with the cookie.
    pub(crate) fn cookie_header(&self) -> String {
        format!("Cookie: {}\r\n", self.cookie)
    }

    /// Makes a request as the page does.
    pub(crate) fn ask(&self, rig: &Rig, line: &str) -> RawReply {
        rig.ask(rig.request(line, &self.headers(), ""))
    }

    /// Begins a stream, and returns when its head has come.
    pub(crate) fn stream(&self, rig: &Rig) -> Client {
        let mut client = rig.connect();
        let headers = format!("{}Connection: close\r\n", self.headers());
        client.send(rig.request("GET /api/stream", &headers, ""));
        rig.wait_for_handler();
        assert_eq!(client.reply().status, 200);
        client
    }
}
