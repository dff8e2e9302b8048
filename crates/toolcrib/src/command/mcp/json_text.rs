//! JSON as text: where each object and member stands. Comments and commas before a closing bracket are understood.

use serde_json::{Map, Value};

use super::edit_error::{EditError, EditErrorKind};

/// How deep values may be nested.
const MOST_DEPTH: usize = 128;

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct JsonNode {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: JsonKind,
}

#[derive(Debug)]
pub(super) enum JsonKind {
    Object(Vec<JsonMember>),
    Other(Value),
}

/// A member of an object and where it stands.
#[derive(Debug)]
pub(super) struct JsonMember {
    pub(super) key: String,
    pub(super) start: usize,
    pub(super) node: JsonNode,
    /// Where the comma behind it stands.
    pub(super) comma: Option<usize>,
}

impl JsonMember {
    /// Returns where the member ends, with its comma.
    pub(super) fn end(&self) -> usize {
        self.comma.map_or(self.node.end, |comma| comma + 1)
    }
}

impl JsonNode {
    /// Returns the members, if this is an object.
    pub(super) fn members(&self) -> Option<&[JsonMember]> {
        match &self.kind {
            JsonKind::Object(members) => Some(members),
            JsonKind::Other(_) => None,
        }
    }

    pub(super) fn value(&self) -> Value {
        match &self.kind {
            JsonKind::Object(members) => {
                let pair = |member: &JsonMember| (member.key.clone(), member.node.value());
                Value::Object(members.iter().map(pair).collect::<Map<_, _>>())
            }
            JsonKind::Other(value) => value.clone(),
        }
    }
}

/// Parses a whole file.
pub(super) fn parse(text: &str) -> Result<JsonNode, EditError> {
    let mut reader = JsonReader { text, at: if text.starts_with('\u{feff}') { 3 } else { 0 } };
    reader.skip_gap()?;
    let node = reader.value(0)?;
    reader.skip_gap()?;
    if reader.at < text.len() {
        return Err(reader.broken("there is more behind the end of the JSON value"));
    }
    Ok(node)
}

/// Returns where the next thing stands that is neither blank nor a comment.
pub(super) fn gap_end(text: &str, at: usize) -> usize {
    let mut reader = JsonReader { text, at };
    let _ = reader.skip_gap();
    reader.at
}

/// Reads a text from one place on.
struct JsonReader<'t> {
    text: &'t str,
    at: usize,
}

impl JsonReader<'_> {
    fn broken(&self, what: impl Into<String>) -> EditError {
        EditError::at(EditErrorKind::Broken, self.text, self.at, what)
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips blanks and comments.
    fn skip_gap(&mut self) -> Result<(), EditError> {
        loop {
            let rest = &self.text[self.at..];
            if rest.starts_with([' ', '\t', '\r', '\n']) {
                self.at += 1;
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    return Err(self.broken("a comment has no end"));
                };
                self.at += end + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<JsonNode, EditError> {
        if depth > MOST_DEPTH {
            return Err(self.broken("values are nested too deep"));
        }
        let start = self.at;
        let kind = match self.next() {
            None => return Err(self.broken("a value is missing at the end of the file")),
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(_) => JsonKind::Other(self.scalar()?),
        };
        Ok(JsonNode { start, end: self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<JsonKind, EditError> {
        self.at += 1;
        let mut members: Vec<JsonMember> = Vec::new();
        loop {
            self.skip_gap()?;
            match self.next() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(JsonKind::Object(members));
                }
                Some(b'"') if members.last().is_none_or(|it| it.comma.is_some()) => {}
                Some(b'"') => return Err(self.broken("a comma is missing before this member")),
                _ => return Err(self.broken("a member or `}` is missing here")),
            }
            let start = self.at;
            let Value::String(key) = self.scalar()? else {
                return Err(self.broken("a key must be a text"));
            };
            self.skip_gap()?;
            if self.next() != Some(b':') {
                return Err(self.broken("a `:` is missing here"));
            }
            self.at += 1;
            self.skip_gap()?;
            let node = self.value(depth + 1)?;
            let comma = self.comma()?;
            members.push(JsonMember { key, start, node, comma });
        }
    }

    fn list(&mut self, depth: usize) -> Result<JsonKind, EditError> {
        self.at += 1;
        let (mut values, mut has_comma) = (Vec::new(), true);
        loop {
            self.skip_gap()?;
            match self.next() {
                Some(b']') => {
                    self.at += 1;
                    return Ok(JsonKind::Other(Value::Array(values)));
                }
                Some(_) if has_comma => {}
                _ => return Err(self.broken("a comma or `]` is missing here")),
            }
            values.push(self.value(depth + 1)?.value());
            has_comma = self.comma()?.is_some();
        }
    }

    /// Reads a comma behind a value, if there is one.
    fn comma(&mut self) -> Result<Option<usize>, EditError> {
        self.skip_gap()?;
        let comma = (self.next() == Some(b',')).then_some(self.at);
        self.at += usize::from(comma.is_some());
        Ok(comma)
    }

    /// Reads a text, a number or a word.
    fn scalar(&mut self) -> Result<Value, EditError> {
        let rest = &self.text[self.at..];
        let length = if rest.starts_with('"') {
            text_length(rest)
        } else {
            let is_end = |c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c));
            Some(rest.find(is_end).unwrap_or(rest.len()))
        };
        let Some(length) = length else { return Err(self.broken("a text has no end")) };
        let value = serde_json::from_str(&rest[..length]);
        let value = value.map_err(|_| self.broken("this is no JSON value"))?;
        self.at += length;
        Ok(value)
    }
}

/// Returns the length of the text that begins with a quotation mark; nothing if it does not end on its line.
fn text_length(rest: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            b'\n' => return None,
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_no_values() {
        let text =
            "\u{feff}// a\n{ /* b */ \"k\": [1, \"//\", {},], // c\n \"l\": {\"m\": null,}, }\n";
        assert_eq!(parse(text).unwrap().value(), json!({"k": [1, "//", {}], "l": {"m": null}}));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line) in [
            ("", 1),
            ("{\n\"a\": 1\n\"b\": 2}", 3),
            ("{\"a\": 1,\n", 2),
            ("{\n\"a\" 1}", 2),
            ("{\"a\": \"x\n\"}", 1),
            ("{\"a\":\n tru}", 2),
            ("{}\n/* x", 2),
            ("{}\n{}", 2),
            ("[1\n2]", 2),
            ("{,}", 1),
        ] {
            let err = parse(text).unwrap_err();
            assert_eq!((err.kind, err.line), (EditErrorKind::Broken, Some(line)), "{text}: {err}");
        }
        let deep = "[".repeat(100_000);
        assert!(parse(&deep).unwrap_err().what.contains("too deep"));
    }
}
