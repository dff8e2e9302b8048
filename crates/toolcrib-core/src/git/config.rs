//! The syntax of git's settings.

use std::fmt;
use std::ops::Range;

/// The most settings of one file.
const MOST_SETTINGS: usize = 20_000;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitSetting {
    /// Section, subsection and name with dots between them. Only the subsection can have capitals.
    pub key: String,
    /// The value; a name without `=` has none, and means true.
    pub value: Option<String>,
}

impl fmt::Display for GitSetting {
    /// Writes the setting as a file of settings has it in its section: `core.pager = less`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{} = {value}", self.key),
            None => f.write_str(&self.key),
        }
    }
}

impl GitSetting {
    /// Returns the setting with its section, to be added to a file of settings.
    pub fn to_config(&self) -> String {
        let (section, name) = self.key.rsplit_once('.').unwrap_or(("", &self.key));
        let header = match section.split_once('.') {
            Some((section, sub)) => format!("[{section} \"{}\"]", quoted(sub)),
            None => format!("[{section}]"),
        };
        match &self.value {
            Some(value) => {
                let value = quoted(value).replace('\n', "\\n").replace('\t', "\\t");
                format!("{header}\n\t{name} = \"{value}\"\n")
            }
            None => format!("{header}\n\t{name}\n"),
        }
    }
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Why a file is not one of git's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GitConfigError {
    /// The number of the line, from one.
    pub line: usize,
}

impl fmt::Display for GitConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} cannot be parsed", self.line)
    }
}

impl std::error::Error for GitConfigError {}

/// Parses a file of settings, as git does.
pub fn parse_config(bytes: &[u8]) -> Result<Vec<GitSetting>, GitConfigError> {
    let settings = read_settings(&config_text(bytes))?;
    Ok(settings.into_iter().map(|(setting, _)| setting).collect())
}

/// Returns a file of settings without those that `is_removed` names.
pub fn remove_settings(
    bytes: &[u8],
    is_removed: impl Fn(&GitSetting) -> bool,
) -> Result<String, GitConfigError> {
    let mut text = config_text(bytes);
    let settings = read_settings(&text)?;
    for (_, place) in settings.into_iter().rev().filter(|(setting, _)| is_removed(setting)) {
        let end = place.start + text[place.clone()].trim_end_matches('\n').len();
        text.replace_range(place.start..end, "");
    }
    Ok(text)
}

fn config_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    text.replace("\r\n", "\n")
}

/// Returns the settings, each with its place in the text.
fn read_settings(text: &str) -> Result<Vec<(GitSetting, Range<usize>)>, GitConfigError> {
    let mut reader = ConfigReader { rest: text, line: 1, section: String::new() };
    let mut settings = Vec::new();
    while let Some(next) = reader.skip_blanks() {
        if next == '[' {
            reader.section = reader.header()?;
        } else {
            let start = text.len() - reader.rest.len();
            let setting = reader.setting()?;
            settings.push((setting, start..text.len() - reader.rest.len()));
        }
        if settings.len() > MOST_SETTINGS {
            return Err(reader.error());
        }
    }
    Ok(settings)
}

struct ConfigReader<'t> {
    rest: &'t str,
    line: usize,
    /// The section and subsection of the settings that follow, with a dot behind them.
    section: String,
}

