//! Changes one value in the text of a settings file, and leaves comments, order and all else as they are.

use toml::{Table, Value};

use super::list_edit::{EditedValue, edit_list};

/// The text of a settings file after a change.
pub(crate) struct EditedSettingsText {
    pub(crate) text: String,
    /// The comments within the old value that the new one does not have.
    pub(crate) lost_comments: Vec<String>,
}

/// Returns the text with `name` set to `value`, or nothing if this cannot be done without changing anything else. `name`
/// has dots between tables.
pub(crate) fn set_value(text: &str, name: &str, value: &Value) -> Option<EditedSettingsText> {
    let before: Table = text.parse().ok()?;
    let (edited, lost_comments) = match find_value(text, name) {
        Some((start, end)) => {
            let new = new_value(&text[start..end], value);
            (format!("{}{}{}", &text[..start], new.text, &text[end..]), new.lost)
        }
        None => (insert(text, name, &value.to_string()), Vec::new()),
    };
    // The edit is made by lines, and TOML is more than lines: what it did is checked.
    let after: Table = edited.parse().ok()?;
    let mut wanted = before;
    put(&mut wanted, name, value.clone())?;
    (after == wanted).then_some(EditedSettingsText { text: edited, lost_comments })
}

/// Returns a settings file without a value, which it has; nothing if other lines would have to change.
pub(crate) fn unset_value(text: &str, name: &str) -> Option<String> {
    let mut wanted: Table = text.parse().ok()?;
    let (start, end) = find_value(text, name)?;
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
    let edited = format!("{}{}", &text[..line_start], &text[line_end..]);
    take(&mut wanted, name)?;
    (edited.parse::<Table>().ok()? == wanted).then_some(edited)
}

/// Whether a settings file has a value. Text that is no settings file has none.
pub(super) fn has_value(text: &str, name: &str) -> bool {
    text.parse::<Table>().is_ok_and(|mut table| take(&mut table, name).is_some())
}

fn take(table: &mut Table, name: &str) -> Option<Value> {
    match name.split_once('.') {
        None => table.remove(name),
        Some((first, rest)) => take(table.get_mut(first)?.as_table_mut()?, rest),
    }
}

/// Returns the text of a value that takes the place of another.
fn new_value(old: &str, value: &Value) -> EditedValue {
    let kept = value.as_array().and_then(|entries| edit_list(old, entries));
    kept.unwrap_or_else(|| EditedValue { text: value.to_string(), lost: comments_in(old) })
}

/// Returns the comments within a value that has several lines. The end of a line is a comment if the value is the same
/// without it.
fn comments_in(value: &str) -> Vec<String> {
    let parse = |text: &str| format!("it = {text}\n").parse::<Table>().ok();
    let whole = parse(value);
    let (mut comments, mut offset) = (Vec::new(), 0);
    for line in value.split_inclusive('\n') {
        let end = offset + line.trim_end().len();
        let is_comment = |at: &usize| {
            whole.is_some() && parse(&format!("{}{}", &value[..*at], &value[end..])) == whole
        };
        let mut starts = line.match_indices('#').map(|(at, _)| offset + at);
        comments.extend(starts.find(is_comment).map(|at| value[at..end].to_owned()));
        offset += line.len();
    }
    comments
}

/// Puts a value into nested tables.
fn put(table: &mut Table, name: &str, value: Value) -> Option<()> {
    match name.split_once('.') {
        None => {
            table.insert(name.to_owned(), value);
            Some(())
        }
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            put(inner.as_table_mut()?, rest, value)
        }
    }
}

/// A line that begins a table or a value.
enum LineStart {
    /// `[name]`
    Header(String),
    /// `name = …`, and the offset of what follows the sign.
    Value(String, usize),
}

