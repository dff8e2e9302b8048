//! The loose reading: whatever looks like a command, wherever it is. It can be wrong in what it finds,
//! and proves nothing by what it does not find.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use toolcrib_core::reading::Danger;
use tree_sitter::{Node, Tree};

use crate::words::{children, plain};
use crate::wrappers::{braces, split_string, wraps, written_by};

/// Looking takes far less; what takes more is not looked at to its end.
const LONGEST: Duration = Duration::from_millis(400);
/// Commands in commands, deeper than this, are a danger of their own.
const DEEPEST: usize = 8;
/// More commands than this are a danger of their own.
const MOST: usize = 1000;

/// The most words of a wrapper that are looked at.
const MOST_WORDS: usize = 64;

/// Programs that read commands.
const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "rbash", "sh", "tcsh", "zsh"];

/// What was found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) commands: Vec<Vec<String>>,
    pub(crate) writes: Vec<String>,
    pub(crate) reads: Vec<String>,
    pub(crate) dangers: Vec<Danger>,
}

/// Looks for commands.
pub(crate) struct Finder<P> {
    parse: P,
    pub(crate) found: Found,
    seen: HashSet<String>,
    /// What variables are set to, as far as that is spelt out.
    values: HashMap<String, String>,
    /// When looking takes so long that it is made for it.
    until: Instant,
}

impl<P: Fn(&str) -> Option<Tree>> Finder<P> {
    pub(crate) fn new(parse: P) -> Self {
        let until = Instant::now() + LONGEST;
        Self { parse, found: Found::default(), seen: HashSet::new(), values: HashMap::new(), until }
    }

