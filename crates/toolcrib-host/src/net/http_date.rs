//! Dates as HTTP writes them.

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// Parses a date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) fn parse_date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_a_time_of_day_in_greenwich() {
        let parsed = parse_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(parsed.as_second(), 784_111_777);
        for text in ["", "0", "-1", "tomorrow", "1994-11-06T08:49:37Z"] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }
}
