//! The record as files: lines appended by several processes at once, each tied to the one before it.

use std::borrow::Cow;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib_core::escape;

use crate::head::{self, Head, Told};
use crate::line::{Line, push_number};
use crate::lines::Record;
use crate::link::{Key, Link};
use crate::segment::Segment;
use crate::state::{open_append, plain, read_plain};

/// How large a file of the record gets before the next one is begun.
pub(crate) const SEGMENT_BYTES: u64 = 10 << 20;

/// The name of the file that tells where the record ends.
pub(crate) const HEAD: &str = "head";

/// How much of the memory that lines are put together in is held on to.
const MOST_HELD: usize = 64 << 10;

/// The name of the file that lists those with lines from before their hour.
const STRAYS: &str = "strays";

/// A line that is not tied to others yet: a JSON object without its end.
pub(crate) struct Body(Vec<u8>);

impl Body {
    pub(crate) fn of(line: &Line<'_>) -> io::Result<Self> {
        let mut bytes = line.json()?;
        // What could mislead whoever looks at the file stands there as an escape.
        if !bytes.is_ascii()
            && let Ok(text) = str::from_utf8(&bytes)
            && let Cow::Owned(text) = escape::json(text)
        {
            bytes = text.into_bytes();
        }
        Ok(Self(bytes))
    }

    /// A line about the record itself.
    pub(crate) fn about(now: Timestamp, event: &str, detail: &Value) -> Self {
        let line = json!({
            "id": ulid::Ulid::generate().to_string(),
            "ts": format!("{now:.3}"),
            "actor": "system",
            "act": "record",
            "conv_id": "",
            "trace_id": "",
            "iter": 0,
            "event": event,
            "detail": detail,
        });
        let mut bytes = line.to_string().into_bytes();
        bytes.pop();
        Self(bytes)
    }
}

/// The record, open for appending.
pub(crate) struct Log {
    folder: PathBuf,
    key: Key,
    head: File,
    most: u64,
    settings: Settings,
    /// The head as it was last seen, with its bytes.
    seen: Option<([u8; head::SIZE], Head)>,
    current: Option<(Segment, Arc<File>)>,
    /// The file of the last line, with its name.
    named: Option<(Segment, String)>,
    /// Where lines are put together, so that not every call asks for memory.
    text: Vec<u8>,
    /// The last file that is known to have lines of an hour before its own.
    strayed: Option<Segment>,
}

/// What was found at the end of the record.
struct End {
    head: Option<Head>,
    /// The file that it is in.
    file: Option<Arc<File>>,
    /// What there is to say about it.
    notes: Vec<Body>,
    /// Whether the last line has no end.
    is_torn: bool,
}

/// The settings that lines are written under.
pub(crate) struct Settings {
    pub(crate) hash: Link,
    /// Those that are not as they are shipped.
    pub(crate) shown: Value,
}

/// Where lines went.
pub(crate) struct Appended {
    /// The number of the last of them.
    pub(crate) seq: u64,
    /// The file they are in.
    pub(crate) file: Arc<File>,
}

impl Log {
    /// Opens the record in `folder`, signed by the key at `key`.
    pub(crate) fn open(folder: &Path, key: &Path, settings: Settings) -> io::Result<Self> {
        let head = open_head(folder)?;
        // Together, so that where there is a key there is an end.
        lock(&head)?;
        let key = begin(folder, key, &head);
        head.unlock()?;
        Ok(Self {
            key: key?,
            head,
            folder: folder.to_owned(),
            most: SEGMENT_BYTES,
            settings,
            seen: None,
            current: None,
            named: None,
            text: Vec::new(),
            strayed: None,
        })
    }

    /// The same with smaller files.
    #[cfg(test)]
    pub(crate) fn begin_anew_after(&mut self, bytes: u64) {
        self.most = bytes;
    }

    /// Appends lines, each tied to the one before it. All of them, or none.
    pub(crate) fn append(&mut self, now: Timestamp, bodies: &[Body]) -> io::Result<Appended> {
        lock(&self.head)?;
        let appended = self.append_locked(now, bodies);
        let unlocked = self.head.unlock();
        let appended = appended?;
        unlocked?;
        Ok(appended)
    }

