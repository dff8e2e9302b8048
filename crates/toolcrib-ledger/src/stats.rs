//! The figures of every tool, kept in `SQLite` and folded from the record. The record is the truth: what is here
//! can be thrown away and folded again.

mod open;

use std::collections::HashMap;
use std::fmt;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde_json::Value;
use toolcrib_core::Recorder;

use open::{PATIENCE, TABLES, Trouble, connect, in_memory, odd, set_aside};

use crate::fold::{Amount, ErrorFigures, Fold, Hour, HourKey, ResourceFigures, Shelf, ToolFigures};
use crate::head::Told;
use crate::lines::Record;
use crate::link::Key;
use crate::segment::Segment;
use crate::sketch::Sketch;
use crate::state::{State, open_append};
use crate::tidy::{Tidied, tidy};
use crate::verify::read_end;

/// Why figures cannot be had.
#[derive(Debug)]
pub struct StatsError(pub String);

impl fmt::Display for StatsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StatsError {}

impl From<rusqlite::Error> for StatsError {
    fn from(err: rusqlite::Error) -> Self {
        if err.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) {
            let wait = PATIENCE.as_secs();
            return Self(format!(
                "another process has had the statistics in hand for {wait} s; try again when it is done"
            ));
        }
        Self(format!("the statistics cannot be had: {err}"))
    }
}

impl From<std::io::Error> for StatsError {
    fn from(err: std::io::Error) -> Self {
        Self(format!("the record cannot be read: {err}"))
    }
}

/// The figures.
pub struct Stats {
    state: State,
    database: Connection,
    /// What there is to say about how they were opened.
    pub warnings: Vec<String>,
}

impl Stats {
    /// Opens the figures in `state`. A broken file is set aside and made anew from the record.
    pub fn open(state: &State) -> Result<Self, StatsError> {
        let path = state.folder().join("stats.db");
        let mut warnings = Vec::new();
        let database = match connect(&path) {
            Ok(database) => database,
            Err(Trouble::Broken(_)) => {
                // One at a time, and whoever comes second finds it mended.
                let lock = open_append(&state.folder().join("stats.lock"))?;
                lock.lock()?;
                match connect(&path) {
                    Ok(database) => return Ok(Self { state: state.clone(), database, warnings }),
                    Err(Trouble::Broken(why)) => {
                        let set_aside = set_aside(&path, &why)?;
                        warnings.push(set_aside);
                        connect(&path).map_err(Trouble::into_error)?
                    }
                    Err(trouble) => return Err(trouble.into_error()),
                }
            }
            Err(Trouble::Shut(why)) => {
                warnings.push(format!(
                    "the statistics cannot be kept ({why}): they are folded from the record this once"
                ));
                in_memory()?
            }
            Err(trouble) => return Err(trouble.into_error()),
        };
        Ok(Self { state: state.clone(), database, warnings })
    }

    /// How many bytes of the record are not folded yet.
    pub fn behind(&self) -> Result<u64, StatsError> {
        let record = Record::open(&self.state)?;
        let mut bytes = 0;
        for segment in record.segments() {
            // One that is damaged says so when it is read.
            let Ok(size) = record.size(*segment) else { continue };
            bytes += size.saturating_sub(folded(&self.database, *segment)?);
        }
        Ok(bytes)
    }

    /// Folds what was written since. Returns how many lines that were.
    pub fn fold(&mut self) -> Result<u64, StatsError> {
        if self.is_ahead()? {
            self.warnings.push(
                "the record was begun anew, or is an older one: the statistics were folded again from it".to_owned(),
            );
            return self.rebuild();
        }
        let transaction =
            self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let lines = fold_all(&transaction, &self.state)?;
        transaction.commit()?;
        Ok(lines)
    }

    /// Whether lines were folded that the record does not have: it is another one by now.
    fn is_ahead(&self) -> Result<bool, StatsError> {
        let newest = size_of(&self.database, NEWEST)?;
        let key = Key::read(&self.state.folder().join("record.key"))?;
        let end = key.map_or(Ok(Told::Nothing), |key| read_end(&self.state, &key))?;
        Ok(match end {
            Told::Head(head) if newest <= head.seq => false,
            // Whoever wrote the last lines may have died before it could say so: they are there.
            Told::Head(head) => {
                let record = Record::open(&self.state)?;
                let mut last = head.seq;
                for segment in record.segments().iter().filter(|it| **it >= head.segment) {
                    let Some(page) = record.readable(*segment)? else { continue };
                    let numbers = page.pieces().filter_map(|piece| page.number_of(piece));
                    last = numbers.max().unwrap_or(0).max(last);
                }
                newest > last
            }
            Told::Nothing => newest > 0 && !self.state.folder().join("record.key").exists(),
            Told::Wrong | Told::Later => false,
        })
    }

    /// Throws everything away and folds the record again. Returns how many lines there were.
    pub fn rebuild(&mut self) -> Result<u64, StatsError> {
        let transaction =
            self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for table in TABLES {
            transaction.execute(&format!("DELETE FROM {table}"), [])?;
        }
        let lines = fold_all(&transaction, &self.state)?;
        transaction.commit()?;
        Ok(lines)
    }

