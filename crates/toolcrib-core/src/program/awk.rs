//! `awk`: which of its programs only print.

use super::brackets;
use super::input::RunsInput;
use super::interpreter::AWK_SCRIPTS;
use super::row::{Caveat, Fact, FileEffectRules, Program, Shows, example};

pub(super) const ROWS: &[Program] = &[Program {
    caveat: Caveat::Check(awk_caveat),
    runs_input: RunsInput::FromFlag { long: &["--file"], short: 'f' },
    effects: FileEffectRules::NAMED,
    facts: &[Fact::ReadOnly, Fact::RunsScript(AWK_SCRIPTS)],
    examples: &[
        example("awk {print} f", Shows::Plain),
        example("awk -F: {print$1,$NF} f", Shows::Plain),
        example("awk -F , NR>1&&$3==2{n+=$2}END{print(n)} f", Shows::Plain),
        example("awk /a\\/b/{print\"x\"} f", Shows::Plain),
        example("awk {print\"x|y>z\"} f", Shows::Plain),
        example("awk /[a-z]|b/{n++}END{print(n/NR)} f", Shows::Plain),
        example("awk {/\"/;print|\"sh\";x=\"/} f", Shows::Caveat),
        example("awk BEGIN{do/\"/;while(0);print\"id\"|\"sh\";x=\"a\";/\"/} f", Shows::Caveat),
        example("awk BEGIN{/[]/]\"/;print\"id\"|\"sh\";x=\"a\";/\"/} f", Shows::Caveat),
        example("awk BEGIN{/[\\]/]\"/;print\"id\"|\"sh\";x=\"a\";/\"/} f", Shows::Caveat),
        example("awk {x/x;/\\\\/;/|$1;/} f", Shows::Caveat),
        example("awk {do/a|b/;while(0)} f", Shows::Caveat),
        example("awk {/[]/|$1/]/} f", Shows::Caveat),
        example("awk {print>$1} f", Shows::Caveat),
        example("awk {print|\"sh\"} f", Shows::Caveat),
        example("awk {system($1)} f", Shows::Caveat),
        example("awk {\"sh\"|getline} f", Shows::Caveat),
        example("awk {getline<$1} f", Shows::Caveat),
        example("awk @load\"x\"{print} f", Shows::Caveat),
        example("awk -v a=b {print} f", Shows::Caveat),
        example("awk -i x {print} f", Shows::Caveat),
        example("awk -f - f", Shows::RunsInput),
        example("awk -f x.awk", Shows::KeepsInput),
        example("awk -f x.awk", Shows::Caveat),
        example("awk -F , -f x.awk f", Shows::Scripts(&["x.awk"])),
        example("awk {print} f", Shows::Scripts(&[])),
    ],
    ..Program::named(&["awk", "gawk", "mawk"])
}];

/// The functions that only compute.
const FUNCTIONS: &[&str] = &[
    "cos", "exp", "gsub", "index", "int", "length", "log", "match", "sin", "split", "sprintf",
    "sqrt", "sub", "substr", "tolower", "toupper",
];

/// The words of the language that only say when and how often.
const KEYWORDS: &[&str] =
    &["BEGIN", "END", "delete", "else", "exit", "for", "if", "in", "next", "print", "printf"];

/// The variables that programs know from the start. To set one changes nothing outside of the program.
const VARIABLES: &[&str] = &["FILENAME", "FNR", "FS", "NF", "NR", "OFS", "ORS", "RS"];

/// The words in lower case that are no variables, in some version of awk, and neither keywords nor functions above.
const NO_VARIABLES: &[&str] = &[
    "adump",
    "and",
    "asort",
    "asorti",
    "atan2",
    "bindtextdomain",
    "break",
    "case",
    "close",
    "compl",
    "continue",
    "dcgettext",
    "dcngettext",
    "default",
    "do",
    "eval",
    "extension",
    "fflush",
    "func",
    "function",
    "gensub",
    "getline",
    "include",
    "isarray",
    "load",
    "lshift",
    "mkbool",
    "mktime",
    "namespace",
    "nextfile",
    "or",
    "patsplit",
    "rand",
    "return",
    "rshift",
    "srand",
    "stopme",
    "strftime",
    "strtonum",
    "switch",
    "system",
    "systime",
    "typeof",
    "while",
    "xor",
];

/// What can write a file or run a program, wherever it stands.
const ACTS: &[&str] = &["system", "getline", "close", "func", "@", "<", ">", "|"];

/// Returns a caveat for every program but those that only print.
fn awk_caveat(rest: &[String]) -> Option<String> {
    let rest = match rest {
        [flag, _, rest @ ..] if flag == "-F" => rest,
        [flag, rest @ ..] if flag.starts_with("-F") => rest,
        _ => rest,
    };
    let is_plain = match rest {
        // Some versions look for flags here, too, and some take a name for an address.
        [program, files @ ..]
            if !files
                .iter()
                .any(|it| it.starts_with('-') && it != "-" || it.starts_with("/inet")) =>
        {
            only_prints(program)
        }
        _ => false,
    };
    (!is_plain).then(|| "an awk program can write files and run other programs".to_owned())
}