    fn append_locked(&mut self, now: Timestamp, bodies: &[Body]) -> io::Result<Appended> {
        let End { head: mut last, file, mut notes, is_torn } = self.find_end(now)?;
        let place = |head: Option<Head>| head.map(|head| (head.segment, head.size));
        let mut segment = Segment::for_line(place(last), now, self.most);
        if let Some(head) = last.filter(|head| head.segment != segment) {
            last = Some(self.catch_up(head, segment, now, &mut notes)?);
            segment = Segment::for_line(place(last), now, self.most);
        }
        let place = place(last);
        let mut start = place.filter(|(last, _)| *last == segment).map_or(0, |(_, size)| size);
        let mut head = Head { segment, ..last.unwrap_or(Head::first(segment)) };
        if head.settings != self.settings.hash {
            head.settings = self.settings.hash;
            notes.push(Body::about(now, "settings", &self.settings.shown));
        }
        let file = match file {
            Some(file) if last.is_some_and(|last| last.segment == segment) => file,
            _ => self.segment(segment)?,
        };
        let mut is_torn = is_torn && start > 0;
        let there = if start == 0 { file.metadata()?.len() } else { start };
        if start == 0 && there > 0 {
            // Somebody began this file, and died before it could say so.
            let mut bytes = vec![0; usize::try_from(there).unwrap_or(0)];
            file.read_exact_at(&mut bytes, 0)?;
            let (held, strange) = follow(head, &bytes, &self.key);
            (head, start, is_torn) = (held, there, ends_torn(&file, there)?);
            if strange > 0 {
                let detail =
                    json!({"file": segment.to_string(), "bytes": strange, "after": head.seq});
                notes.push(Body::about(now, "line_torn", &detail));
            }
        }
        if now.as_second().div_euclid(3600) < segment.hour && self.strayed != Some(segment) {
            stray(&self.folder, segment)?;
            self.strayed = Some(segment);
        }
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        if is_torn {
            // What is there and does not belong to the chain stays a line of its own.
            text.push(b'\n');
        }
        if self.named.as_ref().is_none_or(|(named, _)| *named != segment) {
            self.named = Some((segment, segment.to_string()));
        }
        let name = self.named.as_ref().map_or("", |(_, name)| name);
        for body in notes.iter().chain(bodies) {
            let from = text.len();
            text.extend_from_slice(&body.0);
            head.seq += 1;
            text.extend_from_slice(b",\"seq\":");
            push_number(&mut text, head.seq);
            text.extend_from_slice(b",\"prev\":\"");
            text.extend_from_slice(&head.link.letters());
            head.link = self.key.sign_line(&text[from..], name);
            text.extend_from_slice(b"\",\"sign\":\"");
            text.extend_from_slice(&head.link.letters());
            text.extend_from_slice(b"\"}\n");
        }
        // In one go: whoever reads meanwhile sees whole lines.
        if let Err(err) = (&*file).write_all(&text) {
            let _ = file.set_len(start);
            return Err(err);
        }
        head.size = start + text.len() as u64;
        let bytes = head.bytes_in(name, &self.key);
        self.head.write_all_at(&bytes, 0)?;
        self.seen = Some((bytes, head));
        text.shrink_to(MOST_HELD);
        self.text = text;
        Ok(Appended { seq: head.seq, file })
    }

    /// Follows the chain through files that were begun after the one that the head names, up to one that is to be
    /// begun: whoever began them died before it could say so.
    fn catch_up(
        &self,
        mut head: Head,
        upto: Segment,
        now: Timestamp,
        notes: &mut Vec<Body>,
    ) -> io::Result<Head> {
        let between = |segment: &Segment| *segment > head.segment && *segment < upto;
        let segments: Vec<Segment> =
            Segment::list(&self.folder)?.into_iter().filter(between).collect();
        for segment in segments {
            let bytes = match read_plain(&segment.path(&self.folder)) {
                Err(err) if err.kind() == io::ErrorKind::NotFound => continue,
                bytes => bytes?,
            };
            let (held, strange) = follow(Head { segment, ..head }, &bytes, &self.key);
            let is_torn = serde_json::from_slice::<Value>(&bytes).is_err();
            // A file without a line of ours is somebody else's, unless it is the piece of one.
            if held.seq == head.seq && (!is_torn || bytes.contains(&b'\n')) {
                continue;
            }
            head = Head { size: bytes.len() as u64, ..held };
            if strange > 0 {
                let detail =
                    json!({"file": segment.to_string(), "bytes": strange, "after": head.seq});
                notes.push(Body::about(now, "line_torn", &detail));
            }
        }
        Ok(head)
    }

