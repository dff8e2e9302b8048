//! Flags that a grant for the beginning of a command does not cover.

/// Returns the first flag behind the first `granted` words of a command that those words do not cover.
pub(super) fn new_flag(words: &[String], granted: usize) -> Option<&String> {
    let granted = granted.min(words.len());
    let is_new = |at: &usize| is_flag(&words[*at]) && !is_repeated(words, granted, *at);
    (granted..words.len()).find(is_new).map(|at| &words[at])
}

/// Whether a word could tell a program what to do: a flag, a setting `NAME=VALUE`, or a file with more of them.
fn is_flag(word: &str) -> bool {
    let is_name = |name: &str| {
        let name = name.trim_end_matches([':', '+', '?']);
        !name.is_empty()
            && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"_.-".contains(&it))
    };
    word.starts_with(['-', '+', '@']) || word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Whether a flag is among the granted words, and can have no other value here than there.
fn is_repeated(words: &[String], granted: usize, at: usize) -> bool {
    // The word behind a flag may be its value.
    let is_alone =
        |at: usize, end: usize| words[at].contains('=') || at + 1 == end || is_flag(&words[at + 1]);
    is_alone(at, words.len())
        && (1..granted).any(|it| words[it] == words[at] && is_alone(it, granted))
}
