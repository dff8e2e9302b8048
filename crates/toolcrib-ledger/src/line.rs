//! One line of the record as JSON. Written field by field: every call pays for four of them.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use toolcrib_core::Usage;
use toolcrib_core::command::{ChangedFiles, End};

/// A line, with the names that the contract gives to its fields. What is empty is left out.
#[derive(Default)]
pub(crate) struct Line<'a> {
    pub(crate) id: String,
    pub(crate) ts: String,
    pub(crate) actor: &'a str,
    pub(crate) act: &'a str,
    pub(crate) conv_id: &'a str,
    pub(crate) trace_id: &'a str,
    pub(crate) iter: u32,
    pub(crate) event: &'a str,
    pub(crate) catalogue: &'a str,
    pub(crate) name: &'a str,
    pub(crate) user: Option<u32>,
    pub(crate) status: Option<&'a str>,
    pub(crate) elapsed_ms: Option<f64>,
    pub(crate) version: Option<&'a str>,
    pub(crate) used: Option<Usage>,
    pub(crate) args_preview: Option<Cow<'a, str>>,
    pub(crate) result_preview: Option<Cow<'a, str>>,
    pub(crate) bytes: Option<usize>,
    pub(crate) effect: Option<&'a str>,
    pub(crate) digest: Option<&'a str>,
    pub(crate) decision: Option<&'a str>,
    pub(crate) rule: Option<&'a str>,
    pub(crate) by: Option<&'a str>,
    pub(crate) places: Vec<Cow<'a, str>>,
    pub(crate) directory: Option<&'a str>,
    pub(crate) terms: Option<&'a str>,
    pub(crate) process: Option<String>,
    pub(crate) error: Option<&'a str>,
    pub(crate) message: Option<Cow<'a, str>>,
    pub(crate) task: Option<bool>,
    pub(crate) end: Option<End>,
    pub(crate) touched: Option<ChangedFiles>,
    pub(crate) detail: Option<&'a Value>,
}

impl Line<'_> {
    /// Returns it as a JSON object without its end.
    pub(crate) fn json(&self) -> serde_json::Result<Vec<u8>> {
        let mut out = Fields(Vec::with_capacity(640));
        out.word("{\"id\":\"", Some(&self.id));
        out.word(",\"ts\":\"", Some(&self.ts));
        out.text(",\"actor\":\"", Some(self.actor));
        out.word(",\"act\":\"", Some(self.act));
        out.text(",\"conv_id\":\"", Some(self.conv_id));
        out.text(",\"trace_id\":\"", Some(self.trace_id));
        out.number(",\"iter\":", Some(self.iter.into()));
        out.word(",\"event\":\"", Some(self.event));
        out.text(",\"catalogue\":\"", Some(self.catalogue).filter(|it| !it.is_empty()));
        out.text(",\"name\":\"", Some(self.name).filter(|it| !it.is_empty()));
        out.number(",\"user\":", self.user.map(u64::from));
        out.word(",\"status\":\"", self.status);
        out.value(",\"elapsed_ms\":", self.elapsed_ms)?;
        out.text(",\"version\":\"", self.version);
        out.value(",\"used\":", self.used)?;
        out.text(",\"args_preview\":\"", self.args_preview.as_deref());
        out.text(",\"result_preview\":\"", self.result_preview.as_deref());
        out.number(",\"bytes\":", self.bytes.map(|bytes| bytes as u64));
        out.word(",\"effect\":\"", self.effect);
        out.text(",\"digest\":\"", self.digest);
        out.word(",\"decision\":\"", self.decision);
        out.text(",\"rule\":\"", self.rule);
        out.text(",\"by\":\"", self.by);
        out.value(",\"places\":", Some(&self.places).filter(|it| !it.is_empty()))?;
        out.text(",\"directory\":\"", self.directory);
        out.text(",\"terms\":\"", self.terms);
        out.text(",\"process\":\"", self.process.as_deref());
        out.text(",\"error\":\"", self.error);
        out.text(",\"message\":\"", self.message.as_deref());
        out.value(",\"task\":", self.task)?;
        out.value(",\"end\":", self.end)?;
        out.value(",\"touched\":", self.touched.as_ref())?;
        out.value(",\"detail\":", self.detail)?;
        Ok(out.0)
    }
}

