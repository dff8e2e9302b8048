//! Changes one member of an object in the text of a JSON file, and leaves every other byte as it is.

use serde_json::{Map, Value};

use super::edit_error::{EditError, EditErrorKind};
use super::json_text::{JsonMember, JsonNode, gap_end, parse};

/// The indentation of a file that has none of its own.
const INDENT: &str = "  ";

/// Returns the entry `name` of the object `servers`; nothing if the file has none.
pub(super) fn get(text: &str, servers: &str, name: &str) -> Result<Option<Value>, EditError> {
    let Some(root) = root(text)? else { return Ok(None) };
    let Some(table) = member(text, &root, servers)? else { return Ok(None) };
    Ok(member(text, &table.node, name)?.map(|entry| entry.node.value()))
}

/// Adds an entry that is not there yet. Its object is made if it is missing.
pub(super) fn insert(
    text: &str,
    servers: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, EditError> {
    let entry = Value::Object(entry.clone());
    let Some(root) = root(text)? else { return Ok(new_file(text, servers, name, &entry)) };
    let edited = if let Some(table) = member(text, &root, servers)? {
        add_member(text, &table.node, name, &entry)?
    } else {
        let table = Value::Object([(name.to_owned(), entry.clone())].into_iter().collect());
        add_member(text, &root, servers, &table)?
    };
    checked(text, edited, |all| {
        let table = all.as_object_mut()?.entry(servers).or_insert(Value::Object(Map::new()));
        table.as_object_mut()?.insert(name.to_owned(), entry);
        Some(())
    })
}

/// Sets one field of an entry that is there.
pub(super) fn set_field(
    text: &str,
    [servers, name, key]: [&str; 3],
    value: &Value,
) -> Result<String, EditError> {
    let root = parse(text)?;
    let entry = found(text, &root, [servers, name])?;
    let edited = match member(text, &entry.node, key)? {
        Some(field) => {
            let written = written(value, &line_indent(text, field.start), &style(text));
            format!("{}{written}{}", &text[..field.node.start], &text[field.node.end..])
        }
        None => add_member(text, &entry.node, key, value)?,
    };
    checked(text, edited, |all| {
        let entry = all.get_mut(servers)?.get_mut(name)?.as_object_mut()?;
        entry.insert(key.to_owned(), value.clone());
        Some(())
    })
}

/// Removes an entry that is there. Its object goes with it if it was the last one and the file holds more than this.
pub(super) fn remove(text: &str, servers: &str, name: &str) -> Result<String, EditError> {
    let root = parse(text)?;
    found(text, &root, [servers, name])?;
    let table = member(text, &root, servers)?.map(|table| &table.node);
    let edited = table.map_or_else(|| text.to_owned(), |table| without_member(text, table, name));
    let edited = checked(text, edited, |all| {
        all.get_mut(servers)?.as_object_mut()?.shift_remove(name);
        Some(())
    })?;
    let root = parse(&edited)?;
    let is_alone = root.members().is_some_and(|members| members.len() == 1);
    let is_empty = member(&edited, &root, servers)?
        .is_some_and(|table| &edited[table.node.start..table.node.end] == "{}");
    if is_alone || !is_empty {
        return Ok(edited);
    }
    let without = without_member(&edited, &root, servers);
    checked(&edited, without, |all| {
        all.as_object_mut()?.shift_remove(servers);
        Some(())
    })
}

/// Returns the object of the file; nothing if the file is blank.
fn root(text: &str) -> Result<Option<JsonNode>, EditError> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(None);
    }
    parse(text).map(Some)
}

fn new_file(text: &str, servers: &str, name: &str, entry: &Value) -> String {
    let table = Value::Object([(name.to_owned(), entry.clone())].into_iter().collect());
    let all = Value::Object([(servers.to_owned(), table)].into_iter().collect());
    let mark = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    format!("{mark}{}\n", written(&all, "", &Style { indent: INDENT.to_owned(), line_end: "\n" }))
}

/// Returns a member of an object. A value that is no object is an error, and so is a key that stands twice.
fn member<'n>(
    text: &str,
    object: &'n JsonNode,
    key: &str,
) -> Result<Option<&'n JsonMember>, EditError> {
    let unusual = |at, what: String| EditError::at(EditErrorKind::Unusual, text, at, what);
    let Some(members) = object.members() else {
        return Err(unusual(object.start, format!("an object with `{key}` must stand here")));
    };
    let mut all = members.iter().filter(|member| member.key == key);
    let first = all.next();
    match all.next() {
        Some(second) => Err(unusual(second.start, format!("`{key}` stands here a second time"))),
        None => Ok(first),
    }
}

