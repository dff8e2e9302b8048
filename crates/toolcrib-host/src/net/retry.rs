//! Which requests are sent again, and when: those that only read, if the host says or shows that it may answer later.

use std::time::Duration;

use jiff::Timestamp;
use toolcrib_core::net::FetchMethod;

use super::dial::FailedAttempt;
use super::exchange::RawReply;
use super::http_date::parse_date;

/// The waits before requests are sent again, if the host names none.
const BACKOFF: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// The longest wait that a host can name. The deadline of a fetch is shorter anyway.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// Returns the wait before a request is sent again, after `retries` retries. None if this was its last attempt.
pub(super) fn wait_before_retry(
    method: FetchMethod,
    retries: u32,
    outcome: &Result<RawReply, FailedAttempt>,
) -> Option<Duration> {
    let is_safe = match method {
        FetchMethod::Get | FetchMethod::Head => true,
        FetchMethod::Post | FetchMethod::Put | FetchMethod::Patch | FetchMethod::Delete => false,
    };
    let backoff = BACKOFF.get(retries as usize).copied().filter(|_| is_safe)?;
    match outcome {
        Err(failed) => failed.is_passing.then_some(backoff),
        Ok(reply) => {
            let named = reply.header("retry-after").map(|text| named_wait(text, Timestamp::now()));
            match (reply.status, named) {
                (429 | 502..=504, Some(named)) => named,
                (502..=504, None) => Some(backoff),
                _ => None,
            }
        }
    }
}

/// Returns the wait that `Retry-After` names: seconds, or a date.
fn named_wait(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let wait = if is_number {
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        let left = parse_date(text)?.duration_since(now);
        Duration::try_from(left).unwrap_or_default()
    };
    Some(wait.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_names_a_wait_in_seconds_or_by_a_date() {
        let now = parse_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (text, expected) in [
            ("0", Some(0)),
            (" 120 ", Some(120)),
            ("99999999999999999999999", Some(86_400)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("-1", None),
            ("+1", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(named_wait(text, now), expected.map(Duration::from_secs), "{text}");
        }
    }
}