impl ConfigReader<'_> {
    fn error(&self) -> GitConfigError {
        GitConfigError { line: self.line }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        self.line += usize::from(next == '\n');
        Some(next)
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Skips blanks, line breaks and comments; returns the character that follows.
    fn skip_blanks(&mut self) -> Option<char> {
        loop {
            match self.peek()? {
                '#' | ';' => self.skip_line(),
                c if is_blank(c) => drop(self.next()),
                c => return Some(c),
            }
        }
    }

    /// Skips the rest of a line, but not its end.
    fn skip_line(&mut self) {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        self.rest = &self.rest[end..];
    }

    /// Parses `[section]`, `[section "subsection"]` or `[section.subsection]`.
    fn header(&mut self) -> Result<String, GitConfigError> {
        self.next();
        let mut name = String::new();
        loop {
            match self.next() {
                Some(']') if !name.is_empty() => return Ok(name + "."),
                Some(c) if c.is_ascii_alphanumeric() || c == '-' || c == '.' => {
                    name.push(c.to_ascii_lowercase());
                }
                Some(' ' | '\t') if !name.is_empty() => return self.subsection(name),
                _ => return Err(self.error()),
            }
        }
    }

    fn subsection(&mut self, mut name: String) -> Result<String, GitConfigError> {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.next();
        }
        if self.next() != Some('"') {
            return Err(self.error());
        }
        name.push('.');
        loop {
            match self.next() {
                Some('"') => break,
                Some('\\') => match self.next() {
                    Some(c) if c != '\n' => name.push(c),
                    _ => return Err(self.error()),
                },
                Some('\n') | None => return Err(self.error()),
                Some(c) => name.push(c),
            }
        }
        if self.next() == Some(']') { Ok(name + ".") } else { Err(self.error()) }
    }

    /// Parses `name`, or `name = value`.
    fn setting(&mut self) -> Result<GitSetting, GitConfigError> {
        let mut key = self.section.clone();
        let before = key.len();
        while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '-') {
            key.push(c.to_ascii_lowercase());
            self.next();
        }
        // A setting has a section and a name.
        if before == 0 || key.len() == before {
            return Err(self.error());
        }
        while matches!(self.peek(), Some(' ' | '\t' | '\r')) {
            self.next();
        }
        match self.peek() {
            Some('\n') | None => Ok(GitSetting { key, value: None }),
            Some('#' | ';') => {
                self.skip_line();
                Ok(GitSetting { key, value: None })
            }
            Some('=') => {
                self.next();
                Ok(GitSetting { key, value: Some(self.value()?) })
            }
            Some(_) => Err(self.error()),
        }
    }

    fn value(&mut self) -> Result<String, GitConfigError> {
        let mut value = String::new();
        // The length of the value without blanks at its end that no quotes keep.
        let mut kept = 0;
        let mut is_quoted = false;
        loop {
            match self.next() {
                Some('\n') | None if is_quoted => return Err(self.error()),
                Some('\n') | None => break,
                Some('"') => is_quoted = !is_quoted,
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    Some('n') => value.push('\n'),
                    Some('t') => value.push('\t'),
                    Some('b') => value.push('\u{8}'),
                    Some(c @ ('"' | '\\')) => value.push(c),
                    _ => return Err(self.error()),
                },
                Some('#' | ';') if !is_quoted => {
                    self.skip_line();
                    continue;
                }
                Some(c) if is_blank(c) && !is_quoted => {
                    if !value.is_empty() {
                        value.push(c);
                    }
                    continue;
                }
                Some(c) => value.push(c),
            }
            kept = value.len();
        }
        value.truncate(kept);
        Ok(value)
    }
}

/// Whether git skips a character around names and values. Any other blank is a part of a value, and a path that ends
/// in one leads elsewhere than the same path without it.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[(&str, Option<&str>)]) {
        let settings = parse_config(text.as_bytes()).unwrap();
        let settings: Vec<(&str, Option<&str>)> =
            settings.iter().map(|it| (it.key.as_str(), it.value.as_deref())).collect();
        assert_eq!(settings, expect, "{text}");
    }

    #[test]
    fn settings_are_read_as_git_reads_them() {
        check("[core]\n\tbare = false\n", &[("core.bare", Some("false"))]);
        check("[Core] FSMonitor=./x ; why\n", &[("core.fsmonitor", Some("./x"))]);
        check("[filter \"A b\"]\nclean = a  # c\n", &[("filter.A b.clean", Some("a"))]);
        check("[diff.Word]\ntextconv\n", &[("diff.word.textconv", None)]);
        check("[a]b=\"x ; y\" z \n", &[("a.b", Some("x ; y z"))]);
        check("[a]b = x\\\n  y\\\"\\t\n", &[("a.b", Some("x  y\"\t"))]);
        check("# c\n; d\n[a \"q\\\"r\"]\n x-y = 1\r\n", &[("a.q\"r.x-y", Some("1"))]);
        check("\u{feff}[a]\nb\n[c]\nd=\n", &[("a.b", None), ("c.d", Some(""))]);
        check("[a]b = x\u{a0}\n", &[("a.b", Some("x\u{a0}"))]);
        check("[a]b = \u{b}x\u{b} \n", &[("a.b", Some("\u{b}x\u{b}"))]);
        check("", &[]);
    }

    #[test]
    fn settings_are_removed_and_added_again() {
        let text = "[core]\n\tbare = false\n\tfsmonitor = \"a \\\"b\\\"\"\n[x \"Y.z\"] c = d\n[user]\nname = A\n";
        let is_removed = |it: &GitSetting| matches!(it.key.as_str(), "core.fsmonitor" | "x.Y.z.c");
        let without = remove_settings(text.as_bytes(), is_removed).unwrap();
        check(&without, &[("core.bare", Some("false")), ("user.name", Some("A"))]);
        let removed = parse_config(text.as_bytes()).unwrap().into_iter().filter(is_removed);
        let again: String = removed.map(|it| it.to_config()).collect();
        check(
            &(without + &again),
            &[
                ("core.bare", Some("false")),
                ("user.name", Some("A")),
                ("core.fsmonitor", Some("a \"b\"")),
                ("x.Y.z.c", Some("d")),
            ],
        );
        assert_eq!(remove_settings(text.as_bytes(), |_| false).unwrap(), text);
    }

    #[test]
    fn what_git_refuses_is_refused() {
        for text in [
            "a = b\n",
            "[a\nb = c\n",
            "[a]\n=x\n",
            "[a]\nb = \"x\n",
            "[a]\nb = \\x\n",
            "[a \"b]\n",
            "[a]\nb c\n",
            "[]\na=b",
            "[a]\n\u{a0}b=c",
        ] {
            assert!(parse_config(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(parse_config(b"[a]\nb=c\n=\n").unwrap_err().line, 3);
    }
}
