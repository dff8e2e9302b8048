//! The activity of tools as the database holds it: a row for each tool and hour, and a row with what is remembered of
//! each tool.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use toolcrib_core::ToolName;

use crate::figures::activity::ActivityHour;
use crate::figures::column::{json_of, unreadable};
use crate::figures::fold::OpenCall;
use crate::figures::fresh_activity::{DETAILED_HOURS, FreshActivity};
use crate::figures::stats_error::StatsError;
use crate::figures::tool_history::{CallerName, ToolHistory};

/// What stands for all tools together, in place of a tool's name.
pub(crate) const ALL_TOOLS: &str = "";

/// How many hours with calls are kept: those of five weeks.
const KEPT_HOURS: usize = 35 * 24;

/// Fails if the activity of all tools, or what is remembered of a tool, cannot be read.
pub(crate) fn check_activity(database: &Connection) -> Result<(), StatsError> {
    let mut statement = database.prepare("SELECT tool FROM histories")?;
    let mut names = statement.query([])?;
    while let Some(row) = names.next()? {
        load_history(database, &row.get::<_, String>(0)?.into())?;
    }
    let mut statement =
        database.prepare("SELECT counts, durations FROM activity WHERE tool = ?")?;
    let mut rows = statement.query([ALL_TOOLS])?;
    while let Some(row) = rows.next()? {
        read_activity(row)?;
    }
    Ok(())
}

/// Loads what is remembered of a tool.
pub(crate) fn load_history(
    database: &Connection,
    name: &ToolName,
) -> Result<Option<ToolHistory>, StatsError> {
    let mut statement = database.prepare_cached(
        "SELECT last_error, versions, callers, errors FROM histories WHERE tool = ?",
    )?;
    let history = statement.query_row([name.as_str()], |row| {
        Ok(ToolHistory {
            last_error: json_of(row, 0, "last_error")?,
            versions: json_of(row, 1, "versions")?,
            callers: json_of(row, 2, "callers")?,
            errors: json_of(row, 3, "errors")?,
        })
    });
    Ok(history.optional()?)
}

fn save_history(
    database: &Connection,
    name: &ToolName,
    history: &ToolHistory,
) -> Result<(), StatsError> {
    let ToolHistory { last_error, versions, callers, errors } = history;
    database.prepare_cached("INSERT OR REPLACE INTO histories VALUES (?, ?, ?, ?, ?)")?.execute(
        params![name.as_str(), json(last_error), json(versions), json(callers), json(errors)],
    )?;
    Ok(())
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// Adds what a fold found to what is stored.
pub(crate) fn save_activity(
    database: &Connection,
    activity: FreshActivity,
) -> Result<(), StatsError> {
    let mut all: BTreeMap<i64, ActivityHour> = BTreeMap::new();
    for fresh in activity.tools.values() {
        for (hour, it) in &fresh.hours {
            all.entry(*hour).or_default().merge(it);
        }
    }
    let mut forgotten = HashSet::new();
    let mut has_new_hour = false;
    for (hour, it) in all {
        let minutes = if let Some((_, minutes)) = load_hour(database, ALL_TOOLS, hour)? {
            minutes
        } else {
            has_new_hour = true;
            Minutes::Kept
        };
        if minutes == Minutes::Forgotten {
            forgotten.insert(hour);
        }
        add_to_hour(database, ALL_TOOLS, hour, it, minutes)?;
    }
    for (name, fresh) in activity.tools {
        save_history(database, &name, &fresh.history)?;
        for (hour, it) in fresh.hours {
            let is_forgotten = forgotten.contains(&hour);
            let minutes = if is_forgotten { Minutes::Forgotten } else { Minutes::Kept };
            add_to_hour(database, name.as_str(), hour, it, minutes)?;
        }
    }
    if has_new_hour { forget_old(database) } else { Ok(()) }
}

/// Whether the minutes of an hour are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Minutes {
    Kept,
    Forgotten,
}

