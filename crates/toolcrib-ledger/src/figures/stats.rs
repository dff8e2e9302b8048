//! The statistics: the figures of every tool, folded from the record and kept in `SQLite`. The record is the truth;
//! the statistics can be deleted and folded again.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use jiff::Timestamp;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use toolcrib_core::{Recorder, ToolName};

use crate::figures::activity_rows::{load_open_calls, save_activity, save_open_calls};
use crate::figures::database::{TABLES, connect, connect_in_memory, move_away};
use crate::figures::fold::{Fold, Hour, HourKey, ToolFigures};
use crate::figures::rows::{
    NEWEST_LINE, StoredFigures, folded_bytes, load_tool, newest_line, read_hour, save_folded,
    save_hour, save_tool,
};
use crate::figures::stats_error::{OpenError, StatsError};
use crate::record::chain::SigningKey;
use crate::record::head::{HeadState, read_head};
use crate::record::reader::{LoadedSegment, RecordReader};
use crate::record::retention::{RetentionReport, RetentionRules, apply_retention};
use crate::record::segment::RecordSegment;
use crate::state::{StateFolder, open_append};

/// The statistics of all tools.
pub struct Stats {
    state: StateFolder,
    pub(crate) database: Connection,
    /// The device and the number of the file; nothing if the figures are in memory.
    file: Option<(u64, u64)>,
    /// Warnings about how the statistics were opened.
    pub warnings: Vec<String>,
}

impl Stats {
    /// Opens the statistics in `state`. A broken file is moved away and rebuilt from the record.
    pub fn open(state: &StateFolder) -> Result<Self, StatsError> {
        let path = state.folder().join("stats.db");
        let mut warnings = Vec::new();
        let mut file = Some(());
        let database = match connect(&path) {
            Ok(database) => database,
            Err(OpenError::Broken(_)) => {
                // One process at a time repairs the file; the second one finds it repaired.
                let lock = open_append(&state.folder().join("stats.lock"))?;
                lock.lock()?;
                match connect(&path) {
                    Ok(database) => database,
                    Err(OpenError::Broken(why)) => {
                        warnings.push(move_away(&path, &why)?);
                        connect(&path)?
                    }
                    Err(err) => return Err(err.into()),
                }
            }
            Err(OpenError::NotWritable(why)) => {
                warnings.push(format!(
                    "the statistics cannot be saved ({why}): this time they are computed from the record in memory"
                ));
                file = None;
                connect_in_memory()?
            }
            Err(err) => return Err(err.into()),
        };
        let file = file.and_then(|()| file_of(&path));
        Ok(Self { state: state.clone(), database, file, warnings })
    }

    /// Whether these are still the statistics of the state folder: another process moves a broken file away.
    pub fn is_in_place(&self) -> bool {
        self.file.is_none() || self.file == file_of(&self.state.folder().join("stats.db"))
    }

    /// Returns the name of every tool that was ever called.
    pub fn called_tools(&self) -> Result<Vec<ToolName>, StatsError> {
        let mut statement =
            self.database.prepare_cached("SELECT tool FROM histories ORDER BY tool")?;
        let names = statement.query_map([], |row| row.get::<_, String>(0))?;
        names.map(|name| Ok(name?.into())).collect()
    }

    /// Returns how many bytes of the record are not folded yet.
    pub fn unfolded_bytes(&self) -> Result<u64, StatsError> {
        let record = RecordReader::open(&self.state)?;
        let mut bytes = 0;
        for segment in record.segments() {
            // A damaged segment is reported when it is read.
            let Ok(size) = record.size(*segment) else { continue };
            bytes += size.saturating_sub(folded_bytes(&self.database, *segment)?);
        }
        Ok(bytes)
    }

    /// Folds what was written since the last fold. Returns how many lines were folded.
    pub fn fold(&mut self) -> Result<u64, StatsError> {
        if self.is_of_another_record()? {
            self.warnings.push(
                "the record is new, or was replaced by an older one, so the statistics were rebuilt from it"
                    .to_owned(),
            );
            return self.rebuild();
        }
        let transaction =
            self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let lines = fold_record(&transaction, &self.state)?;
        transaction.commit()?;
        Ok(lines)
    }

