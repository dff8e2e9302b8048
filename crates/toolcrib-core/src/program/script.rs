//! The files of code that an interpreter runs, as its words name them: `run.sh` of `sh run.sh`.

use std::path::Path;

use super::python_module::{ModuleKind, module_kind};
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
    /// It is code, or a part of a word, which counts only if there is such a file.
    Code,
    /// It is a folder, and all files in it are run.
    Folder,
}

/// Returns the words behind a program's name that could name files of code that it runs, in their order.
pub(super) fn script_words(row: &Program, rest: &[String]) -> Vec<ScriptWord> {
    let Some(flags) = script_flags(row) else { return Vec::new() };
    let mut search = ScriptSearch { flags, found: Vec::new(), is_inline: false };
    if flags.operands == ScriptOperands::AnyIsScript {
        for word in rest {
            search.any(word);
        }
        return search.found;
    }
    let mut rest = rest.iter();
    // How many of the next operands could be values of flags.
    let mut open_values = 0_usize;
    while let Some(word) = rest.next() {
        let next = || rest.clone().next().map(String::as_str);
        let is_flag = word.len() > 1 && word.starts_with('-')
            || row.runs == Runs::Shell && word.starts_with('+');
        if word == "--" {
            rest.by_ref().for_each(|word| search.operand(word, ScriptPlace::Operand));
        } else if !is_flag {
            let is_open = open_values > 0;
            search.operand(
                word,
                if is_open { ScriptPlace::BehindFlag } else { ScriptPlace::Operand },
            );
            open_values = open_values.saturating_sub(1);
        } else if let Some((flag, value, taken)) = flag_of(word, next(), flags) {
            search.flag(&flag, value);
            open_values = if row.runs == Runs::Shell { option_names(word) } else { 0 };
            if taken == ValuePlace::NextWord {
                rest.next();
                open_values = open_values.saturating_sub(1);
            }
            if flags.module == flag {
                search.words_of_module(value, rest.as_slice());
            }
        } else {
            // A long flag that is not known could take the next word as its value.
            open_values = usize::from(word.starts_with("--") && !word.contains('='));
        }
        // With the code in a flag, what follows is data.
        if search.is_inline {
            break;
        }
    }
    search.found
}

/// Returns how many names of options a shell takes from the words behind this one: it takes one for each `o`, wherever
/// in the word it stands.
fn option_names(word: &str) -> usize {
    if word.starts_with("--") { 0 } else { word.matches(['o', 'O']).count() }
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
    flags: ScriptFlags,
) -> Option<(String, &'a str, ValuePlace)> {
    let takes = flags.values;
    if word.starts_with("--") {
        let (name, value) = word.split_once('=').map_or((word, None), |it| (it.0, Some(it.1)));
        let flag = takes.long.iter().find(|it| **it == name)?;
        return match value {
            Some(value) => Some(((*flag).to_owned(), value, ValuePlace::SameWord)),
            None => Some(((*flag).to_owned(), next?, ValuePlace::NextWord)),
        };
    }
    let letters = &word[1..];
    let mut own = letters.char_indices().take_while(|(_, it)| !flags.attached.contains(*it));
    let (at, letter) = own.find(|(_, it)| takes.short.contains(*it))?;
    match &letters[at + letter.len_utf8()..] {
        "" => Some((letter.to_string(), next?, ValuePlace::NextWord)),
        value => Some((letter.to_string(), value, ValuePlace::SameWord)),
    }
}

fn is_python_file(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|it| it.eq_ignore_ascii_case("py"))
}

struct ScriptSearch {
    flags: ScriptFlags,
    found: Vec<ScriptWord>,
    /// Whether a flag gives the code.
    is_inline: bool,
}

impl ScriptSearch {
    fn operand(&mut self, word: &str, place: ScriptPlace) {
        match self.flags.operands {
            ScriptOperands::FirstIsScript => self.add(word, place),
            ScriptOperands::Folders => self.add(word, ScriptPlace::Folder),
            ScriptOperands::AnyIsScript | ScriptOperands::Data => {}
        }
    }

    /// Adds a word that could name a script, and its parts, which could do so too: `-S x`, `-Sx`, `+source x`.
    fn any(&mut self, word: &str) {
        if !word.starts_with(['-', '+']) {
            self.add(word, ScriptPlace::BehindFlag);
        }
        let value = word.get(2..).filter(|_| word.starts_with('-'));
        let parts = word.split([' ', '\t', '\n', '=', ',', ':', ';', '"', '\'', '(', ')', '+']);
        for part in parts.chain(value).filter(|part| !part.is_empty() && *part != word) {
            self.add(part, ScriptPlace::Code);
        }
    }

    /// Adds the words behind the name of a module that could name scripts that it runs.
    fn words_of_module(&mut self, module: &str, words: &[String]) {
        let kind = module_kind(module);
        for (at, word) in words.iter().enumerate() {
            match kind {
                ModuleKind::Checks => return,
                // `coverage run -m NAME`
                ModuleKind::RunsScripts if word == "-m" => {
                    if let Some(inner) = words.get(at + 1) {
                        self.module(inner);
                        self.words_of_module(inner, &words[at + 2..]);
                    }
                    return;
                }
                ModuleKind::RunsScripts if !word.starts_with('-') => {
                    self.add(word, ScriptPlace::BehindFlag);
                }
                ModuleKind::Unknown if is_python_file(word) => {
                    self.add(word, ScriptPlace::BehindFlag);
                }
                ModuleKind::RunsScripts | ModuleKind::Unknown => {}
            }
        }
    }

    fn module(&mut self, name: &str) {
        let path = name.replace('.', "/");
        let paths = vec![format!("{path}.py"), format!("{path}/__main__.py")];
        self.found.push(ScriptWord { paths, place: ScriptPlace::Loaded });
    }

    fn flag(&mut self, flag: &str, value: &str) {
        if self.flags.files.contains(&flag) {
            self.add(value, ScriptPlace::Loaded);
        } else if self.flags.module == flag {
            self.module(value);
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