/// Returns what a line begins, if it begins something.
fn line_start(line: &str) -> Option<LineStart> {
    let is_name = |name: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-. \"'".contains(&byte);
        !name.is_empty() && name.bytes().all(is_part)
    };
    let plain = |name: &str| -> String {
        name.chars().filter(|c| !matches!(c, ' ' | '"' | '\'')).collect()
    };
    let trimmed = line.trim_start();
    if let Some(rest) = trimmed.strip_prefix('[') {
        let name = rest.split(']').next().unwrap_or_default();
        return is_name(name).then(|| LineStart::Header(plain(name)));
    }
    let sign = line.find('=')?;
    let name = line[..sign].trim();
    is_name(name).then(|| LineStart::Value(plain(name), sign + 1))
}

/// A value in the text.
struct FoundValue {
    /// The name, with those of its tables.
    name: String,
    /// The table that it stands in.
    table: String,
    /// Where the value begins and ends.
    value: (usize, usize),
}

/// Returns every value in the text, as far as they can be told apart by lines.
fn values(text: &str) -> Vec<FoundValue> {
    let mut found: Vec<FoundValue> = Vec::new();
    let (mut table, mut offset) = (String::new(), 0);
    for line in text.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        // A line inside a value that goes over several lines begins nothing.
        if found.last().is_some_and(|last| start < last.value.1) {
            continue;
        }
        match line_start(line) {
            Some(LineStart::Header(name)) => table = name,
            Some(LineStart::Value(name, after)) => {
                if let Some(value) = value_range(text, start + after) {
                    let name = if table.is_empty() { name } else { format!("{table}.{name}") };
                    found.push(FoundValue { name, table: table.clone(), value });
                }
            }
            None => {}
        }
    }
    found
}

/// Returns where the value that begins behind a sign begins and ends. It is the shortest text up to the end of a line
/// or up to a comment that is a value.
fn value_range(text: &str, after: usize) -> Option<(usize, usize)> {
    let rest = &text[after..];
    let start = after + (rest.len() - rest.trim_start_matches([' ', '\t']).len());
    let ends = rest.match_indices(['\n', '#']).map(|(at, _)| after + at).chain([text.len()]);
    ends.filter(|end| *end >= start)
        .map(|end| text[start..end].trim_end())
        .find(|value| format!("it = {value}\n").parse::<Table>().is_ok_and(|it| it.len() == 1))
        .map(|value| (start, start + value.len()))
}

fn find_value(text: &str, name: &str) -> Option<(usize, usize)> {
    values(text).into_iter().find(|found| found.name == name).map(|found| found.value)
}

/// Returns the text with a new value: in its table behind the last value there, or in a new table at the end.
fn insert(text: &str, name: &str, written: &str) -> String {
    let (table, key) = name.rsplit_once('.').unwrap_or(("", name));
    let line = format!("{key} = {written}\n");
    let of_table = values(text).into_iter().rev().find(|found| found.table == table);
    let after = of_table.map(|found| found.value.1).or_else(|| header_end(text, table));
    match after {
        Some(after) => {
            let end = text[after..].find('\n').map_or(text.len(), |at| after + at + 1);
            let gap = if text[..end].ends_with('\n') { "" } else { "\n" };
            format!("{}{gap}{line}{}", &text[..end], &text[end..])
        }
        // What belongs to no table stands before all tables.
        None if table.is_empty() => {
            let gap = if text.starts_with('[') { "\n" } else { "" };
            format!("{line}{gap}{text}")
        }
        None => {
            let gap = match text {
                "" => "",
                text if text.ends_with('\n') => "\n",
                _ => "\n\n",
            };
            format!("{text}{gap}[{table}]\n{line}")
        }
    }
}

