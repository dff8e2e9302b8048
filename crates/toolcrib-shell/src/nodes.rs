//! What parts of a parsed text are: shells, words, where things end.

use tree_sitter::Node;

use crate::budget::Budget;
use crate::walk::Walk;
use crate::words::{children, plain};
use crate::wrappers::wraps;

/// Programs that read commands.
pub(crate) const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "loksh", "mksh", "nu", "oksh", "osh",
    "posh", "rbash", "sh", "tcsh", "xonsh", "yash", "zsh",
];

/// Programs that read a program of their own language from what they are fed.
const INTERPRETERS: &[&str] =
    &["bun", "deno", "lua", "node", "nodejs", "perl", "php", "python", "ruby", "tclsh"];

/// Whether a stage of a pipeline runs what it is fed.
pub(crate) fn runs_shell(stage: Node<'_>, text: &str, budget: &Budget) -> bool {
    let mut walk = Walk::new(stage, budget);
    while let Some((node, _)) = walk.next() {
        if node.kind() == "command" && runs_what_it_is_fed(&plain_words(node, text, budget)) {
            return true;
        }
    }
    false
}

/// More words than this nobody writes before a program.
const MOST_WORDS: usize = 256;

fn runs_what_it_is_fed(words: &[String]) -> bool {
    let words = &words[..words.len().min(MOST_WORDS)];
    // From the back, so that what follows a word is known when it is looked at.
    let mut fed = vec![false; words.len() + 1];
    for at in (0..words.len()).rev() {
        fed[at] = runs_from(&words[at..], &fed[at..]);
    }
    fed[0]
}

/// Whether a program runs what it is fed; `fed` tells the same of each word after it.
fn runs_from(words: &[String], fed: &[bool]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let first = base(first);
    let is_shell = |word: &String| SHELLS.contains(&base(word));
    if matches!(first, "source" | ".") {
        return rest.iter().any(|word| word == "/dev/stdin");
    }
    if SHELLS.contains(&first) || matches!(first, "$SHELL" | "${SHELL}") {
        return is_without_program(rest, "c", "oO");
    }
    if is_interpreter(first) {
        return is_without_program(rest, "ceEmp", "WXrI");
    }
    // What `xargs` puts behind their words is run, too; and in containers and on other machines.
    if matches!(first, "xargs" | "parallel" | "docker" | "podman" | "kubectl" | "ssh") {
        const ALONE: &[&str] = &["-0", "-r", "-t", "-p", "-x", "--null", "--no-run-if-empty"];
        let is_value = |at: usize| {
            let before = at.checked_sub(1).map(|at| rest[at].as_str());
            before.is_some_and(|it| it.starts_with('-') && !ALONE.contains(&it))
        };
        let program =
            rest.iter().enumerate().find(|(at, it)| !it.starts_with('-') && !is_value(*at));
        let is_told = first == "xargs" && program.is_some_and(|(_, it)| !is_shell(it));
        return !is_told && rest.iter().any(is_shell);
    }
    let Some(mut own) = wraps(first) else { return false };
    for (at, word) in rest.iter().enumerate() {
        if word.starts_with('-') || word.contains('=') {
            continue;
        }
        if fed.get(at + 1).copied().unwrap_or(false) {
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

fn is_interpreter(name: &str) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&bare)
}

/// Whether neither a file nor a flag of `tell` says what is run: what is fed does. Those of `values` have a value.
fn is_without_program(rest: &[String], tell: &str, values: &str) -> bool {
    let letters = |word: &String| {
        word.strip_prefix('-').filter(|it| !it.starts_with('-')).unwrap_or_default().to_owned()
    };
    let is_flag = |word: &String| word.starts_with(['-', '+']) && word.len() > 1;
    // Alone, or the last of several.
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
    let is_stdin = |word: &str| matches!(word, "-" | "/dev/stdin" | "/dev/fd/0");
    !rest.iter().any(says) && operand.is_none_or(|(_, word)| is_stdin(word))
}

/// The words of a command that it evaluates, as they are spelt; what single quotes keep as it is, is none.
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
    let first = base(first);
    let is_open = |at: usize| nodes.get(at + 1).is_some_and(|it| it.kind() != "raw_string");
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
        _ if SHELLS.contains(&first) => after("c"),
        _ if is_interpreter(first) => after("ce"),
        _ => return Vec::new(),
    };
    let open = places.into_iter().filter(|at| is_open(*at));
    // What begins with something else only has it as a word.
    let begins = |it: &String| {
        matches!(first, "eval" | "source" | ".")
            || it.trim_start().starts_with(['$', '`', '<'])
            || it == "/dev/stdin"
    };
    let mut all: Vec<String> = open.filter_map(|at| rest.get(at).cloned()).filter(begins).collect();
    // `bash < <(…)`
    let above = above.last().filter(|it| it.kind() == "redirected_statement");
    let redirects = children(*above.unwrap_or(&node)).filter(|it| it.kind() == "file_redirect");
    let read = redirects.filter_map(|it| children(it).find(is_destination));
    all.extend(read.map(|it| plain(it, text)).filter(|it| it.starts_with("<(")));
    all
}

