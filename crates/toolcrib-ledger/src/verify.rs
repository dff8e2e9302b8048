//! Whether the record is whole: every line follows from the one before it, and the last is the one that was
//! signed.

use std::io;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use crate::head::{self, Head, Told};
use crate::lines::{Entry, Record};
use crate::link::{Key, Link};
use crate::log::{HEAD, Tied};
use crate::segment::Segment;
use crate::state::{State, open_plain};
use crate::tidy::open_tidy_lock;

/// What came of looking.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// How many lines follow from the one before them.
    pub lines: u64,
    /// How many files there are.
    pub files: usize,
    /// The number of the first line that is there.
    pub first: u64,
    /// The number of the last.
    pub last: u64,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What is as it should be after something went wrong, and was noted then.
    pub notes: Vec<Problem>,
}

/// Something about one place of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The line, from 1; none for the file as a whole.
    pub line: Option<usize>,
    /// What it is.
    pub what: String,
}

/// How often it is begun anew when files are packed or removed meanwhile.
const TRIES: usize = 5;

/// How long is waited before that.
const PAUSE: Duration = Duration::from_millis(200);

/// Looks at all of the record.
pub fn verify(state: &State) -> io::Result<Verified> {
    // While we look, nothing is packed or removed; unless somebody is at it already.
    let lock = open_tidy_lock(&state.folder().join("context_log"));
    let is_held = lock.as_ref().is_ok_and(|lock| lock.try_lock_shared().is_ok());
    for _ in 1..TRIES {
        match look(state, false)? {
            Some(verified) if is_held || verified.problems.is_empty() => return Ok(verified),
            _ => std::thread::sleep(PAUSE),
        }
    }
    Ok(look(state, true)?.unwrap_or_default())
}

/// Looks at all of the record; nothing if a file went meanwhile, unless that is to be a problem.
fn look(state: &State, is_last: bool) -> io::Result<Option<Verified>> {
    let key = Key::read(&state.folder().join("record.key"))?;
    // The end first: what is written while we look comes after it.
    let end = match &key {
        Some(key) => read_end(state, key)?,
        None => Told::Nothing,
    };
    let Some(key) = key else {
        let segments = Segment::list(&state.folder().join("context_log"))?;
        // It may have begun since.
        if !is_last && Key::read(&state.folder().join("record.key"))?.is_some() {
            return Ok(None);
        }
        let what = "is missing: nothing of the record can be checked without it";
        let lost = Problem { file: "record.key".to_owned(), line: None, what: what.to_owned() };
        let is_new = segments.is_empty() && !head::names_lines(state)?;
        let problems = if is_new { Vec::new() } else { vec![lost] };
        return Ok(Some(Verified { problems, ..Verified::default() }));
    };
    let record = Record::open(state)?;
    let mut walk =
        Walk { report: Verified::default(), last: None, strange: Vec::new(), removed: 0, end, key };
    walk.report.files = record.segments().len();
    for segment in record.segments() {
        let page = match record.page(*segment) {
            Ok(page) => page,
            Err(err) if err.kind() == io::ErrorKind::NotFound && !is_last => return Ok(None),
            Err(err) => {
                let what = format!("cannot be read: {err}");
                walk.report.problems.push(Problem { file: segment.to_string(), line: None, what });
                continue;
            }
        };
        let is_current = match walk.end {
            // Or the next one: whoever began it died at its first line.
            Told::Head(head) => {
                let after = record.segments().iter().find(|it| **it > head.segment);
                let is_now = segment.hour <= Timestamp::now().as_second().div_euclid(3600) + 1;
                head.segment == *segment || after == Some(segment) && is_now
            }
            _ => record.segments().last() == Some(segment),
        };
        for (number, line) in page.pieces().enumerate() {
            walk.step(&page.name, number + 1, line, is_current);
        }
    }
    Ok(Some(walk.finish()))
}

pub(crate) fn read_end(state: &State, key: &Key) -> io::Result<Told> {
    read_end_in(&state.folder().join("context_log"), key)
}

/// What the head of the record in a folder says.
pub(crate) fn read_end_in(folder: &Path, key: &Key) -> io::Result<Told> {
    match open_plain(&folder.join(HEAD)) {
        Ok(file) => {
            let mut bytes = [0; head::SIZE];
            // Read while it is written, it may be half the one and half the other.
            for _ in 1..TRIES {
                let got = head::read(&file, &mut bytes)?;
                match Head::parse(&bytes[..got], key) {
                    Told::Wrong => std::thread::sleep(Duration::from_millis(2)),
                    told => return Ok(told),
                }
            }
            let got = head::read(&file, &mut bytes)?;
            Ok(Head::parse(&bytes[..got], key))
        }
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(Told::Nothing),
        Err(err) => Err(io::Error::new(err.kind(), format!("`{HEAD}` of the record: {err}"))),
    }
}