fn load_hour(
    database: &Connection,
    tool: &str,
    hour: i64,
) -> Result<Option<(ActivityHour, Minutes)>, StatsError> {
    let mut statement = database.prepare_cached(
        "SELECT counts, durations, is_detailed FROM activity WHERE tool = ? AND hour = ?",
    )?;
    let found = statement.query_row(params![tool, hour], |row| {
        let minutes = if row.get(2)? { Minutes::Kept } else { Minutes::Forgotten };
        // What cannot be read is counted from here on.
        Ok((read_activity(row).unwrap_or_default(), minutes))
    });
    Ok(found.optional()?)
}

fn add_to_hour(
    database: &Connection,
    tool: &str,
    hour: i64,
    mut it: ActivityHour,
    minutes: Minutes,
) -> Result<(), StatsError> {
    if let Some((stored, _)) = load_hour(database, tool, hour)? {
        it.merge(&stored);
    }
    if minutes == Minutes::Forgotten {
        it.forget_minutes();
    }
    database.prepare_cached("INSERT OR REPLACE INTO activity VALUES (?, ?, ?, ?, ?)")?.execute(
        params![tool, hour, minutes == Minutes::Kept, it.count_bytes(), it.duration_bytes()],
    )?;
    Ok(())
}

/// Forgets the minutes of all but the newest hours, and all of the oldest hours.
fn forget_old(database: &Connection) -> Result<(), StatsError> {
    if let Some(last) = hour_after_newest(database, DETAILED_HOURS)? {
        let mut statement =
            database.prepare("SELECT tool, hour FROM activity WHERE hour <= ? AND is_detailed")?;
        let rows = statement.query_map([last], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let rows: Vec<(String, i64)> = rows.collect::<Result<_, _>>()?;
        for (tool, hour) in rows {
            add_to_hour(database, &tool, hour, ActivityHour::default(), Minutes::Forgotten)?;
        }
    }
    if let Some(last) = hour_after_newest(database, KEPT_HOURS)? {
        database.execute("DELETE FROM activity WHERE hour <= ?", [last])?;
    }
    Ok(())
}

/// Returns the newest hour that is older than the `count` newest ones with calls.
fn hour_after_newest(database: &Connection, count: usize) -> Result<Option<i64>, StatsError> {
    let mut statement = database.prepare_cached(
        "SELECT hour FROM activity WHERE tool = ? ORDER BY hour DESC LIMIT 1 OFFSET ?",
    )?;
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    Ok(statement.query_row(params![ALL_TOOLS, count], |row| row.get(0)).optional()?)
}

/// Reads the columns `counts` and `durations`, which come first.
fn read_activity(row: &Row<'_>) -> rusqlite::Result<ActivityHour> {
    let (counts, durations) = (row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
    ActivityHour::from_bytes(counts, durations).ok_or_else(|| unreadable("activity"))
}

/// Loads the calls that were asked for and have not ended.
pub(crate) fn load_open_calls(
    database: &Connection,
) -> Result<HashMap<String, OpenCall>, StatsError> {
    let mut statement = database.prepare("SELECT call, args, principal, door FROM open_calls")?;
    let calls = statement.query_map([], |row| {
        let args: String = row.get(1)?;
        let (principal, door): (String, String) = (row.get(2)?, row.get(3)?);
        let caller = Rc::new(CallerName::new(&principal, &door));
        Ok((row.get(0)?, OpenCall { args: Some(args).filter(|args| !args.is_empty()), caller }))
    })?;
    Ok(calls.collect::<Result<_, _>>()?)
}

/// Saves the calls that were asked for and have not ended, in place of those that were saved.
pub(crate) fn save_open_calls(
    database: &Connection,
    open: HashMap<String, OpenCall>,
) -> Result<(), StatsError> {
    database.execute("DELETE FROM open_calls", [])?;
    let mut insert = database.prepare("INSERT INTO open_calls VALUES (?, ?, ?, ?)")?;
    for (call, it) in open {
        let args = it.args.unwrap_or_default();
        insert.execute(params![call, args, it.caller.principal, it.caller.door])?;
    }
    Ok(())
}
