//! Commands that run their input: which stage of a pipeline, which text below a command, which words.

use toolcrib_core::program::{
    self, Fact, base_name, is_input, is_interpreter, is_shell, runs_input,
};
use tree_sitter::Node;

use crate::budget::Budget;
use crate::walk::NodeWalk;
use crate::words::{children, is_destination, plain, plain_words, word_nodes};

/// Whether a stage of a pipeline runs its input.
pub(crate) fn runs_input_in(stage: Node<'_>, text: &str, budget: &Budget) -> bool {
    let mut walk = NodeWalk::new(stage, budget);
    while let Some((node, _)) = walk.next() {
        if node.kind() == "command" && runs_its_input(&plain_words(node, text, budget)) {
            return true;
        }
    }
    false
}

/// The most words before a program that are read.
const MOST_WORDS_READ: usize = 256;

fn runs_its_input(words: &[String]) -> bool {
    let words = &words[..words.len().min(MOST_WORDS_READ)];
    // From the back, so that the answer for the words behind one is known when its turn comes.
    let mut runs = vec![false; words.len() + 1];
    for at in (0..words.len()).rev() {
        runs[at] = runs_from(&words[at..], &runs[at..]);
    }
    runs[0]
}

/// Whether a program runs its input. `runs` has the same answer for each word behind it.
fn runs_from(words: &[String], runs: &[bool]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let first = base_name(first);
    if matches!(first, "source" | ".") {
        return rest.iter().any(|word| is_input(word));
    }
    if is_shell(first) || matches!(first, "$SHELL" | "${SHELL}") {
        return is_without_program(rest, "c", "oO");
    }
    if is_interpreter(first) {
        return is_without_program(rest, "ceEmp", "WXrI");
    }
    let Some(program) = program::find(first) else { return false };
    if runs_input(words) {
        return true;
    }
    if program.is(Fact::PassesInputOn) {
        return passes_input_to_shell(first, rest);
    }
    let Some(mut own) = program.own_words() else { return false };
    for (at, word) in rest.iter().enumerate() {
        if word.starts_with('-') || word.contains('=') {
            continue;
        }
        if runs.get(at + 1).copied().unwrap_or(false) {
            return true;
        }
        let follows_flag = at > 0 && rest[at - 1].starts_with('-');
        if own > 0 && !follows_flag {
            own -= 1;
        } else if !follows_flag {
            return false;
        }
    }
    false
}

/// Whether a program that passes its input on passes it to a shell: in a container, on another machine, or as words
/// that `xargs` puts behind the others.
fn passes_input_to_shell(name: &str, rest: &[String]) -> bool {
    let names_shell = |word: &String| is_shell(base_name(word));
    let is_value = |at: usize| at.checked_sub(1).is_some_and(|at| takes_next_word(&rest[at]));
    let program = rest.iter().enumerate().find(|(at, it)| !it.starts_with('-') && !is_value(*at));
    if name == "xargs" && program.is_some_and(|(at, _)| runs_further_words(rest, at)) {
        return true;
    }
    let names_other = name == "xargs" && program.is_some_and(|(_, it)| !names_shell(it));
    !names_other && rest.iter().any(names_shell)
}

/// Whether the next word is the value of this flag of `xargs`, as of the last letter of `-0n`, but not of `-n1`.
fn takes_next_word(flag: &str) -> bool {
    const LONG_WITHOUT_VALUE: &[&str] =
        &["--null", "--no-run-if-empty", "--verbose", "--interactive", "--exit", "--open-tty"];
    if flag.starts_with("--") {
        return !flag.contains('=') && !LONG_WITHOUT_VALUE.contains(&flag);
    }
    let letters = flag.strip_prefix('-').unwrap_or_default();
    letters.find(|c| "EILPadns".contains(c)).is_some_and(|at| at + 1 == letters.len())
}

/// Whether the program at this word runs what `xargs` puts behind its words: it is a wrapper without a program, an
/// interpreter whose last flag takes a script, or the mark that the input replaces.
fn runs_further_words(rest: &[String], at: usize) -> bool {
    let (name, behind) = (base_name(&rest[at]), &rest[at + 1..]);
    let marks = rest[..at].iter().zip(&rest[1..]).filter_map(|(flag, next)| {
        let mark = flag.strip_prefix("-I")?;
        Some(if mark.is_empty() { next.as_str() } else { mark })
    });
    let is_mark = marks.chain(["{}"]).any(|mark| name.contains(mark));
    let is_script = is_interpreter(name)
        && behind.last().is_some_and(|it| it.starts_with('-') && it.ends_with(['c', 'e']));
    let own = program::find(name).and_then(program::Program::own_words);
    let is_open = own.is_some_and(|own| {
        let is_value = |at: usize| at > 0 && behind[at - 1].starts_with('-');
        let is_own = |at: usize| behind[at].starts_with('-') || behind[at].contains('=');
        let operands = (0..behind.len()).filter(|at| !is_own(*at) && !is_value(*at));
        operands.count() <= own
    });
    is_mark || is_script || is_open && name != "xargs"
}

