//! The columns of the tables that `toolcrib stats` prints.

use jiff::Timestamp;
use toolcrib_core::{ToolName, escape};
use toolcrib_ledger::{Histogram, Hour, HourKey};

/// How many hours the sparkline shows.
const SPARKLINE_HOURS: i64 = 24;

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
pub(super) fn sparkline(rows: &[&(HourKey, Hour)], now: Timestamp) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let now = now.as_second().div_euclid(3600);
    let calls: Vec<u64> = (now - SPARKLINE_HOURS + 1..=now)
        .map(|hour| rows.iter().filter(|it| it.0.hour == hour).map(|it| it.1.calls).sum())
        .collect();
    let most = calls.iter().copied().max().unwrap_or(0).max(1);
    let bar = |count: &u64| match *count {
        0 => ' ',
        count => BARS[((count * 8 - 1) / most).min(7) as usize],
    };
    calls.iter().map(bar).collect()
}

/// Returns a quantile of durations, or a dash if there are none.
pub(super) fn quantile(durations: &Histogram, share: f64) -> String {
    if durations.count() == 0 { "-".to_owned() } else { duration(durations.quantile(share)) }
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
