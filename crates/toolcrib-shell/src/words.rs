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
            // In other shells, `=ls` is the path of `ls`.
            if own.starts_with('=') && own != "=" || own.is_empty() {
                return unclear(format!("the word `{own}`"));
            }
            unquoted(own).or_else(|odd| {
                unclear(format!("`{own}` has the character `{}`", odd.escape_debug()))
            })
        }
        "raw_string" => own
            .strip_prefix('\'')
            .and_then(|own| own.strip_suffix('\''))
            .filter(|own| !own.contains('\''))
            .map(str::to_owned)
            .map_or_else(|| unclear("a quote within quotes".to_owned()), Ok),
        "string" => {
            let mut text = String::new();
            for part in quoted_parts(own).unwrap_or_else(|| vec![QuotedPart::Variable("")]) {
                match part {
                    QuotedPart::Text(part) => text.push_str(&part),
                    QuotedPart::Variable(_) => return unclear(format!("{own} has an expansion")),
                }
            }
            Ok(text)
        }
        "concatenation" => joined_braces(own)
            .map_or_else(|| children(node).map(|child| literal(child, text)).collect(), Ok),
        kind => Err(construct(kind, own)),
    }
}

/// Returns a word without its backslashes; the first character that does not stand for itself, if there is one.
fn unquoted(own: &str) -> Result<String, char> {
    // As an argument, it stands for itself. Before a command, the parser knows it for a negation.
    if own == "!" {
        return Ok(own.to_owned());
    }
    let mut text = String::new();
    let mut rest = own.chars();
    let mut before = None;
    while let Some(c) = rest.next() {
        match c {
            '\\' => text.push(rest.next().filter(|c| matches!(c, ' '..='~')).ok_or(c)?),
            // Within a word, a tilde is an ordinary character; at the beginning it stands for a home folder.
            '~' if !matches!(before, None | Some(':' | '=')) => text.push(c),
            // Within a word, so is this.
            '^' if before.is_some() => text.push(c),
            // Braces without a comma or dots in them are not expanded.
            '{' => {
                let (inner, behind) = rest.as_str().split_once('}').ok_or(c)?;
                if !inner.chars().all(|c| c.is_ascii_alphanumeric()) {
                    return Err(c);
                }
                text.extend(["{", inner, "}"]);
                rest = behind.chars();
            }
            c if is_plain_char(c) => text.push(c),
            c => return Err(c),
        }
        before = Some(c);
    }
    Ok(text)
}

/// Returns a word with braces that stand for themselves. To the parser, such a word has several parts.
pub(crate) fn joined_braces(own: &str) -> Option<String> {
    unquoted(own).ok().filter(|_| own.contains('{') && !own.starts_with('='))
}

/// A part of a text in double quotes.
pub(crate) enum QuotedPart<'t> {
    /// Characters that stand for themselves.
    Text(String),
    /// The value of a variable.
    Variable(&'t str),
}

/// Returns the parts of a word in double quotes; nothing if it has another expansion than that of variables.
pub(crate) fn quoted_parts(own: &str) -> Option<Vec<QuotedPart<'_>>> {
    let inner = own.strip_prefix('"')?.strip_suffix('"')?;
    expanded_parts(inner)
}

/// Returns the parts of the inside of double quotes, or of an expansion without quotes.
pub(crate) fn expanded_parts(inner: &str) -> Option<Vec<QuotedPart<'_>>> {
    let (mut parts, mut text, mut rest) = (Vec::new(), String::new(), inner);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '"' | '`' => return None,
            '\\' => {
                let next = rest.chars().next().filter(|next| *next != '\n')?;
                rest = &rest[next.len_utf8()..];
                // Before other characters, the backslash stays.
                if !matches!(next, '$' | '`' | '"' | '\\') {
                    text.push('\\');
                }
                text.push(next);
            }
            '$' => match variable(rest)? {
                ("", _) => text.push('$'),
                (name, behind) => {
                    parts.push(QuotedPart::Text(std::mem::take(&mut text)));
                    parts.push(QuotedPart::Variable(name));
                    rest = behind;
                }
            },
            c => text.push(c),
        }
    }
    parts.push(QuotedPart::Text(text));
    Some(parts)
}

/// Returns the name of the variable behind a `$`, and what follows; no name if the `$` stands for itself.
fn variable(rest: &str) -> Option<(&str, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match rest.chars().next() {
        None | Some(' ' | ')' | '|' | '/' | '.' | ',' | ':' | '%' | '\\') => Some(("", rest)),
        Some('?') => Some(rest.split_at(1)),
        Some('{') => {
            let (name, behind) = rest[1..].split_once('}')?;
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_').then_some(())?;
            name.chars().all(is_name).then_some((name, behind))
        }
        Some(c) if c.is_ascii_alphabetic() || c == '_' => {
            Some(rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len())))
        }
        Some(_) => None,
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
