//! Words that the text itself prints: what `echo` writes into `xargs`, into `read` or into a substitution.

use toolcrib_core::program::{self, Fact, base_name};
use tree_sitter::{Node, Tree};

use crate::variables::names_read;
use crate::walk::NodeWalk;
use crate::words::{children, may_print, plain, plain_words, word_nodes};

use super::CommandFinder;

/// The most printed words that are passed on.
const MOST_PRINTED_WORDS: usize = 64;

/// The most parts of a word that are searched for substitutions.
const MOST_WORD_PARTS: usize = 64;

impl<P: Fn(&str) -> Option<Tree>> CommandFinder<'_, P> {
    /// Passes what the stages of a pipeline print on to the stages behind them.
    pub(super) fn pipe(&mut self, node: Node<'_>, text: &str, depth: usize) {
        let mut printed = Vec::new();
        for stage in children(node).filter(Node::is_named) {
            if !printed.is_empty() {
                self.feed(stage, text, &printed, depth);
            }
            printed.extend(self.printed_by(stage, text));
            printed.truncate(MOST_PRINTED_WORDS);
        }
    }

    /// Passes a here-document or here-string on to the statement that it belongs to.
    pub(super) fn feed_here_text(&mut self, node: Node<'_>, text: &str, depth: usize) {
        let mut printed = Vec::new();
        for redirect in children(node) {
            let inner = match redirect.kind() {
                "herestring_redirect" => children(redirect).find(Node::is_named),
                "heredoc_redirect" => children(redirect).find(|it| it.kind() == "heredoc_body"),
                _ => None,
            };
            if let Some(inner) = inner.filter(|it| self.budget.spend_bytes(it.byte_range().len())) {
                printed.extend(self.split(&plain(inner, text)));
            }
        }
        printed.truncate(MOST_PRINTED_WORDS);
        if !printed.is_empty() {
            self.feed(node, text, &printed, depth);
        }
    }

    /// Adds the commands that a statement runs with these words from its input, and remembers the variables that it
    /// reads them into.
    fn feed(&mut self, stage: Node<'_>, text: &str, printed: &[String], depth: usize) {
        let mut walk = NodeWalk::new(stage, self.budget);
        let mut fed = Vec::new();
        while let Some((node, _)) = walk.next() {
            if node.kind() != "command" {
                continue;
            }
            let words = plain_words(node, text, self.budget);
            let names = names_read(&words);
            for name in names {
                self.variables.assign_each(name, printed);
            }
            let passes_on = |word: &String| {
                let name = base_name(word);
                matches!(name, "xargs" | "parallel") && program::is(name, Fact::PassesInputOn)
            };
            if let Some(at) = words.iter().position(passes_on) {
                fed.push(with_input(&words[at..], printed));
            }
        }
        for words in fed {
            self.add_command(words, depth);
        }
    }

    /// Returns the words that a statement prints, if it is an `echo` or `printf`.
    fn printed_by(&self, stage: Node<'_>, text: &str) -> Vec<String> {
        let body = stage.child_by_field_name("body").unwrap_or(stage);
        if body.kind() != "command" {
            return Vec::new();
        }
        let words = plain_words(body, text, self.budget);
        let Some((name, rest)) = words.split_first() else { return Vec::new() };
        if !matches!(base_name(name), "echo" | "printf") {
            return Vec::new();
        }
        let is_flag = |word: &&String| matches!(word.as_str(), "-n" | "-e" | "-E" | "--");
        let operands = rest.iter().skip_while(is_flag).take(MOST_PRINTED_WORDS);
        operands.flat_map(|word| self.split(word)).collect()
    }

    /// Splits a text where a program that reads it would, with variables expanded.
    fn split(&self, text: &str) -> Vec<String> {
        // `echo -e` and `printf` write these escapes as what they stand for.
        let text = text.replace("\\n", " ").replace("\\t", " ").replace("\\0", " ");
        let words = text.split_whitespace().take(MOST_PRINTED_WORDS);
        let words = words.filter(|word| !matches!(*word, "%s" | "%b" | "%q" | "n" | "0"));
        words.flat_map(|word| self.variables.expand(word, self.budget)).collect()
    }

    /// Returns the words of a node, with what `echo` prints in the place of each substitution that runs it.
    pub(super) fn words_with_output(&self, node: Node<'_>, text: &str) -> Vec<String> {
        self.budget.spend_bytes(node.byte_range().len());
        word_nodes(node).into_iter().flat_map(|word| self.with_output(word, text)).collect()
    }

    /// Returns a word with what `echo` prints in the place of each substitution that runs it. One word can become
    /// several.
    pub(super) fn with_output(&self, word: Node<'_>, text: &str) -> Vec<String> {
        let mut whole = plain(word, text);
        if !may_print(&whole) {
            return vec![whole];
        }
        let mut is_replaced = false;
        // Not in substitutions within others: they are commands of their own.
        let parts = children(word).flat_map(|part| std::iter::once(part).chain(children(part)));
        let all = std::iter::once(word).chain(parts).take(MOST_WORD_PARTS);
        for node in all.filter(|it| it.kind() == "command_substitution") {
            let mut statements = children(node).filter(Node::is_named);
            let (Some(only), None) = (statements.next(), statements.next()) else { continue };
            if !self.budget.spend_bytes(2 * whole.len()) {
                break;
            }
            let printed = self.printed_by(only, text);
            if !printed.is_empty() {
                whole = whole.replace(&plain(node, text), &printed.join(" "));
                is_replaced = true;
            }
        }
        match is_replaced {
            true => whole.split_whitespace().map(str::to_owned).collect(),
            false => vec![whole],
        }
    }
}

/// Returns the words of `xargs` or `parallel` with those of its input: in the place of its mark, or behind the others.
fn with_input(words: &[String], printed: &[String]) -> Vec<String> {
    let value = |at: usize, flag: &str| {
        let own = words[at].strip_prefix(flag)?.trim_start_matches('=');
        if own.is_empty() { words.get(at + 1).map(String::as_str) } else { Some(own) }
    };
    let given = (1..words.len()).find_map(|at| value(at, "-I").or_else(|| value(at, "--replace")));
    let mark = given.filter(|it| !it.is_empty()).unwrap_or("{}");
    let mut all = Vec::new();
    let mut has_mark = false;
    for (at, word) in words.iter().enumerate() {
        let is_own = word.starts_with('-') || at > 0 && words[at - 1] == "-I";
        if is_own || !word.contains(mark) {
            all.push(word.clone());
            continue;
        }
        has_mark = true;
        all.extend(printed.iter().map(|it| word.replace(mark, it)));
    }
    if !has_mark {
        all.extend(printed.iter().cloned());
    }
    all
}