/// Returns where the header of a table stands.
fn header_end(text: &str, table: &str) -> Option<usize> {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if matches!(line_start(line), Some(LineStart::Header(name)) if name == table) {
            return Some(offset);
        }
        offset += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, name: &str, value: &str, expect: Option<&str>) {
        let mut table: Table = format!("it = {value}").parse().unwrap();
        let got = set_value(text, name, &table.remove("it").unwrap());
        assert_eq!(got.as_ref().map(|it| it.text.as_str()), expect, "{text}");
    }

    #[track_caller]
    fn check_lost(text: &str, value: &str, expect: &[&str]) {
        let mut table: Table = format!("it = {value}").parse().unwrap();
        let got = set_value(text, "it", &table.remove("it").unwrap()).unwrap();
        assert_eq!(got.lost_comments, expect, "{text}");
    }

    #[test]
    fn comments_within_a_list_stay_or_are_told() {
        let text = "roots = [\n  '/a', # one\n  '/b',\n] # all\nmode = 'strict'\n";
        // Another key does not touch them.
        check(text, "mode", "'s'", Some(&text.replace("'strict'", "\"s\"")));
        let more = "roots = [\n  '/a', # one\n  '/b',\n  \"/c\",\n] # all\nmode = 'strict'\n";
        check(text, "roots", "['/a', '/b', '/c']", Some(more));
        let list = "it = [\n  '/a', # one\n  '/b', # '#'\n]\n";
        check_lost(list, "['/a', '/b']", &[]);
        check_lost(list, "['/b']", &["# one"]);
        // What cannot be kept at all is told, and what only looks like a comment is not.
        check_lost("it = [\n  ['#'], # one\n]\n", "['/a']", &["# one"]);
        check_lost("it = '''\n# text\n'''\n", "'x'", &[]);
        check_lost("it = 1 # stays\n", "2", &[]);
    }

    #[test]
    fn a_value_is_replaced_and_its_comment_stays() {
        check(
            "# mine\nmode = 'strict'  # why\n",
            "mode",
            "'standard'",
            Some("# mine\nmode = \"standard\"  # why\n"),
        );
        let text = "[sandbox]\nprocesses=5\n\n[files]\n";
        check(text, "sandbox.processes", "7", Some("[sandbox]\nprocesses=7\n\n[files]\n"));
        check("sandbox.processes = 5", "sandbox.processes", "7", Some("sandbox.processes = 7"));
        let text = "roots = [\n  '/a', # one\n  '/b',\n] # all\nmode = 'strict'\n";
        let one = "roots = [\n  \"/c\",\n] # all\nmode = 'strict'\n";
        check(text, "roots", "['/c']", Some(one));
        check("x = '#'\n", "x", "'y'", Some("x = \"y\"\n"));
    }

    #[test]
    fn a_new_value_goes_to_its_table() {
        check("", "mode", "'strict'", Some("mode = \"strict\"\n"));
        check("", "files.protected", "['a']", Some("[files]\nprotected = [\"a\"]\n"));
        check(
            "# mine\n\n[files]\nx = 1 # c\n\n[b]\n",
            "files.y",
            "2",
            Some("# mine\n\n[files]\nx = 1 # c\ny = 2\n\n[b]\n"),
        );
        check("[files] # f\n[b]\n", "files.y", "2", Some("[files] # f\ny = 2\n[b]\n"));
        check("[b]\nx = 1", "mode", "'strict'", Some("mode = \"strict\"\n\n[b]\nx = 1"));
        check("[b]\nx = 1", "files.y", "2", Some("[b]\nx = 1\n\n[files]\ny = 2\n"));
        check("a = 1 # one\n[b]\n", "mode", "'s'", Some("a = 1 # one\nmode = \"s\"\n[b]\n"));
    }

    #[test]
    fn what_cannot_be_changed_by_lines_is_left_alone() {
        check("files = { x = 1 }\n", "files.y", "2", None);
        check("mode = \n", "mode", "'strict'", None);
        check("files = 1\n", "files.y", "2", None);
        // A line in a text is no value.
        let text = "note = '''\nmode = 1\n'''\n";
        check(text, "mode", "2", Some("note = '''\nmode = 1\n'''\nmode = 2\n"));
    }
}
