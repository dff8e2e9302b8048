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

/// Returns why a glob that names something hidden finds nothing. `directory` is the argument that leads there, if the
/// tool has one.
pub(crate) fn hidden(glob: Option<&str>, directory: Option<&str>) -> Option<String> {
    let is_hidden = |part: &&str| part.starts_with('.') && !matches!(*part, "." | "..");
    let name = glob?.split('/').find(is_hidden)?;
    let way = match directory {
        Some(argument) => format!("; to search a hidden folder, name it as `{argument}`"),
        None => String::new(),
    };
    Some(format!("`{name}` is hidden, and a search skips hidden files and folders{way}"))
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

    #[test]
    fn a_glob_that_names_something_hidden_is_told_apart() {
        for glob in [".github/**", "a/.b/c", "**/.env", ".*"] {
            assert!(hidden(Some(glob), None).is_some(), "{glob}");
        }
        for glob in ["src/**", "./a", "../a", "a.b/*.c", ""] {
            assert_eq!(hidden(Some(glob), Some("directory")), None, "{glob}");
        }
        let said = hidden(Some(".github/**"), Some("directory")).unwrap();
        assert!(said.ends_with("; to search a hidden folder, name it as `directory`"), "{said}");
    }
}