    /// Returns whether lines were folded that the record does not have, because it is another record now.
    fn is_of_another_record(&self) -> Result<bool, StatsError> {
        let newest = newest_line(&self.database)?;
        let key = SigningKey::read(&self.state.record_key())?;
        let read_end = |key| read_head(&self.state.record_folder(), &key);
        Ok(match key.map_or(Ok(HeadState::Empty), read_end)? {
            HeadState::Signed(head) if newest <= head.seq => false,
            // The process that wrote the last lines may have died before it wrote the head. The lines are there.
            HeadState::Signed(head) => {
                let record = RecordReader::open(&self.state)?;
                let mut last = head.seq;
                for segment in record.segments().iter().filter(|it| **it >= head.segment) {
                    let Some(loaded) = record.load_if_readable(*segment)? else { continue };
                    let numbers = loaded.pieces().filter_map(|piece| loaded.line_number(piece));
                    last = numbers.max().unwrap_or(0).max(last);
                }
                newest > last
            }
            HeadState::Empty => newest > 0 && !self.state.record_key().exists(),
            HeadState::Unsigned | HeadState::LaterVersion => false,
        })
    }

    /// Deletes all figures and folds the record again. Returns how many lines were folded.
    pub fn rebuild(&mut self) -> Result<u64, StatsError> {
        let transaction =
            self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for table in TABLES {
            transaction.execute(&format!("DELETE FROM {table}"), [])?;
        }
        let lines = fold_record(&transaction, &self.state)?;
        transaction.commit()?;
        Ok(lines)
    }

    /// Packs the segments of the record that are folded, and removes those that are older than `keep_days`.
    pub fn apply_retention(
        &self,
        recorder: &dyn Recorder,
        now: Timestamp,
        keep_days: u64,
    ) -> Result<RetentionReport, StatsError> {
        let record = RecordReader::open(&self.state)?;
        let is_folded = |segment: RecordSegment| {
            let size = record.size(segment).unwrap_or(u64::MAX);
            folded_bytes(&self.database, segment).is_ok_and(|folded| folded >= size)
        };
        let rules = RetentionRules { now, keep_days, is_folded: &is_folded };
        Ok(apply_retention(&self.state, recorder, &rules)?)
    }

    /// Returns every tool that was ever called, by name.
    pub fn tools(&self) -> Result<Vec<(ToolName, ToolFigures)>, StatsError> {
        let mut statement = self.database.prepare("SELECT tool FROM tools ORDER BY tool")?;
        let names = statement.query_map([], |row| row.get::<_, String>(0))?;
        let mut tools = Vec::new();
        for name in names {
            let name = ToolName::from(name?);
            let figures = load_tool(&self.database, &name)?.unwrap_or_default();
            tools.push((name, figures));
        }
        Ok(tools)
    }