struct Walk {
    report: Verified,
    /// The line before: its number and hash, and where it is.
    last: Option<(u64, Link, String, usize)>,
    /// Lines that are none, until the next one says why, with how long they are.
    strange: Vec<(Problem, u64)>,
    /// The last line that was removed because it was too old.
    removed: u64,
    end: Told,
    key: Key,
}

impl Walk {
    /// Takes one line.
    fn step(&mut self, file: &str, number: usize, line: &[u8], is_current: bool) {
        let here = |what: String| Problem { file: file.to_owned(), line: Some(number), what };
        let Some(tied) = Tied::parse(line, &self.key, file) else {
            // What was torn, or is being written, is no whole object, however it is read.
            let whole = line == b"\n"
                || serde_json::from_slice::<serde_json::Value>(line).is_ok()
                || Entry::parse(line).is_some();
            let is_ours = || Tied::parse(&[line, b"\n"].concat(), &self.key, file).is_some();
            let is_open = is_current && !line.ends_with(b"\n") && (!whole || is_ours());
            if is_open {
                let what = "has no end: it is being written, or was torn when its process died";
                self.report.notes.push(here(what.to_owned()));
            } else {
                let what = if whole {
                    "was changed, or was not written by us"
                } else {
                    "is no line of the record"
                };
                let size = if whole { u64::MAX } else { line.len() as u64 };
                self.strange.push((here(what.to_owned()), size));
            }
            return;
        };
        let entry = Entry::parse(line.strip_suffix(b"\n").unwrap_or(line));
        let said = entry.filter(|entry| entry.act == "record");
        let changed = self.judge_strange(said.as_ref());
        match &self.last {
            None => {
                self.report.first = tied.seq;
                if tied.seq == 1 && tied.prev != Link::FIRST {
                    self.report.problems.push(here("is not the first line".to_owned()));
                }
            }
            Some((seq, link, at, line)) => {
                let what = if tied.seq == seq + 1 + changed && changed > 0 {
                    // Those are there, and changed.
                    None
                } else if tied.seq > seq + 1 {
                    let (from, to) = (seq + 1, tied.seq - 1);
                    Some(here(format!("lines {from} to {to} are missing before this one")))
                } else if tied.seq <= *seq {
                    Some(here(format!("line {} comes after line {seq}", tied.seq)))
                } else if tied.prev != *link {
                    let what = format!(
                        "line {seq} is not the one that was there: the next follows another"
                    );
                    Some(Problem { file: at.clone(), line: Some(*line), what })
                } else {
                    None
                };
                self.report.problems.extend(what);
            }
        }
        if let Some(entry) = said {
            self.note(&entry, here(String::new()));
        }
        self.report.lines += 1;
        self.report.last = tied.seq;
        self.last = Some((tied.seq, tied.own, file.to_owned(), number));
    }

    /// Strange lines are accounted for when the next line of ours says that so much was torn. Returns how many
    /// are not.
    fn judge_strange(&mut self, said: Option<&Entry>) -> u64 {
        let strange = std::mem::take(&mut self.strange);
        let count = strange.len() as u64;
        let Some(size) = strange.iter().try_fold(0_u64, |sum, (_, size)| sum.checked_add(*size))
        else {
            self.report.problems.extend(strange.into_iter().map(|(problem, _)| problem));
            return count;
        };
        let torn = said.filter(|entry| entry.event == "line_torn");
        let noted = torn.and_then(|entry| entry.detail.as_ref()?["bytes"].as_u64());
        // The line feed after it came later.
        let is_noted = noted.is_some_and(|noted| noted == size || noted + 1 == size);
        for (problem, _) in strange {
            if is_noted {
                let what = "was torn when its process died, and noted by the next".to_owned();
                self.report.notes.push(Problem { what, ..problem });
            } else {
                self.report.problems.push(problem);
            }
        }
        if is_noted { 0 } else { count }
    }

