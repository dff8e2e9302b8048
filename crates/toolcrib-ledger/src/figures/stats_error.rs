//! Why figures are not available.

use std::fmt;
use std::io;
use std::time::Duration;

/// How long a process waits for another one that writes the statistics.
pub(crate) const DATABASE_WAIT: Duration = Duration::from_secs(5);

/// Why the statistics are not available.
#[derive(Debug)]
pub struct StatsError {
    /// The kind of the failure.
    pub kind: StatsErrorKind,
    /// What happened, in one sentence.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

/// The kinds of [`StatsError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatsErrorKind {
    /// Another process holds the statistics.
    Busy,
    /// A later version of the program made the statistics.
    LaterVersion,
    /// The database cannot be used.
    Database,
    /// The record cannot be read.
    Record,
}

impl fmt::Display for StatsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for StatsError {}

impl From<rusqlite::Error> for StatsError {
    fn from(err: rusqlite::Error) -> Self {
        if err.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) {
            let waited = DATABASE_WAIT.as_secs();
            return Self {
                kind: StatsErrorKind::Busy,
                message: format!("another process has used the statistics for {waited} s"),
                hint: Some("try again later".to_owned()),
            };
        }
        Self::database(&err)
    }
}

impl From<io::Error> for StatsError {
    fn from(err: io::Error) -> Self {
        let message = format!("the record cannot be read: {err}");
        Self { kind: StatsErrorKind::Record, message, hint: None }
    }
}

impl StatsError {
    fn database(why: &dyn fmt::Display) -> Self {
        let message = format!("the statistics cannot be used: {why}");
        Self { kind: StatsErrorKind::Database, message, hint: None }
    }
}

/// Why a file of statistics cannot be used.
pub(crate) enum OpenError {
    /// It is not a database, or it is damaged.
    Broken(String),
    /// It cannot be written.
    NotWritable(String),
    /// A later version of the program made it, with this number of the schema.
    LaterVersion(i64),
    /// Any other error.
    Other(rusqlite::Error),
}

impl OpenError {
    /// Returns the error of an operation that fails only if the content of the database is not what it should be.
    /// A database that another process holds is not broken.
    pub(crate) fn of_content(err: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let is_held = matches!(
            err.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        );
        match Self::from(err) {
            Self::Other(err) if !is_held => Self::Broken(err.to_string()),
            other => other,
        }
    }
}

impl From<OpenError> for StatsError {
    fn from(err: OpenError) -> Self {
        match err {
            OpenError::Broken(why) | OpenError::NotWritable(why) => Self::database(&why),
            OpenError::LaterVersion(version) => Self {
                kind: StatsErrorKind::LaterVersion,
                message: format!(
                    "a later version of toolcrib made the statistics (schema {version})"
                ),
                hint: Some(
                    "use that version, or remove `stats.db` and run `toolcrib stats rebuild`"
                        .to_owned(),
                ),
            },
            OpenError::Other(err) => err.into(),
        }
    }
}

impl From<rusqlite::Error> for OpenError {
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
            ) => Self::NotWritable(err.to_string()),
            _ => Self::Other(err),
        }
    }
}
