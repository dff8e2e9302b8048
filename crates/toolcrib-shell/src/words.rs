//! The words of a command, without their quotes.

use toolcrib_core::command_reading::{Unproven, UnprovenKind};
use tree_sitter::Node;

use crate::budget::Budget;

/// Returns the text of a word if every character of it is known; otherwise what stands in the way.
pub(crate) fn literal(node: Node<'_>, text: &str) -> Result<String, Unproven> {
    let own = &text[node.byte_range()];
    let unclear = |message: String| Err(Unproven::new(UnprovenKind::Word, message));
    match node.kind() {
        "word" | "number" => {
            let odd = |c: &char| !is_plain_char(*c);
            // A tilde within a word is an ordinary character; at the beginning it stands for a home folder.
            let inner = own.replace(":~", ":\u{0}").replace("=~", "=\u{0}");
            let inner = inner.get(1..).unwrap_or_default().replace('~', "");
            match own.chars().take(1).chain(inner.chars()).find(odd) {
                Some(odd) => unclear(format!("`{own}` has the character `{}`", odd.escape_debug())),
                // In other shells, `=ls` is the path of `ls`.
                None if own.starts_with('=') && own != "=" || own.is_empty() => {
                    unclear(format!("the word `{own}`"))
                }
                None => Ok(own.to_owned()),
            }
        }
        "raw_string" => own
            .strip_prefix('\'')
            .and_then(|own| own.strip_suffix('\''))
            .filter(|own| !own.contains('\''))
            .map(str::to_owned)
            .map_or_else(|| unclear("a quote within quotes".to_owned()), Ok),
        "string" => {
            let inner = own.strip_prefix('"').and_then(|own| own.strip_suffix('"'));
            match inner {
                Some(inner) if !inner.contains(['$', '`', '\\', '"']) => Ok(inner.to_owned()),
                _ => unclear(format!("{own} has an expansion")),
            }
        }
        "concatenation" => children(node).map(|child| literal(child, text)).collect(),
        kind => Err(construct(kind, own)),
    }
}

/// Whether a character stands for itself, without quotes too.
pub(crate) fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c)
}

/// Returns the reason of a command with a construct that the strict reading does not accept.
pub(crate) fn construct(kind: &str, own: &str) -> Unproven {
    let message = format!("{} `{own}`", kind.replace('_', " "));
    Unproven::new(UnprovenKind::Construct, message)
}

/// Returns a word without its quotes, as far as they can be taken away. Expansions stay as they are spelt.
pub(crate) fn plain(node: Node<'_>, text: &str) -> String {
    let own = &text[node.byte_range()];
    match node.kind() {
        "raw_string" => own.trim_matches('\'').to_owned(),
        "string" => {
            unescape(own.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(own))
        }
        "ansi_c_string" => ansi(own),
        "translated_string" => unescape(own.trim_start_matches('$').trim_matches('"')),
        "concatenation" | "command_name" => {
            let mut word = String::new();
            for child in children(node) {
                append(&mut word, &plain(child, text));
            }
            word
        }
        _ => unescape(own),
    }
}

/// Appends a part to a word. Where quotes ended the name of a variable, as in `"$D"etc`, braces do.
fn append(word: &mut String, part: &str) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let before = word.trim_end_matches(is_name);
    if part.starts_with(is_name) && before.ends_with('$') && before.len() < word.len() {
        word.insert(before.len(), '{');
        word.push('}');
    }
    word.push_str(part);
}

/// Returns the children of a node, anonymous ones too.
pub(crate) fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    // With a cursor, because asking for child N by its number walks over all children before it.
    let mut cursor = node.walk();
    node.children(&mut cursor).collect::<Vec<_>>().into_iter()
}

fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('\n') | None => {}
                Some(next) => out.push(next),
            },
            other => out.push(other),
        }
    }
    out
}

/// Returns the text of a word `$'…'`, whose escapes can spell anything.
fn ansi(text: &str) -> String {
    let inner = text.strip_prefix("$'").and_then(|it| it.strip_suffix('\'')).unwrap_or(text);
    let mut out = String::new();
    let mut rest = inner.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let spelt = match rest.next() {
            Some('x') => code(&mut rest, 16, 2),
            Some('u') => code(&mut rest, 16, 4),
            Some('U') => code(&mut rest, 16, 8),
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some(digit @ '0'..='7') => {
                let mut value = digit.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(next) = rest.next_if(|c| c.is_digit(8)) else { break };
                    value = value * 8 + next.to_digit(8).unwrap_or(0);
                }
                char::from_u32(value)
            }
            other => other,
        };
        out.extend(spelt);
    }
    out
}

/// Returns the character that the next digits stand for.
fn code(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    most: usize,
) -> Option<char> {
    let mut digits = String::new();
    while digits.len() < most
        && let Some(digit) = rest.next_if(|c| c.is_digit(radix))
    {
        digits.push(digit);
    }
    u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32)
}

/// Returns the words of a command, without their quotes.
pub(crate) fn plain_words(node: Node<'_>, text: &str, budget: &Budget) -> Vec<String> {
    budget.spend_bytes(node.byte_range().len());
    word_nodes(node).into_iter().map(|word| plain(word, text)).collect()
}

/// Returns the nodes of the words of a command.
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

/// Whether a shell would expand the braces of a word: quotes keep it from that.
pub(crate) fn can_brace(node: Node<'_>, text: &str) -> bool {
    match node.kind() {
        "raw_string" | "string" | "ansi_c_string" | "translated_string" => false,
        "concatenation" | "command_name" => children(node).any(|it| can_brace(it, text)),
        _ => text[node.byte_range()].contains(['{', '}']),
    }
}

/// Whether a child of a redirection is its target, or a word behind the target.
pub(crate) fn is_destination(node: &Node<'_>) -> bool {
    node.is_named() && node.kind() != "file_descriptor"
}

/// Returns the byte offset where the effect of a `cd` ends: the end of the subshell that it is in.
pub(crate) fn scope_end(above: &[Node<'_>], budget: &Budget) -> usize {
    budget.spend(above.len());
    let is_scope = |it: &&Node<'_>| {
        matches!(it.kind(), "subshell" | "command_substitution" | "process_substitution")
    };
    above.iter().rev().find(is_scope).map_or(usize::MAX, Node::end_byte)
}

/// Whether a word could have a substitution that runs `echo` or `printf`.
pub(crate) fn may_print(word: &str) -> bool {
    word.contains(['$', '`']) && (word.contains("echo") || word.contains("printf"))
}
