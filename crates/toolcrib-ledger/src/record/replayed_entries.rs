//! Reads the record again from a line on, for readers that were away.

use std::io;
use std::ops::ControlFlow;

use crate::record::entry::RecordEntry;
use crate::record::reader::RecordReader;
use crate::state::StateFolder;

/// Gives `visit` the entries after the line `after`, each with its line, in the order of the record, until it breaks. They begin with those
/// of the same segment up to that line, which say what later ones do not repeat, such as who made a call.
pub fn entries_around(
    state: &StateFolder,
    after: u64,
    mut visit: impl FnMut(&RecordEntry<'_>, &[u8]) -> ControlFlow<()>,
) -> io::Result<()> {
    let record = RecordReader::open(state)?;
    let segments = record.segments();
    // The last one that begins with the next line or before it.
    let start = record.count_before(after.saturating_add(2)).saturating_sub(1);
    for segment in &segments[start..] {
        let Some(loaded) = record.load_if_readable(*segment)? else { continue };
        let entries = loaded.lines().filter_map(|line| Some((RecordEntry::parse(line)?, line)));
        for (entry, line) in entries {
            if visit(&entry, line).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}
