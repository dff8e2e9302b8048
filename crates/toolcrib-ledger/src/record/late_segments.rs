//! The list of segments with late lines: lines from before the segment's hour, written after a clock was set
//! back. A search by time has to read these segments too.

use std::io::{self, Write};
use std::path::Path;

use crate::record::segment::RecordSegment;
use crate::state::{open_append, read_regular};

/// The name of the list on disk.
const LATE_SEGMENTS_FILE: &str = "strays";

/// Adds a segment to the list.
pub(crate) fn add_late_segment(folder: &Path, segment: RecordSegment) -> io::Result<()> {
    let mut file = open_append(&folder.join(LATE_SEGMENTS_FILE))?;
    file.write_all(format!("{segment}\n").as_bytes())
}

/// Returns the segments on the list.
pub(crate) fn late_segments(folder: &Path) -> io::Result<Vec<RecordSegment>> {
    match read_regular(&folder.join(LATE_SEGMENTS_FILE)) {
        Ok(bytes) => {
            Ok(String::from_utf8_lossy(&bytes).lines().filter_map(RecordSegment::parse).collect())
        }
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(err) => {
            let message = format!("the record's file `{LATE_SEGMENTS_FILE}` {err}");
            Err(io::Error::new(err.kind(), message))
        }
    }
}