    /// Returns the hours of all tools from the hour `since` on, in order.
    pub fn hours(&self, since: i64) -> Result<Vec<(HourKey, Hour)>, StatsError> {
        let mut statement = self.database.prepare(
            "SELECT tool, version, epoch, hour, calls, errors, refused, sum_us, squares, latency, last
             FROM hours WHERE hour >= ? ORDER BY tool, hour, epoch, version",
        )?;
        let rows = statement.query_map([since], |row| {
            let key = HourKey {
                tool: row.get::<_, String>(0)?.into(),
                version: row.get(1)?,
                epoch: row.get::<_, i64>(2)?.cast_unsigned(),
                hour: row.get(3)?,
            };
            Ok((key, read_hour(row, 4)?))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn file_of(path: &Path) -> Option<(u64, u64)> {
    let file = fs::metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

/// Folds the lines of the record that are not folded yet. Returns how many there were.
fn fold_record(transaction: &Transaction<'_>, state: &StateFolder) -> Result<u64, StatsError> {
    let stored = StoredFigures(transaction);
    let mut fold = Fold::new(&stored, load_open_calls(transaction)?);
    let mut progress = FoldProgress { lines: 0, newest: newest_line(transaction)? };
    let record = RecordReader::open(state)?;
    for segment in record.segments() {
        let before = folded_bytes(transaction, *segment)?;
        let mut done = before;
        // The size of a packed segment comes from its last bytes, and they can be wrong.
        while done == 0 || !record.size(*segment).is_ok_and(|size| size <= done) {
            let Some(part) = record.load_part(*segment, done)? else { break };
            let whole = progress.fold_part(&mut fold, &part);
            done += whole;
            if whole == 0 {
                // A line that is not whole yet is left for the next fold. In a segment that nobody writes to any
                // more, it will never be whole.
                let is_last = record.segments().last() == Some(segment);
                done += if is_last { 0 } else { part.bytes.len() as u64 };
                break;
            }
        }
        if done > before {
            save_folded(transaction, &segment.to_string(), done)?;
        }
    }
    save_folded(transaction, NEWEST_LINE, progress.newest)?;
    save_figures(transaction, fold)?;
    Ok(progress.lines)
}

/// How far a fold has come.
struct FoldProgress {
    /// How many lines were folded.
    lines: u64,
    /// The number of the last folded line.
    newest: u64,
}

impl FoldProgress {
    /// Folds the lines of a part of a segment. Returns how many bytes the whole lines are.
    fn fold_part(&mut self, fold: &mut Fold<'_>, part: &LoadedSegment) -> u64 {
        let whole = memchr::memrchr(b'\n', &part.bytes).map_or(0, |end| end + 1);
        for piece in part.bytes[..whole].split_inclusive(|byte| *byte == b'\n') {
            // A line with a number that was folded before is a copy that somebody put there.
            if let Some(number) = part.line_number(piece).filter(|it| *it > self.newest) {
                fold.add_line(&piece[..piece.len() - 1]);
                self.newest = number;
                self.lines += 1;
            }
        }
        whole as u64
    }
}

/// Saves everything that a fold changed.
fn save_figures(transaction: &Transaction<'_>, fold: Fold<'_>) -> Result<(), StatsError> {
    let Fold { tools, hours, activity, open, .. } = fold;
    for (name, figures) in &tools {
        save_tool(transaction, name, figures)?;
    }
    for (key, hour) in &hours {
        save_hour(transaction, key, hour)?;
    }
    save_activity(transaction, activity)?;
    save_open_calls(transaction, open)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_core::command::{End, HostTraffic, NetworkAccount};
    use toolcrib_core::{
        CallId, Caller, Durability, Effect, Event, Moment, Note, SessionId, Usage,
    };

    use super::*;
    use crate::figures::fold::NetworkFigures;
    use crate::record::call_filter::CallFilter;
    use crate::record::call_search::find_calls;
    use crate::record::event_kind::{Act, EventKind};
    use crate::record::redact::Redactor;
    use crate::record::writer::{Previews, RecordWriter};

    #[test]
    fn a_database_that_another_holds_is_not_waited_for_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let mut stats = Stats::open(&state).unwrap();
        stats.database.busy_timeout(std::time::Duration::from_millis(20)).unwrap();
        let other = Connection::open(state.folder().join("stats.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let refused = stats.fold().err().unwrap().to_string();
        assert!(refused.contains("another process"), "{refused}");
        other.execute_batch("ROLLBACK").unwrap();
        assert!(stats.fold().is_ok());
    }

    #[test]
    fn a_segment_of_many_parts_is_folded_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let recorder = RecordWriter::new(&state, Previews::On, Redactor::default(), &json!({}));
        let clear = |detail: serde_json::Value| {
            let note = Note {
                at: "2026-11-01T00:59:00Z".parse().unwrap(),
                actor: "system",
                act: Act::Statistics.as_str(),
                event: EventKind::Cleared.as_str(),
                tool: Some(&"clemini/bash".into()),
                call: "",
                detail,
            };
            recorder.note(&note).unwrap();
        };
        // The parts end within lines, and one line is longer than two parts.
        let filler = "abc ".repeat(1000);
        for _ in 0..700 {
            clear(json!({"what": "regression", "filler": filler}));
        }
        clear(json!({"what": "regression", "filler": filler.repeat(600)}));
        clear(json!({"what": "regression"}));
        recorder.flush();
        let mut stats = Stats::open(&state).unwrap();
        let all = stats.fold().unwrap();
        assert_eq!(stats.tools().unwrap()[0].1.epoch, 702);
        clear(json!({"what": "regression"}));
        recorder.flush();
        assert_eq!(stats.fold().unwrap(), 1, "no more than what is new");
        assert_eq!(stats.rebuild().unwrap(), all + 1);
        assert_eq!(stats.tools().unwrap()[0].1.epoch, 703);
    }

    #[test]
    fn many_make_the_database_at_once() {
        for _ in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let state = StateFolder::open(&folder.path().join("state")).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| drop(Stats::open(&state).unwrap()));
                }
            });
        }
    }

