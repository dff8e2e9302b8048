//! The windows of time that figures are shown of, and the points that divide them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A window of time that ends now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TimeWindow {
    /// A quarter of an hour.
    #[serde(rename = "15m")]
    QuarterHour,
    /// An hour.
    #[default]
    #[serde(rename = "1h")]
    Hour,
    /// Six hours.
    #[serde(rename = "6h")]
    SixHours,
    /// A day.
    #[serde(rename = "24h")]
    Day,
    /// A week.
    #[serde(rename = "7d")]
    Week,
}

impl TimeWindow {
    /// All windows, from the shortest to the longest.
    pub const ALL: [Self; 5] =
        [Self::QuarterHour, Self::Hour, Self::SixHours, Self::Day, Self::Week];

    /// Returns the spelling in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::QuarterHour => "15m",
            Self::Hour => "1h",
            Self::SixHours => "6h",
            Self::Day => "24h",
            Self::Week => "7d",
        }
    }

    fn minutes(self) -> i64 {
        match self {
            Self::QuarterHour => 15,
            Self::Hour => 60,
            Self::SixHours => 6 * 60,
            Self::Day => 24 * 60,
            Self::Week => 7 * 24 * 60,
        }
    }

    /// Returns the points of a chart: as many as it has room for.
    pub(crate) fn axis(self, now: Timestamp) -> TimeAxis {
        let step = match self {
            Self::QuarterHour | Self::Hour => 1,
            Self::SixHours => 5,
            Self::Day => 15,
            Self::Week => 120,
        };
        self.axis_of(now, step)
    }

    /// Returns the points of a small chart in a row. They divide the time of the large ones.
    pub(crate) fn small_axis(self, now: Timestamp) -> TimeAxis {
        let large = self.axis(now);
        let times = match self {
            Self::QuarterHour => 1,
            Self::Hour => 2,
            Self::SixHours | Self::Week => 3,
            Self::Day => 4_u8,
        };
        let (step, points) = (large.step * i64::from(times), large.points / usize::from(times));
        TimeAxis { step, points, ..large }
    }

    fn axis_of(self, now: Timestamp, step: i64) -> TimeAxis {
        let minute = now.as_second().div_euclid(60);
        let end = (minute.div_euclid(step) + 1) * step;
        let points = usize::try_from(self.minutes() / step).unwrap_or_default();
        TimeAxis { from: end - self.minutes(), step, points }
    }
}

/// Points in time at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeAxis {
    /// The first minute, counted since 1970.
    pub(crate) from: i64,
    /// The minutes of each point.
    pub(crate) step: i64,
    /// How many points there are.
    pub(crate) points: usize,
}

impl TimeAxis {
    /// Returns the minute after the last one.
    pub(crate) fn end(self) -> i64 {
        self.from + self.minutes()
    }

    /// Returns how many minutes it is long.
    fn minutes(self) -> i64 {
        self.step * i64::try_from(self.points).unwrap_or_default()
    }

    /// Returns the point that a minute belongs to.
    pub(crate) fn point_of(self, minute: i64) -> Option<usize> {
        let point = usize::try_from((minute - self.from).div_euclid(self.step)).ok()?;
        Some(point).filter(|point| *point < self.points)
    }

    /// Returns the span of the same length before this one.
    pub(crate) fn before(self) -> Self {
        Self { from: self.from - self.minutes(), ..self }
    }

    /// Returns the first hour, and the last one.
    pub(crate) fn hours(self) -> (i64, i64) {
        (self.from.div_euclid(60), (self.end() - 1).div_euclid(60))
    }

    /// Returns the axis as it is shown.
    pub(crate) fn shown(self) -> Axis {
        Axis { from: minute_start(self.from), step_seconds: self.step * 60, points: self.points }
    }
}

/// Returns the beginning of a minute.
pub(crate) fn minute_start(minute: i64) -> Timestamp {
    Timestamp::from_second(minute.saturating_mul(60)).unwrap_or_default()
}

/// The times that the numbers of a series belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Axis {
    /// Where the first number begins.
    pub from: Timestamp,
    /// How long each number is about, in seconds.
    pub step_seconds: i64,
    /// How many numbers a series has.
    pub points: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_ends_with_the_minute_that_is_now() {
        let now: Timestamp = "2026-11-18T14:02:53Z".parse().unwrap();
        for window in TimeWindow::ALL {
            for axis in [window.axis(now), window.small_axis(now)] {
                let minute = now.as_second().div_euclid(60);
                assert_eq!(axis.end() - axis.from, window.minutes(), "{window:?}");
                assert_eq!(axis.point_of(minute), Some(axis.points - 1), "{window:?}");
                assert_eq!(axis.point_of(axis.from), Some(0));
                assert_eq!((axis.point_of(axis.from - 1), axis.point_of(axis.end())), (None, None));
                assert_eq!(axis.before().end(), axis.from);
            }
            let json = serde_json::to_value(window).unwrap();
            assert_eq!(json, window.as_str());
        }
    }
}
