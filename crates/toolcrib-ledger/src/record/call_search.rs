//! Finds calls in the record, and exports them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use memchr::memmem;

use crate::record::call_filter::CallFilter;
use crate::record::entry::{RecordEntry, act_field, call_value};
use crate::record::event_kind::{Act, EventKind};
use crate::record::history::{CallHistory, CallOutcome};
use crate::record::presence_file::DeadProcess;
use crate::record::reader::{LoadedSegment, RecordReader};
use crate::record::segment::RecordSegment;
use crate::state::StateFolder;

/// Finds calls, newest first, at most `limit` of them.
pub fn find_calls(
    state: &StateFolder,
    filter: &CallFilter,
    limit: usize,
) -> io::Result<Vec<CallHistory>> {
    let mut found = Vec::new();
    let dead = dead_processes(state)?;
    // Calls whose first line was not read yet.
    let mut open: HashMap<String, CallHistory> = HashMap::new();
    let record = RecordReader::open(state)?.between(filter.since, filter.until);
    let record = match filter.before {
        Some(line) => record.before(line),
        None => record,
    };
    // What comes after the wanted time is read only for the ends of calls from before.
    let is_cut = filter.until.is_some() || filter.before.is_some();
    for segment in record.load_all().rev() {
        prepend_lines(&segment?, filter, &mut open);
        let mut whole: Vec<CallHistory> = Vec::new();
        open.retain(|_, history| {
            let is_whole = history.first().is_some_and(|entry| entry.event == EventKind::Asked);
            if is_whole {
                whole.push(std::mem::take(history));
            }
            !is_whole
        });
        if is_cut {
            let open = whole.iter_mut().filter(|it| it.outcome() == CallOutcome::Open);
            add_later_lines(state, &record, open.collect())?;
        }
        for history in &mut whole {
            history.mark_dead(&dead);
        }
        whole.retain(|history| filter.takes(history));
        whole.sort_by_key(|history| std::cmp::Reverse(history.seq()));
        found.extend(whole);
        if found.len() >= limit {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// Returns the names of the processes that died and whose calls were not recovered yet.
fn dead_processes(state: &StateFolder) -> io::Result<HashSet<String>> {
    Ok(DeadProcess::find(state)?.into_iter().map(|process| process.name.clone()).collect())
}

/// Passes each wanted call with its lines to `export`, in the order in which the calls ended. A line that comes
/// after the end of its call is passed alone. Holds no more than the calls in progress in memory.
pub fn export_calls(
    state: &StateFolder,
    filter: &CallFilter,
    mut export: impl FnMut(&CallHistory, &[&[u8]]) -> io::Result<()>,
) -> io::Result<()> {
    let mut open: BTreeMap<String, (CallHistory, Vec<u8>)> = BTreeMap::new();
    let mut exported: HashSet<String> = HashSet::new();
    let mut export_one = |history: &CallHistory, text: &[u8]| {
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        export(history, &lines)
    };
    let record = RecordReader::open(state)?.between(filter.since, None);
    for segment in record.segments() {
        // Segments from after the wanted time are read only for the ends of calls from before.
        let is_after = filter.until.is_some_and(|until| !record.can_contain(*segment, until));
        if is_after && open.is_empty() {
            continue;
        }
        let Some(loaded) = record.load_if_readable(*segment)? else { continue };
        for (entry, line) in call_lines(&loaded, filter) {
            let call = entry.call.id.to_string();
            if exported.contains(&call) {
                let entries = vec![entry.into_owned()];
                export_one(&CallHistory { entries, is_dead: false }, line)?;
                continue;
            }
            let is_end = matches!(entry.event, EventKind::Ended | EventKind::Lost);
            if entry.event == EventKind::Asked && !is_after {
                open.insert(call.clone(), Default::default());
            }
            let Some((history, text)) = open.get_mut(&call) else { continue };
            history.entries.push(entry.into_owned());
            text.extend_from_slice(line);
            if is_end
                && let Some((history, text)) = open.remove(&call)
                && filter.takes(&history)
            {
                export_one(&history, &text)?;
                exported.insert(call);
            }
        }
    }
    let dead = dead_processes(state)?;
    for (history, _) in open.values_mut() {
        history.mark_dead(&dead);
    }
    for (history, text) in open.values().filter(|(history, _)| filter.takes(history)) {
        export_one(history, text)?;
    }
    Ok(())
}

/// Passes every line of the wanted time to `export`, in the order of the record.
pub fn export_lines(
    state: &StateFolder,
    filter: &CallFilter,
    mut export: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let record = RecordReader::open(state)?.between(filter.since, filter.until);
    for segment in record.load_all() {
        let segment = segment?;
        for line in segment.pieces().filter(|piece| segment.is_signed(piece)) {
            let entry = RecordEntry::parse(line.strip_suffix(b"\n").unwrap_or(line));
            if entry.is_none_or(|entry| filter.takes_time(entry.at)) {
                export(line)?;
            }
        }
    }
    Ok(())
}

/// Adds the lines of calls from the segments that `searched` does not have, until all of the calls have ended.
fn add_later_lines(
    state: &StateFolder,
    searched: &RecordReader,
    mut histories: Vec<&mut CallHistory>,
) -> io::Result<()> {
    if histories.is_empty() {
        return Ok(());
    }
    let record = RecordReader::open(state)?;
    let first = searched.segments().first();
    let is_later = |it: &&RecordSegment| Some(*it) > first && !searched.segments().contains(it);
    for segment in record.segments().iter().filter(is_later) {
        if histories.is_empty() {
            break;
        }
        let Some(loaded) = record.load_if_readable(*segment)? else { continue };
        for history in &mut histories {
            let marker = call_value(history.id());
            for at in memmem::find_iter(&loaded.bytes, &marker) {
                let start = memchr::memrchr(b'\n', &loaded.bytes[..at]).map_or(0, |it| it + 1);
                let end = memchr::memchr(b'\n', &loaded.bytes[at..]).map_or(0, |it| at + it + 1);
                let piece = loaded.bytes.get(start..end).filter(|piece| loaded.is_signed(piece));
                let entry = piece.and_then(RecordEntry::parse);
                history.entries.extend(entry.map(RecordEntry::into_owned));
            }
        }
        histories.retain(|history| history.outcome() == CallOutcome::Open);
    }
    Ok(())
}

/// Returns the lines of a segment that can belong to a wanted call.
fn call_lines<'a>(
    segment: &'a LoadedSegment,
    filter: &CallFilter,
) -> impl Iterator<Item = (RecordEntry<'a>, &'a [u8])> {
    let finder = filter.line_marker().map(|it| memmem::Finder::new(it.as_bytes()).into_owned());
    // An answer is noted by who gave it, without the session of the call.
    let answer = memmem::Finder::new(act_field(&Act::Approval).as_bytes()).into_owned();
    let has_marker = move |line: &&[u8]| {
        finder.as_ref().is_none_or(|it| it.find(line).is_some() || answer.find(line).is_some())
    };
    let lines = segment.pieces().filter(has_marker).filter(|piece| segment.is_signed(piece));
    let entries = lines.filter_map(|line| Some((RecordEntry::parse(line)?, line)));
    entries.filter(|(entry, _)| {
        matches!(entry.act, Act::ToolCall | Act::Approval) && !entry.call.id.is_empty()
    })
}

/// Puts the lines of a segment before those that were read from later segments.
fn prepend_lines(
    segment: &LoadedSegment,
    filter: &CallFilter,
    open: &mut HashMap<String, CallHistory>,
) {
    let mut earlier: HashMap<String, Vec<RecordEntry<'static>>> = HashMap::new();
    for (entry, _) in call_lines(segment, filter) {
        earlier.entry(entry.call.id.to_string()).or_default().push(entry.into_owned());
    }
    for (call, mut entries) in earlier {
        let history = open.entry(call).or_default();
        entries.append(&mut history.entries);
        history.entries = entries;
    }
}
