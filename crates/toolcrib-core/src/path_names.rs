//! A caller's path, read name by name. What the names mean is for whoever has the files.

use crate::error::{ErrorKind, ToolError};
use crate::escape::unname;

/// The longest path, and the longest name in a path, in bytes.
pub const LONGEST_PATH_BYTES: usize = 4095;
const LONGEST_NAME_BYTES: usize = 255;

/// Returns the names of a path. Nothing is expanded or cleaned up: no `~`, no `$HOME`, no `%2e`, and a name can be `..`.
pub fn path_names(shown: &str) -> Result<Vec<Vec<u8>>, ToolError> {
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
    let mut names = Vec::new();
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
    Ok(names)
}

/// Whether `..` ever outnumbers the names before it.
pub fn leaves_root<'a>(names: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut depth = 0_usize;
    for name in names {
        if name == b".." {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return true,
            }
        } else {
            depth += 1;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_name_by_name() {
        assert_eq!(path_names("/./a//b/").unwrap(), [b"a", b"b"]);
        assert_eq!(path_names("a/../$'\\xff'").unwrap(), [&b"a"[..], b"..", b"\xff"]);
        for path in ["", "a\0b", &"x/".repeat(3000), &"n".repeat(256), "$'\\x2e'", "$'a\\x2fb'"] {
            assert_eq!(path_names(path).unwrap_err().kind, ErrorKind::BadArgs, "{path}");
        }
    }

    #[test]
    fn a_path_leaves_where_it_goes_up_further_than_down() {
        for (path, leaves) in
            [("a/..", false), ("a/../b/c/../..", false), ("..", true), ("a/../../a", true)]
        {
            assert_eq!(leaves_root(path.split('/').map(str::as_bytes)), leaves, "{path}");
        }
    }
}
