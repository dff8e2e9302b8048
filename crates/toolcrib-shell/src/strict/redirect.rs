//! Redirections to and from files.

use toolcrib_core::command_reading::{Unproven, UnprovenKind};
use tree_sitter::Node;

use super::{RedirectDirection, StrictReader};
use crate::words::{children, literal};

impl StrictReader<'_> {
    /// Reads a redirection, and notes the file that it writes.
    pub(super) fn redirect(&mut self, node: Node<'_>) -> Result<RedirectDirection, Unproven> {
        let mut parts = Vec::new();
        for child in children(node) {
            match child.kind() {
                "file_descriptor" if matches!(&self.text[child.byte_range()], "0" | "1" | "2") => {}
                ">" | ">>" | "<" | ">&" | "&>" | "&>>" => parts.push(child.kind().to_owned()),
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
            ["<" | ">" | ">>" | "&>" | "&>>", "/dev/null"] | [">&", "1" | "2"] => {
                Ok(RedirectDirection::Out)
            }
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
}
