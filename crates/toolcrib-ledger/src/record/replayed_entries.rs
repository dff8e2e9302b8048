//! Reads the record again from a line on, for readers that were away.

use std::io;
use std::ops::ControlFlow;

use crate::record::entry::RecordEntry;
use crate::record::reader::RecordReader;
use crate::state::StateFolder;

/// Gives `visit` each entry after the line `after`, in the order of the record, until it breaks.
pub fn entries_after(
    state: &StateFolder,
    after: u64,
    mut visit: impl FnMut(&RecordEntry<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let record = RecordReader::open(state)?;
    let segments = record.segments();
    // Backwards to the segment that has the line: whoever was away was away for a short time.
    let mut start = segments.len();
    while start > 0 {
        start -= 1;
        let Some(loaded) = record.load_if_readable(segments[start])? else { continue };
        let first = loaded.lines().find_map(RecordEntry::parse).map(|entry| entry.seq);
        if first.is_some_and(|first| first <= after.saturating_add(1)) {
            break;
        }
    }
    for segment in &segments[start..] {
        let Some(loaded) = record.load_if_readable(*segment)? else { continue };
        for entry in loaded.lines().filter_map(RecordEntry::parse) {
            if entry.seq > after && visit(&entry).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}
