//! What is told of figures that were computed again.

use serde_json::json;
use toolcrib_core::counted;
use toolcrib_serve::RebuiltStats;

use crate::exit::Exit;
use crate::terminal::{Format, Terminal, print_json, print_lines};

/// Prints what came of figures that were computed again.
pub(super) fn show(terminal: Terminal, rebuilt: &RebuiltStats, format: Format) -> Exit {
    for warning in &rebuilt.warnings {
        terminal.warn(warning);
    }
    match format {
        Format::Json => {
            print_json(&json!({"ok": true, "lines": rebuilt.lines}).to_string());
        }
        Format::Text => {
            let lines = counted(rebuilt.lines, "line");
            print_lines(&[format!("Rebuilt the statistics from {lines} of the record.")]);
        }
    }
    Exit::Done
}
