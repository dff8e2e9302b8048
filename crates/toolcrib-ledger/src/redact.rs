//! Takes secrets out of what is kept and shown: known forms of keys, credentials in addresses and headers,
//! values of secret variables, and what looks made up at random behind a telling name.

mod forms;

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;
use serde_json::Value;

use forms::{FORMS, SCHEMES};

/// What stands where a secret was.
const MARK: &str = "[REDACTED]";

/// The shortest value of a variable that is looked for: shorter ones are found everywhere.
const SHORTEST: usize = 8;

/// So much of a value is looked for; the rest is compared where that is found.
const BEGINNING: usize = 256;

/// How far past what is shown secrets are looked for, so that none is cut in two and missed.
const MARGIN: usize = 512;

/// The same, at most, for the sake of values that are longer.
const FARTHEST: usize = 64 << 10;

/// A machine that finds all signs at once, and the form that each is of. It takes longer to make than a few short
/// texts take to be looked at without it.
static SIGNS: LazyLock<(Option<AhoCorasick>, Vec<usize>)> = LazyLock::new(|| {
    let found =
        AhoCorasick::builder().ascii_case_insensitive(true).build(signs().map(|(_, sign)| sign));
    (found.ok(), signs().map(|(form, _)| form).collect())
});

/// How many bytes are looked at before the machine is made.
const WORTH_IT: usize = 16 << 10;

fn signs() -> impl Iterator<Item = (usize, &'static str)> {
    let numbered = FORMS.iter().enumerate();
    numbered.flat_map(|(form, it)| it.signs.iter().map(move |sign| (form, *sign)))
}

/// Which forms a text could have.
fn forms_in(text: &str) -> [bool; FORMS.len()] {
    static LOOKED: AtomicUsize = AtomicUsize::new(0);
    let mut seen = [false; FORMS.len()];
    if LOOKED.fetch_add(text.len(), Ordering::Relaxed) < WORTH_IT {
        let text = text.as_bytes();
        for (form, sign) in signs().filter(|(_, sign)| sign.len() <= text.len()) {
            let first = [sign.as_bytes()[0], sign.as_bytes()[0].to_ascii_uppercase()];
            let mut starts = memchr::memchr2_iter(first[0], first[1], text);
            seen[form] |= starts.any(|at| {
                let part = text.get(at..at + sign.len());
                part.is_some_and(|part| part.eq_ignore_ascii_case(sign.as_bytes()))
            });
        }
        return seen;
    }
    let (machine, form_of) = &*SIGNS;
    for found in machine.iter().flat_map(|machine| machine.find_overlapping_iter(text)) {
        seen[form_of[found.pattern().as_usize()]] = true;
    }
    seen
}

/// The patterns, compiled when they are first wanted.
static PATTERNS: [OnceLock<Option<Regex>>; FORMS.len()] = [const { OnceLock::new() }; FORMS.len()];

/// Takes secrets out of texts.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Finds the beginnings of values.
    values: Option<AhoCorasick>,
    /// The values.
    whole: Arc<[String]>,
    /// How many bytes the longest of the values has, in whichever spelling.
    longest: usize,
}

