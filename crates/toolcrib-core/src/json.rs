//! A strict JSON parser: it refuses duplicate keys, deep nesting, and numbers that would be rounded.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The deepest nesting of arrays and objects.
pub const MAX_DEPTH: usize = 64;

/// The longest JSON text of one call, in bytes.
pub const MAX_BYTES: usize = 32 << 20;

/// 2^53: whole floats from here on are refused, because a JSON parser may have rounded them.
const FIRST_INEXACT: f64 = 9_007_199_254_740_992.0;

/// Why a text is not JSON that can be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What kind of error it is.
    pub kind: JsonErrorKind,
    /// What is wrong, and where.
    pub message: String,
}

/// Kinds of errors in JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// The text is longer than [`MAX_BYTES`].
    TooLong,
    /// The text is not UTF-8.
    NotUtf8,
    /// The text is empty.
    Empty,
    /// The text is not JSON, or JSON that the parser refuses.
    Syntax,
}

impl JsonError {
    fn new(kind: JsonErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for JsonError {}

impl From<JsonError> for String {
    fn from(err: JsonError) -> Self {
        err.message
    }
}

/// Parses `text`, or says what is wrong with it and where.
pub fn parse(text: &[u8]) -> Result<Value, JsonError> {
    if text.len() > MAX_BYTES {
        let message =
            format!("the JSON is {} bytes long, and the limit is {MAX_BYTES}", text.len());
        return Err(JsonError::new(JsonErrorKind::TooLong, message));
    }
    let text = std::str::from_utf8(text).map_err(|err| {
        let message = format!("not UTF-8 at byte {}", err.valid_up_to());
        JsonError::new(JsonErrorKind::NotUtf8, message)
    })?;
    if text.trim().is_empty() {
        return Err(JsonError::new(JsonErrorKind::Empty, "empty, and JSON is expected"));
    }
    let syntax = |err: serde_json::Error| JsonError::new(JsonErrorKind::Syntax, err.to_string());
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict { depth: 0 }.deserialize(&mut reader).map_err(syntax)?;
    reader.end().map_err(syntax)?;
    Ok(value)
}

/// Parses one value that is `depth` levels below the top.
struct Strict {
    depth: usize,
}

impl Strict {
    fn below<E: de::Error>(&self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        if value.fract() == 0.0 {
            if value.abs() >= FIRST_INEXACT {
                return Err(E::custom(
                    "a whole number is too large to keep exactly; send it as a string",
                ));
            }
            // `5.0` and `5` are the same number, so both get the same canonical form.
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            return Ok(Value::from(value as i64));
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self.below()?)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value_seed(self.below()?)?;
            if object.contains_key(&key) {
                return Err(de::Error::custom(format!("`{key}` is given twice")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<&str, &str>) {
        match (parse(text.as_bytes()), expect) {
            (Ok(value), Ok(expect)) => assert_eq!(value.to_string(), expect, "{text}"),
            (Err(err), Err(expect)) => assert!(err.message.contains(expect), "{text}: {err}"),
            (got, _) => panic!("{text}: {got:?}"),
        }
    }

    #[test]
    fn plain_json_is_kept_as_written() {
        check(r#"{"b":1,"a":[true,null,"x",1.5,-3]}"#, Ok(r#"{"b":1,"a":[true,null,"x",1.5,-3]}"#));
    }

    #[test]
    fn a_key_given_twice_is_refused_at_any_depth() {
        check(r#"{"a":1,"a":2}"#, Err("`a` is given twice"));
        check(r#"{"x":[{"a":1,"a":1}]}"#, Err("`a` is given twice"));
    }

    #[test]
    fn nesting_is_bounded_without_a_crash() {
        let fine = format!("{}1{}", "[".repeat(60), "]".repeat(60));
        assert!(parse(fine.as_bytes()).is_ok());
        check(&"[".repeat(100_000), Err("nested deeper than 64 levels"));
        check(&r#"{"a":"#.repeat(100_000), Err("nested deeper than 64 levels"));
    }

    #[test]
    fn numbers_are_exact_or_refused() {
        check("5.0", Ok("5"));
        check("-0.0", Ok("0"));
        check("18446744073709551615", Ok("18446744073709551615"));
        check("18446744073709551616", Err("too large to keep exactly"));
        check("1e400", Err("out of range"));
    }

    #[test]
    fn broken_text_is_refused_with_a_place() {
        check("", Err("empty"));
        check("{\"a\":}", Err("line 1 column 6"));
        check("{} x", Err("trailing characters"));
        check(r#""\ud800""#, Err("hex escape"));
        let err = parse(b"\"\xff\"").unwrap_err();
        assert_eq!(
            (err.kind, err.message.as_str()),
            (JsonErrorKind::NotUtf8, "not UTF-8 at byte 1")
        );
    }
}
