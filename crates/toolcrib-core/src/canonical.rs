//! Canonical JSON: one spelling for the arguments of a call, and the digest that a permit is bound to.

use std::fmt::{self, Write};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::json_text::push_string;

/// The SHA-256 digest of a tool's name and its canonical arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of a call of `tool` (`catalogue/name`) with `args`.
    pub fn of(tool: &str, args: &Value) -> Self {
        Self::of_text(tool, &text(args))
    }

    /// Returns the digest of a call of `tool` with arguments whose canonical text is `args`.
    pub fn of_text(tool: &str, args: &str) -> Self {
        let mut hasher = Sha256::new();
        hasher.update((tool.len() as u64).to_be_bytes());
        hasher.update(tool.as_bytes());
        hasher.update(args.as_bytes());
        Self(hasher.finalize().into())
    }

    /// Returns the digest of a call that reads a connection of its own choice. It is never that of a call that reads
    /// another one.
    pub fn of_chosen(tool: &str, args: &str, connection: &str) -> Self {
        // No canonical text of arguments has a line feed.
        Self::of_text(tool, &format!("{args}\n{connection}"))
    }

    /// Returns the digest of bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(2 * self.0.len());
        hex(&self.0, &mut text)?;
        f.write_str(&text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes bytes as lower-case hexadecimal.
pub fn hex(bytes: &[u8], out: &mut impl Write) -> fmt::Result {
    let digit = |four: u8| char::from(b"0123456789abcdef"[usize::from(four)]);
    bytes.iter().try_for_each(|byte| {
        out.write_char(digit(byte >> 4))?;
        out.write_char(digit(byte & 15))
    })
}

/// Returns `value` as compact JSON with the keys of every object sorted.
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    append(value, &mut out);
    out
}

/// Returns arguments as compact JSON. The keys in `keys` come first, in that order; other keys follow, sorted.
pub fn in_order<'a>(args: &Value, keys: impl Iterator<Item = &'a str>) -> String {
    let Value::Object(object) = args else { return text(args) };
    let mut order: Vec<&str> = keys.filter(|key| object.contains_key(*key)).collect();
    let mut others: Vec<&str> =
        object.keys().map(String::as_str).filter(|key| !order.contains(key)).collect();
    others.sort_unstable();
    order.append(&mut others);
    let pairs = order.iter().filter_map(|key| Some((*key, object.get(*key)?)));
    let mut out = String::from("{");
    for (index, (key, value)) in pairs.enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_string(&mut out, key);
        out.push(':');
        append(value, &mut out);
    }
    out.push('}');
    out
}

fn append(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                append(item, out);
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut pairs: Vec<_> = object.iter().collect();
            pairs.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, item)) in pairs.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_string(out, key);
                out.push(':');
                append(item, out);
            }
            out.push('}');
        }
        Value::String(text) => push_string(out, text),
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_)) => {
            out.push_str(&scalar.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn order_of_keys_and_spelling_of_numbers_do_not_matter() {
        let one = parse(br#"{"b": {"y": 1, "x": 2.0}, "a": "\u0041"}"#).unwrap();
        let two = parse(br#"{"a":"A","b":{"x":2,"y":1}}"#).unwrap();
        assert_eq!(text(&one), r#"{"a":"A","b":{"x":2,"y":1}}"#);
        assert_eq!(Digest::of("t", &one), Digest::of("t", &two));
    }

    #[test]
    fn one_value_has_one_spelling_however_it_is_written() {
        // Numbers that look like chance, and are the same each time.
        let mut state = 1_u64;
        let mut chance = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % most
        };
        for _ in 0..2000 {
            let pairs: Vec<(String, Value)> = (0..chance(6))
                .map(|number| {
                    let odd = ["a", "é", "\u{0}", "\"", "\\", "\u{1f600}", " ", "b\nc"];
                    let key = format!("{}{number}", odd[chance(8) as usize]);
                    let value = match chance(6) {
                        0 => Value::Null,
                        1 => Value::from(chance(1000)),
                        2 => Value::from(chance(1000) as f64 + 0.5),
                        3 => Value::from(odd[chance(8) as usize]),
                        4 => serde_json::json!([true, {"z": 1, "y": [chance(3)]}]),
                        _ => {
                            serde_json::json!({"k": {"b": chance(2), "a": odd[chance(8) as usize]}})
                        }
                    };
                    (key, value)
                })
                .collect();
            let forward: Value = Value::Object(pairs.iter().cloned().collect());
            let backward: Value = Value::Object(pairs.iter().rev().cloned().collect());
            let keys: Vec<&str> = pairs.iter().map(|pair| pair.0.as_str()).collect();
            assert_eq!(text(&forward), text(&backward));
            let ordered = in_order(&forward, keys.iter().copied());
            assert_eq!(ordered, in_order(&backward, keys.iter().copied()));
            // And nothing is lost on the way.
            for spelt in [text(&forward), ordered] {
                assert_eq!(parse(spelt.as_bytes()).unwrap(), forward, "{spelt}");
            }
        }
    }

    #[test]
    fn tool_and_arguments_are_both_bound() {
        let args = parse(br#"{"a":1}"#).unwrap();
        let other = parse(br#"{"a":"1"}"#).unwrap();
        assert_ne!(Digest::of("t", &args), Digest::of("u", &args));
        assert_ne!(Digest::of("t", &args), Digest::of("t", &other));
    }
}