fn found<'n>(
    text: &str,
    root: &'n JsonNode,
    [servers, name]: [&str; 2],
) -> Result<&'n JsonMember, EditError> {
    let missing =
        || EditError::of_file(EditErrorKind::Unusual, format!("`{servers}` has no entry `{name}`"));
    let table = member(text, root, servers)?.ok_or_else(missing)?;
    member(text, &table.node, name)?.ok_or_else(missing)
}

/// Returns the edited text, if it means what it should: the old value with one change.
fn checked(
    text: &str,
    edited: String,
    change: impl FnOnce(&mut Value) -> Option<()>,
) -> Result<String, EditError> {
    let mut wanted = parse(text)?.value();
    let is_right = change(&mut wanted).is_some()
        && parse(&edited).is_ok_and(|edited| edited.value() == wanted);
    is_right.then_some(edited).ok_or_else(|| {
        let what = "Toolcrib cannot change this file without changing other entries";
        EditError::of_file(EditErrorKind::Unusual, what)
    })
}

/// How a file is laid out.
struct Style {
    /// One step of indentation. Empty if the file is on one line.
    indent: String,
    line_end: &'static str,
}

fn style(text: &str) -> Style {
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let begins_line = |object: &JsonNode| {
        let first = object.members()?.first()?.start;
        is_line_start(text, first).then(|| line_indent(text, first))
    };
    let own = parse(text).ok().and_then(|root| begins_line(&root)).filter(|it| !it.is_empty());
    let is_one_line = !text.trim_end().contains('\n') && text.trim().len() > 2;
    let indent = own.unwrap_or_else(|| if is_one_line { "" } else { INDENT }.to_owned());
    Style { indent, line_end }
}

/// Returns a value as text whose later lines are indented by `indent`. Lists stay on one line.
fn written(value: &Value, indent: &str, style: &Style) -> String {
    let list = |values: &[Value]| {
        let parts: Vec<String> = values.iter().map(|it| written(it, indent, style)).collect();
        format!("[{}]", parts.join(", "))
    };
    match value {
        Value::Array(values) => list(values),
        Value::Object(members) if !members.is_empty() => {
            let deeper = format!("{indent}{}", style.indent);
            let parts: Vec<String> = members
                .iter()
                .map(|(key, value)| written_member(key, value, &deeper, style))
                .collect();
            if style.indent.is_empty() {
                return format!("{{{}}}", parts.join(", "));
            }
            let between = format!(",{}{deeper}", style.line_end);
            let (end, parts) = (style.line_end, parts.join(&between));
            format!("{{{end}{deeper}{parts}{end}{indent}}}")
        }
        other => other.to_string(),
    }
}

fn written_member(key: &str, value: &Value, indent: &str, style: &Style) -> String {
    format!("{}: {}", Value::from(key), written(value, indent, style))
}

/// Adds a member at the end of an object.
fn add_member(
    text: &str,
    object: &JsonNode,
    key: &str,
    value: &Value,
) -> Result<String, EditError> {
    let style = style(text);
    let Some(members) = object.members() else {
        let what = format!("an object for `{key}` must stand here");
        return Err(EditError::at(EditErrorKind::Unusual, text, object.start, what));
    };
    let Some(last) = members.last() else {
        return Ok(fill_empty(text, object, key, value, &style));
    };
    let comma = if last.comma.is_some() { "" } else { "," };
    let end_comma = if last.comma.is_some() { "," } else { "" };
    let (value_end, after) = (last.node.end, last.end());
    if !is_line_start(text, last.start) {
        let one_line = Style { indent: String::new(), ..style };
        let new = written_member(key, value, "", &one_line);
        return Ok(format!("{}{comma} {new}{end_comma}{}", &text[..after], &text[after..]));
    }
    let indent = line_indent(text, last.start);
    let new = written_member(key, value, &indent, &style);
    // A comment beside the last member stays beside it.
    let at = comments_end(text, after);
    let (beside, end) = (&text[value_end..at], style.line_end);
    Ok(format!("{}{comma}{beside}{end}{indent}{new}{end_comma}{}", &text[..value_end], &text[at..]))
}

