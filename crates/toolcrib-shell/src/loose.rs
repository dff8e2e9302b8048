//! The loose reading: it finds whatever looks like a command, wherever it is. It can be wrong in what it finds, and
//! what it does not find proves nothing.

mod nested;
mod piped;

use std::collections::HashSet;

use toolcrib_core::command_reading::Danger;
use toolcrib_core::program::{
    self, Fact, base_name, is_stream, removed_by, wrapper_directories, written_by,
};
use tree_sitter::{Node, Tree};

use crate::braces::expand_braces;
use crate::budget::Budget;
use crate::fork_bomb::is_fork_bomb;
use crate::input::{evaluated, is_for_shell, runs_input_in};
use crate::variables::{AssignmentKind, Variables, names_read};
use crate::walk::NodeWalk;
use crate::words::{
    can_brace, children, is_destination, may_print, plain, plain_words, scope_end, word_nodes,
};

/// How deep commands may be nested in the words of others. Deeper nesting is a danger of its own.
const DEEPEST_NESTING: usize = 8;

/// How many commands are read. More are a danger of their own.
const MOST_COMMANDS: usize = 1000;

/// How many words braces may add to one command.
const MOST_BRACE_WORDS: usize = 512;

/// The most words behind the directory of a wrapper that are tried as the beginning of its command.
const MOST_MOVED_WORDS: usize = 16;

/// What the loose reading found.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) commands: Vec<Vec<String>>,
    pub(crate) writes: Vec<String>,
    pub(crate) removes: Vec<String>,
    pub(crate) reads: Vec<String>,
    pub(crate) assigned: Vec<(String, String)>,
    pub(crate) dangers: Vec<Danger>,
}

/// A change of the directory, and the part of the text in which it holds.
struct Move {
    from: usize,
    to: usize,
    target: String,
}

/// The search for commands in a text.
pub(crate) struct CommandFinder<'b, P> {
    parse: P,
    /// How many words were found.
    word_count: usize,
    /// How many bytes those words have.
    word_bytes: usize,
    /// How many commands were read, repeated ones too.
    command_count: usize,
    /// The `cd`s of the current text.
    moves: Vec<Move>,
    pub(crate) found: Findings,
    /// The texts and commands that were read already.
    seen: HashSet<String>,
    variables: Variables,
    budget: &'b Budget,
}

impl<'b, P: Fn(&str) -> Option<Tree>> CommandFinder<'b, P> {
    /// Returns a search that has found nothing yet.
    pub(crate) fn new(budget: &'b Budget, parse: P) -> Self {
        Self {
            parse,
            word_count: 0,
            word_bytes: 0,
            command_count: 0,
            moves: Vec::new(),
            found: Findings::default(),
            seen: HashSet::new(),
            variables: Variables::default(),
            budget,
        }
    }

    /// Searches the command itself.
    pub(crate) fn search(&mut self, text: &str, tree: &Tree) {
        self.seen.insert(text.to_owned());
        self.search_without_ifs(text, 0);
        self.search_tree(text, tree, 0);
    }

    /// Searches a text within the command that may be commands itself.
    fn search_text(&mut self, text: &str, depth: usize) {
        if depth > DEEPEST_NESTING {
            self.found.dangers.push(Danger::TooDeep);
            return;
        }
        let may_search = self.command_count <= MOST_COMMANDS && self.budget.spend_bytes(text.len());
        // The same text again holds nothing new.
        if !may_search || !self.seen.insert(text.to_owned()) {
            return;
        }
        self.search_without_ifs(text, depth);
        if let Some(tree) = (self.parse)(text) {
            self.search_tree(text, &tree, depth);
        }
    }

    /// Searches a text with blanks in the place of `$IFS`, as a shell splits it. Within quotes it is not split, so
    /// both spellings are searched.
    fn search_without_ifs(&mut self, text: &str, depth: usize) {
        if text.contains("$IFS") || text.contains("${IFS}") {
            self.search_text(&text.replace("${IFS}", " ").replace("$IFS", " "), depth + 1);
        }
    }

