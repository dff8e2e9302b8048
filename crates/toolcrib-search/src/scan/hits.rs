//! The matches of one file, collected within bounds.

use std::collections::VecDeque;
use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use toolcrib_core::search::{Line, Want};

use crate::scan::stop::Stop;

/// The most bytes of a line that are returned.
const MAX_SHOWN_BYTES: usize = 2000;

/// How many of them stand before the match.
const SHOWN_BEFORE_MATCH_BYTES: usize = 200;

/// How many lines of one file to keep, how many bytes of them, and how many to count.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub(crate) lines: usize,
    pub(crate) bytes: usize,
    /// The search of the file may end when there is no more room for lines and more than this many match.
    pub(crate) count: u64,
}

impl Room {
    /// No room: lines are only counted, up to `count`.
    pub(crate) fn none(count: u64) -> Self {
        Self { lines: 0, bytes: 0, count }
    }
}

/// The matches of one file.
pub(crate) struct Hits<'a> {
    pub(crate) want: Want,
    /// Finds the match in a long line, which is cut around it.
    matcher: &'a RegexMatcher,
    /// How many matches to skip before any is kept.
    skip: u64,
    room: Room,
    stop: &'a Stop<'a>,
    pub(crate) lines: Vec<Line>,
    pub(crate) bytes: usize,
    pub(crate) count: u64,
    /// How many lines stand before the text that is searched, if it is a piece of a file.
    pub(crate) lines_before: u64,
    /// Whether the search of the file ended because nothing more is needed.
    pub(crate) is_done: bool,
    /// The last lines before the current one, with their numbers.
    recent: VecDeque<(u64, String)>,
}

impl<'a> Hits<'a> {
    pub(crate) fn new(
        want: Want,
        matcher: &'a RegexMatcher,
        room: Room,
        stop: &'a Stop<'a>,
    ) -> Self {
        Self {
            want,
            matcher,
            skip: 0,
            room,
            stop,
            lines: Vec::new(),
            bytes: 0,
            count: 0,
            lines_before: 0,
            is_done: false,
            recent: VecDeque::new(),
        }
    }

    /// Skips the first matches.
    pub(crate) fn skip(mut self, matches: usize) -> Self {
        self.skip = matches as u64;
        self
    }

    /// Whether every match of the file is counted.
    pub(crate) fn counts_all(&self) -> bool {
        self.room.count == u64::MAX && self.want != Want::Files
    }

    /// Whether matches are counted once there is no more room.
    pub(crate) fn counts(&self) -> bool {
        self.room.count > 0 && self.want != Want::Files
    }

    /// Ends the search of the file when there is no more room, instead of counting the rest.
    pub(crate) fn stop_when_full(&mut self) {
        self.room.count = 0;
        if self.want == Want::Counts {
            self.want = Want::Files;
        }
    }

    /// Whether the matches to come are only counted: there is no room for them, and no context to complete.
    pub(crate) fn only_counts(&self) -> bool {
        let has_context = match self.want {
            Want::Lines { after, .. } => after > 0 && !self.lines.is_empty(),
            Want::Files | Want::Counts => false,
        };
        self.is_full() && !has_context
    }

    /// Counts matches that are known without a search, up to the one where a search would end.
    pub(crate) fn count_up_to(&mut self, total: u64) {
        self.count = total.min(self.count.max(self.room.count).saturating_add(1));
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= self.room.lines || self.bytes >= self.room.bytes
    }

    /// Adds a line that matches. Returns whether more are needed.
    pub(crate) fn add(&mut self, number: u64, line: &[u8]) -> Result<bool, io::Error> {
        self.count += 1;
        if self.count.is_multiple_of(1024) {
            self.stop.check()?;
        }
        let Want::Lines { before, after } = self.want else {
            self.is_done = self.want == Want::Files || self.count > self.room.count;
            return Ok(!self.is_done);
        };
        let is_kept = !self.is_full() && self.count > self.skip;
        if self.is_full() && !self.wants_after(number, after) {
            self.is_done = self.count > self.room.count;
            return Ok(!self.is_done);
        }
        if !is_kept && before == 0 && after == 0 {
            return Ok(true);
        }
        let text = shown(line, self.matcher);
        self.after(number, &text, after);
        if is_kept {
            let lines = self.recent.iter();
            let near = lines.filter(|(other, _)| *other + before as u64 >= number);
            let near: Vec<String> = near.map(|(_, text)| text.clone()).collect();
            self.bytes += text.len() + near.iter().map(String::len).sum::<usize>();
            let line = Line { number, text: text.clone(), before: near, after: Vec::new() };
            self.lines.push(line);
        }
        self.remember(number, text, before);
        Ok(true)
    }

    /// Whether a line belongs to the context after the last match that is kept.
    fn wants_after(&self, number: u64, after: usize) -> bool {
        after > 0 && self.lines.last().is_some_and(|last| last.number + after as u64 >= number)
    }

    /// Adds a line to the context of the matches that it stands after.
    fn after(&mut self, number: u64, text: &str, after: usize) {
        for line in self.lines.iter_mut().rev() {
            if line.number + after as u64 >= number && line.number < number {
                self.bytes += text.len();
                line.after.push(text.to_owned());
            } else {
                break;
            }
        }
    }

    fn remember(&mut self, number: u64, text: String, before: usize) {
        if before > 0 {
            self.recent.push_back((number, text));
            if self.recent.len() > before {
                self.recent.pop_front();
            }
        }
    }
}

impl Sink for &mut Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let number = self.lines_before + found.line_number().unwrap_or(0);
        self.add(number, found.bytes())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        let Want::Lines { before, after } = self.want else { return Ok(true) };
        let number = context.line_number().unwrap_or(0);
        let text = cut(trim(context.bytes()), 0);
        self.after(number, &text, after);
        if self.is_full() {
            return Ok(true);
        }
        self.remember(number, text, before);
        Ok(true)
    }
}

fn trim(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns a matching line as answers show it: without its end, and cut around the match if it is long.
fn shown(line: &[u8], matcher: &RegexMatcher) -> String {
    let line = trim(line);
    if line.len() <= MAX_SHOWN_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = matcher.find(line).ok().flatten().map_or(0, |found| found.start());
    cut(line, start)
}

/// Cuts a long line around a byte of it, and says how many bytes are left out.
fn cut(line: &[u8], around: usize) -> String {
    if line.len() <= MAX_SHOWN_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    let boundary = |mut at: usize| {
        while at > 0 && at < line.len() && line[at] & 0xc0 == 0x80 {
            at -= 1;
        }
        at
    };
    let from =
        boundary(around.saturating_sub(SHOWN_BEFORE_MATCH_BYTES).min(line.len() - MAX_SHOWN_BYTES));
    let to = boundary((from + MAX_SHOWN_BYTES).min(line.len()));
    let part = String::from_utf8_lossy(&line[from..to]);
    let left = |count: usize| match count {
        0 => String::new(),
        count => format!("[… {count} bytes …]"),
    };
    format!("{}{part}{}", left(from), left(line.len() - to))
}
