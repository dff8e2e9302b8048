//! Warnings of search tools, the same for all catalogues.

use std::time::Duration;

/// Returns the contract's warning that a search timed out.
pub(crate) fn out_of_time(time: Duration) -> String {
    let time = match time.subsec_millis() {
        0 => format!("{}s", time.as_secs()),
        _ => format!("{}ms", time.as_millis()),
    };
    format!("Warning: Search timed out after {time}, returning partial results")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_has_its_words() {
        let said = out_of_time(Duration::from_secs(30));
        assert_eq!(said, "Warning: Search timed out after 30s, returning partial results");
        assert!(out_of_time(Duration::from_millis(1500)).contains("after 1500ms"));
    }
}