/// Adds the first member of an object, which may hold comments.
fn fill_empty(text: &str, object: &JsonNode, key: &str, value: &Value, style: &Style) -> String {
    let (inside, close) = (object.start + 1, object.end - 1);
    let (before, after) = (&text[..inside], &text[close..]);
    let comments = text[inside..close].trim_end();
    if style.indent.is_empty() || !comments.is_empty() && !text[inside..close].contains('\n') {
        let one_line = Style { indent: String::new(), line_end: "\n" };
        let new = written_member(key, value, "", &one_line);
        let gap = if comments.is_empty() { "" } else { " " };
        return format!("{before}{comments}{gap}{new}{gap}{after}");
    }
    let outer = line_indent(text, object.start);
    let indent = format!("{outer}{}", style.indent);
    let new = written_member(key, value, &indent, style);
    let end = style.line_end;
    format!("{before}{comments}{end}{indent}{new}{end}{outer}{after}")
}

/// Returns the text without a member, which the object has.
fn without_member(text: &str, object: &JsonNode, key: &str) -> String {
    let members = object.members().unwrap_or_default();
    let Some(index) = members.iter().position(|member| member.key == key) else {
        return text.to_owned();
    };
    let gone = &members[index];
    let before = index.checked_sub(1).map(|index| &members[index]);
    let is_last = index + 1 == members.len();
    // The comma before the last member goes if the last member has none behind it.
    let loose_comma = before.and_then(|it| it.comma).filter(|_| is_last && gone.comma.is_none());
    let (mut start, mut end) = (gone.start, gone.end());
    let rest = text[end..].trim_start_matches([' ', '\t']);
    let own_line_end = match rest {
        _ if !is_line_start(text, gone.start) => None,
        rest if rest.starts_with("\r\n") => Some(text.len() - rest.len() + 2),
        rest if rest.starts_with('\n') => Some(text.len() - rest.len() + 1),
        _ => None,
    };
    if let Some(line_end) = own_line_end {
        start = line_start(text, gone.start);
        end = line_end;
    } else if let Some(before) = before.filter(|_| !is_line_start(text, gone.start)) {
        start = before.end();
    } else {
        end = text.len() - rest.len();
    }
    let mut edited = text.to_owned();
    edited.replace_range(start..end, "");
    if let Some(comma) = loose_comma {
        edited.remove(comma);
    }
    // What was removed stood within the object, so its bracket is as far from the end as before.
    let close = edited.len() - (text.len() - object.end) - 1;
    if members.len() == 1 && edited[object.start + 1..close].trim().is_empty() {
        edited.replace_range(object.start + 1..close, "");
    }
    edited
}

