//! Verifies the record: every line follows from the one before it, and the last line is the one the head names.

use std::io;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::record::chain::{ChainLink, LineHash, SigningKey};
use crate::record::entry::RecordEntry;
use crate::record::event_kind::{Act, EventKind};
use crate::record::head::{HEAD, HeadState, names_lines, read_head};
use crate::record::reader::RecordReader;
use crate::record::retention::open_retention_lock;
use crate::record::segment::{RecordSegment, hour_of};
use crate::state::StateFolder;

/// The result of verifying the record.
#[derive(Clone, Debug, Default)]
pub struct VerifyReport {
    /// How many lines follow from the one before them.
    pub lines: u64,
    /// How many segments there are.
    pub files: usize,
    /// The number of the first line.
    pub first: u64,
    /// The number of the last line.
    pub last: u64,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What went wrong once, and was recorded as it should be.
    pub notes: Vec<Problem>,
}

/// A finding about one place in the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The line, counted from 1; `None` for the file as a whole.
    pub line: Option<usize>,
    /// What was found.
    pub what: String,
}

/// How often verification starts over when segments are packed or removed meanwhile.
const VERIFY_TRIES: usize = 5;

/// The pause before verification starts over.
const VERIFY_PAUSE: Duration = Duration::from_millis(200);

/// What a segment that vanishes during verification means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vanished {
    /// Verification has to start over.
    StartOver,
    /// The segment is missing.
    Missing,
}

/// Verifies the whole record.
pub fn verify(state: &StateFolder) -> io::Result<VerifyReport> {
    // Nothing is packed or removed during verification, unless a process is already doing that.
    let lock = open_retention_lock(&state.record_folder());
    let is_locked = lock.as_ref().is_ok_and(|lock| lock.try_lock_shared().is_ok());
    for _ in 1..VERIFY_TRIES {
        match verify_once(state, Vanished::StartOver)? {
            Some(report) if is_locked || report.problems.is_empty() => return Ok(report),
            _ => std::thread::sleep(VERIFY_PAUSE),
        }
    }
    Ok(verify_once(state, Vanished::Missing)?.unwrap_or_default())
}

/// Verifies the whole record. Returns `None` if a segment vanished and `vanished` says to start over.
fn verify_once(state: &StateFolder, vanished: Vanished) -> io::Result<Option<VerifyReport>> {
    let key = SigningKey::read(&state.record_key())?;
    // The head is read first: lines that are written during verification come after it.
    let end = match &key {
        Some(key) => read_head(&state.record_folder(), key)?,
        None => HeadState::Empty,
    };
    let Some(key) = key else { return verify_without_key(state, vanished) };
    let record = RecordReader::open(state)?;
    let mut walk = ChainWalk::new(end, key);
    walk.report.files = record.segments().len();
    for segment in record.segments() {
        let loaded = match record.load(*segment) {
            Ok(loaded) => loaded,
            Err(err)
                if err.kind() == io::ErrorKind::NotFound && vanished == Vanished::StartOver =>
            {
                return Ok(None);
            }
            Err(err) => {
                let what = format!("cannot be read: {err}");
                walk.report.problems.push(Problem { file: segment.to_string(), line: None, what });
                continue;
            }
        };
        walk.is_current = is_written_to(*segment, record.segments(), end);
        for (index, line) in loaded.pieces().enumerate() {
            walk.step(&loaded.name, index + 1, line);
        }
    }
    Ok(Some(walk.finish()))
}

/// Reports on a record without a key: either it has not begun, or nothing of it can be verified.
fn verify_without_key(state: &StateFolder, vanished: Vanished) -> io::Result<Option<VerifyReport>> {
    let segments = RecordSegment::list(&state.record_folder())?;
    // The record may have begun meanwhile.
    if vanished == Vanished::StartOver && SigningKey::read(&state.record_key())?.is_some() {
        return Ok(None);
    }
    let is_new = segments.is_empty() && !names_lines(state)?;
    let what = "is missing: without it, nothing of the record can be checked".to_owned();
    let missing = Problem { file: "record.key".to_owned(), line: None, what };
    let problems = if is_new { Vec::new() } else { vec![missing] };
    Ok(Some(VerifyReport { problems, ..VerifyReport::default() }))
}