    /// What lines about the record itself say.
    fn note(&mut self, entry: &Entry, here: Problem) {
        let number = |name: &str| entry.detail.as_ref().and_then(|detail| detail[name].as_u64());
        match entry.event.as_str() {
            "lines_missing" => {
                let bytes = number("bytes").unwrap_or(0);
                let what = format!(
                    "{bytes} bytes were missing before this: cut off, or lost with the power"
                );
                self.report.problems.push(Problem { what, ..here });
            }
            "end_not_signed" | "end_not_known" => {
                let what =
                    "the record went on without a signed end: lines before this may be missing";
                self.report.problems.push(Problem { what: what.to_owned(), ..here });
            }
            "lines_lost" => {
                let lines = number("lines").unwrap_or(0);
                let what = format!("{lines} lines could not be written before this");
                self.report.notes.push(Problem { what, ..here });
            }
            "removed" => {
                let upto = number("last").unwrap_or(0);
                self.removed = self.removed.max(upto);
                let what = format!("lines up to {upto} were removed: they were too old");
                self.report.notes.push(Problem { what, ..here });
            }
            _ => {}
        }
    }

    fn finish(mut self) -> Verified {
        let changed = self.judge_strange(None);
        let first = self.report.first;
        // What was to be removed may be there still.
        if first > self.removed + 1 {
            let what = format!("lines {} to {} are missing", self.removed + 1, first - 1);
            self.report
                .problems
                .insert(0, Problem { file: "the record".to_owned(), line: None, what });
        }
        let end = |what: String| Problem { file: HEAD.to_owned(), line: None, what };
        let problem = match (self.end, &self.last) {
            (Told::Nothing, None) => Some(end("is missing, and so is every line".to_owned())),
            (Told::Head(head), Some((seq, link, file, line))) => {
                if changed > 0 && *seq + changed == head.seq {
                    None
                } else if *seq < head.seq {
                    let what =
                        format!("lines {} to {} are missing: they were cut off", seq + 1, head.seq);
                    Some(Problem { file: file.clone(), line: Some(*line), what })
                } else if *seq == head.seq && *link != head.link {
                    let what = format!("line {seq}, the last, is not the one that was there");
                    Some(Problem { file: file.clone(), line: Some(*line), what })
                } else {
                    None
                }
            }
            (Told::Head(head), None) if head.seq == 0 => None,
            (Told::Head(head), None) => Some(end(format!("all {} lines are missing", head.seq))),
            (Told::Wrong, _) => {
                Some(end("was not written by us: the end is not signed".to_owned()))
            }
            (Told::Later, _) => Some(end("a later version of toolcrib has written it".to_owned())),
            (Told::Nothing, Some(_)) => Some(end("is missing: the end is not signed".to_owned())),
        };
        self.report.problems.extend(problem);
        self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Body, Log, Settings};
    use serde_json::json;
    use std::fs;
    use std::path::PathBuf;

    struct Place {
        _folder: tempfile::TempDir,
        state: State,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let state = State::open(&folder.path().join("state")).unwrap();
            Self { _folder: folder, state }
        }

        fn log(&self) -> Log {
            let settings = Settings { hash: Link::FIRST, shown: json!({}) };
            let folder = self.state.folder();
            Log::open(&folder.join("context_log"), &folder.join("record.key"), settings).unwrap()
        }

        fn write(log: &mut Log, text: &str) {
            let now = "2025-11-04T12:00:00Z".parse().unwrap();
            log.append(now, &[Body::about(now, text, &json!({}))]).unwrap();
        }

        fn written(lines: usize) -> Self {
            let place = Self::new();
            let mut log = place.log();
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
        place.check(Some(4), "was not written by us");
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
        place.check(None, "was not written by us");
        fs::remove_file(&head).unwrap();
        place.check(None, "is missing: the end is not signed");
        // And going on does not make it good again.
        Place::write(&mut place.log(), "next");
        place.check(Some(5), "went on without a signed end");
    }

    #[test]
    fn cutting_lines_off_shows_after_the_record_went_on() {
        let place = Place::written(6);
        place.edit(|lines| lines.truncate(4));
        Place::write(&mut place.log(), "next");
        place.check(Some(5), "lines 5 to 6 are missing before this one");
        place.check(Some(5), "bytes were missing before this");
    }

    #[test]
    fn processes_tie_their_lines_to_each_others() {
        let place = Place::new();
        let mut logs = [place.log(), place.log(), place.log()];
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
                    let mut log = place.log();
                    log.begin_anew_after(2000);
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
                    scope.spawn(|| Place::write(&mut place.log(), "x"));
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
        Place::write(&mut place.log(), "unsaid");
        fs::write(&head, before).unwrap();
        Place::write(&mut place.log(), "next");
        place.is_whole(5);
    }

