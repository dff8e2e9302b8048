//! Here-documents (`<<END`) whose text is known: nothing in it is expanded.

use toolcrib_core::command_reading::{Unproven, UnprovenKind};
use tree_sitter::Node;

use crate::words::{children, construct};

/// Fails unless the text of a here-document is known, and ends where the parser says.
pub(super) fn check(node: Node<'_>, text: &str) -> Result<(), Unproven> {
    let odd = || {
        let own: String = text[node.byte_range()].chars().take(60).collect();
        construct(node.kind(), &own)
    };
    let parts: Vec<Node<'_>> = children(node).collect();
    let kinds: Vec<&str> = parts.iter().map(Node::kind).collect();
    let ["<<", "heredoc_start", "heredoc_body", "heredoc_end"] = kinds[..] else {
        return Err(odd());
    };
    let is_blank = |text: &str| text.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
    let start = &text[parts[1].byte_range()];
    let quoted = ['\'', '"']
        .into_iter()
        .find_map(|quote| start.strip_prefix(quote).and_then(|it| it.strip_suffix(quote)));
    let end = quoted.unwrap_or(start);
    let is_plain =
        !end.is_empty() && end.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    let (line, _) = text[parts[1].end_byte()..].split_once('\n').ok_or_else(odd)?;
    if !is_plain || !is_blank(line) || !is_blank(&text[parts[0].end_byte()..parts[1].start_byte()])
    {
        return Err(odd());
    }
    let body_at = parts[1].end_byte() + line.len() + 1;
    let mut at = body_at;
    let mut lines = text[body_at..].split_inclusive('\n');
    let is_end = |line: &str| line.strip_suffix('\n').unwrap_or(line) == end;
    while let Some(line) = lines.next().filter(|line| !is_end(line)) {
        at += line.len();
    }
    // The end has to be where the parser sees it, too.
    if parts[3].byte_range() != (at..at + end.len()) {
        return Err(odd());
    }
    if quoted.is_none() && text[body_at..at].contains(['$', '`', '\\']) {
        let message = "the here-document has an expansion";
        return Err(Unproven::new(UnprovenKind::Word, message));
    }
    Ok(())
}