/// Whether a path is one of the streams that are open already.
pub(crate) fn is_stream(path: &str) -> bool {
    let number = path.strip_prefix("/proc/self/fd/").or_else(|| path.strip_prefix("/dev/fd/"));
    matches!(path, "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/null")
        || number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a function starts itself more than once at the same time: as a part of a pipeline, or behind its own
/// back.
pub(crate) fn is_fork_bomb(node: Node<'_>, text: &str, budget: &Budget) -> bool {
    let Some(name) = node.child_by_field_name("name").map(|name| plain(name, text)) else {
        return false;
    };
    let Some(body) = node.child_by_field_name("body") else { return false };
    let (mut calls, mut forks, mut loops) = (0, 0, false);
    let mut walk = Walk::new(body, budget);
    while let Some((node, above)) = walk.next() {
        let is_call = node.kind() == "command"
            && node.child_by_field_name("name").is_some_and(|it| plain(it, text) == name);
        if !is_call {
            continue;
        }
        calls += 1;
        // The call itself, or with its redirections; then the pipeline that it is a stage of.
        let mut stage = node;
        let mut outer = above;
        for kind in ["redirected_statement", "pipeline"] {
            if let Some((last, rest)) = outer.split_last().filter(|it| it.0.kind() == kind) {
                (stage, outer) = (*last, rest);
            }
        }
        let is_behind = outer.last().is_some_and(|parent| is_sent_behind(stage, *parent, budget));
        if stage.kind() == "pipeline" || is_behind {
            forks += 1;
            budget.spend(above.len());
            loops |= above.iter().skip(1).any(is_loop);
        }
    }
    forks > 0 && (calls > 1 || loops)
}

/// Whether a statement is followed by `&`.
fn is_sent_behind(node: Node<'_>, parent: Node<'_>, budget: &Budget) -> bool {
    let siblings: Vec<_> = children(parent).collect();
    budget.spend(siblings.len());
    let mut rest = siblings.into_iter().skip_while(|it| it.id() != node.id()).skip(1);
    rest.next().is_some_and(|it| it.kind() == "&")
}

fn is_loop(node: &Node<'_>) -> bool {
    matches!(node.kind(), "while_statement" | "for_statement" | "c_style_for_statement")
}

/// Where what a `cd` does ends: with the subshell it is in.
pub(crate) fn scope_end(above: &[Node<'_>], budget: &Budget) -> usize {
    budget.spend(above.len());
    let is_scope = |it: &&Node<'_>| {
        matches!(it.kind(), "subshell" | "command_substitution" | "process_substitution")
    };
    above.iter().rev().find(is_scope).map_or(usize::MAX, Node::end_byte)
}

/// Whether a part of a redirection is where it goes, or a word after that.
pub(crate) fn is_destination(node: &Node<'_>) -> bool {
    node.is_named() && node.kind() != "file_descriptor"
}

/// Whether the text below a command is read by a shell, and not only passed on.
pub(crate) fn is_for_shell(above: &[Node<'_>], text: &str, budget: &Budget) -> bool {
    for (at, it) in above.iter().enumerate().rev() {
        if !budget.spend(1) {
            return true;
        }
        // What comes after its mark on the same line is a part of it.
        if it.kind() == "heredoc_redirect"
            && children(*it).any(|part| runs_shell(part, text, budget))
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
            let first = words.first().map_or("", |it| base(it));
            let is_login = matches!(first, "ssh" | "sudo" | "su" | "doas");
            if is_login || words.iter().any(|word| SHELLS.contains(&base(word))) {
                return true;
            }
            let piped = above[..at].last().filter(|it| it.kind() == "pipeline");
            let mut stages = piped.into_iter().flat_map(|it| children(*it));
            return stages.any(|stage| runs_shell(stage, text, budget));
        }
    }
    true
}

/// The words of a command, quotes taken away.
pub(crate) fn plain_words(node: Node<'_>, text: &str, budget: &Budget) -> Vec<String> {
    budget.spend_bytes(node.byte_range().len());
    word_nodes(node).into_iter().map(|word| plain(word, text)).collect()
}

/// The words of a command, as they are parsed.
pub(crate) fn word_nodes(node: Node<'_>) -> Vec<Node<'_>> {
    let is_word = |node: &Node<'_>| {
        !matches!(
            node.kind(),
            "variable_assignment"
                | "file_redirect"
                | "heredoc_redirect"
                | "herestring_redirect"
                | "do_group"
        ) && node.is_named()
    };
    children(node).filter(is_word).collect()
}

/// Whether a shell would make several words of one with braces: quotes keep it from that.
pub(crate) fn can_brace(node: Node<'_>, text: &str) -> bool {
    match node.kind() {
        "raw_string" | "string" | "ansi_c_string" | "translated_string" => false,
        "concatenation" | "command_name" => children(node).any(|it| can_brace(it, text)),
        _ => text[node.byte_range()].contains(['{', '}']),
    }
}

/// A program's name without its folder.
pub(crate) fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
