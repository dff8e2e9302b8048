//! Loops over words that are known.

use toolcrib_core::command_reading::Unproven;
use tree_sitter::Node;

use super::StrictReader;
use super::expansion::Wildcards;
use crate::words::children;

impl StrictReader<'_> {
    /// Reads the body of `for NAME in WORDS` once for each word.
    pub(super) fn loop_over(&mut self, node: Node<'_>) -> Result<(), Unproven> {
        let parts: Vec<Node<'_>> = children(node).filter(|it| it.kind() != "comment").collect();
        let kinds: Vec<&str> = parts.iter().map(Node::kind).collect();
        let ["for", "variable_name", "in", ref between @ .., "do_group"] = kinds[..] else {
            return Err(self.odd(node, node.kind()));
        };
        if let Some(part) = parts[..3].iter().find(|part| !self.is_word(**part)) {
            return Err(self.odd(*part, part.kind()));
        }
        let name = &self.text[parts[1].byte_range()];
        let body = parts[parts.len() - 1];
        // Bash expands all words before it sets the variable.
        let values = parts[3..3 + between.len()].iter();
        let values = values.filter(|value| !matches!(value.kind(), ";" | "\n"));
        let values = values.map(|value| self.variables.word(*value, self.text));
        for value in values.collect::<Result<Vec<_>, _>>()? {
            // Several files can match, so what comes before something in the body comes after it, too.
            let rounds = if value.wildcards == Wildcards::None { 1 } else { 2 };
            for _ in 0..rounds {
                self.variables.set(name, value.clone())?;
                self.statement(body)?;
            }
        }
        self.variables.forget(name);
        Ok(())
    }
}
