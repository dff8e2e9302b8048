//! The database that figures are kept in: opened, brought to the newest schema, or set aside.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use super::StatsError;
use crate::state::open_plain;

/// What makes each version of the schema from the one before it. Never changed, only added to.
const MIGRATIONS: &[&str] = &["
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
"];

/// How long a process waits for another that writes.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The tables there must be.
pub(super) const TABLES: [&str; 5] = ["folded", "open_calls", "tools", "amounts", "hours"];

/// Puts a broken file out of the way; returns what there is to say about it.
pub(super) fn set_aside(path: &Path, why: &str) -> std::io::Result<String> {
    let aside = path.with_extension(format!("broken-{}", crate::new_call_id()));
    fs::rename(path, &aside)?;
    for more in ["-wal", "-shm"] {
        let mut name = path.to_path_buf().into_os_string();
        name.push(more);
        let _ = fs::remove_file(PathBuf::from(name));
    }
    Ok(format!(
        "the statistics were broken ({why}): set aside as `{}` and folded again from the record",
        aside.display()
    ))
}

/// Why a file cannot be used.
pub(super) enum Trouble {
    /// It is no database, or one that is damaged.
    Broken(String),
    /// It cannot be written.
    Shut(String),
    /// It was made by a later version of us.
    Later(i64),
    Other(rusqlite::Error),
}

impl Trouble {
    pub(super) fn into_error(self) -> StatsError {
        match self {
            Self::Broken(why) | Self::Shut(why) => {
                StatsError(format!("the statistics cannot be had: {why}"))
            }
            Self::Later(version) => StatsError(format!(
                "the statistics are of schema {version}, which a later version of toolcrib made; use that one, or \
                 remove `stats.db` and run `toolcrib stats rebuild`"
            )),
            Self::Other(err) => err.into(),
        }
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(err: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match err.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Broken(err.to_string())
            }
            Some(
                ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::DiskFull
                | ErrorCode::PermissionDenied
                | ErrorCode::SystemIoFailure,
            ) => Self::Shut(err.to_string()),
            _ => Self::Other(err),
        }
    }
}

pub(super) fn connect(path: &Path) -> Result<Connection, Trouble> {
    use std::os::unix::fs::OpenOptionsExt;
    // Made by us first, so that nobody else can ever read it.
    let mut options = fs::OpenOptions::new();
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    let made = options.custom_flags(flags).open(path);
    made.map_err(|err| Trouble::Shut(err.to_string()))?;
    open_plain(path).map_err(|err| Trouble::Shut(format!("`{}` {err}", path.display())))?;
    let database = Connection::open(path)?;
    database.busy_timeout(PATIENCE)?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "NORMAL")?;
    let state: String = database.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if state != "ok" {
        return Err(Trouble::Broken(state));
    }
    let database = migrate(database)?;
    super::check(&database)?;
    Ok(database)
}

/// What a database says that is whole and not what it should be.
pub(super) fn odd(err: rusqlite::Error) -> Trouble {
    use rusqlite::ErrorCode;
    let is_held = matches!(
        err.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    );
    match Trouble::from(err) {
        Trouble::Other(err) if !is_held => Trouble::Broken(err.to_string()),
        other => other,
    }
}

pub(super) fn in_memory() -> Result<Connection, StatsError> {
    let database = Connection::open_in_memory()?;
    migrate(database).map_err(Trouble::into_error)
}

fn migrate(mut database: Connection) -> Result<Connection, Trouble> {
    let version: i64 = database.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let done = usize::try_from(version)
        .map_err(|_| Trouble::Broken(format!("its schema has the number {version}")))?;
    if done > MIGRATIONS.len() {
        return Err(Trouble::Later(version));
    }
    if done < MIGRATIONS.len() {
        let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        for step in &MIGRATIONS[usize::try_from(version).unwrap_or(0)..] {
            transaction.execute_batch(step).map_err(odd)?;
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
            return Err(Trouble::Broken(format!("it has no table `{table}`")));
        }
    }
    Ok(database)
}