    /// Packs files of the record that are folded, and removes those that are older than `keep_days`.
    pub fn tidy(
        &self,
        recorder: &dyn Recorder,
        now: Timestamp,
        keep_days: u64,
    ) -> Result<Tidied, StatsError> {
        let record = Record::open(&self.state)?;
        let is_folded = |segment: Segment| {
            let size = record.size(segment).unwrap_or(u64::MAX);
            folded(&self.database, segment).is_ok_and(|folded| folded >= size)
        };
        Ok(tidy(&self.state, recorder, now, keep_days, &is_folded)?)
    }

    /// Every tool that was ever called, by name.
    pub fn tools(&self) -> Result<Vec<(String, ToolFigures)>, StatsError> {
        let mut statement = self.database.prepare("SELECT tool FROM tools ORDER BY tool")?;
        let names = statement.query_map([], |row| row.get::<_, String>(0))?;
        let mut tools = Vec::new();
        for name in names {
            let name = name?;
            let figures = tool(&self.database, &name)?.unwrap_or_default();
            tools.push((name, figures));
        }
        Ok(tools)
    }

    /// The hours of all tools from one on, in order.
    pub fn hours(&self, since: i64) -> Result<Vec<(HourKey, Hour)>, StatsError> {
        let mut statement = self.database.prepare(
            "SELECT tool, version, epoch, hour, calls, errors, refused, sum_us, squares, latency, last
             FROM hours WHERE hour >= ? ORDER BY tool, hour, epoch, version",
        )?;
        let rows = statement.query_map([since], |row| {
            let key = HourKey {
                tool: row.get(0)?,
                version: row.get(1)?,
                epoch: row.get::<_, i64>(2)?.cast_unsigned(),
                hour: row.get(3)?,
            };
            Ok((key, read_hour(row, 4)?))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// The hours that are looked at when a database is opened: as many as any report shows.
const LOOKED_AT: i64 = 24 * 35;

/// Fails if figures are there that cannot be read.
fn check(database: &Connection) -> Result<(), Trouble> {
    let broken = |err: StatsError| Trouble::Broken(err.0);
    let names = |sql: &str| -> Result<Vec<String>, rusqlite::Error> {
        database.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
    };
    for name in names("SELECT tool FROM tools").map_err(odd)? {
        tool(database, &name).map_err(broken)?;
    }
    let sql = "SELECT count(*) FROM folded WHERE typeof(size) <> 'integer'
               UNION ALL SELECT count(*) FROM open_calls
               WHERE typeof(call) <> 'text' OR typeof(args) <> 'text'";
    let mut statement = database.prepare(sql).map_err(odd)?;
    let counts = statement.query_map([], |row| row.get::<_, i64>(0)).map_err(odd)?;
    for count in counts {
        if count.map_err(odd)? > 0 {
            return Err(Trouble::Broken("a column holds something else".to_owned()));
        }
    }
    let sql = "SELECT calls, errors, refused, sum_us, squares, latency, last FROM hours
               WHERE hour > (SELECT max(hour) FROM hours) - ?";
    let mut statement = database.prepare(sql).map_err(odd)?;
    let rows = statement.query_map([LOOKED_AT], |row| read_hour(row, 0)).map_err(odd)?;
    rows.into_iter().try_for_each(|row| row.map(drop)).map_err(odd)
}

/// Where the number of the last line that was folded is kept.
const NEWEST: &str = "newest line";

fn folded(database: &Connection, segment: Segment) -> Result<u64, StatsError> {
    size_of(database, &segment.to_string())
}

fn size_of(database: &Connection, name: &str) -> Result<u64, StatsError> {
    let size: Option<i64> = database
        .prepare_cached("SELECT size FROM folded WHERE segment = ?")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    Ok(size.unwrap_or(0).cast_unsigned())
}

fn fold_all(transaction: &Transaction<'_>, state: &State) -> Result<u64, StatsError> {
    let open: HashMap<String, String> = transaction
        .prepare("SELECT call, args FROM open_calls")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let shelf = Database(transaction);
    let mut fold = Fold::new(&shelf, open);
    let (mut lines, mut newest) = (0, size_of(transaction, NEWEST)?);
    let record = Record::open(state)?;
    for segment in record.segments() {
        let done = folded(transaction, *segment)?;
        // Of one that is packed, its last bytes say how large it was, and they can be wrong.
        if done > 0 && record.size(*segment).is_ok_and(|size| size <= done) {
            continue;
        }
        let Some(page) = record.readable(*segment)? else { continue };
        let fresh = page.bytes.get(done as usize..).unwrap_or_default();
        // A line that is not whole yet is left for the next time; in a file that nobody writes to any more it is
        // none.
        let is_last = record.segments().last() == Some(segment);
        let whole = memchr::memrchr(b'\n', fresh).map_or(0, |end| end + 1);
        for piece in fresh[..whole].split_inclusive(|byte| *byte == b'\n') {
            // One that is there a second time was put there.
            if let Some(number) = page.number_of(piece).filter(|number| *number > newest) {
                fold.take(&piece[..piece.len() - 1]);
                (newest, lines) = (number, lines + 1);
            }
        }
        let end = if is_last { done + whole as u64 } else { page.bytes.len() as u64 };
        let size = end.cast_signed();
        transaction.execute(
            "INSERT OR REPLACE INTO folded VALUES (?, ?)",
            params![segment.to_string(), size],
        )?;
    }
    transaction.execute(
        "INSERT OR REPLACE INTO folded VALUES (?, ?)",
        params![NEWEST, newest.cast_signed()],
    )?;
    let Fold { tools, hours, open, .. } = fold;
    for (name, figures) in &tools {
        save_tool(transaction, name, figures)?;
    }
    for (key, hour) in &hours {
        save_hour(transaction, key, hour)?;
    }
    transaction.execute("DELETE FROM open_calls", [])?;
    let mut insert = transaction.prepare("INSERT INTO open_calls VALUES (?, ?)")?;
    for (call, args) in open {
        insert.execute([call, args])?;
    }
    Ok(lines)
}

/// The figures as they are in the database.
struct Database<'a>(&'a Connection);

impl Shelf for Database<'_> {
    fn tool(&self, name: &str) -> Option<ToolFigures> {
        tool(self.0, name).ok().flatten()
    }

    fn hour(&self, key: &HourKey) -> Option<Hour> {
        let mut statement = self
            .0
            .prepare_cached(
                "SELECT calls, errors, refused, sum_us, squares, latency, last FROM hours
                 WHERE tool = ? AND version = ? AND epoch = ? AND hour = ?",
            )
            .ok()?;
        let key = params![key.tool, key.version, key.epoch.cast_signed(), key.hour];
        statement.query_row(key, |row| read_hour(row, 0)).ok()
    }
}

fn unreadable(what: &str) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnName(format!("{what}, which cannot be read"))
}

fn read_hour(row: &rusqlite::Row<'_>, from: usize) -> rusqlite::Result<Hour> {
    let number = |at: usize| row.get::<_, i64>(from + at).map(i64::cast_unsigned);
    let squares: Vec<u8> = row.get(from + 4)?;
    let latency: Vec<u8> = row.get(from + 5)?;
    Ok(Hour {
        calls: number(0)?,
        errors: number(1)?,
        refused: number(2)?,
        sum_us: number(3)?,
        squares: squares.try_into().map(u128::from_be_bytes).map_err(|_| unreadable("squares"))?,
        latency: Sketch::from_bytes(&latency).ok_or_else(|| unreadable("latency"))?,
        last: row.get(from + 6)?,
    })
}

fn save_hour(database: &Connection, key: &HourKey, hour: &Hour) -> Result<(), StatsError> {
    database
        .prepare_cached("INSERT OR REPLACE INTO hours VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?
        .execute(params![
            key.tool,
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

fn tool(database: &Connection, name: &str) -> Result<Option<ToolFigures>, StatsError> {
    let row = database
        .prepare_cached(
            "SELECT epoch, reset_hour, errors, calls, violations FROM tools WHERE tool = ?",
        )?
        .query_row([name], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, i64>(1)?,
                row.get::<_, String>(2)?,
                row.get::<_, i64>(3)?,
                row.get::<_, String>(4)?,
            ))
        })
        .optional()?;
    let Some((epoch, reset_hour, errors, calls, violations)) = row else { return Ok(None) };
    let mut resources = ResourceFigures {
        calls: calls.cast_unsigned(),
        violations: serde_json::from_str(&violations).map_err(|_| unreadable("violations"))?,
        ..ResourceFigures::default()
    };
    let mut statement =
        database.prepare_cached("SELECT what, total, most, sketch FROM amounts WHERE tool = ?")?;
    let mut rows = statement.query([name])?;
    while let Some(row) = rows.next()? {
        let amount = Amount {
            total: row.get::<_, i64>(1)?.cast_unsigned(),
            most: row.get::<_, i64>(2)?.cast_unsigned(),
            sketch: Sketch::from_bytes(&row.get::<_, Vec<u8>>(3)?)
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

fn save_tool(database: &Connection, name: &str, figures: &ToolFigures) -> Result<(), StatsError> {
    let text = |value: Result<Value, serde_json::Error>| value.unwrap_or_default().to_string();
    let ToolFigures { epoch, reset_hour, errors, resources } = figures;
    database.prepare_cached("INSERT OR REPLACE INTO tools VALUES (?, ?, ?, ?, ?, ?)")?.execute(
        params![
            name,
            epoch.cast_signed(),
            reset_hour,
            text(serde_json::to_value(errors)),
            resources.calls.cast_signed(),
            text(serde_json::to_value(&resources.violations)),
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
                name,
                what,
                amount.total.cast_signed(),
                amount.most.cast_signed(),
                amount.sketch.to_bytes(),
            ],
        )?;
    }
    Ok(())
}
