//! YAML as lines: where each entry of one top-level mapping stands. It understands the plain block style that clients
//! write, and refuses the rest.

use serde_json::Value;

use super::edit_error::{EditError, EditErrorKind};

/// A mapping at the top level of a file, and its entries.
#[derive(Debug)]
pub(super) struct YamlSection {
    /// The line of its key.
    pub(super) header: usize,
    /// How far its entries are indented; nothing if there are none.
    pub(super) indent: Option<usize>,
    pub(super) entries: Vec<YamlEntry>,
}

/// A key with its value, and its lines.
#[derive(Debug)]
pub(super) struct YamlEntry {
    pub(super) key: String,
    /// What stands behind the key on its line.
    pub(super) rest: String,
    pub(super) first: usize,
    /// The line behind its last one.
    pub(super) end: usize,
}

/// A file as lines.
pub(super) struct YamlFile<'t> {
    pub(super) lines: Vec<&'t str>,
    pub(super) section: Option<YamlSection>,
    /// Whether there are other keys at the top level.
    pub(super) has_others: bool,
}

/// Reads a file whose mapping `servers` is to be changed.
pub(super) fn read<'t>(text: &'t str, servers: &str) -> Result<YamlFile<'t>, EditError> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut file = YamlFile { lines: Vec::new(), section: None, has_others: false };
    let (mut is_within, mut has_key) = (false, false);
    for (at, line) in lines.iter().enumerate() {
        let Some(indent) = indent_of(line, at)? else { continue };
        let content = line.trim();
        if indent > 0 && is_within {
            if let Some(section) = &mut file.section {
                add_line(section, at, indent, content)?;
            }
            continue;
        }
        if content.starts_with('#') || indent > 0 && has_key {
            continue;
        }
        if indent > 0 {
            return Err(unusual(at, "the first key is indented"));
        }
        if content == "---" && !has_key || is_item(content) && has_key && !is_within {
            continue;
        }
        let (key, rest) = key_of(content).ok_or_else(|| broken(at, "this is no key"))?;
        has_key = true;
        is_within = key == servers;
        file.has_others |= !is_within;
        if is_within {
            if file.section.is_some() {
                return Err(unusual(at, &format!("`{servers}` stands here a second time")));
            }
            if !matches!(plain(&rest), "" | "{}") {
                let what = format!("`{servers}` has its entries on the same line");
                return Err(unusual(at, &what));
            }
            file.section = Some(YamlSection { header: at, indent: None, entries: Vec::new() });
        }
    }
    file.lines = lines;
    Ok(file)
}

/// Adds an indented line to a mapping.
fn add_line(
    section: &mut YamlSection,
    at: usize,
    indent: usize,
    content: &str,
) -> Result<(), EditError> {
    let is_comment = content.starts_with('#');
    let own = match section.indent {
        Some(own) => own,
        None if is_comment => return Ok(()),
        None => *section.indent.insert(indent),
    };
    if indent > own {
        // What is indented further belongs to the entry, even if it looks like a comment: it can be text.
        if let Some(entry) = section.entries.last_mut() {
            entry.end = at + 1;
        }
        return Ok(());
    }
    if is_comment {
        return Ok(());
    }
    if indent < own {
        return Err(broken(at, "this is indented less than the entries before it"));
    }
    let (key, rest) = key_of(content).ok_or_else(|| unusual(at, "this is no key of an entry"))?;
    section.entries.push(YamlEntry { key, rest, first: at, end: at + 1 });
    Ok(())
}