    fn search_tree(&mut self, text: &str, tree: &Tree, depth: usize) {
        if tree.root_node().has_error() {
            self.guess(text, depth);
        }
        // Byte offsets in this text say nothing of another one.
        let outer = std::mem::take(&mut self.moves);
        let mut walk = NodeWalk::new(tree.root_node(), self.budget);
        while let Some((node, above)) = walk.next() {
            self.visit(node, above, text, depth);
            if self.command_count > MOST_COMMANDS {
                self.found.dangers.push(Danger::TooMany);
                break;
            }
        }
        self.moves = outer;
    }

    /// Guesses commands where the parser failed: the words between whatever could end a command.
    fn guess(&mut self, text: &str, depth: usize) {
        for part in text.split([';', '|', '&', '\n', '(', ')', '`']) {
            let words =
                part.split([' ', '\t', '{', '}', ',', '"', '\'']).filter(|it| !it.is_empty());
            self.add_command(words.map(str::to_owned).collect(), depth);
        }
    }

    fn visit(&mut self, node: Node<'_>, above: &[Node<'_>], text: &str, depth: usize) {
        let own = &text[node.byte_range()];
        match node.kind() {
            "command" => self.command(node, above, text, depth),
            "redirected_statement" => self.redirected(node, text, depth),
            "file_redirect" => self.redirect(node, text),
            "function_definition" if is_fork_bomb(node, text, self.budget) => {
                self.found.dangers.push(Danger::ForkBomb);
            }
            "for_statement" => {
                let words = self.words_with_output(node, text);
                if let [name, values @ ..] = &words[..] {
                    self.variables.assign_each(name, values);
                }
            }
            "pipeline" => {
                let mut stages = children(node).filter(Node::is_named).skip(1);
                if stages.any(|stage| runs_input_in(stage, text, self.budget)) {
                    self.found.dangers.push(Danger::PipeToShell);
                }
                self.pipe(node, text, depth);
            }
            // `tee >(sh)`
            "process_substitution"
                if own.starts_with('>') && runs_input_in(node, text, self.budget) =>
            {
                self.found.dangers.push(Danger::PipeToShell);
            }
            "declaration_command" | "unset_command" | "test_command" => {
                self.budget.spend_bytes(own.len());
                let words = own.split_whitespace().map(str::to_owned).collect();
                self.add_command(words, depth);
            }
            // Some programs take the names of files from variables.
            "variable_assignment" => {
                self.budget.spend_bytes(own.len());
                self.assignment(node, text);
            }
            "herestring_redirect" | "heredoc_body" => self.here_text(node, above, text, depth),
            "raw_string" | "string" | "ansi_c_string" => self.quoted(node, text, depth),
            _ => {}
        }
    }

    fn assignment(&mut self, node: Node<'_>, text: &str) {
        let own = &text[node.byte_range()];
        let Some((name, spelt)) = own.split_once('=') else { return };
        let (name, kind) = match name.strip_suffix('+') {
            Some(name) => (name, AssignmentKind::Append),
            None => (name, AssignmentKind::Set),
        };
        let value = node.child_by_field_name("value").filter(|it| it.kind() != "array");
        let value = value.map(|it| self.with_output(it, text).join(" "));
        let value = value.unwrap_or_else(|| spelt.trim_matches(['"', '\'']).to_owned());
        let known = self.variables.assign(name, &value, kind, self.budget);
        let assigned =
            known.clone().unwrap_or_else(|| self.variables.expand(&value, self.budget).join(" "));
        self.found.assigned.push((name.to_owned(), assigned));
        self.found.reads.extend(known);
    }

    fn redirect(&mut self, node: Node<'_>, text: &str) {
        let writes = children(node).any(|child| child.kind().contains('>'));
        let copies = children(node).any(|child| matches!(child.kind(), ">&" | "<&"));
        let target = children(node).find(is_destination).map(|it| plain(it, text));
        // The number of another stream is no file.
        let is_number = |it: &String| it.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let target = target.filter(|it| !(copies && is_number(it)));
        let targets = target.into_iter().flat_map(|it| self.variables.expand(&it, self.budget));
        let targets: Vec<String> = targets.collect();
        if writes {
            let directory = self.directory_at(node.start_byte());
            self.add_writes(targets, &directory);
        } else {
            self.found.reads.extend(targets);
        }
    }

    /// Reads a here-document or here-string, if a shell does.
    fn here_text(&mut self, node: Node<'_>, above: &[Node<'_>], text: &str, depth: usize) {
        let own = &text[node.byte_range()];
        self.budget.spend_bytes(own.len());
        let is_for_shell = is_for_shell(above, text, self.budget);
        if node.kind() == "heredoc_body" && !is_for_shell {
            return;
        }
        if is_for_shell && (own.contains("$(") || own.contains('`')) {
            self.found.dangers.push(Danger::PipeToShell);
        }
        let inner = children(node).find(Node::is_named);
        let inner = inner.map_or_else(|| own.to_owned(), |inner| plain(inner, text));
        self.search_text(&inner, depth + 1);
    }

    /// Reads what looks like a substitution within quotes: they keep a shell from running it, but not a program
    /// that evaluates its words.
    fn quoted(&mut self, node: Node<'_>, text: &str, depth: usize) {
        if !self.budget.spend_bytes(node.byte_range().len()) {
            return;
        }
        let inner = plain(node, text);
        for (opening, closing) in [("$(", ')'), ("`", '`')] {
            if let Some((_, rest)) = inner.split_once(opening) {
                let rest = rest.rsplit_once(closing).map_or(rest, |(rest, _)| rest);
                self.search_text(rest, depth + 1);
            }
        }
    }

    /// Adds the words that follow a redirection to those of the command before it.
    fn redirected(&mut self, node: Node<'_>, text: &str, depth: usize) {
        self.feed_here_text(node, text, depth);
        let Some(body) = node.child_by_field_name("body").filter(|it| it.kind() == "command")
        else {
            return;
        };
        let redirects = children(node).filter(|child| child.kind() == "file_redirect");
        let more: Vec<String> = redirects
            .flat_map(|it| children(it).filter(is_destination).skip(1).collect::<Vec<_>>())
            .map(|word| plain(word, text))
            .collect();
        if !more.is_empty() {
            let mut words = plain_words(body, text, self.budget);
            words.extend(more);
            self.add_command(words, depth);
        }
    }

    fn command(&mut self, node: Node<'_>, above: &[Node<'_>], text: &str, depth: usize) {
        self.feed_here_text(node, text, depth);
        let spelt = plain_words(node, text, self.budget);
        let braced = self.braced(node, text);
        let expanded = braced.iter().flat_map(|word| self.variables.expand(word, self.budget));
        let words: Vec<String> = expanded.collect();
        if let Some(target) = moves_to(&words) {
            let to = scope_end(above, self.budget);
            self.moves.push(Move { from: node.end_byte(), to, target });
        }
        let directory = self.directory_at(node.start_byte());
        for words in [&words, &braced, &spelt] {
            self.add_writes(written_by(words), &directory);
            self.add_removes(removed_by(words), &directory);
        }
        let evaluated = evaluated(node, above, text, self.budget);
        let runs_read = spelt.first().is_some_and(|name| self.variables.is_read_in(name));
        if runs_read || evaluated.iter().any(|word| self.variables.is_printed(word)) {
            self.found.dangers.push(Danger::PipeToShell);
        }
        for name in names_read(&spelt) {
            self.variables.read_in(name);
        }
        if words.first().is_some_and(|name| is_mixed_script(name)) {
            self.found.dangers.push(Danger::MixedScript);
        }
        if directory.starts_with(['/', '~', '$'])
            && let Some(far) = from_directory(&words, &directory)
        {
            self.add_command(far, depth);
        }
        self.add_moved(&words, &directory, depth);
        if spelt.iter().any(|word| may_print(word)) {
            let printed = self.words_with_output(node, text);
            let printed = printed.iter().flat_map(|word| self.variables.expand(word, self.budget));
            let printed = printed.collect();
            self.add_command(printed, depth);
        }
        // All three spellings, because the value that a variable seems to have need not be the one that it has.
        if spelt != words {
            self.add_command(spelt, depth);
        }
        if braced != words {
            self.add_command(braced, depth);
        }
        self.add_command(words, depth);
    }

    /// Returns the directory in which a part of the text could run, by the `cd`s before it.
    fn directory_at(&self, at: usize) -> String {
        let mut directory = String::new();
        self.budget.spend(self.moves.len());
        for Move { target, .. } in self.moves.iter().filter(|it| it.from <= at && at < it.to) {
            if target.starts_with('/') {
                directory.clear();
            } else if !directory.is_empty() {
                directory.push('/');
            }
            directory.push_str(target);
        }
        self.budget.spend_bytes(directory.len());
        directory
    }

    /// Adds what a command does in the directory that a wrapper runs it in.
    fn add_moved(&mut self, words: &[String], directory: &str, depth: usize) {
        let mut directory = directory.to_owned();
        for (at, moved) in wrapper_directories(words) {
            let inner = words.get(at..).unwrap_or_default();
            directory = match both_spellings(&directory, moved.to_owned()).into_iter().next() {
                Some(led) if !moved.starts_with(['~', '$']) => led,
                _ => moved.to_owned(),
            };
            for from in 0..inner.len().min(MOST_MOVED_WORDS) {
                self.budget.spend_bytes(inner.len());
                self.add_writes(written_by(&inner[from..]), &directory);
                self.add_removes(removed_by(&inner[from..]), &directory);
            }
            if directory.starts_with(['/', '~', '$'])
                && let Some(far) = from_directory(inner, &directory)
            {
                self.add_command(far, depth);
            }
        }
    }

    fn add_writes(&mut self, paths: Vec<String>, directory: &str) {
        self.budget.spend_bytes(paths.len() * directory.len());
        let paths = paths.into_iter().filter(|path| !is_stream(path));
        self.found.writes.extend(paths.flat_map(|path| both_spellings(directory, path)));
    }

    fn add_removes(&mut self, paths: Vec<String>, directory: &str) {
        self.budget.spend_bytes(paths.len() * directory.len());
        let paths = paths.into_iter().flat_map(|path| both_spellings(directory, path));
        self.found.removes.extend(paths);
    }

    /// Returns the words of a command, with the braces of unquoted words expanded.
    fn braced(&mut self, node: Node<'_>, text: &str) -> Vec<String> {
        let nodes = word_nodes(node);
        let (most, mut all) = (nodes.len() + MOST_BRACE_WORDS, Vec::new());
        for node in nodes {
            let word = plain(node, text);
            if !can_brace(node, text) {
                all.push(word);
            } else if !expand_braces(&word, most, &mut all, self.budget) {
                self.found.dangers.push(Danger::TooMany);
                return all;
            }
        }
        all
    }
}