    /// Finds the last line that holds, and what there is to say about what was found.
    fn find_end(&mut self, now: Timestamp) -> io::Result<End> {
        let mut bytes = [0; head::SIZE];
        let got = head::read(&self.head, &mut bytes)?;
        let told = match &self.seen {
            Some((seen, head)) if *seen == bytes => Told::Head(*head),
            _ => Head::parse(&bytes[..got], &self.key),
        };
        let mut notes = Vec::new();
        let head = match told {
            Told::Head(head) if head.seq == 0 && Segment::list(&self.folder)?.is_empty() => {
                return Ok(End { head: None, file: None, notes, is_torn: false });
            }
            Told::Head(head) => head,
            Told::Later => {
                return Err(io::Error::other("a later version of toolcrib has written to it"));
            }
            Told::Nothing | Told::Wrong => {
                let Some(segment) = Segment::list(&self.folder)?.pop() else {
                    let detail = json!({"continues_after": 0, "file": ""});
                    notes.push(Body::about(now, "end_not_known", &detail));
                    return Ok(End { head: None, file: None, notes, is_torn: false });
                };
                let event = if told == Told::Wrong { "end_not_signed" } else { "end_not_known" };
                let bytes = Record::at(&self.folder)?.page(segment)?.bytes;
                let head = last_of(segment, &bytes, &self.key);
                let detail = json!({"continues_after": head.seq, "file": segment.to_string()});
                notes.push(Body::about(now, event, &detail));
                head
            }
        };
        let mut file = self.segment(head.segment)?;
        let mut stat = rustix::fs::fstat(&*file)?;
        if stat.st_nlink == 0 {
            // Somebody removed it under our hands.
            self.current = None;
            file = self.segment(head.segment)?;
            stat = rustix::fs::fstat(&*file)?;
        }
        let size = stat.st_size.cast_unsigned();
        if size == head.size {
            return Ok(End { head: Some(head), file: Some(file), notes, is_torn: false });
        }
        let is_torn = ends_torn(&file, size)?;
        let named = |bytes: u64| json!({"file": head.segment.to_string(), "bytes": bytes, "after": head.seq});
        if size < head.size {
            notes.push(Body::about(now, "lines_missing", &named(head.size - size)));
            return Ok(End { head: Some(Head { size, ..head }), file: Some(file), notes, is_torn });
        }
        // Whoever wrote them died before it could say so.
        let mut bytes = vec![0; (size - head.size) as usize];
        file.read_exact_at(&mut bytes, head.size)?;
        let (held, strange) = follow(head, &bytes, &self.key);
        if strange > 0 {
            notes.push(Body::about(now, "line_torn", &named(strange as u64)));
        }
        Ok(End { head: Some(Head { size, ..held }), file: Some(file), notes, is_torn })
    }

    fn segment(&mut self, segment: Segment) -> io::Result<Arc<File>> {
        if let Some((open, file)) = &self.current
            && *open == segment
        {
            return Ok(Arc::clone(file));
        }
        let path = segment.path(&self.folder);
        let is_new = !path.exists();
        let file = Arc::new(open_append(&path)?);
        if is_new {
            // So that a line that must last has a name to be found by.
            File::open(&self.folder)?.sync_all()?;
        }
        if let Some((_, old)) = self.current.replace((segment, Arc::clone(&file))) {
            old.sync_data()?;
        }
        Ok(file)
    }
}

/// Opens the key. Without one, and without a line, the record begins: with a signed end, and then its key, so that
/// where there is a key there is an end.
fn begin(folder: &Path, path: &Path, head: &File) -> io::Result<Key> {
    if let Some(key) = Key::read(path)? {
        return Ok(key);
    }
    let (key, secret) = Key::make()?;
    let mut told = [0; head::SIZE];
    let got = head::read(head, &mut told)?;
    if !Segment::list(folder)?.is_empty() || head::has_lines(&told[..got]) {
        return Err(Key::missing());
    }
    let nowhere = Segment { hour: 0, part: 0 };
    head.write_all_at(&Head::first(nowhere).bytes(&key), 0)?;
    head.sync_data()?;
    Key::keep(path, &secret)?;
    Ok(key)
}