/// Returns the fields of an entry, which stand on lines of their own.
pub(super) fn fields(lines: &[&str], entry: &YamlEntry) -> Result<Vec<YamlEntry>, EditError> {
    if !plain(&entry.rest).is_empty() {
        return Err(unusual(entry.first, "the fields of this entry have no lines of their own"));
    }
    let mut fields: Vec<YamlEntry> = Vec::new();
    let mut own = None;
    for (at, line) in lines.iter().enumerate().take(entry.end).skip(entry.first + 1) {
        let Some(indent) = indent_of(line, at)? else { continue };
        let content = line.trim();
        if content.starts_with('#') {
            continue;
        }
        let is_field = indent == *own.get_or_insert(indent) && !is_item(content);
        match fields.last_mut() {
            Some(field) if !is_field => field.end = at + 1,
            _ => {
                let (key, rest) = key_of(content).ok_or_else(|| unusual(at, "this is no field"))?;
                fields.push(YamlEntry { key, rest, first: at, end: at + 1 });
            }
        }
    }
    Ok(fields)
}

/// Returns the value of a field: a text, or a list of texts. Anything else is nothing.
pub(super) fn field_value(lines: &[&str], field: &YamlEntry) -> Value {
    let rest = plain(&field.rest);
    if rest.is_empty() {
        let below = lines[field.first + 1..field.end].iter();
        let below =
            below.map(|line| line.trim()).filter(|it| !it.is_empty() && !it.starts_with('#'));
        let items: Option<Vec<Value>> =
            below.map(|it| scalar(plain(it.strip_prefix("- ")?))).collect();
        return items.map_or(Value::Null, Value::Array);
    }
    if field.end > field.first + 1 {
        return Value::Null;
    }
    match rest.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        Some(inside) => serde_json::from_str(rest).unwrap_or_else(|_| {
            let items: Option<Vec<Value>> =
                inside.split(',').map(|item| scalar(item.trim())).collect();
            items.map_or(Value::Null, Value::Array)
        }),
        None => scalar(rest).unwrap_or(Value::Null),
    }
}

fn scalar(text: &str) -> Option<Value> {
    if text.starts_with('"') {
        return serde_json::from_str(text).ok();
    }
    if let Some(rest) = text.strip_prefix('\'') {
        return Some(rest.strip_suffix('\'')?.replace("''", "'").into());
    }
    let is_plain = !text.starts_with(['{', '[', '&', '*', '!', '|', '>', '%', '@', '`']);
    is_plain.then(|| text.into())
}

/// Returns how far a line is indented; nothing if it is blank.
fn indent_of(line: &str, at: usize) -> Result<Option<usize>, EditError> {
    let rest = line.trim_start_matches(' ');
    if rest.trim().is_empty() {
        return Ok(None);
    }
    if rest.starts_with('\t') {
        return Err(unusual(at, "this line is indented with tabs"));
    }
    Ok(Some(line.len() - rest.len()))
}

fn is_item(content: &str) -> bool {
    content == "-" || content.starts_with("- ")
}

/// Splits `key: rest`.
fn key_of(content: &str) -> Option<(String, String)> {
    let quote = content.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (key, rest) = if let Some(quote) = quote {
        let end = content[1..].find(quote)? + 2;
        let (key, rest) = content.split_at(end);
        (scalar(key)?.as_str()?.to_owned(), rest.trim_start().strip_prefix(':')?)
    } else {
        let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
        let end = content.find(|c| !is_part(c))?;
        (content[..end].to_owned(), content[end..].trim_start().strip_prefix(':')?)
    };
    let is_end = rest.is_empty() || rest.starts_with([' ', '\t']);
    (is_end && !key.is_empty() && !is_item(content)).then(|| (key, rest.trim().to_owned()))
}

/// Returns a value without the comment behind it.
fn plain(rest: &str) -> &str {
    if rest.starts_with('#') {
        return "";
    }
    // Within quotation marks, what looks like a comment is text.
    let skipped = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest.rfind(quote).unwrap_or(0),
        _ => 0,
    };
    let end = rest[skipped..].find(" #").map_or(rest.len(), |end| skipped + end);
    rest[..end].trim_end()
}

fn unusual(at: usize, what: &str) -> EditError {
    EditError { kind: EditErrorKind::Unusual, line: Some(at + 1), what: what.to_owned() }
}

fn broken(at: usize, what: &str) -> EditError {
    EditError { kind: EditErrorKind::Broken, line: Some(at + 1), what: what.to_owned() }
}
