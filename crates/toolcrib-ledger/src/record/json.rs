//! Writes the fields of a record entry as JSON. Written by hand, because every call pays for four entries.

use std::borrow::Cow;
use std::cell::RefCell;

use jiff::Timestamp;
use serde::Serialize;
use toolcrib_core::json_text::first_escaped;

use crate::record::event_kind::{Act, EventKind};

/// The bytes that most entries need.
const USUAL_ENTRY_BYTES: usize = 640;

/// The fields written so far. Each method adds one field; `start` is a comma, the key, a colon and the opening
/// quote, which values that are not strings leave off.
pub(crate) struct JsonFields(Vec<u8>);

/// What adding a field returns.
type Added = serde_json::Result<()>;

#[allow(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "the table of fields calls every kind with one signature"
)]
impl JsonFields {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(USUAL_ENTRY_BYTES))
    }

    /// Returns a JSON object of the fields, without its closing brace.
    pub(crate) fn into_open_object(self) -> Vec<u8> {
        let mut bytes = self.0;
        // Every field begins with a comma; the first comma becomes the opening brace.
        if let Some(first) = bytes.first_mut() {
            *first = b'{';
        }
        bytes
    }

    /// Adds a string.
    pub(crate) fn text(&mut self, start: &str, text: &str) -> Added {
        self.push_text(start, text);
        Ok(())
    }

    /// Adds a string unless it is empty.
    pub(crate) fn text_unless_empty(&mut self, start: &str, text: &str) -> Added {
        if !text.is_empty() {
            self.push_text(start, text);
        }
        Ok(())
    }

    /// Adds a string if there is one.
    pub(crate) fn optional_text(&mut self, start: &str, text: &Option<Cow<'_, str>>) -> Added {
        if let Some(text) = text {
            self.push_text(start, text);
        }
        Ok(())
    }

    /// Adds the spelling of an act.
    pub(crate) fn act(&mut self, start: &str, act: &Act) -> Added {
        self.push_text(start, act.as_str());
        Ok(())
    }

    /// Adds the spelling of an event.
    pub(crate) fn event(&mut self, start: &str, event: &EventKind) -> Added {
        self.push_text(start, event.as_str());
        Ok(())
    }

    /// Adds a time as the contract writes it, to the millisecond.
    pub(crate) fn time(&mut self, start: &str, at: &Timestamp) -> Added {
        thread_local! {
            /// The last time written on this thread: the times of one call are often the same.
            static LAST: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
        }
        LAST.with_borrow_mut(|(last, text)| {
            if *last != at.as_millisecond() {
                (*last, *text) = (at.as_millisecond(), format!("{at:.3}"));
            }
            self.push_text(start, text);
        });
        Ok(())
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, start: &str, number: &u32) -> Added {
        self.push_start_of_value(start);
        push_number(&mut self.0, u64::from(*number));
        Ok(())
    }

    /// Adds a number if there is one.
    pub(crate) fn optional_number<N: Copy + Into<u64>>(
        &mut self,
        start: &str,
        number: &Option<N>,
    ) -> Added {
        if let Some(number) = number {
            self.push_start_of_value(start);
            push_number(&mut self.0, (*number).into());
        }
        Ok(())
    }

    /// Adds a value of any other type if there is one.
    pub(crate) fn optional_value(&mut self, start: &str, value: &Option<impl Serialize>) -> Added {
        let Some(value) = value else { return Ok(()) };
        self.push_start_of_value(start);
        serde_json::to_writer(&mut self.0, value)
    }

    /// Adds a list unless it is empty.
    pub(crate) fn list(&mut self, start: &str, list: &[impl Serialize]) -> Added {
        if list.is_empty() {
            return Ok(());
        }
        self.push_start_of_value(start);
        serde_json::to_writer(&mut self.0, list)
    }

    /// Adds nothing: the appender writes this field, which is part of the hash chain.
    pub(crate) fn chained(&mut self, _start: &str, _seq: &u64) -> Added {
        Ok(())
    }

    fn push_start_of_value(&mut self, start: &str) {
        self.0.extend_from_slice(&start.as_bytes()[..start.len() - 1]);
    }

    fn push_text(&mut self, start: &str, text: &str) {
        self.0.extend_from_slice(start.as_bytes());
        let mut rest = text.as_bytes();
        while let Some(at) = first_escaped(rest) {
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
}

/// Appends the decimal digits of a number. Written by hand, because every line has some.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_digits() {
        for number in [0, 7, 10, 1234, u64::MAX] {
            let mut text = Vec::new();
            push_number(&mut text, number);
            assert_eq!(text, number.to_string().as_bytes());
        }
    }
}
