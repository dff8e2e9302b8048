//! Bracket expressions in patterns: which of them every program ends at the same place.

/// Whether all bracket expressions of a pattern are plain, such as `[a-z_]`, `[^,]` and `[[:alpha:]]`. Programs
/// disagree about where others end: whether a delimiter in them ends the pattern, and whether a `]` that comes first
/// or behind a backslash closes them.
pub(super) fn are_plain(pattern: &str) -> bool {
    let mut rest = pattern;
    while let Some(at) = rest.find(['[', ']', '\\']) {
        let behind = &rest[at + 1..];
        rest = match rest.as_bytes()[at] {
            b'\\' => {
                let mut chars = behind.chars();
                chars.next();
                chars.as_str()
            }
            b'[' => match behind_bracket(behind) {
                Some(behind) => behind,
                None => return false,
            },
            _ => return false,
        };
    }
    true
}

/// Returns what stands behind a bracket expression, if it is plain. `text` begins behind its `[`.
fn behind_bracket(text: &str) -> Option<&str> {
    let mut rest = text.strip_prefix('^').unwrap_or(text);
    let mut members = 0;
    loop {
        if let Some(class) = rest.strip_prefix("[:") {
            let (name, behind) = class.split_once(":]")?;
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase()) {
                return None;
            }
            rest = behind;
        } else {
            let mut chars = rest.chars();
            match chars.next()? {
                ']' if members > 0 => return Some(chars.as_str()),
                ']' | '[' | '\\' | '"' | '\n' => return None,
                _ => rest = chars.as_str(),
            }
        }
        members += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_brackets_that_end_at_the_same_place_for_everyone_are_plain() {
        for pattern in
            ["", "abc", "[./]", "[a-z_]+", "[^,]*", "[[:alpha:]_]", "[^[:space:]]", r"\[x\]"]
        {
            assert!(are_plain(pattern), "{pattern}");
        }
        for pattern in
            ["[]/]", "[^]/]", r"[\]/]", "[a", "a]", "[]", "[^]", "[[.a.]]", "[\"]", "[[:]"]
        {
            assert!(!are_plain(pattern), "{pattern}");
        }
    }
}
