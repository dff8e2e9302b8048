//! Redacts secrets from what is stored and shown: known forms of keys, credentials in URLs and headers, values of
//! secret variables, and random-looking values after a telling name.

mod secret_checks;
mod secret_forms;
mod sign_finder;
mod spellings;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;
use serde_json::{Value, json};

use secret_forms::FORMS;
use sign_finder::SIGN_FINDER;
use spellings::{DecodedUrl, spellings};

/// The text that replaces a secret.
const REDACTED: &str = "[REDACTED]";

/// The shortest value of a variable that is redacted. Shorter values occur everywhere.
const SHORTEST_SECRET_VALUE: usize = 8;

/// How many bytes of a value are searched for. The rest is compared where these are found.
const SEARCHED_VALUE_BYTES: usize = 256;

/// How far past the shown part secrets are searched for, so that none is cut in two and missed.
const LEAST_MARGIN_BYTES: usize = 512;

/// The largest such margin, for values that are longer.
const MOST_MARGIN_BYTES: usize = 64 << 10;

/// The compiled patterns. Each is compiled when it is first needed.
static PATTERNS: [OnceLock<Option<Regex>>; FORMS.len()] = [const { OnceLock::new() }; FORMS.len()];

/// Redacts secrets from texts.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Finds the beginnings of secret values.
    values: Option<AhoCorasick>,
    /// The secret values, in all spellings.
    whole: Arc<[String]>,
    /// The length of the longest value, in any spelling.
    longest: usize,
}

