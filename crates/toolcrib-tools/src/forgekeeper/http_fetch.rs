//! `http_fetch`: fetches from a host on the open internet.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::net::{FetchMethod, FetchReply, FetchRequest};
use toolcrib_core::{Ctx, Declaration, Effect, Example, Limits, Plan, Tier, Tool, ToolError};

use crate::operation::web_page;

/// The most bytes of a body, if the caller does not say.
const DEFAULT_BYTES: usize = 64 << 10;

/// The part of a reply's room that is left for everything but the body.
const ENVELOPE_BYTES: usize = 4 << 10;

/// The most bytes of headers in a reply.
const MAX_HEADER_BYTES: usize = 2 << 10;

pub(crate) struct HttpFetch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// URL to fetch, with http or https
    url: String,
    /// HTTP method (default: GET)
    method: Option<Method>,
    /// Request headers, by name
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Request body
    body: Option<String>,
    /// Most bytes of the response body (default: 65536, as far as a reply has room)
    max_bytes: Option<usize>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    /// The URL that answered.
    url: String,
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    /// Where a redirect to another host leads. It was not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    redirect: Option<String>,
}

static DECLARATION: Declaration = Declaration {
    name: "http_fetch",
    summary: "Fetch HTTP resource (FRONTEND_ENABLE_HTTP_FETCH=1). Returns: {ok, tool, result{url, status, \
              headers, body, truncated?, redirect?}, elapsed_ms}",
    tier: Tier::Restricted,
    effect: Effect::Write,
    limits: Limits { deadline_ms: 30_000, output_bytes: 1 << 20 },
    examples: &[
        Example {
            about: "An address that is not on the open internet is not connected to.",
            files: &[],
            before: &[],
            args: r#"{"url": "https://192.0.2.1/status"}"#,
            reply: r#"{"ok": false, "error": "policy_denied",
                "message": "`192.0.2.1` is not on the open internet, and was not connected to",
                "hint": "name a host of the open internet"}"#,
            leaves: &[],
        },
        Example {
            about: "Only http and https are fetched.",
            files: &[],
            before: &[],
            args: r#"{"url": "file:///etc/hostname"}"#,
            reply: r#"{"ok": false, "error": "invalid_arguments",
                "message": "the scheme `file` is not allowed", "hint": "use http or https"}"#,
            leaves: &[],
        },
    ],
};

impl Tool for HttpFetch {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, _: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        Ok(web_page::plan(&args.url))
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let limits = ctx.terms.limits;
        let room = limits.output_bytes.saturating_sub(ENVELOPE_BYTES);
        let request = FetchRequest {
            method: args.method.unwrap_or(Method::Get).into(),
            headers: args.headers.into_iter().collect(),
            body: args.body,
            time: Duration::from_millis(limits.deadline_ms),
            most_bytes: args.max_bytes.unwrap_or(DEFAULT_BYTES).min(room),
            ..FetchRequest::get(args.url)
        };
        Ok(reply_of(web_page::fetch_accounted(ctx, &request)?, room))
    }
}

/// Returns what fits into a reply. The escapes of JSON can make a text longer.
fn reply_of(fetched: FetchReply, room: usize) -> Reply {
    let FetchReply { url, status, headers, body, is_cut, redirect, .. } = fetched;
    let mut body = String::from_utf8_lossy(&body).into_owned();
    let mut is_cut = is_cut;
    while json_length(&body) > room {
        is_cut = true;
        let excess = json_length(&body) - room;
        let keep = body.len().saturating_sub(excess.div_ceil(6).max(1));
        body.truncate(body.floor_char_boundary(keep));
    }
    let mut left = MAX_HEADER_BYTES;
    let mut kept = BTreeMap::<String, String>::new();
    for (name, value) in headers {
        let Some(rest) = left.checked_sub(json_length(&name) + json_length(&value)) else { break };
        left = rest;
        let values = kept.entry(name).or_default();
        if !values.is_empty() {
            values.push_str(", ");
        }
        values.push_str(&value);
    }
    Reply { url, status, headers: kept, body, truncated: is_cut.then_some(true), redirect }
}

fn json_length(text: &str) -> usize {
    serde_json::to_string(text).map_or(usize::MAX, |json| json.len())
}

impl From<Method> for FetchMethod {
    fn from(method: Method) -> Self {
        match method {
            Method::Get => Self::Get,
            Method::Head => Self::Head,
            Method::Post => Self::Post,
            Method::Put => Self::Put,
            Method::Patch => Self::Patch,
            Method::Delete => Self::Delete,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_cut_to_its_room() {
        let fetched = |body: &str| FetchReply {
            url: "https://a.example/".to_owned(),
            status: 200,
            headers: vec![
                ("set-cookie".to_owned(), "a".to_owned()),
                ("set-cookie".to_owned(), "b".to_owned()),
                ("x-long".to_owned(), "x".repeat(5000)),
            ],
            body: body.as_bytes().to_vec(),
            ..FetchReply::default()
        };
        let whole = reply_of(fetched("hello"), 100);
        assert_eq!((whole.body.as_str(), whole.truncated), ("hello", None));
        assert_eq!(whole.headers.len(), 1, "what is too long is left out");
        assert_eq!(whole.headers["set-cookie"], "a, b");
        let cut = reply_of(fetched(&"\u{1}é".repeat(1000)), 100);
        assert_eq!(cut.truncated, Some(true));
        assert!(json_length(&cut.body) <= 100 && cut.body.len() > 10, "{}", cut.body.len());
    }
}