/// Waits for whoever else appends, and not for ever.
pub(crate) fn lock(head: &File) -> io::Result<()> {
    const LONGEST: Duration = Duration::from_secs(10);
    // Mostly there is nobody, and nothing to measure.
    if head.try_lock().is_ok() {
        return Ok(());
    }
    let start = Instant::now();
    let mut pause = Duration::from_micros(20);
    loop {
        match head.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < LONGEST => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => {
                let message = format!("another process has held it for {} s", LONGEST.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            Err(TryLockError::Error(err)) => return Err(err),
        }
    }
}

/// Notes that a file has lines from before its hour, since a clock was set back: who looks for those by their time
/// has to look there.
fn stray(folder: &Path, segment: Segment) -> io::Result<()> {
    let mut file = open_append(&folder.join(STRAYS))?;
    file.write_all(format!("{segment}\n").as_bytes())
}

/// The files that have lines from before their hour.
pub(crate) fn strays(folder: &Path) -> io::Result<Vec<Segment>> {
    match read_plain(&folder.join(STRAYS)) {
        Ok(bytes) => {
            Ok(String::from_utf8_lossy(&bytes).lines().filter_map(Segment::parse).collect())
        }
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(err) => Err(io::Error::new(err.kind(), format!("`{STRAYS}` of the record {err}"))),
    }
}

pub(crate) fn open_head(folder: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let open = |flags: rustix::fs::OFlags| {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        options.custom_flags(flags.bits().cast_signed()).open(folder.join(HEAD))
    };
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    // It is read with every call, and that needs no note of its own; not all may ask for this.
    let file = open(flags | rustix::fs::OFlags::NOATIME).or_else(|_| open(flags));
    let named = |err: io::Error| {
        io::Error::new(err.kind(), format!("`{}`: {err}", folder.join(HEAD).display()))
    };
    plain(file.map_err(named)?, &folder.join(HEAD))
}

/// Reads a file to its end, when nothing else tells where the record ends.
fn last_of(segment: Segment, bytes: &[u8], key: &Key) -> Head {
    let mut head = Head { size: bytes.len() as u64, ..Head::first(segment) };
    let name = segment.to_string();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if let Some(tied) = Tied::parse(line, key, &name) {
            head = Head { seq: tied.seq, link: tied.own, ..head };
        }
    }
    head
}

fn ends_torn(file: &File, size: u64) -> io::Result<bool> {
    let mut last = [b'\n'];
    if size > 0 {
        file.read_exact_at(&mut last, size - 1)?;
    }
    Ok(last != [b'\n'])
}

/// Follows the chain over bytes that come after `head`; returns its new end, and how many bytes are no part
/// of it.
fn follow(head: Head, bytes: &[u8], key: &Key) -> (Head, usize) {
    let (mut head, mut strange, name) = (head, 0, head.segment.to_string());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        // Of one that lacks nothing but its end, the next one brings that.
        let ended = if line.ends_with(b"\n") { line.to_vec() } else { [line, b"\n"].concat() };
        match Tied::parse(&ended, key, &name) {
            Some(tied) if tied.prev == head.link && tied.seq == head.seq + 1 => {
                head = Head { seq: tied.seq, link: tied.own, ..head };
            }
            // What has an end and is none of ours was put there: that is not torn, and stays a problem.
            _ if line.ends_with(b"\n") => {}
            _ => strange += line.len(),
        }
    }
    (head, strange)
}

/// What ties a line to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tied {
    /// Its number.
    pub(crate) seq: u64,
    /// The hash of the one before.
    pub(crate) prev: Link,
    /// Its own hash.
    pub(crate) own: Link,
}

impl Tied {
    /// Reads a line with its end, of the file of this name; nothing if it is torn, or we did not sign it.
    pub(crate) fn parse(line: &[u8], key: &Key, file: &str) -> Option<Self> {
        let line = line.strip_suffix(b"\n")?;
        // The last three fields, by place: no text of a caller comes after them.
        let (line, own) = last_link(line.strip_suffix(b"\"}")?, b"\",\"sign\":\"")?;
        if key.sign_line(line, file) != own {
            return None;
        }
        let (rest, prev) = last_link(line, b",\"prev\":\"")?;
        let from = memchr::memrchr(b':', rest)? + 1;
        let seq = str::from_utf8(&rest[from..]).ok()?.parse().ok()?;
        rest[..from].ends_with(b",\"seq\":").then_some(Self { seq, prev, own })
    }
}

/// Takes a link off the end, and what stands before it.
fn last_link<'a>(text: &'a [u8], name: &[u8]) -> Option<(&'a [u8], Link)> {
    let (rest, link) = text.split_at_checked(text.len().checked_sub(32)?)?;
    Some((rest.strip_suffix(name)?, Link::parse(str::from_utf8(link).ok()?)?))
}