impl Redactor {
    /// Returns a redactor that also redacts these values, wherever they occur.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let values: Vec<String> = values
            .into_iter()
            // Values that are read from files end in line breaks, which get lost when the values are used.
            .map(|value| value.trim().to_owned())
            .filter(|value| value.len() >= SHORTEST_SECRET_VALUE)
            .flat_map(|value| spellings(&value))
            .filter(|spelling| spelling.len() >= SHORTEST_SECRET_VALUE)
            .collect();
        if values.is_empty() {
            return Self::default();
        }
        // In a URL, every byte can be three.
        let longest = 3 * values.iter().map(String::len).max().unwrap_or_default();
        let beginnings =
            values.iter().map(|value| &value[..value.floor_char_boundary(SEARCHED_VALUE_BYTES)]);
        let found = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(beginnings);
        Self { values: found.ok(), whole: values.into(), longest }
    }

    /// Returns the text without secrets.
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.clean_start(text, text.len())
    }

    /// Returns a JSON value without secrets. Its members stay what they are: each string and number is redacted alone,
    /// beside the name of its member, which tells what is secret. What is written in one member says nothing about
    /// another.
    pub fn clean_json(&self, value: &Value) -> Value {
        self.clean_member(None, value)
    }

    fn clean_member(&self, name: Option<&str>, value: &Value) -> Value {
        match value {
            Value::Array(all) => self
                .clean_words(all)
                .unwrap_or_else(|| all.iter().map(|it| self.clean_member(name, it)).collect()),
            Value::Object(all) => {
                let clean = |(name, it): (&String, &Value)| {
                    (self.clean(name).into_owned(), self.clean_member(Some(name), it))
                };
                Value::Object(all.iter().map(clean).collect())
            }
            Value::String(_) | Value::Number(_) => self.clean_leaf(name, value),
            other => other.clone(),
        }
    }

    /// Redacts a string or a number as JSON beside its name. If that is not one string any more, it is redacted alone.
    fn clean_leaf(&self, name: Option<&str>, value: &Value) -> Value {
        let member =
            name.map_or_else(|| value.to_string(), |name| json!({name: value}).to_string());
        let clean = self.clean(&member);
        if clean == member {
            return value.clone();
        }
        let leaf = match serde_json::from_str(&clean) {
            Ok(Value::Object(mut all)) if all.len() == 1 => {
                name.and_then(|name| all.remove(name)).unwrap_or_default()
            }
            Ok(leaf) => leaf,
            Err(_) => Value::Null,
        };
        match (leaf, value) {
            (leaf @ (Value::String(_) | Value::Number(_)), _) => leaf,
            (_, Value::String(text)) => Value::from(self.clean(text)),
            _ => Value::from(REDACTED),
        }
    }

    /// Redacts a list of strings as one text, such as the words of a command, in which one word tells of the next.
    /// Returns `None` if it is no such list, or if its strings would not be the same number afterwards.
    fn clean_words(&self, all: &[Value]) -> Option<Value> {
        if all.len() < 2 || !all.iter().all(Value::is_string) {
            return None;
        }
        let text = serde_json::to_string(all).ok()?;
        let clean: Value = serde_json::from_str(&self.clean(&text)).ok()?;
        let is_list = clean
            .as_array()
            .is_some_and(|clean| clean.len() == all.len() && clean.iter().all(Value::is_string));
        is_list.then_some(clean)
    }

    /// Returns where secret values are in a text.
    fn values_in<'t>(
        &'t self,
        values: &'t AhoCorasick,
        text: &'t [u8],
    ) -> impl Iterator<Item = (usize, usize)> {
        values.find_iter(text).map(move |found| {
            let here = &text[found.start()..];
            let whole = self.whole.iter().filter(|whole| here.starts_with(whole.as_bytes()));
            let size = whole.map(String::len).max().unwrap_or(0).max(found.len());
            (found.start(), found.start() + size)
        })
    }

    /// Returns the first `size` bytes of a text, without secrets. A secret that begins there and ends later is
    /// redacted too.
    pub(crate) fn clean_start<'a>(&self, text: &'a str, size: usize) -> Cow<'a, str> {
        let start = &text[..text.floor_char_boundary(size)];
        let margin = self.longest.clamp(LEAST_MARGIN_BYTES, MOST_MARGIN_BYTES);
        let text = &text[..text.floor_char_boundary(size.saturating_add(margin))];
        let mut spans: Vec<(usize, usize)> = Vec::new();
        if let Some(values) = &self.values {
            spans.extend(self.values_in(values, text.as_bytes()));
            if let Some(decoded) = DecodedUrl::of(text) {
                let found = self.values_in(values, &decoded.bytes);
                spans.extend(found.filter_map(|(start, end)| decoded.span(start, end)));
            }
        }
        let seen = SIGN_FINDER.forms_in(text.as_bytes());
        for (place, form) in FORMS.iter().enumerate().filter(|(place, _)| seen[*place]) {
            let pattern = PATTERNS[place].get_or_init(|| form.compile().ok());
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
                clean.extend([&text[at..begin], quote, REDACTED, quote]);
            }
            at = at.max(end);
        }
        clean.push_str(start.get(at..).unwrap_or_default());
        Cow::Owned(clean)
    }
}

/// Returns the quotes that [`REDACTED`] needs in place of a number, so that JSON stays JSON: those of the member's
/// name.
fn quote_of_number<'a>(before: &'a str, secret: &str) -> &'a str {
    if !secret.bytes().all(|byte| byte.is_ascii_digit()) {
        return "";
    }
    let Some(name) = before.trim_end().strip_suffix(':').map(str::trim_end) else { return "" };
    let bare = name.strip_suffix('"').map(|bare| bare.trim_end_matches('\\').len());
    bare.map_or("", |bare| &name[bare..])
}