    #[test]
    fn traffic_is_added_up_by_tool_also_that_of_tasks() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let recorder = RecordWriter::new(&state, Previews::On, Redactor::default(), &json!({}));
        let (session, tool) = (SessionId("s".to_owned()), "clemini/bash".into());
        let host = |host: &str, bytes_up, refused| HostTraffic {
            host: host.to_owned(),
            connections: 1,
            bytes_up,
            bytes_down: 1000,
            refused,
        };
        let hosts =
            vec![host("a.example", 10, 0), host("ghp_abcdefghijklmnopqrstuvwxyz0123456789", 5, 2)];
        let network = NetworkAccount { hosts };
        let at = "2026-11-01T00:59:00Z".parse().unwrap();
        let record = |id: &str, moment| {
            let id = CallId(id.to_owned());
            let event =
                Event { at, call: &id, session: &session, trace: None, tool: &tool, moment };
            recorder.record(&event, Durability::Written).unwrap();
        };
        let ended = |network| Moment::Ended {
            touched: None,
            network,
            error: None,
            elapsed_us: 1,
            version: Some("a"),
            reply: "{}",
            saved_as: None,
            usage: Usage::default(),
            has_task: false,
            command_end: None,
        };
        let (digest, effect, caller) =
            ("d".to_owned(), Effect::Write, &Caller::at_terminal("user 0"));
        record("01A", Moment::Asked { args: "{}", digest, effect, caller });
        record("01A", ended(Some(&network)));
        record("01B", ended(None));
        let usage = Usage::default();
        let network = Some(&network);
        record(
            "01C",
            Moment::TaskEnded { end: End::Exited(0), elapsed_us: 1, usage, touched: None, network },
        );
        drop(recorder);
        let mut stats = Stats::open(&state).unwrap();
        stats.fold().unwrap();
        let expect = NetworkFigures { connections: 4, bytes_up: 30, bytes_down: 4000, refused: 4 };
        let figures = |stats: &Stats| stats.tools().unwrap()[0].1.resources.network;
        assert_eq!(figures(&stats), expect);
        assert_eq!(figures(&Stats::open(&state).unwrap()), expect, "as they were saved");
        stats.rebuild().unwrap();
        assert_eq!(figures(&stats), expect, "folded again");
        // The name of a host is what a command wrote.
        let wanted = CallFilter { call: Some("01A".to_owned()), ..CallFilter::default() };
        let found = find_calls(&state, &wanted, 10).unwrap();
        let recorded = found[0].entries[1].end.network.as_ref().unwrap();
        let names: Vec<&str> = recorded.hosts.iter().map(|it| it.host.as_str()).collect();
        assert_eq!(names, ["a.example", "[REDACTED]"]);
    }
}
