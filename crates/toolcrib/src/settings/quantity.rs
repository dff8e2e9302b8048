//! Sizes and times as people write them: `512M`, `4G`, `15m`, `2h`.

use super::setting::Setting;

/// What the number of a setting counts. The end of its name says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A plain number.
    Plain,
    Bytes,
    Seconds,
    Milliseconds,
}

impl Unit {
    /// Returns the unit of a setting.
    pub(super) fn of(setting: &Setting) -> Self {
        match setting.name {
            name if name.ends_with("_bytes") => Self::Bytes,
            name if name.ends_with("_seconds") => Self::Seconds,
            name if name.ends_with("_ms") => Self::Milliseconds,
            _ => Self::Plain,
        }
    }

    /// Returns what a value of the unit must be, for an error.
    pub(crate) fn wanted(self) -> &'static str {
        match self {
            Self::Plain => "a whole number",
            Self::Bytes => "a size, such as 512M, 4G or a number of bytes",
            Self::Seconds => "a time, such as 15m, 2h or a number of seconds",
            Self::Milliseconds => "a time, such as 500ms, 15m, 2h or a number of milliseconds",
        }
    }

    /// Parses a number, or a number with a suffix that the unit knows. A size counts in steps of 1024.
    pub(crate) fn parse(self, text: &str) -> Option<i64> {
        let text = text.trim();
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, suffix) = text.split_at(digits);
        if suffix.is_empty() || number.is_empty() {
            // A plain number may be negative; whether that is valid is for its range to say.
            return text.parse().ok();
        }
        let number: i64 = number.parse().ok()?;
        match self {
            Self::Plain => None,
            Self::Bytes => number.checked_mul(size_factor(suffix)?),
            Self::Milliseconds => number.checked_mul(time_factor_ms(suffix)?),
            Self::Seconds => {
                let ms = number.checked_mul(time_factor_ms(suffix)?)?;
                (ms % 1000 == 0).then_some(ms / 1000)
            }
        }
    }
}

fn size_factor(suffix: &str) -> Option<i64> {
    let suffix = suffix.trim_start().to_ascii_lowercase();
    let letter = suffix.strip_suffix("ib").or(suffix.strip_suffix('b')).unwrap_or(&suffix);
    match letter {
        "" => Some(1),
        "k" => Some(1 << 10),
        "m" => Some(1 << 20),
        "g" => Some(1 << 30),
        "t" => Some(1 << 40),
        _ => None,
    }
}

fn time_factor_ms(suffix: &str) -> Option<i64> {
    match suffix.trim_start() {
        "ms" => Some(1),
        "s" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        "w" => Some(604_800_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(unit: Unit, text: &str, expect: Option<i64>) {
        assert_eq!(unit.parse(text), expect, "{text}");
    }

    #[test]
    fn sizes_and_times_are_read_as_people_write_them() {
        check(Unit::Bytes, "4G", Some(4 << 30));
        check(Unit::Bytes, "512m", Some(512 << 20));
        check(Unit::Bytes, "64 KiB", Some(64 << 10));
        check(Unit::Bytes, "10b", Some(10));
        check(Unit::Bytes, "4294967296", Some(4 << 30));
        check(Unit::Seconds, "15m", Some(900));
        check(Unit::Seconds, "2h", Some(7200));
        check(Unit::Seconds, "3000ms", Some(3));
        check(Unit::Milliseconds, "15m", Some(900_000));
        check(Unit::Milliseconds, "250", Some(250));
        check(Unit::Plain, "-5", Some(-5));
    }

    #[test]
    fn other_suffixes_are_refused() {
        for (unit, text) in [
            (Unit::Bytes, "4X"),
            (Unit::Bytes, "G"),
            (Unit::Bytes, "1.5G"),
            (Unit::Bytes, "9999999999T"),
            (Unit::Bytes, "15m s"),
            (Unit::Seconds, "500ms"),
            (Unit::Seconds, "4G"),
            (Unit::Seconds, ""),
            (Unit::Plain, "4G"),
            (Unit::Plain, "15m"),
        ] {
            check(unit, text, None);
        }
    }
}