impl Redactor {
    /// Knows these values as secrets too, wherever they stand.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let values: Vec<String> = values
            .into_iter()
            // Files that values are read from end in line breaks, which get lost on the way.
            .map(|value| value.trim().to_owned())
            .filter(|value| value.len() >= SHORTEST)
            .flat_map(spellings)
            .collect();
        if values.is_empty() {
            return Self::default();
        }
        let longest = values.iter().map(String::len).max().unwrap_or_default();
        let beginnings = values.iter().map(|value| &value[..value.floor_char_boundary(BEGINNING)]);
        let found = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(beginnings);
        Self { values: found.ok(), whole: values.into(), longest }
    }

    /// Returns the text without secrets.
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.clean_start(text, text.len())
    }

    /// Returns a value without secrets: as one text, in which names tell, or string by string where that would
    /// break it.
    pub fn clean_json(&self, value: &Value) -> Value {
        let text = value.to_string();
        let clean = self.clean(&text);
        serde_json::from_str(&clean).unwrap_or_else(|_| self.clean_strings(value))
    }

    fn clean_strings(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::from(self.clean(text)),
            Value::Array(all) => all.iter().map(|it| self.clean_strings(it)).collect(),
            Value::Object(all) => {
                let clean = |(name, it): (&String, &Value)| (name.clone(), self.clean_strings(it));
                Value::Object(all.iter().map(clean).collect())
            }
            other => other.clone(),
        }
    }

    /// Returns the first `size` bytes of a text without secrets, and without those that only begin there.
    pub(crate) fn clean_start<'a>(&self, text: &'a str, size: usize) -> Cow<'a, str> {
        let start = &text[..text.floor_char_boundary(size)];
        let margin = self.longest.clamp(MARGIN, FARTHEST);
        let text = &text[..text.floor_char_boundary(size.saturating_add(margin))];
        let mut spans: Vec<(usize, usize)> = Vec::new();
        if let Some(values) = &self.values {
            spans.extend(values.find_iter(text).map(|found| {
                let here = &text[found.start()..];
                let whole = self.whole.iter().filter(|whole| here.starts_with(whole.as_str()));
                let size = whole.map(String::len).max().unwrap_or(0).max(found.len());
                (found.start(), found.start() + size)
            }));
        }
        let seen = forms_in(text);
        for (place, form) in FORMS.iter().enumerate().filter(|(place, _)| seen[*place]) {
            let pattern = PATTERNS[place].get_or_init(|| Regex::new(form.pattern).ok());
            let Some(pattern) = pattern else { continue };
            for found in pattern.captures_iter(text) {
                let group = found.iter().skip(1).flatten().next();
                let Some(secret) = group.or(found.get(0)) else { continue };
                if (form.check)(secret.as_str()) {
                    spans.push((secret.start(), secret.end()));
                }
            }
        }
        spans.retain(|(begin, _)| *begin < start.len());
        if spans.is_empty() {
            return Cow::Borrowed(start);
        }
        spans.sort_unstable();
        let (mut clean, mut at) = (String::with_capacity(start.len()), 0);
        for (begin, end) in spans {
            if begin >= at {
                let quote = quote_of_number(&text[..begin], &text[begin..end]);
                clean.extend([&text[at..begin], quote, MARK, quote]);
            }
            at = at.max(end);
        }
        clean.push_str(start.get(at..).unwrap_or_default());
        Cow::Owned(clean)
    }
}

/// How a value may be written: as it is, in JSON, by those who escape slashes there, and in JSON in JSON.
fn spellings(value: String) -> Vec<String> {
    let escaped = |text: &str| {
        let text = serde_json::to_string(text).unwrap_or_default();
        text.get(1..text.len().saturating_sub(1)).unwrap_or_default().to_owned()
    };
    let once = escaped(&value);
    let mut all = vec![once.replace('/', "\\/"), escaped(&once), once, value];
    all.sort_unstable();
    all.dedup();
    all
}

/// The quotes that the mark of a number needs, so that JSON stays JSON: those that its name has.
fn quote_of_number<'a>(before: &'a str, secret: &str) -> &'a str {
    if !secret.bytes().all(|byte| byte.is_ascii_digit()) {
        return "";
    }
    let Some(name) = before.trim_end().strip_suffix(':').map(str::trim_end) else { return "" };
    let bare = name.strip_suffix('"').map(|bare| bare.trim_end_matches('\\').len());
    bare.map_or("", |bare| &name[bare..])
}

/// Whether the name of a variable says that its value is a secret.
pub fn is_secret_name(name: &str) -> bool {
    const WORDS: [&str; 10] = [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "API_KEY",
        "APIKEY",
        "ACCESS_KEY",
        "PRIVATE_KEY",
        "CREDENTIAL",
    ];
    // `PWD` itself is where one is, and `SSH_AUTH_SOCK` where to ask.
    const ENDS: [&str; 5] = ["_KEY", "_PAT", "_PASS", "_PWD", "_AUTH"];
    let name = name.to_ascii_uppercase();
    WORDS.iter().any(|word| name.contains(word)) || ENDS.iter().any(|end| name.ends_with(end))
}

fn any(_: &str) -> bool {
    true
}

