//! A caller's path: parsed as paths in a folder are, with the same errors.

use toolcrib_core::path_names::{leaves_root, path_names};
use toolcrib_core::{ErrorKind, ToolError};

/// Parses a path to the names of it below the root. An absolute path must begin with `root`. Nothing is expanded or
/// cleaned up, so a name can be `..`.
pub(crate) fn parse(root: &[u8], shown: &str) -> Result<Vec<Vec<u8>>, ToolError> {
    let mut names = path_names(shown)?;
    if shown.starts_with('/') {
        let above: Vec<&[u8]> =
            root.split(|byte| *byte == b'/').filter(|it| !it.is_empty()).collect();
        let is_below = names.len() >= above.len() && names.iter().zip(&above).all(|(a, b)| a == b);
        if !is_below {
            return Err(outside(shown));
        }
        names.drain(..above.len());
    }
    // A path whose `..` leave the root is outside, whatever exists on the way.
    if leaves_root(names.iter().map(Vec::as_slice)) { Err(outside(shown)) } else { Ok(names) }
}

/// Returns the error for a path that leads outside. It is the same whatever is or is not there.
pub(crate) fn outside(path: &str) -> ToolError {
    ToolError::new(ErrorKind::Outside, format!("`{path}` leads outside the repository"))
        .hint("use a path inside the repository; links may neither leave it nor be absolute")
        .at(path)
}

/// Returns the error for a path at which nothing is.
pub(crate) fn missing(path: &str) -> ToolError {
    ToolError::new(ErrorKind::NotFound, format!("`{path}` does not exist")).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_name_by_name() {
        let names = |path: &str| parse(b"/srv/repo", path).unwrap();
        assert_eq!(names("./a//b/"), [b"a", b"b"]);
        assert_eq!(names("/srv/repo/a"), [b"a"]);
        assert_eq!(names("a/../b"), [&b"a"[..], b"..", b"b"]);
        assert_eq!(names("$'\\xff'"), [b"\xff"]);
        assert!(names(".").is_empty() && names("/srv/repo").is_empty());
    }

    #[test]
    fn a_path_that_is_none_is_refused() {
        let kind = |path: &str| parse(b"/srv/repo", path).unwrap_err().kind;
        for path in ["", "a\0b", &"x/".repeat(3000), &"n".repeat(256), "$'\\x2e'", "$'a\\x2fb'"] {
            assert_eq!(kind(path), ErrorKind::BadArgs, "{path}");
        }
        for path in ["..", "a/../..", "/etc/passwd", "/srv/repository", "/srv/repo/.."] {
            assert_eq!(kind(path), ErrorKind::Outside, "{path}");
        }
    }
}
