//! One request to a service that the operator has chosen, and what is said when it fails.

use toolcrib_core::net::{FetchReply, FetchRequest, Net};
use toolcrib_core::{Cancel, ErrorKind, Meter, ToolError};
use url::Url;

/// A service, as messages call it.
#[derive(Clone, Copy)]
pub struct ServiceWords {
    /// What it is: `the model`, `the search engine`.
    pub what: &'static str,
    /// The setting that names its URL.
    pub setting: &'static str,
    /// What to do if it refuses the request.
    pub refused: &'static str,
}

/// Sends a request, and accounts it. Returns the reply of a service that could answer.
pub fn ask(
    net: &dyn Net,
    request: &FetchRequest,
    words: ServiceWords,
    (meter, cancel): (&Meter, &Cancel),
) -> Result<FetchReply, ToolError> {
    let host = host_of(&request.url);
    let ServiceWords { what, setting, refused } = words;
    let outcome = net.fetch(request, cancel);
    request.traffic(&outcome).into_iter().for_each(|traffic| meter.add_traffic(traffic));
    let reply = outcome.map_err(|err| {
        let err =
            ToolError { message: format!("{what} at `{host}` failed: {}", err.message), ..err };
        if err.hint.is_some() { err } else { err.hint(format!("check `{setting}`")) }
    })?;
    let hint = match reply.status {
        200..=299 if reply.is_cut => {
            let message = format!("the answer of {what} at `{host}` is too long");
            return Err(ToolError::new(ErrorKind::TooLarge, message));
        }
        200..=299 => return Ok(reply),
        301..=399 => format!("it leads elsewhere; check `{setting}`"),
        401 | 403 => refused.to_owned(),
        404 => format!("check `{setting}`"),
        429 => "it has had too many requests; try again later".to_owned(),
        _ => "try again later".to_owned(),
    };
    let said = said(&reply.body).map(|said| format!(": {said}")).unwrap_or_default();
    let message = format!("{what} at `{host}` answered {}{said}", reply.status);
    let err = ToolError::new(ErrorKind::Io, message).with("status", reply.status).hint(hint);
    let seconds = reply.header("retry-after").and_then(|it| it.trim().parse::<u64>().ok());
    Err(match seconds {
        Some(seconds) => err.with("retry_after_seconds", seconds),
        None => err,
    })
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
pub fn host_of(url: &str) -> String {
    let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers every request with this status.
    struct Answering(u16);

    impl Net for Answering {
        fn fetch(&self, request: &FetchRequest, _: &Cancel) -> Result<FetchReply, ToolError> {
            if self.0 == 0 {
                return Err(ToolError::new(ErrorKind::Timeout, "it is too late"));
            }
            let (url, encoded_bytes) = (request.url.clone(), 9);
            Ok(FetchReply {
                url,
                status: self.0,
                attempts: 1,
                encoded_bytes,
                ..FetchReply::default()
            })
        }
    }

    #[test]
    fn an_answer_is_accounted_whether_it_is_an_error_or_not() {
        let words =
            ServiceWords { what: "the model", setting: "model.url", refused: "check the key" };
        for (status, expected) in
            [(200, (1, 9, 0)), (500, (1, 9, 0)), (301, (1, 9, 0)), (0, (0, 0, 1))]
        {
            let meter = Meter::default();
            let request = FetchRequest::get("https://a.example/x");
            let asked = ask(&Answering(status), &request, words, (&meter, &Cancel::default()));
            assert_eq!(asked.is_ok(), status == 200);
            let account = meter.network().unwrap();
            let [host] = account.hosts.as_slice() else { panic!("{account:?}") };
            assert_eq!(host.host, "a.example");
            assert_eq!((host.connections, host.bytes_down, host.refused), expected, "{status}");
        }
    }
}
