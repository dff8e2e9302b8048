//! The loose reading: whatever looks like a command, wherever it is. It can be wrong in what it finds,
//! and proves nothing by what it does not find.

use std::collections::HashSet;

use toolcrib_core::reading::Danger;
use tree_sitter::{Node, Tree};

use crate::budget::Budget;
use crate::nodes::{
    SHELLS, base, can_brace, evaluated, is_destination, is_for_shell, is_fork_bomb, is_stream,
    plain_words, runs_shell, scope_end, word_nodes,
};
use crate::values::Values;
use crate::walk::Walk;
use crate::words::{children, plain};
use crate::wrappers::{braces, is_runner, split_string, wraps};
use crate::writers::{removed_by, written_by};

/// Commands in commands, deeper than this, are a danger of their own.
const DEEPEST: usize = 8;
/// More commands than this are a danger of their own.
const MOST: usize = 1000;

/// Programs that are looked at as if `cd` had been in their words.
const FAR: &[&str] = &["chgrp", "chmod", "chown", "find", "rm"];

/// The most words that are kept of all commands together.
const MOST_KEPT: usize = 20_000;

/// The most words of a wrapper that are looked at.
const MOST_WORDS: usize = 64;

/// What was found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) commands: Vec<Vec<String>>,
    pub(crate) writes: Vec<String>,
    pub(crate) removes: Vec<String>,
    pub(crate) reads: Vec<String>,
    pub(crate) dangers: Vec<Danger>,
}

/// Looks for commands.
pub(crate) struct Finder<'b, P> {
    parse: P,
    /// How many words were found.
    kept: usize,
    /// How many commands were looked at, the same ones too.
    looked: usize,
    /// Where `cd` leads, and from where to where in the text that holds.
    moves: Vec<(usize, usize, String)>,
    pub(crate) found: Found,
    seen: HashSet<String>,
    values: Values,
    budget: &'b Budget,
}

impl<'b, P: Fn(&str) -> Option<Tree>> Finder<'b, P> {
    pub(crate) fn new(budget: &'b Budget, parse: P) -> Self {
        Self {
            parse,
            kept: 0,
            looked: 0,
            moves: Vec::new(),
            found: Found::default(),
            seen: HashSet::new(),
            values: Values::default(),
            budget,
        }
    }

    /// Looks through the command itself.
    pub(crate) fn look_through(&mut self, text: &str, tree: &Tree) {
        self.seen.insert(text.to_owned());
        self.look_without_ifs(text, 0);
        self.look_through_tree(text, tree, 0);
    }

    /// Looks at a text within the command that may be commands itself.
    fn look_at(&mut self, text: &str, depth: usize) {
        if depth > DEEPEST {
            self.found.dangers.push(Danger::TooDeep);
            return;
        }
        // The same text again holds nothing new.
        let may_look = self.looked <= MOST && self.budget.spend_bytes(text.len());
        if !may_look || !self.seen.insert(text.to_owned()) {
            return;
        }
        self.look_without_ifs(text, depth);
        if let Some(tree) = (self.parse)(text) {
            self.look_through_tree(text, &tree, depth);
        }
    }

    /// Looks at a text with blanks where a shell would put them. What is quoted is no such place: both are looked at.
    fn look_without_ifs(&mut self, text: &str, depth: usize) {
        if text.contains("$IFS") || text.contains("${IFS}") {
            self.look_at(&text.replace("${IFS}", " ").replace("$IFS", " "), depth + 1);
        }
    }

    fn look_through_tree(&mut self, text: &str, tree: &Tree, depth: usize) {
        if tree.root_node().has_error() {
            self.guess(text, depth);
        }
        // Places in this text say nothing of another one.
        let outer = std::mem::take(&mut self.moves);
        let mut walk = Walk::new(tree.root_node(), self.budget);
        while let Some((node, above)) = walk.next() {
            self.visit(node, above, text, depth);
            if self.looked > MOST {
                self.found.dangers.push(Danger::TooMany);
                break;
            }
        }
        self.moves = outer;
    }

    /// Where the parser gives up: words between whatever could end a command.
    fn guess(&mut self, text: &str, depth: usize) {
        for part in text.split([';', '|', '&', '\n', '(', ')', '`']) {
            let words =
                part.split([' ', '\t', '{', '}', ',', '"', '\'']).filter(|it| !it.is_empty());
            self.words(words.map(str::to_owned).collect(), depth);
        }
    }

