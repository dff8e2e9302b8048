//! The arguments of a call as people write them: JSON, `KEY=TEXT` pairs that follow the tool's schema, or stdin.

use std::io::Read;

use serde_json::{Map, Value};
use toolcrib_core::{ErrorKind, ToolError, ToolName, Toolset, json as strict_json};

/// The form that every error about unreadable arguments names.
const FORM: &str = "write one JSON object, or KEY=TEXT and KEY:=JSON pairs";

/// Parses the arguments of a call of `tool`, from the words of the command line or from stdin.
pub(super) fn arguments(
    words: &[String],
    toolset: &Toolset,
    tool: &ToolName,
) -> Result<Value, ToolError> {
    // A tool that cannot be found fails for that, whatever its arguments are.
    let schema = || toolset.find(tool).map_or(Value::Null, |offer| offer.tool.schema());
    parse(words, schema)
}

fn parse(words: &[String], schema: impl FnOnce() -> Value) -> Result<Value, ToolError> {
    match words {
        [] => Ok(Value::Object(Map::new())),
        [dash] if dash == "-" => {
            let mut bytes = Vec::new();
            let most = strict_json::MAX_BYTES as u64 + 1;
            std::io::stdin()
                .lock()
                .take(most)
                .read_to_end(&mut bytes)
                .map_err(|err| unreadable(&format!("cannot read stdin: {err}"), FORM))?;
            strict_json::parse(&bytes).map_err(|reason| unreadable(&reason.message, FORM))
        }
        [text] if text.trim_start().starts_with(['{', '[']) => {
            strict_json::parse(text.as_bytes()).map_err(|reason| unreadable(&reason.message, FORM))
        }
        pairs => {
            let schema = schema();
            let mut object = Map::new();
            for pair in pairs {
                let (key, value) = argument(pair, &schema["properties"])?;
                if object.insert(key.clone(), value).is_some() {
                    return Err(unreadable(&format!("`{key}` is given twice"), FORM));
                }
            }
            Ok(Value::Object(object))
        }
    }
}

/// Returns the error for arguments that cannot be parsed.
fn unreadable(reason: &str, hint: &str) -> ToolError {
    ToolError::new(ErrorKind::BadArgs, format!("invalid arguments: {reason}")).hint(hint)
}

/// Parses `key=text` or `key:=json`.
fn argument(pair: &str, properties: &Value) -> Result<(String, Value), ToolError> {
    let Some((key, text)) = pair.split_once('=') else {
        let reason = format!("`{pair}` is neither a JSON object nor KEY=TEXT nor KEY:=JSON");
        return Err(unreadable(&reason, FORM));
    };
    match key.strip_suffix(':') {
        Some(key) => {
            let value = strict_json::parse(text.as_bytes())
                .map_err(|error| unreadable(&format!("`{key}:=`: {}", error.message), FORM))?;
            Ok((key.to_owned(), value))
        }
        None => Ok((key.to_owned(), by_schema(key, text, &properties[key])?)),
    }
}

/// Returns the value that a text means for an argument with this schema. Where a string is valid, or the schema
/// names no type, the text is a string.
fn by_schema(key: &str, text: &str, schema: &Value) -> Result<Value, ToolError> {
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    if types.is_empty() || types.contains(&"string") {
        return Ok(Value::String(text.to_owned()));
    }
    let parsed = strict_json::parse(text.trim().as_bytes()).ok();
    let fits = |value: &Value| types.iter().any(|kind| is_of_type(value, kind));
    match parsed.filter(fits) {
        Some(value) => Ok(value),
        None => Err(unfit(key, text, &types)),
    }
}

/// Returns whether a value has this JSON Schema type.
fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

