//! Changes one table in the text of a TOML file, and leaves comments, order and all else as they are.

use serde_json::{Map, Value};
use toml::Table;

use super::edit_error::{EditError, EditErrorKind};
use crate::settings::{set_value, unset_value};

/// Returns the entry `name` of the table `servers`; nothing if the file has none.
pub(super) fn get(text: &str, servers: &str, name: &str) -> Result<Option<Value>, EditError> {
    let table = parse(text)?;
    let Some(servers_table) = table.get(servers) else { return Ok(None) };
    let Some(servers_table) = servers_table.as_table() else {
        return Err(unusual(format!("`{servers}` is no table")));
    };
    let as_json = |entry| serde_json::to_value(entry).unwrap_or(Value::Null);
    Ok(servers_table.get(name).map(as_json))
}

/// Adds an entry that is not there yet, as a table at the end.
pub(super) fn insert(
    text: &str,
    servers: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, EditError> {
    entry.iter().try_fold(text.to_owned(), |text, (key, value)| {
        set_field(&text, [servers, name, key], value)
    })
}

/// Sets one field of an entry.
pub(super) fn set_field(
    text: &str,
    [servers, name, key]: [&str; 3],
    value: &Value,
) -> Result<String, EditError> {
    parse(text)?;
    let value = toml::Value::try_from(value).map_err(|err| unusual(err.to_string()))?;
    let edited = set_value(text, &format!("{servers}.{name}.{key}"), &value);
    edited.map(|edited| edited.text).ok_or_else(|| not_by_lines(servers, name))
}

/// Removes an entry that is there, with all its tables.
pub(super) fn remove(text: &str, servers: &str, name: &str) -> Result<String, EditError> {
    let mut wanted = parse(text)?;
    let whole = format!("{servers}.{name}");
    if let Some(edited) = unset_value(text, &whole) {
        return Ok(edited);
    }
    let edited = without_tables(text, &whole);
    if let Some(table) = wanted.get_mut(servers).and_then(toml::Value::as_table_mut) {
        table.remove(name);
    }
    let found = parse(&edited)?;
    let is_same = found == wanted || {
        // A table that no line begins is there only for the tables within it.
        let is_empty = |table: &toml::Value| table.as_table().is_some_and(Table::is_empty);
        if wanted.get(servers).is_some_and(is_empty) {
            wanted.remove(servers);
        }
        found == wanted
    };
    is_same.then_some(edited).ok_or_else(|| not_by_lines(servers, name))
}

fn parse(text: &str) -> Result<Table, EditError> {
    text.parse::<Table>().map_err(|err| {
        let at = err.span().map_or(text.len(), |span| span.start);
        EditError::at(EditErrorKind::Broken, text, at, err.message().replace('\n', ", "))
    })
}

fn unusual(what: String) -> EditError {
    EditError::of_file(EditErrorKind::Unusual, what)
}

fn not_by_lines(servers: &str, name: &str) -> EditError {
    unusual(format!("`{servers}.{name}` is not written as a table of its own lines"))
}

/// Returns the text without the lines of a table and of the tables within it. The blank line before each goes too, and
/// comments behind its last value stay: they are about what follows.
fn without_tables(text: &str, whole: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_gone = |line: &str| {
        let name = line.trim_start().strip_prefix('[').and_then(|rest| rest.split(']').next());
        let name: Option<String> =
            name.map(|it| it.chars().filter(|c| !matches!(c, ' ' | '"' | '\'')).collect());
        name.is_some_and(|name| {
            name.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let is_header = |line: &&str| line.trim_start().starts_with('[');
    let (mut kept, mut at): (Vec<&str>, usize) = (Vec::new(), 0);
    while let Some(line) = lines.get(at) {
        if !is_gone(line) {
            kept.push(line);
            at += 1;
            continue;
        }
        let body = lines[at + 1..].iter().take_while(|line| !is_header(line));
        let is_value = |line: &&str| !matches!(line.trim().chars().next(), None | Some('#'));
        let values = body.collect::<Vec<_>>();
        let count = values.iter().rposition(|line| is_value(line)).map_or(0, |last| last + 1);
        at += 1 + count;
        if kept.last().is_some_and(|line| line.trim().is_empty()) {
            kept.pop();
        }
    }
    kept.concat()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Map<String, Value> {
        json!({"command": "toolcrib", "args": ["mcp"]}).as_object().unwrap().clone()
    }

    const NEW: &str = "[s.t]\ncommand = \"toolcrib\"\nargs = [\"mcp\"]\n";

    #[track_caller]
    fn check(before: &str, after: &str) {
        let got = insert(before, "s", "t", &entry()).unwrap();
        assert_eq!(got, after, "inserted");
        assert_eq!(get(&got, "s", "t").unwrap(), Some(Value::Object(entry())));
        assert_eq!(remove(&got, "s", "t").unwrap(), before, "removed");
    }

    #[test]
    fn a_table_comes_and_goes_and_nothing_else_changes() {
        check("", NEW);
        check("# mine\nm = 1 # why\n", &format!("# mine\nm = 1 # why\n\n{NEW}"));
        let text = "m = 1\n\n[s.a] # one\ncommand = 'x'\n# last\n";
        check(text, &format!("{text}\n{NEW}"));
    }

    #[test]
    fn a_table_goes_with_those_within_it() {
        let text = format!(
            "[a]\nx = 1\n\n{NEW}\n[s.t.env]\nK = \"v\"\n\n# about b\n[b]\ny = [\n  1,\n]\n\n[s.t.tools.x]\nz = 1\n"
        );
        let left = "[a]\nx = 1\n\n# about b\n[b]\ny = [\n  1,\n]\n";
        assert_eq!(remove(&text, "s", "t").unwrap(), left);
        let text = "[s]\nt = { command = \"x\" }\na = 1\n";
        assert_eq!(remove(text, "s", "t").unwrap(), "[s]\na = 1\n");
    }

    #[test]
    fn what_cannot_be_changed_is_refused() {
        let err = get("a = 1\nb = \n", "s", "t").unwrap_err();
        assert_eq!((err.kind, err.line), (EditErrorKind::Broken, Some(2)), "{err}");
        assert_eq!(get("s = 1\n", "s", "t").unwrap_err().kind, EditErrorKind::Unusual);
        let inline = "s = { a = { command = \"x\" } }\n";
        assert!(insert(inline, "s", "t", &entry()).is_err());
        assert!(remove("s.t.command = 'x'\ns.t.args = []\n", "s", "t").is_err());
        assert_eq!(get(inline, "s", "t").unwrap(), None, "the control");
    }
}