    /// Looks at a text that may be commands; nothing if it cannot be parsed.
    pub(crate) fn look_at(&mut self, text: &str, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            self.found.dangers.push(Danger::TooDeep);
            return Some(());
        }
        // The same text again holds nothing new.
        if self.found.commands.len() > MOST || !self.seen.insert(text.to_owned()) {
            return Some(());
        }
        if Instant::now() > self.until {
            self.found.dangers.push(Danger::TooLong);
            return Some(());
        }
        let text = text.replace("${IFS}", " ").replace("$IFS", " ");
        let tree = (self.parse)(&text)?;
        if tree.root_node().has_error() {
            self.guess(&text, depth);
        }
        let mut open = vec![tree.root_node()];
        while let Some(node) = open.pop() {
            if Instant::now() > self.until {
                self.found.dangers.push(Danger::TooLong);
                break;
            }
            self.visit(node, &text, depth);
            let mut below: Vec<_> = children(node).collect();
            below.reverse();
            open.extend(below);
            if self.found.commands.len() > MOST {
                self.found.dangers.push(Danger::TooMany);
                break;
            }
        }
        Some(())
    }

    /// Where the parser gives up: words between whatever could end a command.
    fn guess(&mut self, text: &str, depth: usize) {
        for part in text.split([';', '|', '&', '\n', '(', ')', '`']) {
            let words =
                part.split([' ', '\t', '{', '}', ',', '"', '\'']).filter(|it| !it.is_empty());
            self.words(words.map(str::to_owned).collect(), depth);
        }
    }

    fn visit(&mut self, node: Node<'_>, text: &str, depth: usize) {
        let own = &text[node.byte_range()];
        match node.kind() {
            "command" => self.command(node, text, depth),
            "declaration_command" | "unset_command" | "test_command" => {
                let words = own.split_whitespace().map(str::to_owned).collect();
                self.words(words, depth);
            }
            "file_redirect" => {
                let writes = children(node).any(|child| child.kind().contains('>'));
                let target = children(node).find(is_destination);
                let place = if writes { &mut self.found.writes } else { &mut self.found.reads };
                place.extend(target.map(|target| plain(target, text)));
            }
            "redirected_statement" => self.redirected(node, text, depth),
            "function_definition" => self.function(node, text),
            "variable_assignment" => {
                if let Some((name, value)) = own.split_once('=')
                    && !value.contains(['$', '`', '('])
                {
                    let value = value.trim_matches(['"', '\'']).to_owned();
                    self.values.insert(name.to_owned(), value);
                }
            }
            "pipeline" => {
                let stages = children(node).filter(Node::is_named).skip(1);
                if stages.into_iter().any(|stage| runs_shell(stage, text)) {
                    self.found.dangers.push(Danger::PipeToShell);
                }
            }
            "heredoc_body" if !is_for_shell(node, text) => {}
            "herestring_redirect" | "heredoc_body" => {
                let inner = children(node).find(Node::is_named);
                let inner = inner.map_or_else(|| own.to_owned(), |inner| plain(inner, text));
                let _ = self.look_at(&inner, depth + 1);
            }
            // Quotes keep a shell from looking, not those who evaluate what they are given.
            "raw_string" | "string" | "ansi_c_string" => {
                let inner = plain(node, text);
                for opening in ["$(", "`"] {
                    if let Some((_, rest)) = inner.split_once(opening) {
                        let closing = if opening == "`" { '`' } else { ')' };
                        let rest = rest.rsplit_once(closing).map_or(rest, |(rest, _)| rest);
                        let _ = self.look_at(rest, depth + 1);
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
            let mut words = plain_words(body, text);
            words.extend(more);
            self.words(words, depth);
        }
    }

    fn command(&mut self, node: Node<'_>, text: &str, depth: usize) {
        let words: Vec<String> =
            plain_words(node, text).into_iter().map(|word| self.valued(word)).collect();
        let evaluates = words.first().is_some_and(|name| {
            let name = base(name);
            SHELLS.contains(&name) || matches!(name, "eval" | "source" | ".")
        });
        let is_printed = |word: &String| word.contains("$(") || word.contains('`');
        let is_read = |word: &String| word.starts_with("<(") || word == "/dev/stdin";
        if evaluates && words[1..].iter().any(|word| is_printed(word) || is_read(word)) {
            self.found.dangers.push(Danger::PipeToShell);
        }
        if words.first().is_some_and(|name| is_mixed(name)) {
            self.found.dangers.push(Danger::MixedScript);
        }
        self.words(words, depth);
    }

    /// A word with what variables in it are known to be; of one with a default, that.
    fn valued(&self, word: String) -> String {
        if !word.contains('$') {
            return word;
        }
        let mut word = word;
        for (name, value) in &self.values {
            word = word.replace(&format!("${{{name}}}"), value);
            if word == format!("${name}") || word.starts_with(&format!("${name}/")) {
                word = word.replacen(&format!("${name}"), value, 1);
            }
        }
        let default = word.strip_prefix("${").and_then(|it| it.strip_suffix('}'));
        let default = default.and_then(|it| it.split_once([':', '-', '=']));
        match default {
            Some((_, value)) => value.trim_start_matches([':', '-', '=', '+']).to_owned(),
            None => word,
        }
    }

    /// Whether so much was looked at that it is made for it.
    fn is_too_much(&mut self) -> bool {
        if self.found.commands.len() > MOST {
            self.found.dangers.push(Danger::TooMany);
            return true;
        }
        if Instant::now() > self.until {
            self.found.dangers.push(Danger::TooLong);
            return true;
        }
        false
    }

    fn words(&mut self, words: Vec<String>, depth: usize) {
        // `{rm,-rf,/}` is three words.
        let words: Vec<String> = words.into_iter().flat_map(|word| braces(&word)).collect();
        let Some(name) = words.first().map(|name| base(name).to_owned()) else { return };
        // The same words again hold nothing new.
        if self.is_too_much() || !self.seen.insert(format!("\0{}", words.join("\0"))) {
            return;
        }
        self.found.commands.push(words.clone());
        let rest = &words[1..];
        let name = name.as_str();
        self.found.writes.extend(written_by(name, rest));
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
        if SHELLS.contains(&name) || matches!(name, "su" | "script" | "flock" | "runuser") {
            let at = rest.iter().position(|word| is_command_flag(word));
            let inner = at.and_then(|at| rest[at + 1..].iter().find(|word| !word.starts_with('-')));
            if let Some(inner) = inner {
                let _ = self.look_at(inner, depth + 1);
            }
        }
        if matches!(name, "mapfile" | "readarray")
            && let Some(at) = rest.iter().position(|word| word.starts_with("-C"))
        {
            let own = rest[at].strip_prefix("-C").filter(|own| !own.is_empty());
            let inner = own.or(rest.get(at + 1).map(String::as_str)).unwrap_or_default();
            let _ = self.look_at(inner, depth + 1);
        }
        if name == "coproc" {
            let _ = self.look_at(&rest.join(" "), depth + 1);
            let _ = self.look_at(&rest.get(1..).unwrap_or_default().join(" "), depth + 1);
        }
        if matches!(name, "eval" | "ssh" | "watch" | "trap" | "alias") {
            let _ = self.look_at(&rest.join(" "), depth + 1);
            for word in rest {
                let _ = self.look_at(word, depth + 1);
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
                let _ = self.look_at(&inner, depth + 1);
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

    /// A function that starts itself, twice, or behind its own back.
    fn function(&mut self, node: Node<'_>, text: &str) {
        let Some(name) = node.child_by_field_name("name").map(|name| plain(name, text)) else {
            return;
        };
        let Some(body) = node.child_by_field_name("body") else { return };
        let (mut calls, mut forks) = (0, false);
        let mut open = vec![body];
        while let Some(node) = open.pop() {
            if node.kind() == "command_name" && plain(node, text) == name {
                calls += 1;
            }
            forks |= matches!(node.kind(), "|" | "&");
            open.extend(children(node));
        }
        if calls > 1 && forks {
            self.found.dangers.push(Danger::ForkBomb);
        }
    }
}

/// Whether a stage of a pipeline is a shell, or has one run.
fn runs_shell(stage: Node<'_>, text: &str) -> bool {
    let mut open = vec![stage];
    while let Some(node) = open.pop() {
        if node.kind() == "command" {
            let words = plain_words(node, text);
            let is_shell = |word: &String| SHELLS.contains(&base(word));
            let first = words.first().map_or("", |it| base(it));
            let reads =
                matches!(first, "source" | ".") && words.iter().any(|it| it == "/dev/stdin");
            let is_wrapped = wraps(first).is_some() && words.iter().any(is_shell);
            if SHELLS.contains(&first) || is_wrapped || reads {
                return true;
            }
        }
        open.extend(children(node));
    }
    false
}

/// Whether a shell's flag says that a command follows: `-c`, or among others as in `-lc`.
fn is_command_flag(word: &str) -> bool {
    let rest = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    rest.is_some_and(|rest| rest.contains('c')) || word == "--command"
}

/// Whether a part of a redirection is where it goes, or a word after that.
fn is_destination(node: &Node<'_>) -> bool {
    node.is_named() && node.kind() != "file_descriptor"
}

/// Whether the text below a command is read by a shell, and not only passed on.
fn is_for_shell(node: Node<'_>, text: &str) -> bool {
    let mut above = node.parent();
    while let Some(it) = above {
        // What comes after its mark on the same line is a part of it.
        if it.kind() == "heredoc_redirect" && children(it).any(|part| runs_shell(part, text)) {
            return true;
        }
        let command = match it.kind() {
            "redirected_statement" => it.child_by_field_name("body"),
            "command" => Some(it),
            _ => None,
        };
        if let Some(command) = command {
            let words = plain_words(command, text);
            if words.iter().any(|word| SHELLS.contains(&base(word))) {
                return true;
            }
            let piped = it.parent().filter(|it| it.kind() == "pipeline");
            let mut stages = piped.into_iter().flat_map(children);
            return stages.any(|stage| runs_shell(stage, text));
        }
        above = it.parent();
    }
    true
}

/// The words of a command, quotes taken away.
fn plain_words(node: Node<'_>, text: &str) -> Vec<String> {
    let is_word = |node: &Node<'_>| {
        !matches!(
            node.kind(),
            "variable_assignment" | "file_redirect" | "heredoc_redirect" | "herestring_redirect"
        ) && node.is_named()
    };
    children(node).filter(is_word).map(|word| plain(word, text)).collect()
}

/// A program's name without its folder.
fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Whether a name has letters beside those of ASCII.
fn is_mixed(name: &str) -> bool {
    name.chars().any(|c| !c.is_ascii() && (c.is_alphabetic() || !c.is_alphanumeric()))
}
