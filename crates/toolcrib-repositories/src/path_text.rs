//! A caller's path: parsed as paths in a folder are, with the same errors.

use toolcrib_core::escape::unname;
use toolcrib_core::{ErrorKind, ToolError};

/// The longest path, and the longest name in a path, in bytes.
pub(crate) const LONGEST_PATH_BYTES: usize = 4095;
const LONGEST_NAME_BYTES: usize = 255;

/// Parses a path to the names of it below the root. An absolute path must begin with `root`. Nothing is expanded or
/// cleaned up, so a name can be `..`.
pub(crate) fn parse(root: &[u8], shown: &str) -> Result<Vec<Vec<u8>>, ToolError> {
    let refuse = |why: &str| {
        let path: String = shown.chars().take(200).collect();
        Err(ToolError::new(ErrorKind::BadArgs, format!("the path {why}")).at(path))
    };
    if shown.is_empty() {
        return refuse("is empty");
    }
    if shown.contains('\0') {
        return refuse("contains a NUL character");
    }
    if shown.len() > LONGEST_PATH_BYTES {
        let bytes = shown.len();
        return refuse(&format!("has {bytes} bytes, and the limit is {LONGEST_PATH_BYTES}"));
    }
    let mut names: Vec<Vec<u8>> = Vec::new();
    for name in shown.split('/').filter(|name| !name.is_empty() && *name != ".") {
        let name = unname(name);
        if name.len() > LONGEST_NAME_BYTES {
            return refuse(&format!("has a name longer than {LONGEST_NAME_BYTES} bytes"));
        }
        if name.is_empty() || *name == *b"." || name.contains(&b'/') || name.contains(&0) {
            return refuse("contains a name that no file can have");
        }
        names.push(name.into_owned());
    }
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
    if leaves(&names) { Err(outside(shown)) } else { Ok(names) }
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

/// Whether `..` ever outnumbers the names before it.
fn leaves(names: &[Vec<u8>]) -> bool {
    let mut depth = 0_usize;
    names.iter().any(|name| {
        if name == b".." {
            let is_out = depth == 0;
            depth = depth.saturating_sub(1);
            return is_out;
        }
        depth += 1;
        false
    })
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
