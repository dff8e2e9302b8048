//! Numbers rounded for reports.

/// Rounds a number to so many digits after the point.
pub fn rounded(number: f64, places: i32) -> f64 {
    let factor = 10_f64.powi(places);
    (number * factor).round() / factor
}

/// Returns how many of 100 `all` are `part`, to three digits after the point.
pub(crate) fn percent(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| rounded(part as f64 / all as f64 * 100.0, 3))
}
