//! One request to a service that the operator has chosen, and what is said when it fails.

use toolcrib_core::command::HostTraffic;
use toolcrib_core::net::{FetchReply, FetchRequest, Net};
use toolcrib_core::{Cancel, ErrorKind, ToolError};
use url::Url;

/// A service, as messages call it.
#[derive(Clone, Copy)]
pub(super) struct ServiceWords {
    /// What it is: `the model`, `the search engine`.
    pub(super) what: &'static str,
    /// The setting that names its URL.
    pub(super) setting: &'static str,
    /// What to do if it refuses the request.
    pub(super) refused: &'static str,
}

/// Sends a request. Returns the reply of a service that could answer.
pub(super) fn ask(
    net: &dyn Net,
    request: &FetchRequest,
    words: ServiceWords,
    cancel: &Cancel,
) -> Result<(FetchReply, HostTraffic), ToolError> {
    let host = host_of(&request.url);
    let ServiceWords { what, setting, refused } = words;
    let reply = net.fetch(request, cancel).map_err(|err| {
        let err =
            ToolError { message: format!("{what} at `{host}` failed: {}", err.message), ..err };
        if err.hint.is_some() { err } else { err.hint(format!("check `{setting}`")) }
    })?;
    let traffic = HostTraffic {
        host: host.clone(),
        connections: u64::from(reply.attempts),
        bytes_up: (request.body.as_ref().map_or(0, String::len) + request.url.len()) as u64,
        bytes_down: reply.encoded_bytes,
        refused: 0,
    };
    let hint = match reply.status {
        200..=299 if reply.is_cut => {
            let message = format!("the answer of {what} at `{host}` is too long");
            return Err(ToolError::new(ErrorKind::TooLarge, message));
        }
        200..=299 => return Ok((reply, traffic)),
        301..=399 => format!("it leads elsewhere; check `{setting}`"),
        401 | 403 => refused.to_owned(),
        404 => format!("check `{setting}`"),
        429 => "it has had too many requests; try again later".to_owned(),
        _ => "try again later".to_owned(),
    };
    let said = said(&reply.body).map(|said| format!(": {said}")).unwrap_or_default();
    let message = format!("{what} at `{host}` answered {}{said}", reply.status);
    Err(ToolError::new(ErrorKind::Io, message).with("status", reply.status).hint(hint))
}

/// Returns what a service says about an error, if it says it as services usually do.
fn said(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let error = &body["error"];
    let text = error["message"]
        .as_str()
        .or_else(|| error.as_str())
        .or_else(|| body["message"].as_str())?;
    Some(text.chars().take(300).collect())
}

/// Returns the host of a URL; nothing readable of one that has none.
pub(super) fn host_of(url: &str) -> String {
    let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.unwrap_or_default()
}
