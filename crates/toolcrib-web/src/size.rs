//! Sizes in bytes as people read them.

/// Returns a size in the unit that suits it, such as `12.3 KB`.
pub(crate) fn shown(bytes: usize) -> String {
    const UNITS: [&str; 3] = ["KB", "MB", "GB"];
    if bytes < 1_000 {
        return format!("{bytes} bytes");
    }
    let mut size = bytes as f64 / 1_000.0;
    let mut unit = 0;
    while size >= 999.95 && unit + 1 < UNITS.len() {
        size /= 1_000.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_suits() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1_000, "1.0 KB"),
            (12_345, "12.3 KB"),
            (999_990, "1.0 MB"),
            (1_200_000, "1.2 MB"),
            (5_000_000_000, "5.0 GB"),
        ] {
            assert_eq!(shown(bytes), expected);
        }
    }
}
