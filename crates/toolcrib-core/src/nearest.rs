//! Suggestions for a misspelt name: the known names with the smallest edit distance.

/// Returns up to `most` of `names` that are near `wanted`, the nearest first.
pub fn nearest<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    // No name is as long as this, so a comparison would only cost time.
    if wanted.len() > 128 {
        return Vec::new();
    }
    let folded = wanted.to_lowercase();
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let distance = distance(&folded, &name.to_lowercase());
            let enough = distance <= 1 + wanted.chars().count().max(name.chars().count()) / 3;
            (enough || name.contains(&folded) && folded.len() > 2).then_some((distance, name))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(most).map(|(_, name)| name).collect()
}

/// Returns the edit distance: how many insertions, deletions and substitutions turn `a` into `b`.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Joins names as "`a`, `b` or `c`", each in backticks.
pub fn either(names: &[&str]) -> String {
    join(names, "or")
}

/// Joins names as "`a`, `b` and `c`", each in backticks.
pub fn each(names: &[&str]) -> String {
    join(names, "and")
}

fn join(names: &[&str], word: &str) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} {word} {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names_come_first_and_far_ones_not_at_all() {
        let names = ["read_file", "read_dir", "write_file", "echo"];
        assert_eq!(nearest("raed_file", names, 2), ["read_file", "write_file"]);
        assert_eq!(nearest("READ_DIR", names, 1), ["read_dir"]);
        assert!(nearest("calculate_pi", names, 3).is_empty());
        assert!(nearest(&"x".repeat(10_000), names, 3).is_empty());
    }

    #[test]
    fn names_are_joined_as_a_sentence() {
        assert_eq!(either(&["a"]), "`a`");
        assert_eq!(either(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