/// Whether a program of awk only prints: it has no redirection, no pipe, and no function that does more than compute.
fn only_prints(program: &str) -> bool {
    // A program that begins with a dash would be a flag. Versions differ in whether the second of two backslashes
    // takes its meaning from what follows.
    if program.starts_with('-') || program.trim().is_empty() || program.contains(r"\\") {
        return false;
    }
    // If we ended a pattern or a string at another place than awk does, code and text would change places. So a
    // program with both must not have, even as text, what could do something as code.
    let is_certain = !(program.contains('/') && program.contains('"'));
    let acts = |part: &&str| program.replace("||", "").contains(*part);
    if !is_certain && ACTS.iter().any(acts) {
        return false;
    }
    let mut lexer = Lexer { program, rest: program, depth: 0, slash: Slash::Pattern };
    while !lexer.rest.is_empty() {
        if lexer.token().is_none() {
            return false;
        }
    }
    lexer.depth == 0
}

/// What a slash would be, after the tokens before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    /// The beginning of a pattern: an operand has to follow.
    Pattern,
    /// A division: it stands behind an operand.
    Division,
    /// Only the grammar knows.
    Unclear,
}

struct Lexer<'t> {
    program: &'t str,
    rest: &'t str,
    /// How many braces are open.
    depth: usize,
    slash: Slash,
}

impl<'t> Lexer<'t> {
    /// Passes over one token; returns nothing if it may do more than print.
    fn token(&mut self) -> Option<()> {
        let first = self.rest.chars().next()?;
        match first {
            ' ' | '\t' => self.rest = &self.rest[1..],
            '"' => {
                self.quoted('"')?;
                self.slash = Slash::Division;
            }
            '/' => match self.slash {
                Slash::Division => self.pass(1, Slash::Unclear),
                Slash::Unclear => return None,
                Slash::Pattern => {
                    let pattern = self.quoted('/')?;
                    // Some versions take a slash in brackets for a part of the pattern.
                    if !brackets::are_plain(pattern) {
                        return None;
                    }
                    self.slash = Slash::Unclear;
                }
            },
            'a'..='z' | 'A'..='Z' | '_' => {
                let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let (name, behind) = self.rest.split_at(end.unwrap_or(self.rest.len()));
                self.name(name, behind)?;
            }
            '0'..='9' => {
                let end = self.rest.find(|c: char| !c.is_ascii_digit() && c != '.');
                self.pass(end.unwrap_or(self.rest.len()), Slash::Division);
            }
            '{' | '}' => {
                self.depth =
                    if first == '{' { self.depth + 1 } else { self.depth.checked_sub(1)? };
                self.pass(1, Slash::Pattern);
            }
            // Within braces, it can be the redirection of `print`.
            '>' if self.depth > 0 => return None,
            '|' | '&' if !self.rest[1..].starts_with(first) => return None,
            '|' | '&' => self.pass(2, Slash::Pattern),
            // A statement can follow.
            ')' if self.program.contains("if") || self.program.contains("for") => {
                self.pass(1, Slash::Unclear);
            }
            ')' | ']' => self.pass(1, Slash::Division),
            '\n' | '(' | ',' | ';' | '!' | '~' => self.pass(1, Slash::Pattern),
            '$' | '[' | '<' | '>' | '=' | '+' | '-' | '*' | '%' | '^' | '?' | ':' => {
                self.pass(1, Slash::Unclear);
            }
            _ => return None,
        }
        Some(())
    }

    fn pass(&mut self, bytes: usize, slash: Slash) {
        self.rest = &self.rest[bytes..];
        self.slash = slash;
    }

    /// Passes over a name; returns nothing if it may stand for more than a value.
    fn name(&mut self, name: &str, behind: &str) -> Option<()> {
        let is_call = behind.trim_start_matches([' ', '\t']).starts_with('(');
        let is_own = name.starts_with(|c: char| c.is_ascii_lowercase());
        let is_variable = VARIABLES.contains(&name) || is_own && !NO_VARIABLES.contains(&name);
        let slash = if KEYWORDS.contains(&name) || FUNCTIONS.contains(&name) {
            Slash::Unclear
        } else if is_variable && !is_call {
            Slash::Division
        } else {
            return None;
        };
        self.pass(name.len(), slash);
        Some(())
    }

    /// Passes over a text between two of these characters, and returns it.
    fn quoted(&mut self, quote: char) -> Option<&'t str> {
        let text = &self.rest[1..];
        let mut is_escaped = false;
        for (at, c) in text.char_indices() {
            match c {
                '\n' => return None,
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                c if c == quote => {
                    self.rest = &text[at + 1..];
                    return Some(&text[..at]);
                }
                _ => {}
            }
        }
        None
    }
}