/// Returns whether a process may be writing to a segment.
fn is_written_to(segment: RecordSegment, all: &[RecordSegment], end: HeadState) -> bool {
    match end {
        HeadState::Signed(head) => {
            // A process may have begun the next segment and died at its first line.
            let after = all.iter().find(|it| **it > head.segment);
            let is_now = segment.hour <= hour_of(Timestamp::now()) + 1;
            head.segment == segment || after == Some(&segment) && is_now
        }
        _ => all.last() == Some(&segment),
    }
}

/// A walk along the chain, line by line.
struct ChainWalk {
    report: VerifyReport,
    /// The line before.
    last: Option<LastLine>,
    /// Lines that we did not sign, until the next signed line accounts for them.
    unsigned: Vec<UnsignedPiece>,
    /// The number of the last line that was removed because of its age.
    removed: u64,
    end: HeadState,
    key: SigningKey,
    /// Whether a process may be writing to the segment that is walked.
    is_current: bool,
}

/// The last line of the chain so far.
struct LastLine {
    seq: u64,
    hash: LineHash,
    file: String,
    number: usize,
}

/// A line that we did not sign.
struct UnsignedPiece {
    problem: Problem,
    /// How many bytes it has, if it can be a torn line; `None` for a whole JSON object, which nobody tore.
    torn_bytes: Option<u64>,
}

impl ChainWalk {
    fn new(end: HeadState, key: SigningKey) -> Self {
        let report = VerifyReport::default();
        Self { report, last: None, unsigned: Vec::new(), removed: 0, end, key, is_current: false }
    }

    /// Takes the next line.
    fn step(&mut self, file: &str, number: usize, line: &[u8]) {
        let here = |what: String| Problem { file: file.to_owned(), line: Some(number), what };
        let Some(link) = ChainLink::parse(line, &self.key, file) else {
            self.take_unsigned(file, number, line);
            return;
        };
        let entry = RecordEntry::parse(line.strip_suffix(b"\n").unwrap_or(line));
        let entry = entry.filter(|entry| entry.act == Act::Record);
        let changed = self.judge_unsigned(entry.as_ref());
        match &self.last {
            None => {
                self.report.first = link.seq;
                if link.seq == 1 && link.prev != LineHash::FIRST {
                    self.report.problems.push(here("is not the first line".to_owned()));
                }
            }
            Some(last) => {
                let problem = check_order(last, link, changed, here);
                self.report.problems.extend(problem);
            }
        }
        if let Some(entry) = entry {
            self.take_record_event(&entry, here(String::new()));
        }
        self.report.lines += 1;
        self.report.last = link.seq;
        self.last = Some(LastLine { seq: link.seq, hash: link.own, file: file.to_owned(), number });
    }

    /// Takes a line that we did not sign.
    fn take_unsigned(&mut self, file: &str, number: usize, line: &[u8]) {
        let here = |what: &str| {
            let what = what.to_owned();
            Problem { file: file.to_owned(), line: Some(number), what }
        };
        // A line that was torn, or is being written, is not a whole object, whichever way it is parsed.
        let is_whole = line == b"\n"
            || serde_json::from_slice::<Value>(line).is_ok()
            || RecordEntry::parse(line).is_some();
        let is_ours = || ChainLink::parse(&[line, b"\n"].concat(), &self.key, file).is_some();
        if self.is_current && !line.ends_with(b"\n") && (!is_whole || is_ours()) {
            let what = "is incomplete: a process is still writing it, or died while writing it";
            self.report.notes.push(here(what));
            return;
        }
        self.unsigned.push(if is_whole {
            let problem = here("was changed, or was not written by toolcrib");
            UnsignedPiece { problem, torn_bytes: None }
        } else {
            let problem = here("is not a line of the record");
            UnsignedPiece { problem, torn_bytes: Some(line.len() as u64) }
        });
    }

