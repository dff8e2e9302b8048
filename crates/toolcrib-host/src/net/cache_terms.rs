//! Whether a reply may be stored, and for how long it answers: what its headers say.

use std::time::Duration;

use jiff::Timestamp;

use super::http_date::parse_date;

/// The longest that a reply answers without asking the host.
const LONGEST_FRESHNESS: Duration = Duration::from_hours(24);

/// Returns how long a reply is fresh. None if it must not be stored, or would never be of use. A reply that is never
/// fresh can be stored if the host can be asked whether it still holds.
pub(super) fn freshness(headers: &[(String, String)], now: Timestamp) -> Option<Duration> {
    let values = |wanted: &'static str| {
        headers.iter().filter(move |(name, _)| name == wanted).map(|(_, value)| value.as_str())
    };
    let varies = values("vary").flat_map(|it| it.split(',')).any(|it| it.trim() == "*");
    if varies || values("set-cookie").next().is_some() {
        return None;
    }
    let (mut max_age, mut must_ask) = (None, false);
    for directive in values("cache-control").flat_map(|it| it.split(',')) {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "no-store" | "private" => return None,
            "no-cache" => must_ask = true,
            "max-age" => {
                let seconds = value.trim().trim_matches('"').parse().unwrap_or(0);
                max_age = Some(max_age.unwrap_or(u64::MAX).min(seconds));
            }
            _ => {}
        }
    }
    let age = values("age").next().and_then(|it| it.trim().parse().ok()).unwrap_or(0);
    let fresh = match (max_age, values("expires").next()) {
        (Some(seconds), _) => Duration::from_secs(seconds.saturating_sub(age)),
        (None, Some(expires)) => {
            let sent = values("date").next().and_then(parse_date).unwrap_or(now);
            let fresh = parse_date(expires).map(|it| it.duration_since(sent));
            let fresh = fresh.and_then(|it| Duration::try_from(it).ok()).unwrap_or_default();
            fresh.saturating_sub(Duration::from_secs(age))
        }
        (None, None) => Duration::ZERO,
    };
    let fresh = if must_ask { Duration::ZERO } else { fresh.min(LONGEST_FRESHNESS) };
    (!fresh.is_zero() || !validators(headers).is_empty()).then_some(fresh)
}

/// Returns the headers with which a host can be asked whether a reply still holds.
pub(super) fn validators(headers: &[(String, String)]) -> Vec<(String, String)> {
    let mut asked = Vec::new();
    for (name, condition) in [("etag", "If-None-Match"), ("last-modified", "If-Modified-Since")] {
        let value = headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.trim());
        let is_plain =
            |it: &&str| !it.is_empty() && it.bytes().all(|it| (0x20..0x7f).contains(&it));
        if let Some(value) = value.filter(is_plain).filter(|it| it.len() <= 1024) {
            asked.push((condition.to_owned(), value.to_owned()));
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_how_long_a_reply_answers() {
        let now = parse_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let (date, later) = ("Sun, 06 Nov 1994 08:00:00 GMT", "Sun, 06 Nov 1994 08:00:30 GMT");
        for (headers, expected) in [
            (&[][..], None),
            (&[("cache-control", "max-age=60")], Some(60)),
            (&[("cache-control", "public, MAX-AGE = \"60\"")], Some(60)),
            (&[("cache-control", "max-age=60, max-age=5")], Some(5)),
            (&[("cache-control", "max-age=60"), ("age", "50")], Some(10)),
            (&[("cache-control", "max-age=60"), ("age", "500")], None),
            (&[("cache-control", "max-age=31536000")], Some(86_400)),
            (&[("cache-control", "max-age=60, no-store")], None),
            (&[("cache-control", "private, max-age=60")], None),
            (&[("cache-control", "private=\"x\", max-age=60")], None),
            (&[("cache-control", "max-age=60"), ("cache-control", "no-store")], None),
            (&[("cache-control", "no-cache, max-age=60")], None),
            (&[("cache-control", "no-cache, max-age=60"), ("etag", "\"a\"")], Some(0)),
            (&[("cache-control", "max-age=x")], None),
            (&[("cache-control", "s-maxage=60")], None),
            (&[("etag", "\"a\"")], Some(0)),
            (&[("last-modified", date)], Some(0)),
            (&[("expires", later), ("date", date)], Some(30)),
            (&[("expires", "0"), ("date", date)], None),
            (&[("expires", date), ("date", later)], None),
            (&[("expires", later), ("cache-control", "max-age=0")], None),
            (&[("cache-control", "max-age=60"), ("vary", "accept, *")], None),
            (&[("cache-control", "max-age=60"), ("vary", "accept")], Some(60)),
            (&[("cache-control", "max-age=60"), ("set-cookie", "a=b")], None),
        ] {
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let owned: Vec<_> = headers.iter().map(owned).collect();
            let expected = expected.map(Duration::from_secs);
            assert_eq!(freshness(&owned, now), expected, "{headers:?}");
        }
    }
}
