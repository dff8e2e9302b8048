//! What parts of a parsed text are: shells, words, where things end.

use tree_sitter::Node;

use crate::words::{children, plain};
use crate::wrappers::wraps;

/// Programs that read commands.
pub(crate) const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "loksh", "mksh", "nu", "oksh", "osh",
    "posh", "rbash", "sh", "tcsh", "xonsh", "yash", "zsh",
];

/// Whether a stage of a pipeline is a shell, or has one run.
pub(crate) fn runs_shell(stage: Node<'_>, text: &str) -> bool {
    let mut open = vec![stage];
    while let Some(node) = open.pop() {
        if node.kind() == "command" {
            let words = plain_words(node, text);
            let is_shell = |word: &String| SHELLS.contains(&base(word));
            let first = words.first().map_or("", |it| base(it));
            let reads =
                matches!(first, "source" | ".") && words.iter().any(|it| it == "/dev/stdin");
            let is_wrapped = wraps(first).is_some() && words.iter().any(is_shell);
            if SHELLS.contains(&first) || is_wrapped || reads {
                return true;
            }
        }
        open.extend(children(node));
    }
    false
}

/// Where what a `cd` does ends: with the subshell it is in.
pub(crate) fn scope_end(node: Node<'_>) -> usize {
    let mut above = node.parent();
    while let Some(it) = above {
        if matches!(it.kind(), "subshell" | "command_substitution" | "process_substitution") {
            return it.end_byte();
        }
        above = it.parent();
    }
    usize::MAX
}

/// Whether a part of a redirection is where it goes, or a word after that.
pub(crate) fn is_destination(node: &Node<'_>) -> bool {
    node.is_named() && node.kind() != "file_descriptor"
}

/// Whether the text below a command is read by a shell, and not only passed on.
pub(crate) fn is_for_shell(node: Node<'_>, text: &str) -> bool {
    let mut above = node.parent();
    while let Some(it) = above {
        // What comes after its mark on the same line is a part of it.
        if it.kind() == "heredoc_redirect" && children(it).any(|part| runs_shell(part, text)) {
            return true;
        }
        let command = match it.kind() {
            "redirected_statement" => it.child_by_field_name("body"),
            "command" => Some(it),
            _ => None,
        };
        if let Some(command) = command {
            let words = plain_words(command, text);
            let first = words.first().map_or("", |it| base(it));
            let is_login = matches!(first, "ssh" | "sudo" | "su" | "doas");
            if is_login || words.iter().any(|word| SHELLS.contains(&base(word))) {
                return true;
            }
            let piped = it.parent().filter(|it| it.kind() == "pipeline");
            let mut stages = piped.into_iter().flat_map(children);
            return stages.any(|stage| runs_shell(stage, text));
        }
        above = it.parent();
    }
    true
}

/// The words of a command, quotes taken away.
pub(crate) fn plain_words(node: Node<'_>, text: &str) -> Vec<String> {
    let is_word = |node: &Node<'_>| {
        !matches!(
            node.kind(),
            "variable_assignment" | "file_redirect" | "heredoc_redirect" | "herestring_redirect"
        ) && node.is_named()
    };
    children(node).filter(is_word).map(|word| plain(word, text)).collect()
}

/// A program's name without its folder.
pub(crate) fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