/// Returns whether the name of a variable says that its value is a secret.
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
    // `PWD` is the working directory, and `SSH_AUTH_SOCK` the path of a socket; neither is a secret.
    const ENDS: [&str; 5] = ["_KEY", "_PAT", "_PASS", "_PWD", "_AUTH"];
    let name = name.to_ascii_uppercase();
    WORDS.iter().any(|word| name.contains(word)) || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_compile() {
        for form in FORMS {
            assert!(form.compile().is_ok(), "{}", form.pattern);
        }
    }

    #[test]
    fn a_token_is_found_at_the_beginning_of_a_line_within_json() {
        let redactor = Redactor::default();
        let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
        for break_ in ["\n", "\t", "\r\n", " "] {
            let value = serde_json::json!({"stdout": format!("first{break_}{token}\n")});
            let clean = redactor.clean_json(&value);
            assert_eq!(clean["stdout"], format!("first{break_}[REDACTED]\n"));
            assert!(!redactor.clean(&value.to_string()).contains(token), "{break_:?}");
        }
        let word = format!("{{\"stdout\":\"strin{token}\"}}");
        assert_eq!(redactor.clean(&word), word, "the control: it is within a word");
    }

    #[test]
    fn one_member_takes_nothing_of_another() {
        let redactor = Redactor::default();
        let value = json!({
            "args": {"path": "<password>aaaa", "content": "hello"},
            "client": "x</y",
            "cookie": "a=bcde; rest",
            "list": ["cookie: a=bcdefgh", "next"],
            "password": 123_456_789,
        });
        let clean = redactor.clean_json(&value);
        let same = |path: &str| assert_eq!(clean.pointer(path), value.pointer(path), "{clean}");
        same("/args/path");
        same("/args/content");
        same("/client");
        same("/list/1");
        // The controls: within a member, secrets are found, and by its name.
        assert_eq!(clean["password"], "[REDACTED]");
        let inside = json!({"text": "<password>aaaa</password>"});
        assert_eq!(redactor.clean_json(&inside)["text"], "<password>[REDACTED]</password>");
        let words = json!(["curl", "-H", "Authorization: Bearer abc123def456ghi"]);
        assert!(!redactor.clean_json(&words).to_string().contains("abc123def456ghi"));
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

    #[test]
    fn of_an_address_the_person_goes_and_the_domain_stays() {
        let redactor = Redactor::default();
        for (text, expect) in [
            ("author = ada.lovelace1815@example.com", "author = [REDACTED]@example.com"),
            ("https://ada.lovelace@example.com/inbox", "https://[REDACTED]@example.com/inbox"),
            (
                "http://localhost:3000?mail=ada@example.com",
                "http://localhost:3000?mail=[REDACTED]@example.com",
            ),
            (
                "http://localhost:3000#ada@example.com",
                "http://localhost:3000#[REDACTED]@example.com",
            ),
            (
                "Ada <ada+work@mail.example.co.uk>, bob@163.com",
                "Ada <[REDACTED]@mail.example.co.uk>, [REDACTED]@163.com",
            ),
            (r#"{"text":"to:\nada@example.com\n"}"#, r#"{"text":"to:\n[REDACTED]@example.com\n"}"#),
            ("ada@host.ts.net.", "[REDACTED]@host.ts.net."),
        ] {
            let clean = redactor.clean(text);
            assert_eq!(clean, expect);
            assert_eq!(redactor.clean(&clean), expect, "once is enough");
        }
    }

    #[test]
    fn values_are_found_in_base64_in_urls_and_in_hex() {
        let value = "hunter2 pass?word";
        let redactor = Redactor::new([value.to_owned()]);
        for text in [
            "aHVudGVyMiBwYXNzP3dvcmQ=",
            "YWFhOmh1bnRlcjIgcGFzcz93b3Jk",
            "YWFhYTpodW50ZXIyIHBhc3M/d29yZA==",
            "YWFhYWE6aHVudGVyMiBwYXNzP3dvcmQ=",
            "https://x.example/?q=hunter2%20pass%3Fword",
            "q=hunter2%20pass%3fword",
            "q=hunter2+pass%3Fword",
            "q=h%75nter2%20pass?word",
            "q=%68%75%6e%74%65%72%32%20%70%61%73%73%3f%77%6f%72%64&100%",
            "68756e7465723220706173733f776f7264",
            "68756E7465723220706173733F776F7264",
        ] {
            let clean = redactor.clean(text);
            assert!(clean.contains("[REDACTED]"), "{text}: {clean}");
            // The control: without the value, nothing about the text is suspicious.
            assert_eq!(Redactor::default().clean(text), text);
        }
        // At most the characters stay that its neighbours have a part in.
        assert_eq!(redactor.clean("YWFhYTpodW50ZXIyIHBhc3M/d29yZA=="), "YWFhYTp[REDACTED]A==");
    }
}
