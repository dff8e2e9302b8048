//! Words that are known only when the command runs, and the programs that only read whatever such a word becomes.

use toolcrib_core::command_reading::Step;
use toolcrib_core::program::{self, Caveat, Fact, reads_any_words};

use super::expansion::{Wildcards, Word};

/// Whether a program only reads, whatever its word number `at` becomes. Its other words are literal, or are asked about
/// in the same way.
pub(super) fn can_be_wild(step: &Step, at: usize, word: &Word) -> bool {
    let words = &step.words;
    let name = words.first().map_or("", String::as_str);
    if at == 0 || step.caveat.is_some() {
        return false;
    }
    let is_path = word.wildcards == Wildcards::Paths && !word.text.starts_with('-');
    match name {
        "[" | "[[" | "test" => word.is_one && is_operand(words, at),
        // Behind the format, it only prints.
        "printf" => at > 1 && !words[1].starts_with('-'),
        // None of its actions has such a character.
        "find" => is_path || word.wildcards == Wildcards::AnyPath && word.text.contains(['.', '/']),
        "awk" | "jq" | "sed" => is_path && script_at(words).is_some_and(|script| script < at),
        name if reads_any_words(name) => true,
        name => program::find(name).is_some_and(|program| {
            let has_list = matches!(program.caveat, Caveat::Flags { .. });
            let is_known = program.is(Fact::ReadOnly) && !program.is(Fact::HasMoreFlags);
            is_path && has_list && is_known
        }),
    }
}

/// Whether a word is an operand of a condition whose operator is known, so that nothing can make it another one.
fn is_operand(words: &[String], at: usize) -> bool {
    let end = words.len() - usize::from(words[0] != "test");
    let start = 1 + usize::from(words[1] == "!" && at != 1);
    match &words[start..end] {
        [operator, _] => {
            let is_letter = |c: char| c.is_ascii_alphabetic();
            let is_flag = operator.strip_prefix('-').is_some_and(|it| it.chars().all(is_letter));
            at == start + 1 && is_flag && operator.len() == 2
        }
        [_, operator, _] => at != start + 1 && BINARY_OPERATORS.contains(&operator.as_str()),
        _ => false,
    }
}

const BINARY_OPERATORS: [&str; 12] =
    ["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

/// Returns the number of the word that is the script of a program, if no flag gives it.
fn script_at(words: &[String]) -> Option<usize> {
    let is_flag = |word: &String| word.starts_with('-') && word.len() > 1;
    // The value of `-F` is no script, and that of `-e` is one.
    let has_script = |word: &String| is_flag(word) && word.contains('e');
    let at = (1..words.len()).find(|at| !is_flag(&words[*at]) && words[at - 1] != "-F")?;
    (!words[1..].iter().any(has_script)).then_some(at)
}
