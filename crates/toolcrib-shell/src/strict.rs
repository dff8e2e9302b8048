//! The strict reading: every node is of a known kind, every word is literal, every byte is accounted for. It accepts
//! only a small part of the language, in which there is nothing to be wrong about.

use toolcrib_core::command_reading::{Proven, Step, Unproven, UnprovenKind};
use toolcrib_core::escape::is_deceptive;
use toolcrib_core::program;
use tree_sitter::{Node, Tree};

use crate::words::{children, construct, literal};

/// The folders whose programs are known by their names.
const TRUSTED_FOLDERS: [&str; 6] =
    ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"];

/// Returns everything that a command does, or why that is not certain.
pub(crate) fn prove(text: &str, tree: &Tree) -> Result<Proven, Unproven> {
    // Only characters within quotes are left after this: `literal` accepts no others.
    if let Some(odd) = text.chars().find(|c| *c != '\n' && is_deceptive(*c)) {
        let message = format!("it has the character `{}`", odd.escape_unicode());
        return Err(Unproven::new(UnprovenKind::Word, message));
    }
    let root = tree.root_node();
    if root.has_error() {
        return Err(unparsed());
    }
    account_for_bytes(root, text)?;
    let mut reader =
        StrictReader { text, proven: Proven::default(), has_moved: false, is_fed: false, depth: 0 };
    reader.statement(root)?;
    if reader.proven.steps.is_empty() {
        return Err(Unproven::new(UnprovenKind::Construct, "it runs nothing"));
    }
    Ok(reader.proven)
}

/// Returns the reason of a command that the parser does not understand.
pub(crate) fn unparsed() -> Unproven {
    Unproven::new(UnprovenKind::Unparsed, "Toolcrib cannot parse it")
}

/// Fails if the parser skipped anything but blanks.
fn account_for_bytes(root: Node<'_>, text: &str) -> Result<(), Unproven> {
    let mut at = 0;
    let mut open = vec![root];
    let mut leaves = Vec::new();
    while let Some(node) = open.pop() {
        match node.child_count() {
            0 => leaves.push(node.byte_range()),
            _ => open.extend(children(node)),
        }
    }
    // Quoted text has no leaf of its own.
    open.push(root);
    while let Some(node) = open.pop() {
        if matches!(node.kind(), "string" | "raw_string") {
            leaves.push(node.byte_range());
        } else {
            open.extend(children(node));
        }
    }
    leaves.sort_unstable_by_key(|leaf| (leaf.start, leaf.end));
    let end = text.len()..text.len();
    for leaf in leaves.into_iter().chain(std::iter::once(end)) {
        if leaf.start > at && !text[at..leaf.start].bytes().all(|byte| byte == b' ') {
            let message = format!("the parser skipped `{}`", text[at..leaf.start].escape_debug());
            return Err(Unproven::new(UnprovenKind::Unparsed, message));
        }
        at = at.max(leaf.end);
    }
    Ok(())
}

/// Which way a redirection goes.
#[derive(PartialEq, Eq)]
enum RedirectDirection {
    In,
    Out,
}

struct StrictReader<'a> {
    text: &'a str,
    proven: Proven,
    /// Whether the command has changed its directory, after which paths mean something else.
    has_moved: bool,
    /// Whether the input of the current statement comes from another one.
    is_fed: bool,
    /// How deep the current statement is nested in others.
    depth: usize,
}

/// How deep statements may be nested in others.
const DEEPEST_STATEMENT: usize = 200;