    /// Judges the unsigned lines before a signed one. They are accounted for if the signed line says that so many
    /// bytes were torn. Returns how many are not accounted for.
    fn judge_unsigned(&mut self, entry: Option<&RecordEntry<'_>>) -> u64 {
        let unsigned = std::mem::take(&mut self.unsigned);
        let count = unsigned.len() as u64;
        let torn_bytes: Option<u64> = unsigned.iter().map(|piece| piece.torn_bytes).sum();
        let torn = entry.filter(|entry| entry.event == EventKind::LineTorn);
        let noted = torn.and_then(|entry| entry.detail.as_ref()?["bytes"].as_u64());
        // The line feed after a torn line was written later, and the note does not count it.
        let is_noted = noted
            .zip(torn_bytes)
            .is_some_and(|(noted, torn_bytes)| noted == torn_bytes || noted + 1 == torn_bytes);
        for UnsignedPiece { problem, .. } in unsigned {
            if is_noted {
                let what = "is incomplete because its process died; the next process recorded that";
                self.report.notes.push(Problem { what: what.to_owned(), ..problem });
            } else {
                self.report.problems.push(problem);
            }
        }
        if is_noted { 0 } else { count }
    }

    /// Takes a line about the record itself.
    fn take_record_event(&mut self, entry: &RecordEntry<'_>, here: Problem) {
        let number = |name: &str| entry.detail.as_ref().and_then(|detail| detail[name].as_u64());
        match entry.event {
            EventKind::LinesMissing => {
                let bytes = number("bytes").unwrap_or(0);
                let what = format!(
                    "{bytes} bytes were missing before this line: cut off, or lost in a power cut"
                );
                self.report.problems.push(Problem { what, ..here });
            }
            EventKind::EndNotSigned | EventKind::EndNotKnown => {
                let what = "the record was continued without a signed head: lines before this one may be missing";
                self.report.problems.push(Problem { what: what.to_owned(), ..here });
            }
            EventKind::LinesLost => {
                let lines = number("lines").unwrap_or(0);
                let what = format!("{lines} lines could not be written before this one");
                self.report.notes.push(Problem { what, ..here });
            }
            EventKind::Removed => {
                let upto = number("last").unwrap_or(0);
                self.removed = self.removed.max(upto);
                let what = format!("lines up to {upto} were removed because of their age");
                self.report.notes.push(Problem { what, ..here });
            }
            _ => {}
        }
    }

    fn finish(mut self) -> VerifyReport {
        let changed = self.judge_unsigned(None);
        let first = self.report.first;
        // Lines that were to be removed may still be there.
        if first > self.removed + 1 {
            let what = format!("lines {} to {} are missing", self.removed + 1, first - 1);
            let missing = Problem { file: "the record".to_owned(), line: None, what };
            self.report.problems.insert(0, missing);
        }
        self.report.problems.extend(check_end(self.end, self.last.as_ref(), changed));
        self.report
    }
}

/// Returns the problem with a line that comes after `last`, if there is one. `changed` lines between them are there,
/// but were changed.
fn check_order(
    last: &LastLine,
    link: ChainLink,
    changed: u64,
    here: impl Fn(String) -> Problem,
) -> Option<Problem> {
    let LastLine { seq, hash, file, number } = last;
    if changed > 0 && link.seq == seq + 1 + changed {
        return None;
    }
    if link.seq > seq + 1 {
        let (from, to) = (seq + 1, link.seq - 1);
        return Some(here(format!("lines {from} to {to} are missing before this one")));
    }
    if link.seq <= *seq {
        return Some(here(format!("line {} comes after line {seq}", link.seq)));
    }
    if link.prev != *hash {
        let what =
            format!("line {seq} was replaced: the next line has the hash of a different line");
        return Some(Problem { file: file.clone(), line: Some(*number), what });
    }
    None
}