/// Returns the error for a text that does not have the type that its key needs.
fn unfit(key: &str, text: &str, types: &[&str]) -> ToolError {
    let (wanted, example) = match types.first().copied().unwrap_or_default() {
        "boolean" => ("true or false", format!("{key}=true")),
        "integer" => ("a whole number", format!("{key}=1")),
        "number" => ("a number", format!("{key}=1.5")),
        "array" => ("a JSON array", format!("{key}='[\"a\", \"b\"]'")),
        "object" => ("a JSON object", format!("{key}='{{\"a\": 1}}'")),
        _ => ("null", format!("{key}=null")),
    };
    let cut = text.floor_char_boundary(60);
    let more = if cut < text.len() { "…" } else { "" };
    let reason = format!("`{key}` must be {wanted}, not `{}{more}`", &text[..cut]);
    unreadable(&reason, &format!("write it such as {example}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(words: &[&str], expect: Result<&str, &str>) {
        let schema = json!({"properties": {
            "content": {"type": "string"}, "confirmed": {"type": "boolean"},
            "start_line": {"type": "integer", "minimum": 1}, "ratio": {"type": "number"},
            "items": {"type": "array"}, "extra": {"type": "object"},
            "end": {"type": ["integer", "null"]}, "title": {"type": ["null", "string"]},
            "data": {},
        }});
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match (parse(&words, || schema), expect) {
            (Ok(got), Ok(expect)) => assert_eq!(got.to_string(), expect),
            (Err(got), Err(expect)) => {
                let told = format!("{}; {}", got.message, got.hint.unwrap_or_default());
                assert!(told.contains(expect), "{told}");
            }
            (got, _) => panic!("{words:?}: {got:?}"),
        }
    }

    #[test]
    fn arguments_come_as_json_or_pairs() {
        check(&[], Ok("{}"));
        check(&[r#"{"a": [1]}"#], Ok(r#"{"a":[1]}"#));
        check(&["a=b=c", "n:=5", "l:=[true]"], Ok(r#"{"a":"b=c","n":5,"l":[true]}"#));
        check(&["a="], Ok(r#"{"a":""}"#));
    }

    #[test]
    fn arguments_that_are_neither_are_refused() {
        check(&["a=1", "a=2"], Err("`a` is given twice"));
        check(&["nonsense"], Err("neither a JSON object"));
        check(&["n:=five"], Err("`n:=`"));
        check(&["{"], Err("line 1"));
    }

    #[test]
    fn a_text_follows_the_schema() {
        check(
            &["confirmed=true", "start_line=1", "ratio=0.5", "end=null"],
            Ok(r#"{"confirmed":true,"start_line":1,"ratio":0.5,"end":null}"#),
        );
        check(
            &["items=[1, \"a\"]", r#"extra={"a": 1}"#, "end=7"],
            Ok(r#"{"items":[1,"a"],"extra":{"a":1},"end":7}"#),
        );
        // Where a string is valid, or anything is, a text is a text.
        check(&["content=true", "title=null"], Ok(r#"{"content":"true","title":"null"}"#));
        check(&["data=1", "unknown=1"], Ok(r#"{"data":"1","unknown":"1"}"#));
        // The schema has no say in JSON; the tool checks it later.
        check(&["start_line:=\"x\""], Ok(r#"{"start_line":"x"}"#));
    }

    #[test]
    fn a_text_of_another_type_is_refused_with_its_key() {
        check(&["confirmed=yes"], Err("`confirmed` must be true or false, not `yes`"));
        check(&["start_line=1.5"], Err("`start_line` must be a whole number, not `1.5`"));
        check(&["start_line="], Err("not ``; write it such as start_line=1"));
        check(&["ratio=half"], Err("`ratio` must be a number, not `half`"));
        check(
            &["items=a,b"],
            Err(r#"must be a JSON array, not `a,b`; write it such as items='["a"#),
        );
        check(&["extra=[]"], Err("`extra` must be a JSON object, not `[]`"));
        check(&["end=none"], Err("`end` must be a whole number, not `none`"));
        let long = format!("start_line={}", "é".repeat(1000));
        check(&[&long], Err("é…`"));
    }
}