/// Returns where the comments end that stand behind `at` on the same line.
fn comments_end(text: &str, at: usize) -> usize {
    let line_end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    let line_end = if text[..line_end].ends_with('\r') { line_end - 1 } else { line_end };
    // A comment of several lines is about what follows it.
    let is_only_comments = gap_end(&text[..line_end], at) == line_end;
    if is_only_comments { line_end } else { at }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Whether only blanks stand before `at` on its line, and there is a line before it.
fn is_line_start(text: &str, at: usize) -> bool {
    let start = line_start(text, at);
    start > 0 && text[start..at].trim().is_empty()
}

/// Returns the blanks at the beginning of the line that holds `at`.
fn line_indent(text: &str, at: usize) -> String {
    let line = &text[line_start(text, at)..at];
    line[..line.len() - line.trim_start_matches([' ', '\t']).len()].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Map<String, Value> {
        json!({"command": "toolcrib", "args": ["mcp"]}).as_object().unwrap().clone()
    }

    /// Checks what an entry makes of a file, and that its removal gives the old file back.
    #[track_caller]
    fn check(before: &str, after: &str) {
        let got = insert(before, "s", "t", &entry()).unwrap();
        assert_eq!(got, after, "inserted");
        assert_eq!(get(&got, "s", "t").unwrap(), Some(Value::Object(entry())));
        assert_eq!(remove(&got, "s", "t").unwrap(), before, "removed");
    }

    #[test]
    fn an_entry_comes_and_goes_and_nothing_else_changes() {
        let new = "{\n      \"command\": \"toolcrib\",\n      \"args\": [\"mcp\"]\n    }";
        check(
            "// mine\n{\n  \"s\": {\n    // one\n    \"a\": {\"x\": 1} // beside\n    // last\n  },\n  \"z\": 1\n}\n",
            &format!(
                "// mine\n{{\n  \"s\": {{\n    // one\n    \"a\": {{\"x\": 1}}, // beside\n    \"t\": {new}\n    // last\n  }},\n  \"z\": 1\n}}\n"
            ),
        );
        // Commas before a closing bracket stay a habit of the file.
        check(
            "{\n  \"s\": {\n    \"a\": {},\n  },\n}",
            &format!("{{\n  \"s\": {{\n    \"a\": {{}},\n    \"t\": {new},\n  }},\n}}"),
        );
        // The object is made, and goes again, if the file holds something else.
        check(
            "{\n  \"z\": 1\n}\n",
            &format!("{{\n  \"z\": 1,\n  \"s\": {{\n    \"t\": {new}\n  }}\n}}\n"),
        );
        check("{\n  \"s\": {},\n}\n", &format!("{{\n  \"s\": {{\n    \"t\": {new}\n  }},\n}}\n"));
        check(
            "{\n  \"s\": { // none\n  }\n}\n",
            &format!("{{\n  \"s\": {{ // none\n    \"t\": {new}\n  }}\n}}\n"),
        );
    }

    #[test]
    fn the_layout_is_that_of_the_file() {
        check(
            "{\r\n\t\"s\": {\r\n\t\t\"a\": 1\r\n\t}\r\n}\r\n",
            "{\r\n\t\"s\": {\r\n\t\t\"a\": 1,\r\n\t\t\"t\": {\r\n\t\t\t\"command\": \"toolcrib\",\r\n\t\t\t\"args\": [\"mcp\"]\r\n\t\t}\r\n\t}\r\n}\r\n",
        );
        let new = "\"t\": {\"command\": \"toolcrib\", \"args\": [\"mcp\"]}";
        check("{\"s\":{\"a\":1}}", &format!("{{\"s\":{{\"a\":1, {new}}}}}"));
        check("{\"s\":{\"a\":1,}}", &format!("{{\"s\":{{\"a\":1, {new},}}}}"));
        check("{\"s\": {}}", &format!("{{\"s\": {{{new}}}}}"));
        check("{\"s\": { /* x */ }}", &format!("{{\"s\": {{ /* x */ {new} }}}}"));
    }

    #[test]
    fn a_blank_file_becomes_a_whole_one() {
        let whole = "{\n  \"s\": {\n    \"t\": {\n      \"command\": \"toolcrib\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n";
        assert_eq!(insert("", "s", "t", &entry()).unwrap(), whole);
        assert_eq!(insert("{}\n", "s", "t", &entry()).unwrap(), whole);
        // The object stays if it is all there is: some clients miss it.
        assert_eq!(remove(whole, "s", "t").unwrap(), "{\n  \"s\": {}\n}\n");
    }

    #[test]
    fn an_entry_in_the_middle_goes_and_comments_stay() {
        let text = "{\n  \"s\": {\n    \"a\": 1,\n    \"t\": {}, // mine\n    \"b\": 2\n  }\n}\n";
        let left = "{\n  \"s\": {\n    \"a\": 1,\n    // mine\n    \"b\": 2\n  }\n}\n";
        assert_eq!(remove(text, "s", "t").unwrap(), left);
        let text = "{\"s\": {\"t\": {}, \"b\": 2}}";
        assert_eq!(remove(text, "s", "t").unwrap(), "{\"s\": {\"b\": 2}}");
    }

    #[test]
    fn a_field_is_set_beside_those_of_others() {
        let text = "{\n  \"s\": {\n    \"t\": {\n      \"args\": [], // why\n      \"env\": {\"A\": \"b\"}\n    }\n  }\n}\n";
        let edited = set_field(text, ["s", "t", "args"], &json!(["mcp"])).unwrap();
        assert_eq!(edited, text.replace("[]", "[\"mcp\"]"));
        let edited = set_field(text, ["s", "t", "command"], &json!("x")).unwrap();
        assert_eq!(edited, text.replace("\"b\"}\n", "\"b\"},\n      \"command\": \"x\"\n"));
    }

    #[test]
    fn what_cannot_be_changed_is_refused() {
        for (text, line) in [
            ("[]", Some(1)),
            ("{\n\"s\": 1}", Some(2)),
            ("{\"s\": {\n\"t\": 1,\n\"t\": 2}}", Some(3)),
            ("{\"s\": {},\n\"s\": {}}", Some(2)),
        ] {
            assert_eq!(get(text, "s", "t").unwrap_err().line, line, "{text}");
        }
        assert!(get("{\"s\": {", "s", "t").is_err());
        assert_eq!(get("{\"s\": {}}", "s", "t").unwrap(), None, "the control");
    }
}
