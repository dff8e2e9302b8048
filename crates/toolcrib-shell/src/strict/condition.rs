//! Conditions in brackets.

use toolcrib_core::command_reading::Unproven;
use tree_sitter::Node;

use super::StrictReader;
use super::expansion::Word;
use crate::words::children;

/// The operators of `[[ … ]]` that compare numbers.
const NUMBER_OPERATORS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl StrictReader<'_> {
    /// Reads `[ … ]`, which is a program like others, and `[[ … ]]` as far as it is like one.
    pub(super) fn test(&mut self, node: Node<'_>) -> Result<(), Unproven> {
        let mut words = Vec::new();
        let mut open = vec![node];
        let mut end = node.start_byte();
        while let Some(part) = open.pop() {
            match part.kind() {
                "test_command" | "unary_expression" | "binary_expression" => {
                    let parts: Vec<Node<'_>> = children(part).collect();
                    open.extend(parts.into_iter().rev());
                    continue;
                }
                "[" | "]" | "[[" | "]]" | "test_operator" | "=" | "==" | "!=" | "!"
                    if self.is_word(part) =>
                {
                    words.push(Word::of(self.text[part.byte_range()].to_owned()));
                }
                _ => words.push(self.variables.word(part, self.text)?),
            }
            if part.start_byte() == end && words.len() > 1 {
                return Err(self.odd(node, node.kind()));
            }
            end = part.end_byte();
        }
        // It would evaluate these words, and run the commands in them.
        let is_number = |word: &Word| NUMBER_OPERATORS.contains(&word.text.as_str());
        if words.first().is_some_and(|word| word.text == "[[") && words.iter().any(is_number) {
            return Err(self.odd(node, node.kind()));
        }
        self.run(words)
    }
}
