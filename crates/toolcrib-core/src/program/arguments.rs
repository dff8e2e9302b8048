//! Command-line arguments as programs of GNU take them: flags, their values, and operands.

/// The flags of a program that take a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueFlags {
    /// The letters of the short ones.
    pub short: &'static str,
    /// The long ones, with their dashes.
    pub long: &'static [&'static str],
}

impl ValueFlags {
    /// No flag takes a value.
    pub const NONE: Self = Self { short: "", long: &[] };
}

/// The words of a command, sorted into flags and operands.
#[derive(Default)]
pub(super) struct Arguments {
    pub(super) operands: Vec<String>,
    /// Flags with their values, short ones as a letter.
    pub(super) values: Vec<(String, String)>,
    /// Flags without a value, short ones as a letter.
    flags: Vec<String>,
}

impl Arguments {
    /// Sorts the words that follow a program's name.
    pub(super) fn parse(rest: &[String], takes: ValueFlags) -> Self {
        let mut parsed = Self::default();
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            if word == "--" {
                parsed.operands.extend(words.by_ref().cloned());
            } else if word.starts_with("--") {
                let (name, value) =
                    word.split_once('=').map_or((word.as_str(), None), |it| (it.0, Some(it.1)));
                // A long flag may be shortened.
                match takes.long.iter().find(|it| it.starts_with(name)) {
                    Some(flag) => {
                        let value = value.map(str::to_owned).or_else(|| words.next().cloned());
                        parsed.values.extend(value.map(|value| ((*flag).to_owned(), value)));
                    }
                    None => parsed.flags.push(name.to_owned()),
                }
            } else if let Some(letters) = word.strip_prefix('-').filter(|it| !it.is_empty()) {
                parsed.add_letters(letters, takes.short, &mut words);
            } else {
                parsed.operands.push(word.clone());
            }
        }
        parsed
    }

    /// Adds a word of short flags. The first that takes a value ends the word: the rest of it, or the next word, is
    /// the value.
    fn add_letters<'a>(
        &mut self,
        letters: &str,
        takes: &str,
        words: &mut impl Iterator<Item = &'a String>,
    ) {
        for (at, letter) in letters.char_indices() {
            if !takes.contains(letter) {
                self.flags.push(letter.to_string());
                continue;
            }
            let behind = &letters[at + letter.len_utf8()..];
            let value =
                if behind.is_empty() { words.next().cloned() } else { Some(behind.to_owned()) };
            self.values.extend(value.map(|value| (letter.to_string(), value)));
            return;
        }
    }

    /// Whether one of these flags is given. Long ones may be shortened.
    pub(super) fn has(&self, flags: &[&str]) -> bool {
        let names = self.flags.iter().chain(self.values.iter().map(|it| &it.0));
        names.into_iter().any(|it| {
            let is_short_of =
                |long: &&str| it.len() > 2 && it.starts_with("--") && long.starts_with(it.as_str());
            flags.iter().any(|flag| flag == it || is_short_of(flag))
        })
    }
}

/// Whether a word is a long option or a beginning of it, with or without a value.
pub(super) fn is_long(word: &str, long: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    if long.starts_with("--") {
        return name.len() > 2 && name.starts_with("--") && long.starts_with(name);
    }
    // Go takes one dash for two.
    name.strip_prefix('-').filter(|it| it.starts_with('-')).unwrap_or(name) == long
}

/// Returns the value that a word gives a flag, which is empty if the next word is the value; nothing if the word is
/// another flag. A short flag may stand behind others.
pub(super) fn flag_value<'a>(word: &'a str, flag: &str) -> Option<&'a str> {
    if flag.starts_with("--") {
        return is_long(word, flag).then(|| word.split_once('=').map_or("", |it| it.1));
    }
    let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'))?;
    letters.split_once(flag.trim_start_matches('-')).map(|it| it.1)
}

/// Whether a word is a group of short options of which one is in `short`.
pub(super) fn is_bundled(word: &str, short: &str) -> bool {
    let rest = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    rest.is_some_and(|rest| rest.contains(|c| short.contains(c)))
}

/// Whether a word is an operand: no flag, or the `-` that stands for standard input.
pub(super) fn is_operand(word: &str) -> bool {
    word == "-" || !word.starts_with('-')
}

/// Returns a program's name without its folder.
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