/// The fields written so far.
struct Fields(Vec<u8>);

impl Fields {
    /// Adds a text after `start`, which opens its quotes.
    fn text(&mut self, start: &str, text: Option<&str>) {
        let Some(text) = text else { return };
        self.0.extend_from_slice(start.as_bytes());
        let mut rest = text.as_bytes();
        // Most need none, which is found out many bytes at a time.
        let needs_escapes = rest.iter().fold(false, |so_far, byte| so_far | is_escaped(*byte));
        while needs_escapes && let Some(at) = rest.iter().position(|byte| is_escaped(*byte)) {
            self.0.extend_from_slice(&rest[..at]);
            match rest[at] {
                byte @ (b'"' | b'\\') => self.0.extend_from_slice(&[b'\\', byte]),
                b'\n' => self.0.extend_from_slice(b"\\n"),
                b'\t' => self.0.extend_from_slice(b"\\t"),
                byte => {
                    let digit = |four: u8| b"0123456789abcdef"[usize::from(four)];
                    let digits = [digit(byte >> 4), digit(byte & 15)];
                    self.0.extend_from_slice(b"\\u00");
                    self.0.extend_from_slice(&digits);
                }
            }
            rest = &rest[at + 1..];
        }
        self.0.extend_from_slice(rest);
        self.0.push(b'"');
    }

    /// Adds a text that is one of ours, and needs no escapes.
    fn word(&mut self, start: &str, word: Option<&str>) {
        let Some(word) = word else { return };
        debug_assert!(!word.bytes().any(is_escaped), "{word}");
        self.0.extend_from_slice(start.as_bytes());
        self.0.extend_from_slice(word.as_bytes());
        self.0.push(b'"');
    }

    /// Adds a number.
    fn number(&mut self, start: &str, number: Option<u64>) {
        let Some(number) = number else { return };
        self.0.extend_from_slice(start.as_bytes());
        push_number(&mut self.0, number);
    }

    /// Adds what is neither.
    fn value(&mut self, start: &str, value: Option<impl Serialize>) -> serde_json::Result<()> {
        let Some(value) = value else { return Ok(()) };
        self.0.extend_from_slice(start.as_bytes());
        serde_json::to_writer(&mut self.0, &value)
    }
}

/// Adds a number's digits: with every line there are some.
pub(crate) fn push_number(text: &mut Vec<u8>, number: u64) {
    let (mut digits, mut from, mut rest) = ([0; 20], 20, number);
    loop {
        from -= 1;
        digits[from] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[from..]);
}

fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_read_back_as_it_was() {
        let mut text: String = (0..=0x7f_u8).map(char::from).collect();
        text.push_str("\"\"\\\\ä\u{2028}\u{1f600}");
        for part in [text.as_str(), "", "\"", "plain"] {
            let line =
                Line { conv_id: part, message: Some(Cow::Borrowed(part)), ..Line::default() };
            let mut json = line.json().unwrap();
            json.push(b'}');
            let read: Value = serde_json::from_slice(&json).unwrap();
            assert_eq!((&read["conv_id"], &read["message"]), (&part.into(), &part.into()));
        }
    }

    #[test]
    fn numbers_have_their_digits() {
        for number in [0, 7, 10, 1234, u64::MAX] {
            let mut text = Vec::new();
            push_number(&mut text, number);
            assert_eq!(text, number.to_string().as_bytes());
        }
    }

    #[test]
    fn what_is_not_there_is_left_out() {
        let places = vec![Cow::Borrowed("a\"b")];
        let line = Line { elapsed_ms: Some(0.5), user: Some(7), places, ..Line::default() };
        let json = String::from_utf8(line.json().unwrap()).unwrap();
        let start = r#"{"id":"","ts":"","actor":"","act":"","conv_id":"","trace_id":"","iter":0,"event":"""#;
        assert_eq!(json, format!(r#"{start},"user":7,"elapsed_ms":0.5,"places":["a\"b"]"#));
    }
}
