//! The rows of the statistics: figures as the database holds them.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;
use toolcrib_core::ToolName;

use crate::figures::activity_rows::{check_activity, load_history};
use crate::figures::column::unreadable;
use crate::figures::fold::{
    Amount, ErrorFigures, FiguresStore, Hour, HourKey, ResourceFigures, ToolFigures,
};
use crate::figures::fresh_activity::HistoryStore;
use crate::figures::histogram::Histogram;
use crate::figures::stats_error::{OpenError, StatsError};
use crate::figures::tool_history::ToolHistory;
use crate::record::segment::RecordSegment;

/// How many hours are checked when a database is opened: as many as any report shows.
const CHECKED_HOURS: i64 = 24 * 35;

/// The row that holds the number of the last folded line.
pub(crate) const NEWEST_LINE: &str = "newest line";

/// Fails if the database holds figures that cannot be read.
pub(crate) fn check_content(database: &Connection) -> Result<(), OpenError> {
    let broken = |err: StatsError| OpenError::Broken(err.to_string());
    let names = |sql: &str| -> Result<Vec<String>, rusqlite::Error> {
        database.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
    };
    for name in names("SELECT tool FROM tools").map_err(OpenError::of_content)? {
        load_tool(database, &name.into()).map_err(broken)?;
    }
    let sql = "SELECT count(*) FROM folded WHERE typeof(size) <> 'integer'
               UNION ALL SELECT count(*) FROM open_calls
               WHERE typeof(call) <> 'text' OR typeof(args) <> 'text'";
    let mut statement = database.prepare(sql).map_err(OpenError::of_content)?;
    let counts = statement.query_map([], |row| row.get::<_, i64>(0));
    for count in counts.map_err(OpenError::of_content)? {
        if count.map_err(OpenError::of_content)? > 0 {
            return Err(OpenError::Broken("a column has values of the wrong type".to_owned()));
        }
    }
    let sql = "SELECT calls, errors, refused, sum_us, squares, latency, last FROM hours
               WHERE hour > (SELECT max(hour) FROM hours) - ?";
    let mut statement = database.prepare(sql).map_err(OpenError::of_content)?;
    let rows = statement.query_map([CHECKED_HOURS], |row| read_hour(row, 0));
    let mut rows = rows.map_err(OpenError::of_content)?;
    rows.try_for_each(|row| row.map(drop)).map_err(OpenError::of_content)?;
    check_activity(database).map_err(broken)
}

/// Returns how many bytes of a segment are folded.
pub(crate) fn folded_bytes(
    database: &Connection,
    segment: RecordSegment,
) -> Result<u64, StatsError> {
    folded_row(database, &segment.to_string())
}

/// Returns the number of the last folded line.
pub(crate) fn newest_line(database: &Connection) -> Result<u64, StatsError> {
    folded_row(database, NEWEST_LINE)
}

fn folded_row(database: &Connection, name: &str) -> Result<u64, StatsError> {
    let size: Option<i64> = database
        .prepare_cached("SELECT size FROM folded WHERE segment = ?")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    Ok(size.unwrap_or(0).cast_unsigned())
}

/// Saves how far a segment is folded, or the number of the last folded line.
pub(crate) fn save_folded(database: &Connection, name: &str, size: u64) -> Result<(), StatsError> {
    let row = params![name, size.cast_signed()];
    database.execute("INSERT OR REPLACE INTO folded VALUES (?, ?)", row)?;
    Ok(())
}

/// The figures as they are in the database.
pub(crate) struct StoredFigures<'a>(pub(crate) &'a Connection);

impl FiguresStore for StoredFigures<'_> {
    fn tool(&self, name: &ToolName) -> Option<ToolFigures> {
        load_tool(self.0, name).ok().flatten()
    }

    fn hour(&self, key: &HourKey) -> Option<Hour> {
        let mut statement = self
            .0
            .prepare_cached(
                "SELECT calls, errors, refused, sum_us, squares, latency, last FROM hours
                 WHERE tool = ? AND version = ? AND epoch = ? AND hour = ?",
            )
            .ok()?;
        let key = params![key.tool.as_str(), key.version, key.epoch.cast_signed(), key.hour];
        statement.query_row(key, |row| read_hour(row, 0)).ok()
    }
}

impl HistoryStore for StoredFigures<'_> {
    fn history(&self, name: &ToolName) -> Option<ToolHistory> {
        load_history(self.0, name).ok().flatten()
    }
}

