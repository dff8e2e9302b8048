//! JSON Schemas: derived from argument types, trimmed for models, and used to explain arguments that do not fit.

use std::borrow::Cow;
use std::fmt::Write;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value, json};

use crate::error::{ErrorKind, ToolError};
use crate::nearest::{each, either, nearest};

/// Returns the schema of `T` without the parts that only cost a model tokens or break a strict mode: no `$schema`,
/// `title`, `format` or `$defs`. The type of an optional argument does not include `null`.
pub fn of<T: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    trim(&mut schema);
    if let Value::Object(object) = &mut schema {
        // The comment of the type is for its author; the tool's summary is for the caller.
        object.remove("description");
        object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

/// Returns the schema of a reply. Fields may be added to replies, so it forbids none.
pub fn of_reply<T: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.contract = schemars::generate::Contract::Serialize;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    trim_reply(&mut schema);
    schema
}

/// Removes what only costs tokens, or would forbid fields.
fn trim_reply(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            for key in ["$schema", "title", "format", "additionalProperties", "description"] {
                // A field may have such a name, and then has a schema of its own.
                if !object.get(key).is_some_and(Value::is_object) {
                    object.remove(key);
                }
            }
            split_optional_types(object);
            object.values_mut().for_each(trim_reply);
        }
        Value::Array(items) => items.iter_mut().for_each(trim_reply),
        _ => {}
    }
}

/// Gives each field one type, because some clients do not know lists of types. A field that is left out when it is nothing
/// is never null.
fn split_optional_types(object: &mut Map<String, Value>) {
    let required: Vec<Value> =
        object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(fields)) = object.get_mut("properties") else { return };
    for (name, field) in fields.iter_mut() {
        let is_optional = !required.iter().any(|it| it == name.as_str());
        if *field == true {
            // Anything, as clients know it.
            *field = json!({});
        }
        let Value::Object(field) = field else { continue };
        if is_optional {
            unwrap_option(field);
        }
        let Some(Value::Array(types)) = field.get_mut("type") else { continue };
        if is_optional {
            types.retain(|kind| kind != "null");
        }
        if let [one] = types.as_slice() {
            let one = one.clone();
            field.insert("type".to_owned(), one);
        } else if types.len() == 2 && types.iter().any(|kind| kind == "null") {
            types.retain(|kind| kind != "null");
            let mut one = std::mem::take(field);
            let kind = one.get("type").and_then(|types| types.get(0)).cloned().unwrap_or_default();
            one.insert("type".to_owned(), kind);
            field.insert("anyOf".to_owned(), json!([one, {"type": "null"}]));
        }
    }
}

fn trim(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    for key in ["$schema", "title", "format", "$defs"] {
        object.remove(key);
    }
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    unwrap_option(object);
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(trim);
    }
    if let Some(items) = object.get_mut("items") {
        trim(items);
    }
}

/// Turns `anyOf: [X, null]` into `X`.
fn unwrap_option(object: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = object.get_mut("anyOf") else { return };
    branches.retain(|branch| branch.get("type").is_none_or(|name| name != "null"));
    if branches.len() == 1
        && let Some(Value::Object(only)) = branches.pop()
    {
        object.remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
        let mut whole = Value::Object(std::mem::take(object));
        trim(&mut whole);
        if let Value::Object(trimmed) = whole {
            *object = trimmed;
        }
    }
}

/// How a value is called that must fit a schema, in the messages about what does not.
#[derive(Clone, Copy, Debug)]
pub struct ValueWords {
    /// The value as a whole.
    pub whole: &'static str,
    /// One of its members.
    pub member: &'static str,
    /// What is said if it can have no members.
    pub none: &'static str,
}

/// The words for the arguments of a tool.
const ARGUMENTS: ValueWords =
    ValueWords { whole: "arguments", member: "argument", none: "the tool takes none" };

/// Returns the error for arguments that do not fit: every fault, with its path. `reason` is the parser's message, for a
/// fault that the schema cannot express.
pub fn explain(schema: &Value, args: &Value, reason: &str) -> ToolError {
    let (message, paths) = faults_in(ARGUMENTS, schema, args, reason);
    let paths: Vec<Value> = paths.into_iter().map(Value::from).collect();
    ToolError::new(ErrorKind::BadArgs, message).with("arguments", paths)
}