/// Returns the problem with the end of the record, if there is one. The last `changed` lines are there, but were
/// changed.
fn check_end(end: HeadState, last: Option<&LastLine>, changed: u64) -> Option<Problem> {
    let at_head = |what: String| Some(Problem { file: HEAD.to_owned(), line: None, what });
    match (end, last) {
        (HeadState::Empty, None) => at_head("is missing, and the record has no lines".to_owned()),
        (HeadState::Signed(head), Some(LastLine { seq, hash, file, number })) => {
            let what = if changed > 0 && *seq + changed == head.seq {
                return None;
            } else if *seq < head.seq {
                format!("lines {} to {} are missing: they were cut off", seq + 1, head.seq)
            } else if *seq == head.seq && *hash != head.hash {
                format!("line {seq}, the last one, was replaced")
            } else {
                return None;
            };
            Some(Problem { file: file.clone(), line: Some(*number), what })
        }
        (HeadState::Signed(head), None) if head.seq == 0 => None,
        (HeadState::Signed(head), None) => at_head(format!("all {} lines are missing", head.seq)),
        (HeadState::Unsigned, _) => at_head("was not signed by toolcrib".to_owned()),
        (HeadState::LaterVersion, _) => {
            at_head("was written by a later version of toolcrib".to_owned())
        }
        (HeadState::Empty, Some(_)) => {
            at_head("is missing, so Toolcrib cannot tell where the record ends".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::appender::Appender;
    use crate::record::recorded_settings::RecordedSettings;
    use crate::record::unsigned_line::UnsignedLine;
    use serde_json::json;
    use std::fs;
    use std::path::PathBuf;

    fn about(at: Timestamp, event: &str, detail: Value) -> UnsignedLine {
        UnsignedLine::about_record(at, EventKind::parse(event), detail).unwrap()
    }

    struct Place {
        _folder: tempfile::TempDir,
        state: StateFolder,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let state = StateFolder::open(&folder.path().join("state")).unwrap();
            Self { _folder: folder, state }
        }

        fn appender(&self) -> Appender {
            let settings = RecordedSettings::none();
            let folder = self.state.folder();
            Appender::open(&folder.join("context_log"), &folder.join("record.key"), settings)
                .unwrap()
        }

        fn write(log: &mut Appender, text: &str) {
            let now = "2025-11-04T12:00:00Z".parse().unwrap();
            log.append(now, &[about(now, text, json!({}))]).unwrap();
        }

        fn written(lines: usize) -> Self {
            let place = Self::new();
            let mut log = place.appender();
            for number in 0..lines {
                Place::write(&mut log, &format!("line {number}"));
            }
            place
        }

        fn file(&self) -> PathBuf {
            self.state.folder().join("context_log/ctx-20251104-12.jsonl")
        }

        fn edit(&self, edit: impl FnOnce(&mut Vec<String>)) {
            let text = fs::read_to_string(self.file()).unwrap();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            edit(&mut lines);
            fs::write(self.file(), lines.join("\n") + "\n").unwrap();
        }

        #[track_caller]
        fn check(&self, line: Option<usize>, what: &str) {
            let found = verify(&self.state).unwrap().problems;
            let is_it = |it: &Problem| it.line == line && it.what.contains(what);
            assert!(found.iter().any(is_it), "{line:?} {what}: {found:?}");
        }

        #[track_caller]
        fn has_one_problem(&self) {
            let found = verify(&self.state).unwrap().problems;
            assert_eq!(found.len(), 1, "{found:?}");
        }

        #[track_caller]
        fn is_whole(&self, lines: u64) {
            let found = verify(&self.state).unwrap();
            assert_eq!((found.problems, found.lines), (Vec::new(), lines));
        }
    }

    #[test]
    fn a_record_that_nobody_touched_is_whole() {
        Place::new().is_whole(0);
        Place::written(5).is_whole(5);
    }

    #[test]
    fn what_was_done_to_it_is_found_where_it_was_done() {
        let place = Place::written(6);
        place.edit(|lines| lines[2] = lines[2].replace("line 2", "line X"));
        place.check(Some(3), "was changed");
        place.has_one_problem();

        let place = Place::written(6);
        place.edit(|lines| lines[5] = lines[5].replace("line 5", "line X"));
        place.check(Some(6), "was changed");
        place.has_one_problem();

        let place = Place::written(6);
        place.edit(|lines| drop(lines.drain(1..3)));
        place.check(Some(2), "lines 2 to 3 are missing");

        let place = Place::written(6);
        place.edit(|lines| lines.swap(1, 2));
        place.check(Some(3), "line 2 comes after line 3");

        let place = Place::written(6);
        place.edit(|lines| lines.truncate(4));
        place.check(Some(4), "lines 5 to 6 are missing: they were cut off");

        let place = Place::written(6);
        place.edit(|lines| drop(lines.remove(0)));
        place.check(None, "lines 1 to 1 are missing");

        let place = Place::written(6);
        place.edit(|lines| lines.insert(3, "{\"forged\":true}".to_owned()));
        place.check(Some(4), "was not written by toolcrib");
        place.has_one_problem();

        let place = Place::written(6);
        place.edit(|lines| lines.insert(3, lines[3].clone()));
        place.check(Some(5), "line 4 comes after line 4");

        let place = Place::written(6);
        fs::remove_file(place.file()).unwrap();
        place.check(None, "all 6 lines are missing");
    }

    #[test]
    fn cutting_lines_off_shows_even_if_the_end_is_cut_to_fit() {
        let place = Place::written(6);
        let head = place.state.folder().join("context_log/head");
        place.edit(|lines| lines.truncate(4));
        let forged = fs::read_to_string(&head).unwrap().replace(" 1 6 ", " 1 4 ");
        fs::write(&head, forged).unwrap();
        place.check(None, "was not signed by toolcrib");
        fs::remove_file(&head).unwrap();
        place.check(None, "is missing, so Toolcrib cannot tell where the record ends");
        // Continuing the record does not repair it.
        Place::write(&mut place.appender(), "next");
        place.check(Some(5), "was continued without a signed head");
    }

    #[test]
    fn cutting_lines_off_shows_after_the_record_went_on() {
        let place = Place::written(6);
        place.edit(|lines| lines.truncate(4));
        Place::write(&mut place.appender(), "next");
        place.check(Some(5), "lines 5 to 6 are missing before this one");
        place.check(Some(5), "bytes were missing before this");
    }

    #[test]
    fn processes_tie_their_lines_to_each_others() {
        let place = Place::new();
        let mut logs = [place.appender(), place.appender(), place.appender()];
        for number in 0..30 {
            Place::write(&mut logs[number % 3], "x");
        }
        place.is_whole(30);
    }

    #[test]
    fn the_chain_goes_on_from_file_to_file_while_many_write() {
        let place = Place::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut log = place.appender();
                    log.begin_segment_after(2000);
                    for _ in 0..50 {
                        Place::write(&mut log, "x");
                    }
                });
            }
        });
        let found = verify(&place.state).unwrap();
        assert_eq!((found.problems, found.lines), (Vec::new(), 400));
        assert!(found.files > 20, "{}", found.files);
    }

    #[test]
    fn many_who_begin_a_record_at_once_begin_one() {
        for _ in 0..30 {
            let place = Place::new();
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| Place::write(&mut place.appender(), "x"));
                }
            });
            place.is_whole(8);
        }
    }

    #[test]
    fn a_process_that_died_between_writing_and_saying_so_breaks_nothing() {
        let place = Place::written(3);
        let head = place.state.folder().join("context_log/head");
        let before = fs::read(&head).unwrap();
        Place::write(&mut place.appender(), "unsaid");
        fs::write(&head, before).unwrap();
        Place::write(&mut place.appender(), "next");
        place.is_whole(5);
    }

    #[test]
    fn a_line_that_lacks_only_its_end_is_one() {
        let place = Place::written(3);
        let head = place.state.folder().join("context_log/head");
        let before = fs::read(&head).unwrap();
        Place::write(&mut place.appender(), "torn");
        fs::write(&head, before).unwrap();
        let text = fs::read(place.file()).unwrap();
        fs::write(place.file(), &text[..text.len() - 1]).unwrap();
        Place::write(&mut place.appender(), "next");
        place.is_whole(5);
    }

    #[test]
    fn what_was_to_be_removed_and_is_there_is_no_gap() {
        let place = Place::written(3);
        let now = "2025-11-04T12:00:00Z".parse().unwrap();
        let removed = about(now, "removed", json!({"file": "x", "last": 3}));
        place.appender().append(now, &[removed]).unwrap();
        place.is_whole(4);
        place.edit(|lines| drop(lines.drain(..2)));
        assert!(verify(&place.state).unwrap().problems.is_empty());
        place.edit(|lines| drop(lines.drain(..1)));
        assert!(verify(&place.state).unwrap().problems.is_empty());
    }

    #[test]
    fn a_torn_line_is_noted_and_the_chain_goes_on() {
        use std::io::Write;
        let place = Place::written(3);
        let mut file = fs::OpenOptions::new().append(true).open(place.file()).unwrap();
        file.write_all(b"{\"id\":\"torn").unwrap();
        Place::write(&mut place.appender(), "next");
        let found = verify(&place.state).unwrap();
        assert_eq!((found.problems, found.lines), (Vec::new(), 5));
        assert_eq!(found.notes.len(), 1);
        assert!(found.notes[0].what.contains("incomplete"), "{:?}", found.notes);
    }

    #[test]
    fn what_is_forged_without_the_key_is_found() {
        use std::io::Write;
        let add = |place: &Place, name: &str, text: &str| {
            let path = place.state.folder().join("context_log").join(name);
            let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        // A whole line that the next call could take for a torn one.
        let place = Place::written(3);
        add(
            &place,
            "ctx-20251104-12.jsonl",
            "{\"ts\":\"2025-11-04T12:00:00Z\",\"event\":\"ended\"}\n",
        );
        Place::write(&mut place.appender(), "next");
        place.check(Some(4), "was not written by toolcrib");
        // A text with a line feed that is not a line of the record.
        let place = Place::written(3);
        add(&place, "ctx-20251104-12.jsonl", "hello\n");
        Place::write(&mut place.appender(), "next");
        place.check(Some(4), "is not a line of the record");
        // A line that only some JSON parsers accept.
        let place = Place::written(3);
        let odd = "{\"ts\":\"2025-11-04T12:00:00Z\",\"event\":\"ended\",\"x\":1e999}\n";
        add(&place, "ctx-20251104-12.jsonl", odd);
        Place::write(&mut place.appender(), "next");
        place.check(Some(4), "was not written by toolcrib");
        // A line that follows the last one, made by somebody who has no key but can read the record.
        let place = Place::written(3);
        let text = fs::read_to_string(place.file()).unwrap();
        let own = text.lines().last().unwrap().rsplit('"').nth(1).unwrap();
        let forged = format!(
            "{{\"act\":\"record\",\"event\":\"removed\",\"seq\":4,\"prev\":\"{own}\",\"sign\":\"{own}\"}}\n"
        );
        add(&place, "ctx-20251104-12.jsonl", &forged);
        place.check(Some(4), "was not written by toolcrib");
        Place::write(&mut place.appender(), "next");
        place.check(Some(4), "was not written by toolcrib");
        // The last line, with a head from before it.
        let place = Place::written(3);
        let head = place.state.folder().join("context_log/head");
        let before = fs::read(&head).unwrap();
        Place::write(&mut place.appender(), "last");
        fs::write(&head, before).unwrap();
        place.edit(|lines| lines[3] = lines[3].replace("last", "lost"));
        place.check(Some(4), "was changed");
        // A segment of later lines, and a segment with another name, older or younger.
        let place = Place::written(3);
        add(&place, "ctx-20991231-23.jsonl", &forged);
        place.check(Some(1), "was not written by toolcrib");
        for name in ["ctx-20200101-00.jsonl", "ctx-20251104-13.jsonl"] {
            let place = Place::written(3);
            fs::rename(place.file(), place.file().with_file_name(name)).unwrap();
            place.check(Some(1), "was not written by toolcrib");
        }
        // A line without a line feed in a segment that nobody writes to any more, and an empty line.
        let place = Place::written(3);
        let later = "2025-11-04T13:00:00Z".parse().unwrap();
        let body = [about(later, "x", json!({}))];
        place.appender().append(later, &body).unwrap();
        place.is_whole(4);
        add(&place, "ctx-20251104-12.jsonl", odd.trim_end());
        place.check(Some(4), "was not written by toolcrib");
        let place = Place::written(3);
        add(&place, "ctx-20251104-12.jsonl", "\n");
        Place::write(&mut place.appender(), "next");
        place.check(Some(4), "was not written by toolcrib");
        // Nothing is left at all.
        let place = Place::written(3);
        fs::remove_file(place.file()).unwrap();
        fs::remove_file(place.state.folder().join("context_log/head")).unwrap();
        place.check(None, "is missing, and the record has no lines");
        Place::write(&mut place.appender(), "next");
        place.check(Some(1), "was continued without a signed head");
    }

    #[test]
    fn without_its_key_nothing_of_the_record_is_believed_or_added() {
        // All lines and the key are gone, and the head that counts them is there.
        let place = Place::written(3);
        fs::remove_file(place.file()).unwrap();
        fs::remove_file(place.state.folder().join("record.key")).unwrap();
        place.check(None, "nothing of the record can be checked");
        let is_refused = |place: &Place| {
            let settings = RecordedSettings::none();
            let (folder, key) = (place.state.folder(), place.state.folder().join("record.key"));
            let opened = Appender::open(&folder.join("context_log"), &key, settings);
            opened.is_err_and(|err| err.to_string().contains("is missing")) && !key.exists()
        };
        assert!(is_refused(&place));
        // The key is gone: that is reported, no other key is made, and the record does not count as empty.
        let place = Place::written(3);
        assert_eq!(RecordReader::open(&place.state).unwrap().load_all().count(), 1);
        fs::remove_file(place.state.folder().join("record.key")).unwrap();
        place.check(None, "nothing of the record can be checked");
        assert!(is_refused(&place));
        assert!(
            RecordReader::open(&place.state)
                .is_err_and(|err| err.to_string().contains("put the key back"))
        );
    }

    #[test]
    fn a_death_at_the_first_line_of_a_file_breaks_nothing() {
        for torn in [false, true] {
            let place = Place::written(2);
            let head = place.state.folder().join("context_log/head");
            let before = fs::read(&head).unwrap();
            let later = "2025-11-04T13:00:00Z".parse().unwrap();
            let write = || place.appender().append(later, &[about(later, "x", json!({}))]).unwrap();
            write();
            fs::write(&head, before).unwrap();
            if torn {
                let path = place.file().with_file_name("ctx-20251104-13.jsonl");
                let text = fs::read(&path).unwrap();
                fs::write(&path, &text[..text.len() / 2]).unwrap();
            }
            // Before the next process notes it, it is not a problem either.
            assert_eq!(verify(&place.state).unwrap().problems, Vec::new());
            write();
            let found = verify(&place.state).unwrap();
            assert_eq!((found.problems, found.lines), (Vec::new(), 4));
        }
    }

    #[test]
    fn a_death_at_the_first_line_of_a_file_breaks_nothing_in_a_later_one() {
        for torn in [false, true] {
            let place = Place::written(2);
            let head = place.state.folder().join("context_log/head");
            let before = fs::read(&head).unwrap();
            let write = |at: &str| {
                let at = at.parse().unwrap();
                place.appender().append(at, &[about(at, "x", json!({}))]).unwrap();
            };
            write("2025-11-04T13:00:00Z");
            fs::write(&head, before).unwrap();
            if torn {
                let path = place.file().with_file_name("ctx-20251104-13.jsonl");
                let text = fs::read(&path).unwrap();
                fs::write(&path, &text[..text.len() / 2]).unwrap();
            }
            write("2025-11-04T14:00:00Z");
            write("2025-11-04T15:00:00Z");
            let found = verify(&place.state).unwrap();
            // The torn line is not counted; the line that notes it is.
            assert_eq!((found.problems, found.lines), (Vec::new(), 5), "{torn}");
        }
    }

    #[test]
    fn a_damaged_file_is_named() {
        let place = Place::written(3);
        fs::remove_file(place.file()).unwrap();
        fs::write(place.file().with_extension("jsonl.gz"), "no gzip").unwrap();
        place.check(None, "cannot be read");
    }

    #[test]
    fn what_stands_behind_the_end_of_a_packed_file_is_found() {
        let place = Place::written(3);
        let packed = place.file().with_extension("jsonl.gz");
        let gzip = |bytes: &[u8]| {
            use std::io::Write;
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gzip.write_all(bytes).unwrap();
            gzip.finish().unwrap()
        };
        let plain = gzip(&fs::read(place.file()).unwrap());
        fs::remove_file(place.file()).unwrap();
        fs::write(&packed, &plain).unwrap();
        place.is_whole(3);
        // Many readers of gzip skip a second member.
        for behind in [gzip(b"{\"event\":\"ended\"}\n"), b"x".to_vec()] {
            fs::write(&packed, [plain.clone(), behind].concat()).unwrap();
            place.check(None, "bytes after its end");
        }
    }

    #[test]
    fn verifying_while_others_write_and_pack_alarms_nobody() {
        use crate::record::retention::{RetentionRules, apply_retention};
        use crate::record::writer::{Previews, RecordWriter};
        use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
        let place = Place::new();
        let (is_over, packed, written) =
            (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut log = place.appender();
                    log.begin_segment_after(4000);
                    while !is_over.load(Ordering::Relaxed) {
                        Place::write(&mut log, "x");
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            scope.spawn(|| {
                let redactor = crate::record::redact::Redactor::default();
                let record = RecordWriter::new(&place.state, Previews::On, redactor, &json!({}));
                let now = "2025-11-04T12:00:00Z".parse().unwrap();
                let rules = RetentionRules { now, keep_days: 30, is_folded: &|_| true };
                while !is_over.load(Ordering::Relaxed) {
                    let done = apply_retention(&place.state, &record, &rules);
                    packed.fetch_add(done.unwrap().packed as u64, Ordering::Relaxed);
                }
            });
            let (mut problems, mut looks) = (Vec::new(), 0);
            while problems.is_empty() && (looks < 10 || packed.load(Ordering::Relaxed) < 3) {
                problems = verify(&place.state).unwrap().problems;
                looks += 1;
                // Retention gets its turn.
                std::thread::sleep(Duration::from_millis(1));
            }
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(problems, []);
        });
        place.is_whole(written.into_inner());
    }

    #[test]
    fn an_end_that_is_no_file_holds_nobody_up() {
        let place = Place::written(3);
        let head = place.state.folder().join("context_log/head");
        fs::remove_file(&head).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &head, rustix::fs::Mode::RUSR).unwrap();
        assert!(verify(&place.state).is_err_and(|err| err.to_string().contains("head")));
        let settings = RecordedSettings::none();
        let folder = place.state.folder();
        let opened =
            Appender::open(&folder.join("context_log"), &folder.join("record.key"), settings);
        assert!(opened.is_err_and(|err| err.to_string().contains("head")));
    }

    #[test]
    fn a_record_of_a_later_version_is_left_alone() {
        let place = Place::written(3);
        let head = place.state.folder().join("context_log/head");
        fs::write(&head, "toolcrib-head 9 who knows\n").unwrap();
        let now = "2025-11-04T12:00:00Z".parse().unwrap();
        let refused = place.appender().append(now, &[about(now, "x", json!({}))]);
        assert!(refused.err().unwrap().to_string().contains("later version"));
    }
}