/// Reads an hour from a row, from the column `from` on.
pub(crate) fn read_hour(row: &rusqlite::Row<'_>, from: usize) -> rusqlite::Result<Hour> {
    let number = |at: usize| row.get::<_, i64>(from + at).map(i64::cast_unsigned);
    let squares: Vec<u8> = row.get(from + 4)?;
    let latency: Vec<u8> = row.get(from + 5)?;
    Ok(Hour {
        calls: number(0)?,
        errors: number(1)?,
        refused: number(2)?,
        sum_us: number(3)?,
        squares: squares.try_into().map(u128::from_be_bytes).map_err(|_| unreadable("squares"))?,
        latency: Histogram::from_bytes(&latency).ok_or_else(|| unreadable("latency"))?,
        last: row.get(from + 6)?,
    })
}

/// Saves an hour.
pub(crate) fn save_hour(
    database: &Connection,
    key: &HourKey,
    hour: &Hour,
) -> Result<(), StatsError> {
    database
        .prepare_cached("INSERT OR REPLACE INTO hours VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?
        .execute(params![
            key.tool.as_str(),
            key.version,
            key.epoch.cast_signed(),
            key.hour,
            hour.calls.cast_signed(),
            hour.errors.cast_signed(),
            hour.refused.cast_signed(),
            hour.sum_us.cast_signed(),
            hour.squares.to_be_bytes(),
            hour.latency.to_bytes(),
            hour.last,
        ])?;
    Ok(())
}

/// Loads the figures of a tool.
pub(crate) fn load_tool(
    database: &Connection,
    name: &ToolName,
) -> Result<Option<ToolFigures>, StatsError> {
    let row = database
        .prepare_cached(
            "SELECT epoch, reset_hour, errors, calls, violations, network FROM tools WHERE tool = ?",
        )?
        .query_row([name.as_str()], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, i64>(1)?,
                row.get::<_, String>(2)?,
                row.get::<_, i64>(3)?,
                row.get::<_, String>(4)?,
                row.get::<_, String>(5)?,
            ))
        })
        .optional()?;
    let Some((epoch, reset_hour, errors, calls, violations, network)) = row else {
        return Ok(None);
    };
    let mut resources = ResourceFigures {
        calls: calls.cast_unsigned(),
        violations: serde_json::from_str(&violations).map_err(|_| unreadable("violations"))?,
        network: serde_json::from_str(&network).map_err(|_| unreadable("network"))?,
        ..ResourceFigures::default()
    };
    let mut statement =
        database.prepare_cached("SELECT what, total, most, sketch FROM amounts WHERE tool = ?")?;
    let mut rows = statement.query([name.as_str()])?;
    while let Some(row) = rows.next()? {
        let amount = Amount {
            total: row.get::<_, i64>(1)?.cast_unsigned(),
            most: row.get::<_, i64>(2)?.cast_unsigned(),
            histogram: Histogram::from_bytes(&row.get::<_, Vec<u8>>(3)?)
                .ok_or_else(|| unreadable("sketch"))?,
        };
        match row.get::<_, String>(0)?.as_str() {
            "cpu" => resources.cpu = amount,
            "memory" => resources.memory = amount,
            "read" => resources.read = amount,
            _ => resources.written = amount,
        }
    }
    let errors: ErrorFigures = serde_json::from_str(&errors).map_err(|_| unreadable("errors"))?;
    Ok(Some(ToolFigures { epoch: epoch.cast_unsigned(), reset_hour, errors, resources }))
}

/// Saves the figures of a tool.
pub(crate) fn save_tool(
    database: &Connection,
    name: &ToolName,
    figures: &ToolFigures,
) -> Result<(), StatsError> {
    let text = |value: Result<Value, serde_json::Error>| value.unwrap_or_default().to_string();
    let ToolFigures { epoch, reset_hour, errors, resources } = figures;
    database.prepare_cached("INSERT OR REPLACE INTO tools VALUES (?, ?, ?, ?, ?, ?, ?)")?.execute(
        params![
            name.as_str(),
            epoch.cast_signed(),
            reset_hour,
            text(serde_json::to_value(errors)),
            resources.calls.cast_signed(),
            text(serde_json::to_value(&resources.violations)),
            text(serde_json::to_value(resources.network)),
        ],
    )?;
    let amounts = [
        ("cpu", &resources.cpu),
        ("memory", &resources.memory),
        ("read", &resources.read),
        ("written", &resources.written),
    ];
    for (what, amount) in amounts {
        database.prepare_cached("INSERT OR REPLACE INTO amounts VALUES (?, ?, ?, ?, ?)")?.execute(
            params![
                name.as_str(),
                what,
                amount.total.cast_signed(),
                amount.most.cast_signed(),
                amount.histogram.to_bytes(),
            ],
        )?;
    }
    Ok(())
}