/// Returns what does not fit, in one sentence, and the paths of the members at fault.
pub fn faults_in(
    words: ValueWords,
    schema: &Value,
    value: &Value,
    reason: &str,
) -> (String, Vec<String>) {
    let mut search = FaultSearch { words, faults: Vec::new() };
    search.find(schema, value, "");
    let mut faults = search.faults;
    if faults.is_empty() {
        faults.push(Fault { path: String::new(), what: reason.to_owned() });
    }
    let mut message = String::new();
    for (index, fault) in faults.iter().take(5).enumerate() {
        let _ = write!(message, "{}{}", if index > 0 { "; " } else { "" }, fault.what);
    }
    if faults.len() > 5 {
        let _ = write!(message, "; and {} more", faults.len() - 5);
    }
    let paths = faults.into_iter().map(|fault| fault.path).filter(|path| !path.is_empty());
    (message, paths.collect())
}

struct Fault {
    path: String,
    what: String,
}

/// Looks for what does not fit.
struct FaultSearch {
    words: ValueWords,
    faults: Vec<Fault>,
}

impl FaultSearch {
    fn add(&mut self, path: &str, what: String) {
        self.faults.push(Fault { path: path.to_owned(), what });
    }

    fn find(&mut self, schema: &Value, value: &Value, path: &str) {
        if let Some(expected) = schema.get("type").and_then(Value::as_str)
            && !is_of_type(value, expected)
        {
            let place =
                if path.is_empty() { self.words.whole.to_owned() } else { format!("`{path}`") };
            let got = describe(value);
            return self
                .add(path, format!("{place} must be {}, not {got}", with_article(expected)));
        }
        if let Some(Value::Array(allowed)) = schema.get("enum")
            && !allowed.contains(value)
        {
            let names: Vec<_> = allowed.iter().filter_map(Value::as_str).collect();
            let what = format!("`{path}` must be {}, not {}", either(&names), describe(value));
            return self.add(path, what);
        }
        let number = value.as_f64();
        for (key, word) in [("minimum", "at least"), ("maximum", "at most")] {
            let Some(bound) = schema.get(key) else { continue };
            let over = |number: f64, limit: f64| {
                if key == "minimum" { number < limit } else { number > limit }
            };
            if let (Some(number), Some(limit)) = (number, bound.as_f64())
                && over(number, limit)
            {
                return self.add(path, format!("`{path}` must be {word} {bound}, not {value}"));
            }
        }
        match value {
            Value::Object(object) => self.find_in_object(schema, object, path),
            Value::Array(items) => {
                if let Some(schema) = schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.find(schema, item, &format!("{path}[{index}]"));
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn find_in_object(&mut self, schema: &Value, object: &Map<String, Value>, path: &str) {
        let Some(Value::Object(properties)) = schema.get("properties") else { return };
        let join =
            |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let required = schema.get("required").and_then(Value::as_array);
        let required: Vec<&str> =
            required.into_iter().flatten().filter_map(Value::as_str).collect();
        for name in &required {
            if !object.contains_key(*name) {
                self.add(&join(name), format!("`{}` is missing", join(name)));
            }
        }
        for (name, value) in object {
            match properties.get(name) {
                // An optional member may be null, because models send null for "not given".
                Some(_) if value.is_null() && !required.contains(&name.as_str()) => {}
                Some(schema) => self.find(schema, value, &join(name)),
                None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                    let known: Vec<&str> = properties.keys().map(String::as_str).collect();
                    let near = nearest(name, known.iter().copied(), 1);
                    let ValueWords { member, none, .. } = self.words;
                    let rest = match (near.as_slice(), known.is_empty()) {
                        ([near], _) => format!("did you mean `{near}`?"),
                        (_, true) => none.to_owned(),
                        (_, false) => format!("the {member}s are {}", each(&known)),
                    };
                    self.add(&join(name), format!("there is no {member} `{}`; {rest}", join(name)));
                }
                None => {}
            }
        }
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn with_article(name: &str) -> String {
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {name}")
}

fn describe(value: &Value) -> String {
    const MOST_SHOWN_CHARACTERS: usize = 40;
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(value) => format!("the number {value}"),
        Value::String(text) if text.chars().count() > MOST_SHOWN_CHARACTERS => {
            format!("a string of {} characters", text.chars().count())
        }
        Value::String(text) => format!("the string {}", Value::from(text.as_str())),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A whole number between two bounds. The schema states the bounds, and the parser enforces them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Within<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Within<MIN, MAX> {
    /// Returns the number, if it is within the bounds.
    pub fn of(number: u64) -> Option<Self> {
        (MIN..=MAX).contains(&number).then_some(Self(number))
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Within<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        if (MIN..=MAX).contains(&number) {
            return Ok(Self(number));
        }
        Err(de::Error::custom(format!("{number} is not between {MIN} and {MAX}")))
    }
}

impl<const MIN: u64, const MAX: u64> JsonSchema for Within<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("Within{MIN}To{MAX}"))
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": MIN, "maximum": MAX})
    }
}

/// A whole number with a lower bound, which is capped at an upper bound. The schema states both. A caller that asks for
/// more gets the most there is, and a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capped<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Capped<MIN, MAX> {
    /// The number, or the upper bound if it is lower.
    pub fn get(self) -> u64 {
        self.0.min(MAX)
    }

    /// Returns a warning if the number of the argument `name` was capped.
    pub fn warning(self, name: &str) -> Option<String> {
        let asked = self.0;
        (asked > MAX)
            .then(|| format!("`{name}` can be {MAX} at most, so {MAX} was used, not {asked}"))
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Capped<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        if number >= MIN {
            return Ok(Self(number));
        }
        Err(de::Error::custom(format!("{number} is less than {MIN}")))
    }
}

impl<const MIN: u64, const MAX: u64> JsonSchema for Capped<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("Capped{MIN}To{MAX}"))
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Within::<MIN, MAX>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Args {
        /// Where.
        path: String,
        /// How far.
        depth: Option<Within<1, 3>>,
        /// What.
        items: Vec<Item>,
        /// Which.
        sort: Option<Sort>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Item {
        /// Done?
        done: bool,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Sort {
        Name,
        Size,
    }

    #[test]
    fn schema_holds_what_a_model_needs_and_nothing_else() {
        let expect = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Where."},
                "depth": {"type": "integer", "minimum": 1, "maximum": 3, "description": "How far."},
                "items": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"done": {"type": "boolean", "description": "Done?"}},
                        "additionalProperties": false,
                        "required": ["done"],
                    },
                    "description": "What.",
                },
                "sort": {"type": "string", "enum": ["name", "size"], "description": "Which."},
            },
            "additionalProperties": false,
            "required": ["path", "items"],
        });
        assert_eq!(of::<Args>(), expect);
    }

    #[track_caller]
    fn check(args: Value, expect: &str) {
        let err = serde_json::from_value::<Args>(args.clone()).err().expect("refused");
        assert_eq!(explain(&of::<Args>(), &args, &err.to_string()).message, expect);
    }

    #[test]
    fn faults_are_named_with_their_path() {
        check(json!({"path": 5, "items": []}), "`path` must be a string, not the number 5");
        check(json!({"items": []}), "`path` is missing");
        check(
            json!({"path": "", "items": [{"done": true}, {"done": "yes"}]}),
            "`items[1].done` must be a boolean, not the string \"yes\"",
        );
        check(
            json!({"paht": "x", "path": "x", "items": []}),
            "there is no argument `paht`; did you mean `path`?",
        );
        check(json!({"path": "", "items": [], "depth": 9}), "`depth` must be at most 3, not 9");
        check(
            json!({"path": "", "items": [], "sort": "time"}),
            "`sort` must be `name` or `size`, not the string \"time\"",
        );
        check(json!([1]), "arguments must be an object, not an array of 1");
    }

    #[test]
    fn several_faults_are_reported_at_once() {
        check(json!({"path": 5}), "`items` is missing; `path` must be a string, not the number 5");
    }

    #[test]
    fn a_number_above_its_cap_is_capped_with_a_warning() {
        let read = |text: &str| serde_json::from_str::<Capped<1, 3>>(text).ok();
        let warned = |text: &str| read(text).map(|it| (it.get(), it.warning("depth")));
        assert_eq!(warned("3"), Some((3, None)));
        let warning = "`depth` can be 3 at most, so 3 was used, not 9";
        assert_eq!(warned("9"), Some((3, Some(warning.to_owned()))));
        for text in ["0", "-1", "\"9\"", "1.5", "1e30"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn null_stands_for_an_optional_argument_that_is_not_given() {
        let args = json!({"path": "", "items": [], "depth": null});
        assert!(serde_json::from_value::<Args>(args).is_ok());
    }
}