    #[test]
    fn a_line_that_lacks_only_its_end_is_one() {
        let place = Place::written(3);
        let head = place.state.folder().join("context_log/head");
        let before = fs::read(&head).unwrap();
        Place::write(&mut place.log(), "torn");
        fs::write(&head, before).unwrap();
        let text = fs::read(place.file()).unwrap();
        fs::write(place.file(), &text[..text.len() - 1]).unwrap();
        Place::write(&mut place.log(), "next");
        place.is_whole(5);
    }

    #[test]
    fn what_was_to_be_removed_and_is_there_is_no_gap() {
        let place = Place::written(3);
        let now = "2025-11-04T12:00:00Z".parse().unwrap();
        let removed = Body::about(now, "removed", &json!({"file": "x", "last": 3}));
        place.log().append(now, &[removed]).unwrap();
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
        Place::write(&mut place.log(), "next");
        let found = verify(&place.state).unwrap();
        assert_eq!((found.problems, found.lines), (Vec::new(), 5));
        assert_eq!(found.notes.len(), 1);
        assert!(found.notes[0].what.contains("torn"), "{:?}", found.notes);
    }

    #[test]
    fn what_is_forged_without_the_key_is_found() {
        use std::io::Write;
        let add = |place: &Place, name: &str, text: &str| {
            let path = place.state.folder().join("context_log").join(name);
            let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        // A whole line, that a call after it would take for a torn one.
        let place = Place::written(3);
        add(
            &place,
            "ctx-20251104-12.jsonl",
            "{\"ts\":\"2025-11-04T12:00:00Z\",\"event\":\"ended\"}\n",
        );
        Place::write(&mut place.log(), "next");
        place.check(Some(4), "was not written by us");
        // A text that is no line at all, and has an end.
        let place = Place::written(3);
        add(&place, "ctx-20251104-12.jsonl", "hello\n");
        Place::write(&mut place.log(), "next");
        place.check(Some(4), "is no line of the record");
        // One that only some readers take for whole.
        let place = Place::written(3);
        let odd = "{\"ts\":\"2025-11-04T12:00:00Z\",\"event\":\"ended\",\"x\":1e999}\n";
        add(&place, "ctx-20251104-12.jsonl", odd);
        Place::write(&mut place.log(), "next");
        place.check(Some(4), "was not written by us");
        // A line that follows from the last, as anyone could work it out from what is there.
        let place = Place::written(3);
        let text = fs::read_to_string(place.file()).unwrap();
        let own = text.lines().last().unwrap().rsplit('"').nth(1).unwrap();
        let forged = format!(
            "{{\"act\":\"record\",\"event\":\"removed\",\"seq\":4,\"prev\":\"{own}\",\"sign\":\"{own}\"}}\n"
        );
        add(&place, "ctx-20251104-12.jsonl", &forged);
        place.check(Some(4), "was not written by us");
        Place::write(&mut place.log(), "next");
        place.check(Some(4), "was not written by us");
        // The last line, with an end from before it.
        let place = Place::written(3);
        let head = place.state.folder().join("context_log/head");
        let before = fs::read(&head).unwrap();
        Place::write(&mut place.log(), "last");
        fs::write(&head, before).unwrap();
        place.edit(|lines| lines[3] = lines[3].replace("last", "lost"));
        place.check(Some(4), "was changed");
        // A file of later lines, and one that is put under another name, older or younger.
        let place = Place::written(3);
        add(&place, "ctx-20991231-23.jsonl", &forged);
        place.check(Some(1), "was not written by us");
        for name in ["ctx-20200101-00.jsonl", "ctx-20251104-13.jsonl"] {
            let place = Place::written(3);
            fs::rename(place.file(), place.file().with_file_name(name)).unwrap();
            place.check(Some(1), "was not written by us");
        }
        // What has no end, in a file that nobody writes to any more, and an empty line.
        let place = Place::written(3);
        let later = "2025-11-04T13:00:00Z".parse().unwrap();
        let body = [Body::about(later, "x", &json!({}))];
        place.log().append(later, &body).unwrap();
        place.is_whole(4);
        add(&place, "ctx-20251104-12.jsonl", odd.trim_end());
        place.check(Some(4), "was not written by us");
        let place = Place::written(3);
        add(&place, "ctx-20251104-12.jsonl", "\n");
        Place::write(&mut place.log(), "next");
        place.check(Some(4), "was not written by us");
        // Nothing left at all.
        let place = Place::written(3);
        fs::remove_file(place.file()).unwrap();
        fs::remove_file(place.state.folder().join("context_log/head")).unwrap();
        place.check(None, "is missing, and so is every line");
        Place::write(&mut place.log(), "next");
        place.check(Some(1), "went on without a signed end");
    }

    #[test]
    fn without_its_key_nothing_of_the_record_is_believed_or_added() {
        // All lines and the key are gone, and the end that names them is there.
        let place = Place::written(3);
        fs::remove_file(place.file()).unwrap();
        fs::remove_file(place.state.folder().join("record.key")).unwrap();
        place.check(None, "nothing of the record can be checked");
        let is_refused = |place: &Place| {
            let settings = Settings { hash: Link::FIRST, shown: json!({}) };
            let (folder, key) = (place.state.folder(), place.state.folder().join("record.key"));
            let opened = Log::open(&folder.join("context_log"), &key, settings);
            opened.is_err_and(|err| err.to_string().contains("is missing")) && !key.exists()
        };
        assert!(is_refused(&place));
        // The key is gone: that is said, no other is made, and nobody takes the record for an empty one.
        let place = Place::written(3);
        assert_eq!(Record::open(&place.state).unwrap().pages().count(), 1);
        fs::remove_file(place.state.folder().join("record.key")).unwrap();
        place.check(None, "nothing of the record can be checked");
        assert!(is_refused(&place));
        assert!(
            Record::open(&place.state).is_err_and(|err| err.to_string().contains("put it back"))
        );
    }

    #[test]
    fn a_death_at_the_first_line_of_a_file_breaks_nothing() {
        for torn in [false, true] {
            let place = Place::written(2);
            let head = place.state.folder().join("context_log/head");
            let before = fs::read(&head).unwrap();
            let later = "2025-11-04T13:00:00Z".parse().unwrap();
            let write =
                || place.log().append(later, &[Body::about(later, "x", &json!({}))]).unwrap();
            write();
            fs::write(&head, before).unwrap();
            if torn {
                let path = place.file().with_file_name("ctx-20251104-13.jsonl");
                let text = fs::read(&path).unwrap();
                fs::write(&path, &text[..text.len() / 2]).unwrap();
            }
            // Until the next one says so it is no problem, either.
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
                place.log().append(at, &[Body::about(at, "x", &json!({}))]).unwrap();
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
            // The line that was torn is not there, and that is noted by a line.
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
        // Another gzip is passed over by many who read one.
        for behind in [gzip(b"{\"event\":\"ended\"}\n"), b"x".to_vec()] {
            fs::write(&packed, [plain.clone(), behind].concat()).unwrap();
            place.check(None, "more behind its end");
        }
    }

    #[test]
    fn verifying_while_others_write_and_pack_alarms_nobody() {
        use crate::record::{Previews, RecordFile};
        use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
        let place = Place::new();
        let (is_over, packed, written) =
            (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut log = place.log();
                    log.begin_anew_after(4000);
                    while !is_over.load(Ordering::Relaxed) {
                        Place::write(&mut log, "x");
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            scope.spawn(|| {
                let redactor = crate::redact::Redactor::default();
                let record = RecordFile::new(&place.state, Previews::On, redactor, json!({}));
                let now = "2025-11-04T12:00:00Z".parse().unwrap();
                while !is_over.load(Ordering::Relaxed) {
                    let done = crate::tidy::tidy(&place.state, &record, now, 30, &|_| true);
                    packed.fetch_add(done.unwrap().packed as u64, Ordering::Relaxed);
                }
            });
            let (mut problems, mut looks) = (Vec::new(), 0);
            while problems.is_empty() && (looks < 10 || packed.load(Ordering::Relaxed) < 3) {
                problems = verify(&place.state).unwrap().problems;
                looks += 1;
                // Whoever packs has its turn.
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
        let settings = Settings { hash: Link::FIRST, shown: json!({}) };
        let folder = place.state.folder();
        let opened = Log::open(&folder.join("context_log"), &folder.join("record.key"), settings);
        assert!(opened.is_err_and(|err| err.to_string().contains("head")));
    }

    #[test]
    fn a_record_of_a_later_version_is_left_alone() {
        let place = Place::written(3);
        let head = place.state.folder().join("context_log/head");
        fs::write(&head, "toolcrib-head 9 who knows\n").unwrap();
        let now = "2025-11-04T12:00:00Z".parse().unwrap();
        let refused = place.log().append(now, &[Body::about(now, "x", &json!({}))]);
        assert!(refused.err().unwrap().to_string().contains("later version"));
    }
}
