//! The `SQLite` database of the statistics: opened, migrated to the newest schema, or replaced if it is broken.

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use crate::figures::rows::check_content;
use crate::figures::stats_error::{DATABASE_WAIT, OpenError, StatsError};
use crate::id::new_call_id;
use crate::state::open_append;

/// The steps that make each version of the schema from the one before it. Steps are added and never changed.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE folded (segment TEXT PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE open_calls (call TEXT PRIMARY KEY, args TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE tools (
        tool TEXT PRIMARY KEY, epoch INTEGER NOT NULL, reset_hour INTEGER NOT NULL,
        errors TEXT NOT NULL, calls INTEGER NOT NULL, violations TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE amounts (
        tool TEXT NOT NULL, what TEXT NOT NULL, total INTEGER NOT NULL, most INTEGER NOT NULL,
        sketch BLOB NOT NULL, PRIMARY KEY (tool, what)
    ) WITHOUT ROWID;
    CREATE TABLE hours (
        tool TEXT NOT NULL, version TEXT NOT NULL, epoch INTEGER NOT NULL, hour INTEGER NOT NULL,
        calls INTEGER NOT NULL, errors INTEGER NOT NULL, refused INTEGER NOT NULL,
        sum_us INTEGER NOT NULL, squares BLOB NOT NULL, latency BLOB NOT NULL, last INTEGER NOT NULL,
        PRIMARY KEY (tool, version, epoch, hour)
    ) WITHOUT ROWID;
",
    "ALTER TABLE tools ADD COLUMN network TEXT NOT NULL DEFAULT '{}';",
    "
    CREATE TABLE activity (
        tool TEXT NOT NULL, hour INTEGER NOT NULL, is_detailed INTEGER NOT NULL,
        counts BLOB NOT NULL, durations BLOB NOT NULL, PRIMARY KEY (tool, hour)
    ) WITHOUT ROWID;
    CREATE TABLE histories (
        tool TEXT PRIMARY KEY, last_error TEXT NOT NULL, versions TEXT NOT NULL,
        callers TEXT NOT NULL, errors TEXT NOT NULL
    ) WITHOUT ROWID;
    ALTER TABLE open_calls ADD COLUMN principal TEXT NOT NULL DEFAULT '';
    ALTER TABLE open_calls ADD COLUMN door TEXT NOT NULL DEFAULT '';
",
];

/// The tables that the newest schema has.
pub(crate) const TABLES: [&str; 7] =
    ["folded", "open_calls", "tools", "amounts", "hours", "activity", "histories"];

/// Renames a broken database, so that a new one can be made. Returns a warning about it.
pub(crate) fn move_away(path: &Path, why: &str) -> io::Result<String> {
    let broken = path.with_extension(format!("broken-{}", new_call_id()));
    fs::rename(path, &broken)?;
    for suffix in ["-wal", "-shm"] {
        let mut name = path.to_path_buf().into_os_string();
        name.push(suffix);
        let _ = fs::remove_file(PathBuf::from(name));
    }
    Ok(format!(
        "the statistics were broken ({why}): they were moved to `{}` and rebuilt from the record",
        broken.display()
    ))
}

/// Opens the database at `path`, and makes it if necessary.
pub(crate) fn connect(path: &Path) -> Result<Connection, OpenError> {
    make_file(path).map_err(|err| OpenError::NotWritable(format!("`{}` {err}", path.display())))?;
    let database = Connection::open(path)?;
    database.busy_timeout(DATABASE_WAIT)?;
    use_write_ahead_log(&database, path)?;
    database.pragma_update(None, "synchronous", "NORMAL")?;
    let state: String = database.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if state != "ok" {
        return Err(OpenError::Broken(state));
    }
    let database = migrate(database)?;
    check_content(&database)?;
    Ok(database)
}

/// Makes the file if it is missing: `SQLite` would let others read it. An existing file is not opened here, because
/// closing it would release the locks that other connections of this process have on it.
fn make_file(path: &Path) -> io::Result<()> {
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => return Ok(()),
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
        Err(err) => return Err(err),
    }
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    Ok(rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?)
}

/// Switches the database to a write-ahead log. Two connections that switch at the same time fail at once, whatever
/// time they were given to wait, so one at a time does.
fn use_write_ahead_log(database: &Connection, path: &Path) -> Result<(), OpenError> {
    let mode: String = database.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    let lock = open_append(&path.with_extension("wal-lock"))
        .and_then(|lock| lock.lock().map(|()| lock))
        .map_err(|err| OpenError::NotWritable(err.to_string()))?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    drop(lock);
    Ok(())
}

/// Opens an empty database in memory.
pub(crate) fn connect_in_memory() -> Result<Connection, StatsError> {
    let database = Connection::open_in_memory()?;
    Ok(migrate(database)?)
}

fn migrate(mut database: Connection) -> Result<Connection, OpenError> {
    let version: i64 = database.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let done = usize::try_from(version)
        .map_err(|_| OpenError::Broken(format!("its schema has the number {version}")))?;
    if done > MIGRATIONS.len() {
        return Err(OpenError::LaterVersion(version));
    }
    if done < MIGRATIONS.len() {
        let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have migrated it meanwhile.
        let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        for step in &MIGRATIONS[usize::try_from(version).unwrap_or(0)..] {
            transaction.execute_batch(step).map_err(OpenError::of_content)?;
        }
        transaction.pragma_update(
            None,
            "user_version",
            i64::try_from(MIGRATIONS.len()).unwrap_or(0),
        )?;
        transaction.commit()?;
    }
    for table in TABLES {
        if !database.table_exists(None, table)? {
            return Err(OpenError::Broken(format!("it has no table `{table}`")));
        }
    }
    Ok(database)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::rows::load_tool;

    #[test]
    fn a_database_of_the_first_version_is_kept_and_has_no_traffic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats.db");
        let database = Connection::open(&path).unwrap();
        database.execute_batch(MIGRATIONS[0]).unwrap();
        database.pragma_update(None, "user_version", 1).unwrap();
        let errors = serde_json::to_string(&crate::ErrorFigures::default()).unwrap();
        let sql = "INSERT INTO tools VALUES ('clemini/bash', 0, 0, ?, 7, '{}')";
        database.execute(sql, [errors]).unwrap();
        drop(database);
        let database = connect(&path).map_err(|_| "it does not open").unwrap();
        let figures = load_tool(&database, &"clemini/bash".into()).unwrap().unwrap();
        assert_eq!((figures.resources.calls, figures.resources.network.connections), (7, 0));
    }
}
