//! Times as people write them: how long ago, or when.

use std::fmt;

use jiff::civil;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Why a text is not a time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InvalidTime {
    kind: InvalidTimeKind,
    text: String,
}

#[derive(Debug, PartialEq, Eq)]
enum InvalidTimeKind {
    /// The time is before the earliest one that can be expressed.
    TooLongAgo,
    /// The text has no known form.
    UnknownForm,
}

impl fmt::Display for InvalidTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match self.kind {
            InvalidTimeKind::TooLongAgo => write!(f, "invalid time `{text}`: too long ago"),
            InvalidTimeKind::UnknownForm => write!(
                f,
                "invalid time `{text}`: use 15m, 2h, 3d, 1w, today, yesterday or a date such as 2026-11-04T12:00"
            ),
        }
    }
}

impl std::error::Error for InvalidTime {}

/// Parses `15m`, `2h`, `3d` (ago), `today` and `yesterday` (when they began), a date, or a date with a time. A time
/// without a zone is in UTC, as in the record.
pub(super) fn parse_time(text: &str, now: Timestamp) -> Result<Timestamp, InvalidTime> {
    let invalid = |kind| InvalidTime { kind, text: text.to_owned() };
    let unit = |unit: &str| match unit {
        "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        "d" => Some(86_400),
        "w" => Some(604_800),
        _ => None,
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if let (Ok(count), Some(seconds)) = (text[..digits].parse::<i64>(), unit(&text[digits..])) {
        let ago = count.checked_mul(seconds).map(SignedDuration::from_secs);
        let then = ago.and_then(|ago| now.checked_sub(ago).ok());
        return then.ok_or_else(|| invalid(InvalidTimeKind::TooLongAgo));
    }
    let days_ago = match text {
        "today" => Some(0),
        "yesterday" => Some(1),
        _ => None,
    };
    if let Some(days) = days_ago {
        let midnight = now.as_second().div_euclid(86_400) - days;
        return Timestamp::from_second(midnight * 86_400)
            .map_err(|_| invalid(InvalidTimeKind::TooLongAgo));
    }
    // A date later than the last timestamp means the last timestamp.
    let in_utc = |at: civil::DateTime| {
        let time = at.to_zoned(TimeZone::UTC).map_or(Timestamp::MAX, |at| at.timestamp());
        Ok::<_, jiff::Error>(time)
    };
    text.parse::<Timestamp>()
        .or_else(|_| text.replace(' ', "T").parse::<civil::DateTime>().and_then(in_utc))
        .or_else(|_| text.parse::<civil::Date>().and_then(|date| in_utc(date.at(0, 0, 0, 0))))
        .map_err(|_| invalid(InvalidTimeKind::UnknownForm))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<&str>) {
        let now = "2026-11-04T12:00:00Z".parse().unwrap();
        let got = parse_time(text, now).ok().map(|at| at.to_string());
        assert_eq!(got.as_deref(), expect, "{text}");
    }

    #[test]
    fn times_are_parsed_as_people_write_them() {
        check("90s", Some("2026-11-04T11:58:30Z"));
        check("2h", Some("2026-11-04T10:00:00Z"));
        check("1w", Some("2026-10-28T12:00:00Z"));
        check("today", Some("2026-11-04T00:00:00Z"));
        check("yesterday", Some("2026-11-03T00:00:00Z"));
        check("2026-11-01", Some("2026-11-01T00:00:00Z"));
        check("2026-11-01 08:30", Some("2026-11-01T08:30:00Z"));
        check("9999-12-31", Some(&Timestamp::MAX.to_string()));
        check("2026-11-01T08:30:00+02:00", Some("2026-11-01T06:30:00Z"));
        for wrong in
            ["", "h", "2y", "tomorrow", "-2h", "99999999999999999999d", "9223372036854775807d"]
        {
            check(wrong, None);
        }
    }
}
