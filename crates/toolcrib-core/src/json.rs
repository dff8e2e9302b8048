//! Reads JSON strictly: no duplicate keys, bounded nesting, no number that would be changed.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How deep arrays and objects may be nested.
pub const MAX_DEPTH: usize = 64;

/// How many bytes of JSON one call may bring.
pub const MAX_BYTES: usize = 32 << 20;

/// The largest whole number a JSON reader may round, so whole floats above it are refused.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Parses `text`, or says what is wrong with it and where.
pub fn parse(text: &[u8]) -> Result<Value, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("{} bytes of JSON, and the limit is {MAX_BYTES}", text.len()));
    }
    let text = std::str::from_utf8(text)
        .map_err(|err| format!("not UTF-8 at byte {}", err.valid_up_to()))?;
    if text.trim().is_empty() {
        return Err("empty where JSON was expected".to_owned());
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict { depth: 0 }.deserialize(&mut reader).map_err(|err| err.to_string())?;
    reader.end().map_err(|err| err.to_string())?;
    Ok(value)
}

/// Reads one value at `depth` levels below the top.
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
            if value.abs() >= EXACT {
                return Err(E::custom(
                    "a whole number too large to keep exactly; send it as a string",
                ));
            }
            // `5.0` and `5` are one number, so that they have one canonical form.
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
            (Err(err), Err(expect)) => assert!(err.contains(expect), "{text}: {err}"),
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
        assert_eq!(parse(b"\"\xff\""), Err("not UTF-8 at byte 1".to_owned()));
    }
}