/// Whether neither a file nor a flag of `tell` names what is run, so that the input is run. The flags of `values` take
/// a value.
fn is_without_program(rest: &[String], tell: &str, values: &str) -> bool {
    let letters = |word: &String| {
        word.strip_prefix('-').filter(|it| !it.starts_with('-')).unwrap_or_default().to_owned()
    };
    let is_flag = |word: &String| word.starts_with(['-', '+']) && word.len() > 1;
    // The flag stands alone, or is the last of several letters.
    let says = |word: &String| {
        let letters = letters(word);
        letters.starts_with(|c| tell.contains(c))
            || letters.ends_with(|c| tell.contains(c))
            || word == "--eval"
            || word == "--command"
    };
    if rest.iter().any(|word| word == "-s") {
        return true;
    }
    let is_value = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| rest.get(at)).filter(|it| is_flag(it));
        before.is_some_and(|it| it.ends_with(|c| values.contains(c)))
    };
    let operand = rest.iter().enumerate().find(|(at, word)| !is_flag(word) && !is_value(*at));
    !rest.iter().any(says) && operand.is_none_or(|(_, word)| is_input(word))
}

/// Returns the words that a command evaluates, as they are spelt, but for those in single quotes.
pub(crate) fn evaluated(
    node: Node<'_>,
    above: &[Node<'_>],
    text: &str,
    budget: &Budget,
) -> Vec<String> {
    let nodes = word_nodes(node);
    budget.spend_bytes(node.byte_range().len());
    let words: Vec<String> = nodes.iter().map(|it| plain(*it, text)).collect();
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    let first = base_name(first);
    // `eval` expands even what stands in single quotes.
    let is_open = |at: usize| {
        nodes.get(at + 1).is_some_and(|it| it.kind() != "raw_string")
            || first == "eval" && rest[at].starts_with(['$', '`'])
    };
    let after = |flags: &str| {
        let flag = rest.iter().position(|word| {
            let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
            letters.is_some_and(|it| it.contains(|c| flags.contains(c)))
        });
        match flag {
            // A flag may have a value of its own before it.
            Some(at) => (at + 1..rest.len()).take(3).collect(),
            None => rest.iter().position(|it| !it.starts_with('-')).into_iter().collect::<Vec<_>>(),
        }
    };
    let places: Vec<usize> = match first {
        "eval" | "source" | "." => (0..rest.len()).collect(),
        _ if is_shell(first) => after("c"),
        _ if is_interpreter(first) => after("ce"),
        _ => return Vec::new(),
    };
    let open = places.into_iter().filter(|at| is_open(*at));
    // A word that begins with something else has the expansion only as an argument.
    let begins = |it: &String| {
        matches!(first, "eval" | "source" | ".")
            || it.trim_start().starts_with(['$', '`', '<'])
            || it != "-" && is_input(it)
    };
    let mut all: Vec<String> = open.filter_map(|at| rest.get(at).cloned()).filter(begins).collect();
    // `bash < <(…)`
    let above = above.last().filter(|it| it.kind() == "redirected_statement");
    let redirects = children(*above.unwrap_or(&node)).filter(|it| it.kind() == "file_redirect");
    let read = redirects.filter_map(|it| children(it).find(is_destination));
    all.extend(read.map(|it| plain(it, text)).filter(|it| it.starts_with("<(")));
    all
}

/// Whether a here-document or here-string is read by a shell, and not only passed on.
pub(crate) fn is_for_shell(above: &[Node<'_>], text: &str, budget: &Budget) -> bool {
    for (at, it) in above.iter().enumerate().rev() {
        if !budget.spend(1) {
            return true;
        }
        // The rest of the line behind the mark belongs to the redirection.
        if it.kind() == "heredoc_redirect"
            && children(*it).any(|part| runs_input_in(part, text, budget))
        {
            return true;
        }
        let command = match it.kind() {
            "redirected_statement" => it.child_by_field_name("body"),
            "command" => Some(*it),
            _ => None,
        };
        if let Some(command) = command {
            let words = plain_words(command, text, budget);
            let first = words.first().map_or("", |it| base_name(it));
            if program::is(first, Fact::LogsIn)
                || runs_input(&words)
                || words.iter().any(|word| is_shell(base_name(word)))
            {
                return true;
            }
            let piped = above[..at].last().filter(|it| it.kind() == "pipeline");
            let mut stages = piped.into_iter().flat_map(|it| children(*it));
            return stages.any(|stage| runs_input_in(stage, text, budget));
        }
    }
    true
}