/// Returns the command with its operands as paths from a directory far away, if it acts on whole folders: rules about
/// the whole system look at such paths.
fn from_directory(words: &[String], directory: &str) -> Option<Vec<String>> {
    let acts_on_folders = |word: &String| program::is(base_name(word), Fact::ActsOnFolders);
    let at = words.iter().position(acts_on_folders)?;
    let from = directory.trim_end_matches('/');
    let far = |word: &String| {
        let is_own = word.starts_with(['-', '/', '~', '+', '{', ';']);
        if is_own { word.clone() } else { format!("{from}/{word}") }
    };
    let mut all = words[at..=at].to_vec();
    // Without an operand, it acts on the directory itself.
    let has_operand = words[at + 1..].iter().any(|it| !it.starts_with('-'));
    all.extend((!has_operand).then(|| format!("{from}/")));
    all.extend(words[at + 1..].iter().map(far));
    Some(all)
}

/// Returns where a command that changes the directory leads; without an operand, to the home folder.
fn moves_to(words: &[String]) -> Option<String> {
    let is_prefix = |it: &&String| matches!(it.as_str(), "builtin" | "command");
    let mut words = words.iter().skip_while(is_prefix);
    words.next().filter(|it| changes_directory(it))?;
    let target = words.find(|it| *it == "-" || !it.starts_with('-'));
    match target {
        Some(target) if target == "-" => None,
        Some(target) => Some(target.clone()),
        None => Some("~".to_owned()),
    }
}

/// Whether a program changes the directory to its operand.
fn changes_directory(name: &str) -> bool {
    matches!(name, "cd" | "pushd" | "chdir")
}

/// Returns a path as it is spelt, and as it is from a directory that a `cd` leads to.
fn both_spellings(directory: &str, path: String) -> Vec<String> {
    let is_relative = !directory.is_empty() && !path.starts_with('/');
    let led = is_relative.then(|| format!("{directory}/{path}"));
    led.into_iter().chain([path]).collect()
}

/// Whether a name has letters beside those of ASCII.
fn is_mixed_script(name: &str) -> bool {
    name.chars().any(|c| !c.is_ascii() && (c.is_alphabetic() || !c.is_alphanumeric()))
}
