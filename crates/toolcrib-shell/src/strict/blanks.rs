//! What stands between the words of a command. Every byte belongs to a token, or is a blank where bash takes it for one:
//! the parser takes a line break for a blank in more places than bash does.

use toolcrib_core::command_reading::{Unproven, UnprovenKind};
use tree_sitter::Node;

use crate::words::children;

/// The kinds of nodes whose parts may stand on lines of their own.
const SEVERAL_LINES: [&str; 9] = [
    "program",
    "list",
    "pipeline",
    "if_statement",
    "elif_clause",
    "else_clause",
    "do_group",
    "compound_statement",
    "subshell",
];

/// Fails if the parser skipped anything but blanks, and line breaks between statements.
pub(super) fn account_for_bytes(root: Node<'_>, text: &str) -> Result<(), Unproven> {
    let outside = [0..root.start_byte(), root.end_byte()..text.len()];
    for gap in outside {
        check(&text[gap], is_blank_lines)?;
    }
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if node.kind() == "comment" {
            check_comment(node, text)?;
        }
        // A here-document has rules of its own.
        let is_whole = matches!(node.kind(), "string" | "raw_string" | "heredoc_redirect");
        if node.child_count() == 0 || is_whole {
            continue;
        }
        let parts: Vec<Node<'_>> = children(node).collect();
        let has_lines = SEVERAL_LINES.contains(&node.kind());
        check_joints(node, &parts, text)?;
        let mut at = node.start_byte();
        for part in &parts {
            let is_body = node.kind() == "for_statement" && part.kind() == "do_group";
            let is_fine = if has_lines || is_body { is_blank_lines } else { is_blank };
            let start = part.start_byte().max(at);
            check(&text[at..start], is_fine)?;
            at = at.max(part.end_byte());
        }
        let is_fine = if has_lines { is_blank_lines } else { is_blank };
        check(&text[at..node.end_byte().max(at)], is_fine)?;
        open.extend(parts);
    }
    Ok(())
}

/// Fails if two words or statements stand side by side with nothing between them: to bash, that is one word. Only
/// redirections need no blank before them.
fn check_joints(node: Node<'_>, parts: &[Node<'_>], text: &str) -> Result<(), Unproven> {
    if node.kind() == "concatenation" {
        return Ok(());
    }
    for pair in parts.windows(2) {
        let (one, next) = (pair[0], pair[1]);
        let is_joint = one.is_named() && next.is_named() && one.end_byte() == next.start_byte();
        let ends_line = text[..one.end_byte()].ends_with('\n');
        if is_joint && !ends_line && !next.kind().ends_with("_redirect") {
            let message = format!("there is no blank before `{}`", &text[next.byte_range()]);
            return Err(Unproven::new(UnprovenKind::Unparsed, message));
        }
    }
    Ok(())
}

/// Whether bash takes this for blanks. A line can go on behind a backslash, if the word before it has ended.
fn is_blank(gap: &str) -> bool {
    let is_ended = gap.starts_with([' ', '\t']);
    let gap = if is_ended { gap.replace("\\\n", "") } else { gap.to_owned() };
    gap.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// Whether bash takes this for blanks and ends of lines.
fn is_blank_lines(gap: &str) -> bool {
    gap.split('\n').all(|line| line.is_empty() || is_blank(line)) || is_blank(gap)
}

fn check(gap: &str, is_fine: fn(&str) -> bool) -> Result<(), Unproven> {
    if is_fine(gap) {
        return Ok(());
    }
    let message = format!("the parser skipped `{}`", gap.escape_debug());
    Err(Unproven::new(UnprovenKind::Unparsed, message))
}

/// Fails unless bash takes a text for a comment, too: it begins where a word could begin, and ends with its line.
fn check_comment(node: Node<'_>, text: &str) -> Result<(), Unproven> {
    let (before, rest) = (&text[..node.start_byte()], &text[node.end_byte()..]);
    let own = &text[node.byte_range()];
    let begins = before.is_empty() || before.ends_with([' ', '\t', '\n', ';']);
    let ends = rest.is_empty() || rest.starts_with('\n');
    if begins && ends && own.starts_with('#') && !own.contains('\n') && !own.ends_with('\\') {
        return Ok(());
    }
    let message = format!("the comment `{}`", own.escape_debug());
    Err(Unproven::new(UnprovenKind::Unparsed, message))
}