    fn visit(&mut self, node: Node<'_>, above: &[Node<'_>], text: &str, depth: usize) {
        let own = &text[node.byte_range()];
        let reads_own_text = matches!(
            node.kind(),
            "declaration_command"
                | "unset_command"
                | "test_command"
                | "variable_assignment"
                | "herestring_redirect"
                | "heredoc_body"
                | "raw_string"
                | "string"
                | "ansi_c_string"
        );
        if reads_own_text && !self.budget.spend_bytes(own.len()) {
            return;
        }
        match node.kind() {
            "command" => self.command(node, above, text, depth),
            "declaration_command" | "unset_command" | "test_command" => {
                let words = own.split_whitespace().map(str::to_owned).collect();
                self.words(words, depth);
            }
            "file_redirect" => {
                let writes = children(node).any(|child| child.kind().contains('>'));
                let copies = children(node).any(|child| matches!(child.kind(), ">&" | "<&"));
                let target = children(node).find(is_destination).map(|it| plain(it, text));
                // Another number for the same is no file.
                let is_number =
                    |it: &String| it.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
                let target = target.filter(|it| !(copies && is_number(it)));
                let target: Vec<String> =
                    target.into_iter().flat_map(|it| self.values.fill(&it, self.budget)).collect();
                if writes {
                    let here = self.here(node.start_byte());
                    self.writes(target, &here);
                } else {
                    self.found.reads.extend(target);
                }
            }
            "redirected_statement" => self.redirected(node, text, depth),
            "function_definition" if is_fork_bomb(node, text, self.budget) => {
                self.found.dangers.push(Danger::ForkBomb);
            }
            // Some programs take files from there.
            "variable_assignment" => self.found.reads.extend(self.values.assign(own)),
            "for_statement" => {
                // Each of its words, one after the other.
                let words = plain_words(node, text, self.budget);
                if let [name, values @ ..] = &words[..] {
                    self.values.each(name, values);
                }
            }
            "pipeline" => {
                let stages = children(node).filter(Node::is_named).skip(1);
                if stages.into_iter().any(|stage| runs_shell(stage, text, self.budget)) {
                    self.found.dangers.push(Danger::PipeToShell);
                }
            }
            "heredoc_body" if !is_for_shell(above, text, self.budget) => {}
            "herestring_redirect" | "heredoc_body" => {
                if is_for_shell(above, text, self.budget)
                    && (own.contains("$(") || own.contains('`'))
                {
                    self.found.dangers.push(Danger::PipeToShell);
                }
                let inner = children(node).find(Node::is_named);
                let inner = inner.map_or_else(|| own.to_owned(), |inner| plain(inner, text));
                self.look_at(&inner, depth + 1);
            }
            // Quotes keep a shell from looking, not those who evaluate what they are given.
            "raw_string" | "string" | "ansi_c_string" => {
                let inner = plain(node, text);
                for opening in ["$(", "`"] {
                    if let Some((_, rest)) = inner.split_once(opening) {
                        let closing = if opening == "`" { '`' } else { ')' };
                        let rest = rest.rsplit_once(closing).map_or(rest, |(rest, _)| rest);
                        self.look_at(rest, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    /// Words that come after a redirection are the command's all the same.
    fn redirected(&mut self, node: Node<'_>, text: &str, depth: usize) {
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
            self.words(words, depth);
        }
    }

    fn command(&mut self, node: Node<'_>, above: &[Node<'_>], text: &str, depth: usize) {
        let spelt = plain_words(node, text, self.budget);
        let braced = self.braced(node, text);
        let words: Vec<String> =
            braced.iter().flat_map(|word| self.values.fill(word, self.budget)).collect();
        if let Some(target) = moves_to(&words) {
            self.moves.push((node.end_byte(), scope_end(above, self.budget), target));
        }
        let here = self.here(node.start_byte());
        for words in [&words, &braced, &spelt] {
            self.writes(written_by(words), &here);
            self.removes(removed_by(words), &here);
        }
        if evaluated(node, above, text, self.budget).iter().any(|word| self.values.is_printed(word))
        {
            self.found.dangers.push(Danger::PipeToShell);
        }
        if words.first().is_some_and(|name| is_mixed(name)) {
            self.found.dangers.push(Danger::MixedScript);
        }
        // Where it would be by then, for what is so for the whole system.
        let is_far = here.starts_with(['/', '~', '$']);
        if let Some(at) = words.iter().position(|it| FAR.contains(&base(it))).filter(|_| is_far) {
            let from = here.trim_end_matches('/');
            let far = |word: &String| {
                let is_own = word.starts_with(['-', '/', '~', '+', '{', ';']);
                if is_own { word.clone() } else { format!("{from}/{word}") }
            };
            let mut all = words[at..=at].to_vec();
            // Without a folder, it is the one where it is.
            let has_operand = words[at + 1..].iter().any(|it| !it.starts_with('-'));
            all.extend((!has_operand).then(|| format!("{from}/")));
            all.extend(words[at + 1..].iter().map(far));
            self.words(all, depth);
        }
        // All of them: what a variable is said to be need not be what it is.
        if spelt != words {
            self.words(spelt, depth);
        }
        if braced != words {
            self.words(braced, depth);
        }
        self.words(words, depth);
    }

    /// The directories that a part of the text could run in, by the `cd`s before it.
    fn here(&self, at: usize) -> String {
        let mut here = String::new();
        self.budget.spend(self.moves.len());
        for (_, _, target) in self.moves.iter().filter(|it| it.0 <= at && at < it.1) {
            if target.starts_with('/') {
                here.clear();
            } else if !here.is_empty() {
                here.push('/');
            }
            here.push_str(target);
        }
        self.budget.spend_bytes(here.len());
        here
    }

    /// Notes files that are written.
    fn writes(&mut self, paths: Vec<String>, here: &str) {
        self.budget.spend_bytes(paths.len() * here.len());
        let paths = paths.into_iter().filter(|path| !is_stream(path));
        self.found.writes.extend(paths.flat_map(|path| from(here, path)));
    }

    /// Notes files that are removed.
    fn removes(&mut self, paths: Vec<String>, here: &str) {
        self.budget.spend_bytes(paths.len() * here.len());
        self.found.removes.extend(paths.into_iter().flat_map(|path| from(here, path)));
    }

    /// The words of a command, with what braces make of those that are not quoted.
    fn braced(&mut self, node: Node<'_>, text: &str) -> Vec<String> {
        /// More words than this nobody means.
        const MORE: usize = 512;
        let nodes = word_nodes(node);
        let (most, mut all) = (nodes.len() + MORE, Vec::new());
        for node in nodes {
            let word = plain(node, text);
            if !can_brace(node, text) {
                all.push(word);
            } else if !braces(&word, most, &mut all, self.budget) {
                self.found.dangers.push(Danger::TooMany);
                return all;
            }
        }
        all
    }

    /// Whether so much was looked at that it is made for it.
    fn is_too_much(&mut self) -> bool {
        self.looked += 1;
        if self.looked > MOST {
            self.found.dangers.push(Danger::TooMany);
            return true;
        }
        self.budget.is_spent()
    }

    fn words(&mut self, words: Vec<String>, depth: usize) {
        let Some(name) = words.first().map(|name| base(name).to_owned()) else { return };
        // The same words again hold nothing new, unless they lead somewhere else from there.
        let moves = matches!(name.as_str(), "cd" | "pushd" | "chdir");
        if self.is_too_much() || !moves && !self.seen.insert(format!("\0{}", words.join("\0"))) {
            return;
        }
        let bytes: usize = words.iter().map(String::len).sum();
        self.budget.spend_bytes(bytes);
        self.kept += words.len();
        if self.kept > MOST_KEPT {
            self.found.dangers.push(Danger::TooMany);
            return;
        }
        self.found.commands.push(words.clone());
        let rest = &words[1..];
        let name = name.as_str();
        if depth > 0 {
            self.writes(written_by(&words), "");
            self.removes(removed_by(&words), "");
        }
        if depth >= DEEPEST {
            let goes_on = wraps(name).is_some() || SHELLS.contains(&name) || name == "eval";
            if goes_on && !rest.is_empty() {
                self.found.dangers.push(Danger::TooDeep);
            }
            return;
        }
        if let Some(own) = wraps(name) {
            self.wrapped(name, own, rest, depth);
        }
        // What runs in a container is about that one's files.
        let is_apart = matches!(name, "docker" | "podman" | "kubectl");
        let runner = rest.iter().take(MOST_WORDS).position(|word| is_runner(name, word));
        if let Some(at) = runner.filter(|_| !is_apart) {
            self.wrapped(name, 0, &rest[at + 1..], depth);
        }
        if SHELLS.contains(&name) || matches!(name, "su" | "script" | "flock" | "runuser") {
            let at = rest.iter().position(|word| is_command_flag(word));
            let after = at.map_or(&[][..], |at| &rest[at + 1..]);
            // A flag may have a value of its own before it.
            for inner in after.iter().filter(|word| !word.starts_with('-')).take(3) {
                self.look_at(inner, depth + 1);
            }
        }
        if matches!(name, "mapfile" | "readarray")
            && let Some(at) = rest.iter().position(|word| word.starts_with("-C"))
        {
            let own = rest[at].strip_prefix("-C").filter(|own| !own.is_empty());
            let inner = own.or(rest.get(at + 1).map(String::as_str)).unwrap_or_default();
            self.look_at(inner, depth + 1);
        }
        if name == "coproc" {
            self.look_at(&rest.join(" "), depth + 1);
            self.look_at(&rest.get(1..).unwrap_or_default().join(" "), depth + 1);
        }
        if matches!(name, "eval" | "ssh" | "watch" | "trap" | "alias") {
            self.look_at(&rest.join(" "), depth + 1);
            for word in rest {
                self.look_at(word, depth + 1);
            }
        }
        if matches!(name, "find" | "fd" | "fdfind") {
            for (at, word) in rest.iter().enumerate() {
                if self.is_too_much() {
                    return;
                }
                if word.starts_with("-exec")
                    || word.starts_with("-ok")
                    || word == "-x"
                    || word == "-X"
                {
                    let inner =
                        rest[at + 1..].iter().take_while(|word| *word != ";" && *word != "+");
                    self.words(inner.cloned().collect(), depth + 1);
                }
            }
        }
    }

    /// What a wrapper runs: from each word on that could be a program.
    fn wrapped(&mut self, name: &str, own: usize, rest: &[String], depth: usize) {
        let mut own = own;
        for (at, word) in rest.iter().enumerate() {
            if at >= MOST_WORDS {
                self.found.dangers.push(Danger::TooMany);
                return;
            }
            if name == "env"
                && let Some(inner) = split_string(word, rest.get(at + 1))
            {
                self.look_at(&inner, depth + 1);
            }
            if word.starts_with('-') || name == "env" && word.contains('=') {
                continue;
            }
            self.words(rest[at..].to_vec(), depth + 1);
            let is_value =
                word.bytes().all(|byte| byte.is_ascii_digit() || b".smhd".contains(&byte));
            let follows_flag = at > 0 && rest[at - 1].starts_with('-');
            // An option's value comes before the program, and words of the wrapper's own do.
            if own > 0 && !follows_flag {
                own -= 1;
            } else if !is_value && !follows_flag {
                return;
            }
        }
    }
}

/// Where a command that changes the directory leads to; its home without a word.
fn moves_to(words: &[String]) -> Option<String> {
    let is_prefix = |it: &&String| matches!(it.as_str(), "builtin" | "command");
    let mut words = words.iter().skip_while(is_prefix);
    words.next().filter(|it| matches!(it.as_str(), "cd" | "pushd" | "chdir"))?;
    let target = words.find(|it| *it == "-" || !it.starts_with('-'));
    match target {
        Some(target) if target == "-" => None,
        Some(target) => Some(target.clone()),
        None => Some("~".to_owned()),
    }
}

/// A path as it is spelt, and from where a `cd` leads.
fn from(here: &str, path: String) -> Vec<String> {
    let led = (!here.is_empty() && !path.starts_with('/')).then(|| format!("{here}/{path}"));
    led.into_iter().chain([path]).collect()
}

/// Whether a shell's flag says that a command follows: `-c`, or among others as in `-lc`.
fn is_command_flag(word: &str) -> bool {
    let rest = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    rest.is_some_and(|rest| rest.contains('c')) || word == "--command"
}

/// Whether a name has letters beside those of ASCII.
fn is_mixed(name: &str) -> bool {
    name.chars().any(|c| !c.is_ascii() && (c.is_alphabetic() || !c.is_alphanumeric()))
}
