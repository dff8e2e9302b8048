//! Names what is wrong with the shape of a rules file: fields that rules do not have, and values of another type. This is
//! only for files that cannot be read as rules: it names all such fields at once, each with what was probably meant.

use toml::{Spanned, Table, Value};

use super::rules_error::{RuleFault, RulesErrorKind};
use crate::nearest::{either, nearest};

/// The fields of a rule, each with the value that it takes.
const FIELDS: [(&str, FieldShape); 21] = [
    ("id", FieldShape::Text),
    ("tool", FieldShape::Texts),
    ("principal", FieldShape::Texts),
    ("role", FieldShape::Texts),
    ("door", FieldShape::Texts),
    ("argv", FieldShape::Words),
    ("exact", FieldShape::Switch),
    ("words", FieldShape::Text),
    ("danger", FieldShape::Texts),
    ("paths", FieldShape::Texts),
    ("writes", FieldShape::Texts),
    ("hosts", FieldShape::Texts),
    ("args", FieldShape::Text),
    ("call", FieldShape::Table),
    ("effect", FieldShape::Text),
    ("because", FieldShape::Text),
    ("expires", FieldShape::Any),
    ("confirm", FieldShape::Switch),
    ("enabled", FieldShape::Switch),
    ("covers", FieldShape::List),
    ("spares", FieldShape::List),
];

/// The kind of value that a field takes.
#[derive(Clone, Copy)]
enum FieldShape {
    Text,
    /// A text, or a list of them.
    Texts,
    /// A list of words, each of which can be a list of several.
    Words,
    Switch,
    Table,
    List,
    Any,
}

impl FieldShape {
    fn fits(self, value: &Value) -> bool {
        let is_texts = |it: &Value| {
            it.is_str() || it.as_array().is_some_and(|all| all.iter().all(Value::is_str))
        };
        match self {
            Self::Text => value.is_str(),
            Self::Texts => is_texts(value),
            Self::Words => value.as_array().is_some_and(|all| all.iter().all(is_texts)),
            Self::Switch => value.is_bool(),
            Self::Table => value.is_table(),
            Self::List => value.is_array(),
            Self::Any => true,
        }
    }

    fn wanted(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Texts => "a string or a list of strings",
            Self::Words => "a list of words",
            Self::Switch => "true or false",
            Self::Table => "a table",
            Self::List => "a list",
            Self::Any => "a value",
        }
    }
}

/// How many faults of one file are named. A file of a project must not keep people waiting.
pub(super) const MOST_NAMED_FAULTS: usize = 20;

/// Names that people write for a field, and that are not spelt like it.
const MEANT: [(&str, &str); 12] = [
    ("action", "effect"),
    ("command", "argv"),
    ("comment", "because"),
    ("decision", "effect"),
    ("description", "because"),
    ("domain", "hosts"),
    ("file", "paths"),
    ("files", "paths"),
    ("name", "id"),
    ("reason", "because"),
    ("until", "expires"),
    ("verdict", "effect"),
];

/// Returns the unknown and the missing fields of every rule in a text, and the fields with values of another type, each
/// with its line. Returns nothing if the text is no TOML, or if something else is wrong.
pub(super) fn shape_faults(text: &str) -> Vec<(usize, RuleFault)> {
    let Ok(table) = text.parse::<Table>() else { return Vec::new() };
    let mut faults = Vec::new();
    for name in table.keys().filter(|name| *name != "rule").take(MOST_NAMED_FAULTS) {
        let fault = RuleFault::new(RulesErrorKind::Syntax, format!("there is no field `{name}`"));
        let hint = "a rules file has nothing but rules, and each begins with `[[rule]]`";
        faults.push((line_of_key(text, 1, name), fault.hint(hint)));
    }
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    for (start, rule) in rules_of(text) {
        if faults.len() >= MOST_NAMED_FAULTS {
            break;
        }
        let line = ends.partition_point(|end| *end < start) + 1;
        for (name, value) in &rule {
            if faults.len() >= MOST_NAMED_FAULTS {
                break;
            }
            let fault = match FIELDS.iter().find(|(field, _)| field == name) {
                None => Some(unknown_field(name)),
                Some((_, shape)) if shape.fits(value) => None,
                Some((_, shape)) => Some(wrong_value(name, value, *shape)),
            };
            faults.extend(fault.map(|fault| (line_of_key(text, line, name), fault)));
        }
        if !rule.contains_key("effect") {
            let fault = RuleFault::new(RulesErrorKind::Syntax, "the rule has no `effect`");
            faults.push((
                line,
                fault.hint("write `effect` = \"allow\", \"ask\", \"deny\" or \"audit\""),
            ));
        }
    }
    faults
}

fn unknown_field(name: &str) -> RuleFault {
    let fault = RuleFault::new(RulesErrorKind::Syntax, format!("a rule has no field `{name}`"));
    let meant = MEANT.iter().find(|(written, _)| *written == name).map(|it| it.1);
    let fields = FIELDS.map(|it| it.0);
    let near = meant.map_or_else(|| nearest(name, fields, 1), |meant| vec![meant]);
    if near.is_empty() {
        return fault
            .hint(format!("its fields are {}", fields.map(|it| format!("`{it}`")).join(", ")));
    }
    fault.hint(format!("did you mean {}?", either(&near)))
}

fn wrong_value(name: &str, value: &Value, shape: FieldShape) -> RuleFault {
    let (wanted, given) = (shape.wanted(), value.type_str());
    let fault = RuleFault::field(format!("`{name}` must be {wanted}, not a value of type {given}"));
    match (shape, value) {
        (FieldShape::Words, Value::String(text)) => {
            let words: Vec<Value> = text.split_whitespace().map(Value::from).collect();
            fault.hint(format!("write {name} = {}", Value::Array(words)))
        }
        (FieldShape::List, Value::String(_)) => fault.hint(format!("write {name} = [{value}]")),
        _ => fault,
    }
}

/// Returns the rules of a text as tables, each with the place where it begins.
fn rules_of(text: &str) -> Vec<(usize, Table)> {
    #[derive(serde::Deserialize)]
    struct Rules {
        #[serde(default)]
        rule: Vec<Spanned<Value>>,
    }
    let Ok(Rules { rule }) = toml::from_str::<Rules>(text) else { return Vec::new() };
    let table = |rule: Spanned<Value>| match (rule.span().start, rule.into_inner()) {
        (start, Value::Table(table)) => Some((start, table)),
        _ => None,
    };
    rule.into_iter().filter_map(table).collect()
}

/// Returns the line of a key: the first from `line` on that begins with it.
fn line_of_key(text: &str, line: usize, key: &str) -> usize {
    let is_it = |text: &str| {
        let text = text.trim_start().trim_start_matches(['[', '"', '\'']);
        let rest = text.strip_prefix(key).unwrap_or("x").trim_start_matches(['"', '\'']);
        rest.trim_start().starts_with(['=', '.', ']'])
    };
    let after = text.lines().enumerate().skip(line - 1);
    after.into_iter().find(|(_, text)| is_it(text)).map_or(line, |(at, _)| at + 1)
}
