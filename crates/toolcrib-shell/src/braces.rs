//! Brace expansion: the words that a shell makes of `{a,b}`.

use crate::budget::Budget;

/// Adds the words that braces make of one word; returns whether there are no more than `most` words together.
pub(crate) fn expand_braces(
    word: &str,
    most: usize,
    all: &mut Vec<String>,
    budget: &Budget,
) -> bool {
    let mut open = vec![word.to_owned()];
    while let Some(word) = open.pop() {
        if all.len() + open.len() > most || !budget.spend_bytes(word.len()) {
            return false;
        }
        match innermost(&word) {
            Some((start, end)) => {
                let parts: Vec<&str> = word[start + 1..end].split(',').collect();
                if parts.len() > most || !budget.spend_bytes(parts.len() * word.len()) {
                    return false;
                }
                let made = parts.iter().rev();
                open.extend(
                    made.map(|part| format!("{}{part}{}", &word[..start], &word[end + 1..])),
                );
            }
            None if word.is_empty() => {}
            None => all.push(word),
        }
    }
    true
}

/// Returns the first pair of braces that has a comma and no other braces in it.
fn innermost(word: &str) -> Option<(usize, usize)> {
    let mut start = None;
    for (at, byte) in word.bytes().enumerate() {
        match byte {
            b'{' if at > 0 && word.as_bytes()[at - 1] == b'$' => start = None,
            b'{' => start = Some(at),
            b'}' => {
                if let Some(from) = start
                    && word[from..at].contains(',')
                {
                    return Some((from, at));
                }
                start = None;
            }
            _ => {}
        }
    }
    None
}
