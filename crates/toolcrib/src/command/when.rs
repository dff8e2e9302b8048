//! Moments as people write them: how long ago, or when.

use jiff::civil;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Reads `15m`, `2h`, `3d` (ago), a date, or a date with a time; without a zone it is UTC, as in the record.
pub(super) fn moment(text: &str, now: Timestamp) -> Result<Timestamp, String> {
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
        return then.ok_or_else(|| format!("`{text}` is too long ago"));
    }
    // A date so late that it is no moment any more is the last one.
    let in_utc = |at: civil::DateTime| {
        let moment = at.to_zoned(TimeZone::UTC).map_or(Timestamp::MAX, |at| at.timestamp());
        Ok::<_, jiff::Error>(moment)
    };
    text.parse::<Timestamp>()
        .or_else(|_| text.replace(' ', "T").parse::<civil::DateTime>().and_then(in_utc))
        .or_else(|_| text.parse::<civil::Date>().and_then(|date| in_utc(date.at(0, 0, 0, 0))))
        .map_err(|_| {
            format!(
                "`{text}` is no moment: write 15m, 2h or 3d for how long ago, or 2026-11-04T12:00"
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<&str>) {
        let now = "2026-11-04T12:00:00Z".parse().unwrap();
        let got = moment(text, now).ok().map(|at| at.to_string());
        assert_eq!(got.as_deref(), expect, "{text}");
    }

    #[test]
    fn moments_are_read_as_people_write_them() {
        check("90s", Some("2026-11-04T11:58:30Z"));
        check("2h", Some("2026-11-04T10:00:00Z"));
        check("1w", Some("2026-10-28T12:00:00Z"));
        check("2026-11-01", Some("2026-11-01T00:00:00Z"));
        check("2026-11-01 08:30", Some("2026-11-01T08:30:00Z"));
        check("9999-12-31", Some(&Timestamp::MAX.to_string()));
        check("2026-11-01T08:30:00+02:00", Some("2026-11-01T06:30:00Z"));
        for wrong in
            ["", "h", "2y", "yesterday", "-2h", "99999999999999999999d", "9223372036854775807d"]
        {
            check(wrong, None);
        }
    }
}
