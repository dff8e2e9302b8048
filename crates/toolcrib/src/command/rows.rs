//! The items of a list in a reply, as lines for people. Contracts name the same things differently; people are shown
//! one form: `file:line: text` for a match, the path for a file.

use serde_json::{Map, Value};

/// Returns a line or more for each item, or nothing if there is an item of another kind.
pub(super) fn rows(items: &[Value]) -> Option<Vec<String>> {
    let rows: Option<Vec<Vec<String>>> = items.iter().map(item_rows).collect();
    Some(rows?.concat())
}

fn item_rows(item: &Value) -> Option<Vec<String>> {
    match item {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Object(fields) => {
            match_rows(fields).or_else(|| entry_row(fields).map(|row| vec![row]))
        }
        _ => None,
    }
}

/// Returns the lines of a match, with those around it as grep shows them.
fn match_rows(fields: &Map<String, Value>) -> Option<Vec<String>> {
    let file = text(fields, &["file", "path"])?;
    if let Some(snippet) = text(fields, &["snippet"]) {
        return Some(vec![format!("{file}: {snippet}")]);
    }
    if let Some(count) = fields.get("count").and_then(Value::as_u64) {
        return Some(vec![format!("{file}: {count}")]);
    }
    let line = fields.get("line").and_then(Value::as_u64)?;
    let content = text(fields, &["content", "text"])?;
    let around = |key: &str| -> Vec<&str> {
        let lines = fields.get(key).and_then(Value::as_array);
        lines.into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let (before, after) = (around("before"), around("after"));
    let first = line.saturating_sub(before.len() as u64);
    let near = |number: u64, text: &str| format!("{file}-{number}- {text}");
    let mut rows: Vec<String> = (first..).zip(before).map(|(at, text)| near(at, text)).collect();
    rows.push(format!("{file}:{line}: {content}"));
    rows.extend((line + 1..).zip(after).map(|(at, text)| near(at, text)));
    Some(rows)
}

/// Returns the line of a file or a directory.
fn entry_row(fields: &Map<String, Value>) -> Option<String> {
    const ENTRY_KEYS: [&str; 5] = ["path", "name", "type", "size", "depth"];
    if !fields.keys().all(|key| ENTRY_KEYS.contains(&key.as_str())) {
        return None;
    }
    let name = text(fields, &["path", "name"])?;
    let is_directory =
        text(fields, &["type"]).map_or(fields.contains_key("depth"), |kind| kind == "directory");
    Some(if is_directory { format!("{name}/") } else { name.to_owned() })
}

/// Returns the first of these fields that is a text.
fn text<'f>(fields: &'f Map<String, Value>, names: &[&str]) -> Option<&'f str> {
    names.iter().find_map(|name| fields.get(*name)?.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(items: &Value, expect: Option<&[&str]>) {
        let got = rows(items.as_array().unwrap());
        assert_eq!(
            got.as_deref()
                .map(|rows| rows.iter().map(String::as_str).collect::<Vec<_>>())
                .as_deref(),
            expect
        );
    }

    #[test]
    fn matches_and_files_have_one_form() {
        let found = json!([{"file": "a.rs", "line": 3, "content": "x", "before": ["w"], "after": ["y", "z"]}]);
        check(&found, Some(&["a.rs-2- w", "a.rs:3: x", "a.rs-4- y", "a.rs-5- z"]));
        check(&json!([{"path": "a", "snippet": "b"}]), Some(&["a: b"]));
        check(&json!([{"file": "a", "count": 2}]), Some(&["a: 2"]));
        check(&json!(["a", "b"]), Some(&["a", "b"]));
        check(
            &json!([{"path": "x", "depth": 1}, {"path": "y/z", "name": "z", "size": 1}]),
            Some(&["x/", "y/z"]),
        );
        check(
            &json!([{"name": "s", "type": "directory"}, {"name": "f", "type": "file"}]),
            Some(&["s/", "f"]),
        );
        check(&json!([]), Some(&[]));
    }

    #[test]
    fn other_items_are_left_as_they_are() {
        check(&json!([{"id": "1", "content": "x"}]), None);
        check(&json!([1]), None);
        check(&json!(["a", {"b": 1}]), None);
        check(&json!([{"path": "a", "secret": 1}]), None);
    }
}
