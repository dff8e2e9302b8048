//! Rate limits: what a refusal says about when GitHub will answer again.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use toolcrib_core::net::FetchReply;
use toolcrib_core::{ErrorKind, ToolError};

/// The wait if GitHub names none. Its documentation asks for a minute at least.
const UNNAMED_WAIT: Duration = Duration::from_mins(1);

/// The longest wait that is believed.
const LONGEST_NAMED_WAIT: Duration = Duration::from_hours(24);

/// The wait that a rate limit asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LimitWait {
    pub(super) kind: LimitKind,
    /// When requests are answered again.
    pub(super) until: Timestamp,
    pub(super) wait: Duration,
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitKind {
    /// That of requests in an hour.
    Hourly,
    /// One against many requests in a short time.
    Secondary,
}

impl LimitWait {
    /// Returns the wait that a refusal with this message asks for; nothing if no limit is its reason.
    pub(super) fn of(reply: &FetchReply, message: &str, now: Timestamp) -> Option<Self> {
        if !matches!(reply.status, 403 | 429) {
            return None;
        }
        let number = |name: &str| reply.header(name)?.trim().parse::<i64>().ok();
        // The host's own clock says how long it takes until a moment that the host names.
        let host_now = reply.header("date").and_then(|date| rfc2822::parse(date).ok());
        let host_now = host_now.map_or(now, |date| date.timestamp());
        let (kind, wait) = if let Some(seconds) = number("retry-after") {
            (LimitKind::Secondary, Duration::from_secs(seconds.max(0).cast_unsigned()))
        } else if number("x-ratelimit-remaining") == Some(0) {
            let reset = number("x-ratelimit-reset").and_then(|at| Timestamp::from_second(at).ok());
            let left = reset.map(|reset| reset.duration_since(host_now));
            // The host counts in whole seconds.
            let left = left.map(|left| Duration::try_from(left).unwrap_or_default());
            (LimitKind::Hourly, left.map_or(UNNAMED_WAIT, |left| left + Duration::from_secs(1)))
        } else if reply.status == 429 || message.to_ascii_lowercase().contains("rate limit") {
            (LimitKind::Secondary, UNNAMED_WAIT)
        } else {
            return None;
        };
        let wait = wait.min(LONGEST_NAMED_WAIT);
        let until = now.checked_add(wait).unwrap_or(now);
        Some(Self { kind, until, wait })
    }

    /// Returns the wait that is left of one that began earlier; nothing if it is over.
    pub(super) fn left(self, now: Timestamp) -> Option<Self> {
        let left = Duration::try_from(self.until.duration_since(now)).ok()?;
        (!left.is_zero()).then_some(Self { wait: left, ..self })
    }

    /// Returns the error of a question that has no time for the wait.
    pub(super) fn error(self, host: &str, has_token: TokenUse) -> ToolError {
        let until = self.until.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let limit = match self.kind {
            LimitKind::Hourly => "the rate limit",
            LimitKind::Secondary => "a limit against many requests in a short time",
        };
        let message = format!("{limit} of `{host}` is reached, and it answers again at {until}");
        let hint = match (self.kind, has_token) {
            (LimitKind::Hourly, TokenUse::None) => {
                "set GITHUB_TOKEN for a higher limit, or repeat the call then"
            }
            (LimitKind::Hourly | LimitKind::Secondary, _) => "repeat the call then",
        };
        ToolError::new(ErrorKind::Unavailable, message)
            .hint(hint)
            .with("reason", "rate_limit")
            .with("retry_after_seconds", self.wait.as_millis().div_ceil(1000) as u64)
            .with("retry_at", until)
    }
}

/// Whether requests carry a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenUse {
    Sent,
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, headers: &[(&str, &str)]) -> FetchReply {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        FetchReply { status, headers: headers.collect(), ..FetchReply::default() }
    }

    #[test]
    fn a_refusal_names_its_wait() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let wait = |status: u16, headers: &[(&str, &str)], message: &str| {
            let wait = LimitWait::of(&reply(status, headers), message, now);
            wait.map(|it| (it.kind, it.wait.as_secs()))
        };
        let (hourly, secondary) = (LimitKind::Hourly, LimitKind::Secondary);
        let reset =
            |at: &'static str| vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", at)];
        assert_eq!(wait(403, &reset("1000060"), ""), Some((hourly, 61)));
        assert_eq!(wait(429, &reset("999000"), ""), Some((hourly, 1)));
        assert_eq!(wait(403, &reset("soon"), ""), Some((hourly, 60)));
        assert_eq!(wait(403, &reset("9999999999"), ""), Some((hourly, 86_400)));
        assert_eq!(wait(403, &[("retry-after", "7")], ""), Some((secondary, 7)));
        assert_eq!(wait(429, &[], ""), Some((secondary, 60)));
        assert_eq!(
            wait(403, &[], "You have exceeded a secondary rate limit"),
            Some((secondary, 60))
        );
        assert_eq!(wait(403, &[("x-ratelimit-remaining", "9")], "Forbidden"), None);
        assert_eq!(wait(500, &[("retry-after", "7")], ""), None);
        // The host's clock is an hour ahead of ours.
        let mut headers = reset("1003660");
        headers.push(("date", "Mon, 12 Jan 1970 14:46:40 GMT"));
        assert_eq!(wait(403, &headers, ""), Some((hourly, 61)));
    }
}
