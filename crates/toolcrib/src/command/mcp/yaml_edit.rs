//! Changes one entry of a mapping in the text of a YAML file, and leaves all other lines as they are.

use serde_json::{Map, Value};

use super::edit_error::{EditError, EditErrorKind};
use super::yaml_text::{YamlFile, field_value, fields, read};

/// One step of indentation, in columns.
const STEP: usize = 2;

/// Returns the entry `name` of the mapping `servers`; nothing if the file has none. Fields that are neither a text nor a
/// list of texts are null.
pub(super) fn get(text: &str, servers: &str, name: &str) -> Result<Option<Value>, EditError> {
    let file = read(text, servers)?;
    let Some(section) = &file.section else { return Ok(None) };
    let mut all = section.entries.iter().filter(|entry| entry.key == name);
    let Some(entry) = all.next() else { return Ok(None) };
    if let Some(second) = all.next() {
        let what = format!("`{name}` stands here a second time");
        let line = Some(second.first + 1);
        return Err(EditError { kind: EditErrorKind::Unusual, line, what });
    }
    let fields = fields(&file.lines, entry)?;
    let value = fields.iter().map(|it| (it.key.clone(), field_value(&file.lines, it)));
    Ok(Some(Value::Object(value.collect())))
}

/// Adds an entry that is not there yet. Its mapping is made if it is missing.
pub(super) fn insert(
    text: &str,
    servers: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, EditError> {
    let file = read(text, servers)?;
    let end = line_end(text);
    let indent = file.section.as_ref().and_then(|it| it.indent).unwrap_or(STEP);
    let mut new = vec![format!("{:indent$}{}:{end}", "", written(&name.into()))];
    let deeper = indent + STEP;
    new.extend(
        entry.iter().map(|(key, value)| format!("{:deeper$}{key}: {}{end}", "", written(value))),
    );
    let mut lines: Vec<String> = file.lines.iter().map(|line| (*line).to_owned()).collect();
    let at = if let Some(section) = &file.section {
        let header = &mut lines[section.header];
        if section.entries.is_empty() {
            *header = header.replacen(": {}", ":", 1);
        }
        section.entries.last().map_or(section.header + 1, |entry| entry.end)
    } else {
        new.insert(0, format!("{servers}:{end}"));
        lines.len()
    };
    if let Some(before) = at.checked_sub(1).map(|at| &mut lines[at])
        && !before.ends_with('\n')
    {
        before.push_str(end);
    }
    lines.splice(at..at, new);
    Ok(lines.concat())
}

/// Sets one field of an entry that is there.
pub(super) fn set_field(
    text: &str,
    [servers, name, key]: [&str; 3],
    value: &Value,
) -> Result<String, EditError> {
    let file = read(text, servers)?;
    let entry = file.section.as_ref().and_then(|it| it.entries.iter().find(|it| it.key == name));
    let Some(entry) = entry else { return Err(missing(servers, name)) };
    let fields = fields(&file.lines, entry)?;
    let indent = match fields.first() {
        Some(first) => file.lines[first.first].len() - file.lines[first.first].trim_start().len(),
        None => STEP + file.section.as_ref().and_then(|it| it.indent).unwrap_or(STEP),
    };
    let new = format!("{:indent$}{key}: {}{}", "", written(value), line_end(text));
    let place = match fields.iter().find(|field| field.key == key) {
        Some(field) => field.first..field.end,
        None => entry.first + 1..entry.first + 1,
    };
    Ok(spliced(&file, place, &new))
}

/// Removes an entry that is there. Its mapping goes with it if it was the last one and the file holds more than this.
pub(super) fn remove(text: &str, servers: &str, name: &str) -> Result<String, EditError> {
    let file = read(text, servers)?;
    let found = file.section.as_ref().and_then(|section| {
        Some((section, section.entries.iter().find(|entry| entry.key == name)?))
    });
    let Some((section, entry)) = found else { return Err(missing(servers, name)) };
    let edited = spliced(&file, entry.first..entry.end, "");
    if section.entries.len() > 1 {
        return Ok(edited);
    }
    let header = file.lines[section.header];
    let is_bare = header.trim_end() == format!("{servers}:") && entry.first == section.header + 1;
    if is_bare && file.has_others {
        return Ok(spliced(&file, section.header..entry.end, ""));
    }
    // A key without a value would mean that there is no mapping.
    let lines: Vec<&str> = edited.split_inclusive('\n').collect();
    let header = header.replacen(':', ": {}", 1);
    Ok([&lines[..section.header], &[&header], &lines[section.header + 1..]].concat().concat())
}

/// Returns the file with other text in place of some lines.
fn spliced(file: &YamlFile<'_>, place: std::ops::Range<usize>, new: &str) -> String {
    let (before, after) = (&file.lines[..place.start], &file.lines[place.end..]);
    format!("{}{new}{}", before.concat(), after.concat())
}

fn missing(servers: &str, name: &str) -> EditError {
    EditError::of_file(EditErrorKind::Unusual, format!("`{servers}` has no entry `{name}`"))
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Returns a value on one line. JSON is YAML, and a text without surprises needs no quotation marks.
fn written(value: &Value) -> String {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_safe = |text: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
            && text.bytes().all(is_part)
            && !WORDS.contains(&text.to_ascii_lowercase().as_str())
    };
    match value {
        Value::String(text) if is_safe(text) => text.clone(),
        Value::Array(values) => {
            let parts: Vec<String> = values.iter().map(Value::to_string).collect();
            format!("[{}]", parts.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Map<String, Value> {
        json!({"type": "stdio", "cmd": "/opt/my tools/toolcrib", "args": ["mcp"], "timeout": 300})
            .as_object()
            .unwrap()
            .clone()
    }

    const NEW: &str = "  t:\n    type: stdio\n    cmd: \"/opt/my tools/toolcrib\"\n    args: [\"mcp\"]\n    timeout: 300\n";

    #[track_caller]
    fn check(before: &str, after: &str) {
        let got = insert(before, "s", "t", &entry()).unwrap();
        assert_eq!(got, after, "inserted");
        let read = get(&got, "s", "t").unwrap().unwrap();
        assert_eq!((&read["cmd"], &read["args"]), (&entry()["cmd"], &entry()["args"]));
        assert_eq!(remove(&got, "s", "t").unwrap(), before, "removed");
    }

    #[test]
    fn an_entry_comes_and_goes_and_nothing_else_changes() {
        let text = "# mine\nP: \"a: # b\"\nL:\n- x\ns:\n  # one\n  a:\n    x: |\n      text\n\n      # text too\n  # last\n\n# other\nZ: 1\n";
        check(text, &text.replace("  # last", &format!("{NEW}  # last")));
        check("---\nP: 1\n", &format!("---\nP: 1\ns:\n{NEW}"));
        check("s: {} # none\n", &format!("s: # none\n{NEW}"));
        let deep = "s:\n    a:\n        x: 1\nZ: 1\n";
        let new = NEW.replace("    ", "      ").replace("  t:", "    t:");
        check(deep, &deep.replace("Z:", &format!("{new}Z:")));
        let text = "P: 1\r\ns:\r\n  a:\r\n    x: 1\r\n";
        check(text, &format!("{text}{}", NEW.replace('\n', "\r\n")));
    }

    #[test]
    fn a_field_is_set_beside_those_of_others() {
        let text = "s:\n  t:\n    enabled: true\n    cmd: 'it''s' # c\n    args:\n    - mcp\n    - -C\n    envs:\n      A: b\n  u:\n    x: 1\n";
        let read = get(text, "s", "t").unwrap().unwrap();
        assert_eq!((&read["cmd"], &read["args"]), (&json!("it's"), &json!(["mcp", "-C"])));
        let edited = set_field(text, ["s", "t", "args"], &json!(["mcp"])).unwrap();
        assert_eq!(edited, text.replace("args:\n    - mcp\n    - -C\n", "args: [\"mcp\"]\n"));
        let edited = set_field(text, ["s", "t", "type"], &json!("stdio")).unwrap();
        assert_eq!(edited, text.replace("  t:\n", "  t:\n    type: stdio\n"));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (text, line) in [
            ("s: {a: {}}\n", 1),
            ("s: *other\n", 1),
            ("s:\n  - a\n", 2),
            ("s:\n\ta: 1\n", 2),
            ("P: 1\n}\n", 2),
            ("s:\n    a:\n      x: 1\n  b:\n", 4),
            ("s:\nP: 1\ns:\n", 3),
            ("s:\n  t: {x: 1}\n", 2),
            ("P: 1\n---\ns:\n", 2),
            ("{\"s\": {}}\n", 1),
        ] {
            assert_eq!(get(text, "s", "t").unwrap_err().line, Some(line), "{text}");
        }
        assert_eq!(get("s:\n  a:\n    x: 1\n", "s", "t").unwrap(), None, "the control");
    }
}