impl StrictReader<'_> {
    fn statement(&mut self, node: Node<'_>) -> Result<(), Unproven> {
        self.depth += 1;
        if self.depth > DEEPEST_STATEMENT {
            let message = "its statements are nested deeper than Toolcrib reads";
            return Err(Unproven::new(UnprovenKind::Size, message));
        }
        let read = self.statement_here(node);
        self.depth -= 1;
        read
    }

    fn statement_here(&mut self, node: Node<'_>) -> Result<(), Unproven> {
        match node.kind() {
            "program" | "list" | "pipeline" => {
                let was_fed = self.is_fed;
                for child in children(node) {
                    if child.is_named() {
                        self.statement(child)?;
                        continue;
                    }
                    match child.kind() {
                        "|" => self.is_fed = true,
                        "&&" | "||" | ";" => {}
                        other => {
                            let message = format!("it has the operator `{other}`");
                            return Err(Unproven::new(UnprovenKind::Construct, message));
                        }
                    }
                }
                self.is_fed = was_fed;
                Ok(())
            }
            "command" => self.command(node),
            "redirected_statement" => {
                let first = self.proven.steps.len();
                for child in children(node) {
                    if child.kind() != "file_redirect" {
                        self.statement(child)?;
                    } else if self.redirect(child)? == RedirectDirection::In {
                        self.proven.steps[first..].iter_mut().for_each(|step| step.is_fed = true);
                    }
                }
                Ok(())
            }
            kind => Err(self.odd(node, kind)),
        }
    }

    fn command(&mut self, node: Node<'_>) -> Result<(), Unproven> {
        let (mut words, mut is_fed) = (Vec::new(), self.is_fed);
        for child in children(node) {
            match child.kind() {
                "command_name" => {
                    let name = child.child(0).ok_or_else(nameless)?;
                    words.push(literal(name, self.text)?);
                }
                "word" | "number" | "raw_string" | "string" | "concatenation" => {
                    let word = literal(child, self.text)?;
                    // The parser takes the number of a redirected stream for a word.
                    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
                    if is_number && self.text[child.end_byte()..].starts_with(['<', '>']) {
                        return Err(self.odd(child, "number before a redirect"));
                    }
                    words.push(word);
                }
                "file_redirect" => is_fed |= self.redirect(child)? == RedirectDirection::In,
                kind => return Err(self.odd(child, kind)),
            }
        }
        let name = words.first_mut().ok_or_else(nameless)?;
        if let Some(bare) = TRUSTED_FOLDERS.iter().find_map(|folder| name.strip_prefix(folder)) {
            *name = bare.to_owned();
        }
        let is_move = matches!(name.as_str(), "cd" | "pushd" | "popd");
        let mut step = Step {
            caveat: program::caveat(&words),
            is_elsewhere: false,
            is_fed,
            effects: program::file_effects(&words),
            doubt: None,
            words,
        };
        if self.has_moved {
            step.elsewhere();
        }
        self.has_moved |= is_move;
        self.proven.steps.push(step);
        Ok(())
    }

    fn redirect(&mut self, node: Node<'_>) -> Result<RedirectDirection, Unproven> {
        let mut parts = Vec::new();
        for child in children(node) {
            match child.kind() {
                "file_descriptor" if matches!(&self.text[child.byte_range()], "0" | "1" | "2") => {}
                ">" | ">>" | "<" | ">&" => parts.push(child.kind().to_owned()),
                "word" | "number" | "raw_string" | "string" | "concatenation" => {
                    parts.push(literal(child, self.text)?);
                }
                kind => return Err(self.odd(child, kind)),
            }
        }
        match parts.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [">" | ">>" | "<", path] if path.starts_with("/dev/") && path != "/dev/null" => {
                let message = format!("it opens the device `{path}`");
                Err(Unproven::new(UnprovenKind::Redirect, message))
            }
            ["<" | ">" | ">>", "/dev/null"] | [">&", "1" | "2"] => Ok(RedirectDirection::Out),
            ["<", _] => Ok(RedirectDirection::In),
            [">" | ">>", _] if self.has_moved => {
                let message = "it writes a file after it changed its directory";
                Err(Unproven::new(UnprovenKind::Redirect, message))
            }
            [">" | ">>", path] => {
                self.proven.writes.push(path.to_owned());
                Ok(RedirectDirection::Out)
            }
            _ => Err(self.odd(node, "redirect")),
        }
    }

    /// Names a part of the command that the strict reading does not accept.
    fn odd(&self, node: Node<'_>, kind: &str) -> Unproven {
        let own: String = self.text[node.byte_range()].chars().take(60).collect();
        construct(kind, &own)
    }
}

fn nameless() -> Unproven {
    Unproven::new(UnprovenKind::Construct, "a command without a name")
}
