//! The files of code that an interpreter runs, as its words name them: `run.sh` of `sh run.sh`.

use super::arguments::ValueFlags;
use super::row::{Fact, Program, Runs};
use super::script_flags::{ScriptFlags, ScriptOperands};

/// A word that could name a file of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptWord {
    /// The paths that it could mean, as they are spelt. The first that is a file counts.
    pub paths: Vec<String>,
    /// What is known of it.
    pub place: ScriptPlace,
}

/// What is known of a word that could name a file of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptPlace {
    /// If it is a file, it is the script, and the words behind it are the script's.
    Operand,
    /// It could be the value of a flag that is not known, so that the script comes later.
    BehindFlag,
    /// It is run beside the script.
    Loaded,
    /// It is code, unless the flag before it ends in a letter that only looks like the one for code.
    Code,
}

/// Returns the words behind a program's name that could name files of code that it runs, in their order.
pub(super) fn script_words(row: &Program, rest: &[String]) -> Vec<ScriptWord> {
    let Some(flags) = script_flags(row) else { return Vec::new() };
    let mut search = ScriptSearch { flags, found: Vec::new(), is_inline: false };
    let mut rest = rest.iter();
    let mut place = ScriptPlace::Operand;
    while let Some(word) = rest.next() {
        let next = || rest.clone().next().map(String::as_str);
        let is_flag = word.len() > 1 && word.starts_with('-')
            || row.runs == Runs::Shell && word.starts_with('+');
        if word == "--" {
            rest.by_ref().for_each(|word| search.operand(word, ScriptPlace::Operand));
        } else if !is_flag {
            search.operand(word, place);
            place = ScriptPlace::Operand;
        } else if let Some((flag, value, taken)) = flag_of(word, next(), flags.values) {
            search.flag(&flag, value);
            if taken == ValuePlace::NextWord {
                rest.next();
            }
            place = ScriptPlace::Operand;
        } else {
            // A long flag that is not known could take the next word as its value.
            let is_open = word.starts_with("--") && !word.contains('=');
            place = if is_open { ScriptPlace::BehindFlag } else { ScriptPlace::Operand };
        }
        // With the code in a flag, what follows is data.
        if search.is_inline {
            break;
        }
    }
    search.found
}

fn script_flags(row: &Program) -> Option<ScriptFlags> {
    row.facts.iter().find_map(|fact| match fact {
        Fact::RunsScript(flags) => Some(*flags),
        _ => None,
    })
}

/// Where the value of a flag stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValuePlace {
    SameWord,
    NextWord,
}

/// Returns the flag with a value in a word, short ones as a letter, and its value.
fn flag_of<'a>(
    word: &'a str,
    next: Option<&'a str>,
    takes: ValueFlags,
) -> Option<(String, &'a str, ValuePlace)> {
    if word.starts_with("--") {
        let (name, value) = word.split_once('=').map_or((word, None), |it| (it.0, Some(it.1)));
        let flag = takes.long.iter().find(|it| **it == name)?;
        return match value {
            Some(value) => Some(((*flag).to_owned(), value, ValuePlace::SameWord)),
            None => Some(((*flag).to_owned(), next?, ValuePlace::NextWord)),
        };
    }
    let letters = &word[1..];
    let (at, letter) = letters.char_indices().find(|(_, it)| takes.short.contains(*it))?;
    match &letters[at + letter.len_utf8()..] {
        "" => Some((letter.to_string(), next?, ValuePlace::NextWord)),
        value => Some((letter.to_string(), value, ValuePlace::SameWord)),
    }
}

struct ScriptSearch {
    flags: ScriptFlags,
    found: Vec<ScriptWord>,
    /// Whether a flag gives the code.
    is_inline: bool,
}

impl ScriptSearch {
    fn operand(&mut self, word: &str, place: ScriptPlace) {
        if self.flags.operands == ScriptOperands::FirstIsScript {
            self.add(word, place);
        }
    }

    fn flag(&mut self, flag: &str, value: &str) {
        if self.flags.files.contains(&flag) {
            self.add(value, ScriptPlace::Loaded);
        } else if self.flags.module == flag {
            let path = value.replace('.', "/");
            let paths = vec![format!("{path}.py"), format!("{path}/__main__.py")];
            self.found.push(ScriptWord { paths, place: ScriptPlace::Loaded });
            self.is_inline = true;
        } else if self.flags.inline.contains(&flag) {
            self.found.push(ScriptWord { paths: vec![value.to_owned()], place: ScriptPlace::Code });
            self.is_inline = true;
        }
    }

    fn add(&mut self, word: &str, place: ScriptPlace) {
        let longer = self.flags.endings.iter().map(|ending| format!("{word}{ending}"));
        let paths = std::iter::once(word.to_owned()).chain(longer).collect();
        self.found.push(ScriptWord { paths, place });
    }
}
