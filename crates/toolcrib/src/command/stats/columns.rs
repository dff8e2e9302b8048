//! The columns of the tables that `toolcrib stats` prints.

use toolcrib_core::{ToolName, escape};

/// The most bytes of a message or of arguments in a table.
const LONGEST_CELL_BYTES: usize = 100;

/// Returns the width of the column of tool names.
pub(super) fn name_width<T>(tools: &[(ToolName, T)]) -> usize {
    tools
        .iter()
        .map(|(name, _)| name.as_str().chars().count())
        .max()
        .unwrap_or_default()
        .clamp(4, 40)
}

/// Returns the calls of each of the last hours, as a line of bars.
pub(super) fn sparkline(calls: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = calls.iter().copied().max().unwrap_or(0).max(1);
    let bar = |count: &u64| match *count {
        0 => ' ',
        count => BARS[((count.saturating_mul(8) - 1) / most).min(7) as usize],
    };
    calls.iter().map(bar).collect()
}

/// Formats a quantile of durations, or a dash if there are none.
pub(super) fn quantile(timed_calls: u64, us: f64) -> String {
    if timed_calls == 0 { "-".to_owned() } else { duration(us) }
}

/// Formats a duration that is given in microseconds.
pub(super) fn duration(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{us:.0} µs"),
        us if us < 1e6 => format!("{:.1} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

/// Returns the beginning of a text, in one line.
pub(super) fn shorten(text: &str) -> String {
    let text = escape::line(text);
    let cut = text.floor_char_boundary(LONGEST_CELL_BYTES);
    let more = if cut < text.len() { "…" } else { "" };
    format!("{}{more}", &text[..cut])
}