/// Whether a value is one, and not the place of one that is filled in elsewhere.
fn is_written_out(value: &str) -> bool {
    // What comes behind it in a command.
    let value = value.trim().trim_end_matches([';', ',', '|', '&']);
    let is_within = |start: &str, end: &str| {
        value.len() >= start.len() + end.len() && value.starts_with(start) && value.ends_with(end)
    };
    let is_filled_in = match value.as_bytes() {
        // A command's output, and what is cut at its first blank.
        [b'$', b'(', ..] | b"{{" | b"${{" => true,
        [b'$', name @ ..] => is_variable(name) || is_within("${", "}"),
        // As programs write it: `%s`, `%(name)s`, `%NAME%`.
        [b'%', kind] => kind.is_ascii_alphabetic(),
        [b'%', name @ .., b'%'] => name.iter().all(|byte| is_of_name(*byte)),
        [b'%', b'(', .., b')', _] => true,
        _ => is_within("{", "}") || is_within("<", ">") || is_within("[", "]"),
    };
    // Shortened by whoever shows it: `sk-...`, `abc...xyz`.
    let is_short = |(start, end): (&str, &str)| start.len() <= 12 && end.len() <= 4;
    let is_shortened = value.rsplit_once("...").is_some_and(is_short);
    !is_filled_in && !is_shortened && !value.chars().all(|c| "*xX•".contains(c))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a variable may be called that: all in upper case, or all in lower case without digits. `$ecretPw12` is none.
fn is_variable(name: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| name.iter().any(is);
    !name.is_empty()
        && name.iter().all(|byte| is_of_name(*byte))
        && (!has(u8::is_ascii_lowercase)
            || !has(u8::is_ascii_uppercase) && !has(u8::is_ascii_digit))
}

/// Whether what stands behind `password=` is one, and not a name, a type or a place in a program.
fn is_no_name(value: &str) -> bool {
    const NONE: [&str; 14] = [
        "none",
        "null",
        "nil",
        "true",
        "false",
        "str",
        "string",
        "required",
        "optional",
        "undefined",
        "empty",
        "text",
        "hidden",
        "secret",
    ];
    let lower = value.to_ascii_lowercase();
    let is_name = NONE.contains(&lower.as_str())
        || ["pass", "pwd", "::", "->"].iter().any(|part| lower.contains(part))
        || value.contains('.') && value.bytes().all(|byte| is_of_name(byte) || byte == b'.');
    is_written_out(value) && !is_name && !is_path(value)
}

/// Whether what stands between `:` and `@` in an address is a password, and not a port with a path.
fn is_no_port(value: &str) -> bool {
    let port = value.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = port.len() < value.len() && port.bytes().all(|byte| byte.is_ascii_digit());
    !is_port && is_written_out(value)
}

/// Whether a value is more than words and small numbers with dashes between them.
fn is_no_words(value: &str) -> bool {
    value.split(['-', '_']).any(|part| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        part.len() > word.len() + 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase())
    })
}

/// Whether a word is one of a sentence or of code: letters, and capitals only where words or names have them.
fn is_plain(word: &str) -> bool {
    let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
    let is_number = word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = |part: &str| {
        let has_lower = part.bytes().any(|byte| byte.is_ascii_lowercase());
        let has_hump = part.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
        part.bytes().all(|byte| byte.is_ascii_alphabetic())
            && (word.contains('.') || !has_lower || !has_hump)
    };
    is_number || word.split(['.', '-', '_', '\'', '/']).all(is_name)
}

/// Whether what comes behind a scheme is a credential: not its place, and not the rest of a sentence.
fn is_no_prose(value: &str) -> bool {
    let words = || value.split_whitespace();
    let is_prose = words().all(is_plain) && (words().count() > 1 || value.trim().len() < 4);
    is_written_out(value) && words().any(is_written_out) && !is_prose
}

/// Whether what stands behind `Authorization:` is a credential of a scheme that is not known: not a word, code, or
/// the place of one.
fn is_credential(value: &str) -> bool {
    let is_code = ["::", "&&", " = ", "=="].iter().any(|sign| value.contains(sign));
    let is_called = |word: &str| word.contains(['(', ')', '[', ']', '{', '}', '<', '>']);
    let is_known = |word: &str| SCHEMES.split('|').any(|it| it.eq_ignore_ascii_case(word));
    // What is secret of an address is found as such.
    let is_secret = |word: &str| {
        is_written_out(word) && !is_plain(word) && !is_called(word) && !word.contains("://")
    };
    let mut words = value.split_whitespace();
    !is_code && !words.clone().next().is_some_and(is_known) && words.any(is_secret)
}

/// Whether a value has letters of more than one kind, as few words do.
fn is_mixed(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let kinds = [has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase), has(u8::is_ascii_digit)];
    let symbols = value.bytes().any(|byte| b"!@#$%^&*+=~?".contains(&byte));
    let kinds = kinds.iter().filter(|kind| **kind).count() + usize::from(symbols);
    let name = value.trim_start_matches(['*', '&']);
    let is_type = name.len() < value.len() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_code = is_type || ["::", "()", "->"].iter().any(|sign| value.contains(sign));
    is_written_out(value)
        && !is_code
        && !is_path(value)
        && kinds >= 2
        && (has(u8::is_ascii_digit) || symbols || is_random(value))
}

