//! Words without their quotes.

use tree_sitter::Node;

/// Returns the text of a word of which every character is known, or what stands in the way.
pub(crate) fn literal(node: Node<'_>, text: &str) -> Result<String, String> {
    let own = &text[node.byte_range()];
    match node.kind() {
        "word" | "number" => {
            let odd = |c: &char| !(c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(*c));
            // A tilde within a word is a character as others; at the beginning it is someone's home.
            let inner = own.replace(":~", ":\u{0}").replace("=~", "=\u{0}");
            let inner = inner.get(1..).unwrap_or_default().replace('~', "");
            match own.chars().take(1).chain(inner.chars()).find(odd) {
                Some(odd) => Err(format!("the character `{}` in `{own}`", odd.escape_debug())),
                None if own.starts_with('=') || own.is_empty() => Err(format!("the word `{own}`")),
                None => Ok(own.to_owned()),
            }
        }
        "raw_string" => own
            .strip_prefix('\'')
            .and_then(|own| own.strip_suffix('\''))
            .filter(|own| !own.contains('\''))
            .map(str::to_owned)
            .ok_or_else(|| "an odd quote".to_owned()),
        "string" => {
            let inner = own.strip_prefix('"').and_then(|own| own.strip_suffix('"'));
            match inner {
                Some(inner) if !inner.contains(['$', '`', '\\', '"']) => Ok(inner.to_owned()),
                _ => Err(format!("an expansion in {own}")),
            }
        }
        "concatenation" => children(node).map(|child| literal(child, text)).collect(),
        kind => Err(format!("`{own}` ({})", kind.replace('_', " "))),
    }
}

/// Returns a word with what can be taken away of its quotes; what it expands to stays as it is spelt.
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
            children(node).map(|child| plain(child, text)).collect()
        }
        _ => unescape(own),
    }
}

/// The parts of a node, anonymous ones too.
pub(crate) fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    // By a cursor: asked for one by one, the last of many takes as long as all before it.
    let mut cursor = node.walk();
    node.children(&mut cursor).collect::<Vec<_>>().into_iter()
}

fn unescape(text: &str) -> String {
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

/// `$'…'`, whose escapes can spell anything.
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

/// The character that the next digits stand for.
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
