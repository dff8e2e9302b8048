//! Reads the activity of one tool, or of all together, along the points of a window of time.

use rusqlite::{Connection, params};
use toolcrib_core::ToolName;

use crate::figures::activity::{CallCounts, each_count, each_duration};
use crate::figures::activity_rows::ALL_TOOLS;
use crate::figures::column::unreadable;
use crate::figures::duration_sum::DurationSum;
use crate::figures::stats_error::StatsError;
use crate::figures::time_window::TimeAxis;

/// Whose activity is read.
#[derive(Clone, Copy)]
pub(crate) enum ActivityOf<'a> {
    AllTools,
    Tool(&'a ToolName),
}

/// Adds up the counts of each point of `axis`, and the durations of all of them.
pub(crate) fn read_counts(
    database: &Connection,
    of: ActivityOf<'_>,
    axis: TimeAxis,
    durations: &mut DurationSum,
) -> Result<Vec<CallCounts>, StatsError> {
    let mut points = vec![CallCounts::default(); axis.points];
    each_hour(database, of, axis, |start, counts, bins| {
        each_count(counts, |minute, counts| {
            if let Some(point) = axis.point_of(start + i64::from(minute)) {
                points[point].add(&counts);
            }
        })?;
        let inside = axis.from - start..axis.end() - start;
        each_duration(bins, |minute, bin, count| {
            if inside.contains(&i64::from(minute)) {
                durations.add(bin, count);
            }
        })
    })?;
    Ok(points)
}

/// Returns quantiles of the durations at each point of `axis`, in milliseconds.
pub(crate) fn read_quantiles<const N: usize>(
    database: &Connection,
    of: ActivityOf<'_>,
    axis: TimeAxis,
    shares: [f64; N],
) -> Result<Vec<[Option<f64>; N]>, StatsError> {
    let mut points = vec![[None; N]; axis.points];
    // The rows and what is in them come in the order of time, so one sum is enough for all points.
    let (mut sum, mut current) = (DurationSum::default(), 0);
    let quantiles = |sum: &DurationSum| shares.map(|share| sum.quantile_ms(share));
    each_hour(database, of, axis, |start, _, bins| {
        each_duration(bins, |minute, bin, count| {
            let Some(point) = axis.point_of(start + i64::from(minute)) else { return };
            if point != current {
                points[current] = quantiles(&sum);
                sum.clear();
                current = point;
            }
            sum.add(bin, count);
        })
    })?;
    if let Some(last) = points.get_mut(current) {
        *last = quantiles(&sum);
    }
    Ok(points)
}

/// Calls `take` with each stored hour of `axis`, in order: its first minute, its counts and its durations.
fn each_hour(
    database: &Connection,
    of: ActivityOf<'_>,
    axis: TimeAxis,
    mut take: impl FnMut(i64, &[u8], &[u8]) -> Option<()>,
) -> Result<(), StatsError> {
    let mut statement = database.prepare_cached(
        "SELECT hour, counts, durations FROM activity
         WHERE tool = ? AND hour BETWEEN ? AND ? ORDER BY hour",
    )?;
    let name = match of {
        ActivityOf::AllTools => ALL_TOOLS,
        ActivityOf::Tool(name) => name.as_str(),
    };
    let (first, last) = axis.hours();
    let mut rows = statement.query(params![name, first, last])?;
    while let Some(row) = rows.next()? {
        let (hour, counts) = (row.get::<_, i64>(0)?, row.get_ref(1)?.as_blob());
        let durations = row.get_ref(2)?.as_blob();
        let (Ok(counts), Ok(durations)) = (counts, durations) else {
            return Err(unreadable("activity").into());
        };
        take(hour * 60, counts, durations).ok_or_else(|| unreadable("activity"))?;
    }
    Ok(())
}
