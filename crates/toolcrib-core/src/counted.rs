//! Counted nouns, as people say them.

/// Returns a count with its noun: `1 byte`, `2 bytes`, `3 matches`. `noun` is the singular.
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        return format!("1 {noun}");
    }
    let ending = match noun {
        _ if noun.ends_with("ch") || noun.ends_with('s') || noun.ends_with('x') => "es",
        _ => "s",
    };
    match noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {noun}{ending}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        for (count, noun, expect) in [
            (0, "byte", "0 bytes"),
            (1, "byte", "1 byte"),
            (2, "match", "2 matches"),
            (2, "process", "2 processes"),
            (1, "entry", "1 entry"),
            (7, "entry", "7 entries"),
            (3, "day", "3 days"),
        ] {
            assert_eq!(counted(count, noun), expect);
        }
    }
}