/// Whether a value is the path of a file from a root: words with small numbers behind them.
fn is_path(value: &str) -> bool {
    let is_rooted = ["/", "~/", "./", "../"].iter().any(|root| value.starts_with(root));
    let is_word = |part: &str| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let mut letters = word.bytes();
        part.len() <= word.len() + 4
            && letters.next().is_none_or(|byte| byte.is_ascii_alphabetic())
            && letters.all(|byte| byte.is_ascii_lowercase())
    };
    is_rooted && value.trim_start_matches('~').split(['/', '.', '-', '_']).all(is_word)
}

/// Whether a value has letters, digits and characters that no name has.
fn is_strong(value: &str) -> bool {
    let symbols = value.bytes().filter(|byte| b"!@#$%^&*()+=~?".contains(byte)).count();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    is_written_out(value) && symbols >= 2 && digits >= 2 && !value.contains("()")
}

/// Whether a value looks made up at random: many different letters of several kinds, in no word.
fn is_random(value: &str) -> bool {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let size = value.len() as f64;
    let entropy: f64 = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / size)
        .map(|share| -share * share.log2())
        .sum();
    let digits = value.bytes().filter(u8::is_ascii_digit).count() - digits_of_dates(value);
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let is_path = value.contains('/') && value.split('/').all(|part| part.bytes().all(is_plain));
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let is_long = value.len() >= 20 && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let is_varied = digits >= 2 && entropy >= 3.0 || digits >= 1 && is_long && entropy >= 3.8;
    is_written_out(value) && !is_path && letters >= 2 && is_varied
}

/// How many digits of a value are those of dates (`2022-11-28`), which nobody made up.
fn digits_of_dates(value: &str) -> usize {
    let parts: Vec<&str> = value.split('-').collect();
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_part = |(part, size): (&&str, usize)| part.len() == size && is_number(part);
    parts.windows(3).filter(|parts| parts.iter().zip([4, 2, 2]).all(is_part)).count() * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_compile() {
        for form in FORMS {
            assert!(Regex::new(form.pattern).is_ok(), "{}", form.pattern);
        }
    }

    #[test]
    fn values_of_secret_variables_are_found_anywhere() {
        let redactor = Redactor::new(["correct horse".to_owned(), "short".to_owned()]);
        assert_eq!(redactor.clean("say correct horse, short"), "say [REDACTED], short");
    }

    #[test]
    fn a_key_ends_where_its_text_does() {
        let redactor = Redactor::default();
        let begin = format!("-----BEGIN {}-----", "PRIVATE KEY");
        let text = format!("echo \"{begin}\"; curl x | sh");
        assert_eq!(redactor.clean(&text), text);
        let value = serde_json::json!([{"a": format!("{begin}\nMIIEvQIBADANBg"), "b": "next"}, 3]);
        let clean = redactor.clean_json(&value);
        assert_eq!((&clean[0]["b"], &clean[1]), (&"next".into(), &3.into()));
        assert!(!clean.to_string().contains("MIIEv"), "{clean}");
        let whole = format!("{begin}\nMIIEvQIBADANBg\n-----END {}-----\nmore", "PRIVATE KEY");
        let clean = redactor.clean(&whole);
        assert!(!clean.contains("MIIEv") && clean.ends_with("\nmore"), "{clean}");
    }

    #[test]
    fn long_values_take_no_long_time_and_go_whole() {
        let long = "ab1".repeat(21_000);
        let start = std::time::Instant::now();
        let redactor = Redactor::new([long.clone()]);
        assert_eq!(redactor.clean(&format!("x {long} y")), "x [REDACTED] y");
        // It took most of a minute.
        assert!(start.elapsed() < std::time::Duration::from_secs(10));
    }

    #[test]
    fn what_is_shown_of_a_call_stays_json() {
        let text = r#"{"command":"curl -H \"Authorization: Bearer abc123def456\" x","password":"p w\u00e4 x"}"#;
        let clean = Redactor::default().clean(text).into_owned();
        assert!(!clean.contains("abc123def456"), "{clean}");
        serde_json::from_str::<Value>(&clean).unwrap();
    }
}
