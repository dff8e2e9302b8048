//! JSON Schemas that others wrote: within bounds, without references to elsewhere, and compiled once, at their first use.

use std::sync::OnceLock;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use toolcrib_core::schema::{ValueWords, explain, faults_in};
use toolcrib_core::{ErrorKind, ToolError};

use crate::plugin_error::{PluginError, PluginErrorKind};

/// The longest schema, in bytes of JSON.
const MAX_SCHEMA_BYTES: usize = 64 << 10;

/// The deepest nesting of a schema.
const MAX_SCHEMA_DEPTH: usize = 32;

/// The most values in a schema.
const MAX_SCHEMA_NODES: usize = 2_000;

/// The most values in a schema if every reference stood for a copy. Without this bound, thirty lines of references could
/// keep the validator busy for years.
const MAX_EXPANDED_NODES: usize = 20_000;

/// The longest chain of references.
const MAX_REFERENCES: usize = 16;

/// The most memory of one compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The words for the result of a plugin.
const RESULT: ValueWords =
    ValueWords { whole: "the result", member: "field", none: "the result has none" };

/// A schema that is within bounds.
#[derive(Debug)]
pub struct CheckedSchema {
    value: Value,
    validator: OnceLock<Result<Validator, PluginError>>,
}

impl CheckedSchema {
    /// Checks the bounds. The schema is compiled later, because that takes longer than most calls.
    pub fn new(value: Value) -> Result<Self, PluginError> {
        let bytes = serde_json::to_string(&value).map_or(usize::MAX, |text| text.len());
        if bytes > MAX_SCHEMA_BYTES {
            return Err(bad(format!("the schema is longer than {MAX_SCHEMA_BYTES} bytes")));
        }
        let mut walk = SchemaWalk { root: &value, count: 0, most: MAX_SCHEMA_NODES };
        walk.count_plain(&value, 0)?;
        walk = SchemaWalk { root: &value, count: 0, most: MAX_EXPANDED_NODES };
        walk.count_expanded(&value, &mut Vec::new())?;
        Ok(Self { value, validator: OnceLock::new() })
    }

    /// Returns the schema.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Compiles the schema, if nobody has.
    pub fn compile(&self) -> Result<(), PluginError> {
        self.validator().map(|_| ())
    }

    /// Fails with every fault if the arguments do not fit.
    pub fn check_args(&self, args: &Value) -> Result<(), ToolError> {
        match self.first_fault(args)? {
            Some(fault) => Err(explain(&self.value, args, &fault)),
            None => Ok(()),
        }
    }

    /// Fails if the result does not fit.
    pub fn check_result(&self, result: &Value) -> Result<(), ToolError> {
        let Some(fault) = self.first_fault(result)? else { return Ok(()) };
        let (faults, paths) = faults_in(RESULT, &self.value, result, &fault);
        let message = format!("the plugin's result does not fit its `output`: {faults}");
        Err(ToolError::new(ErrorKind::Failed, message)
            .with("reason", "bad_result")
            .with("fields", paths)
            .hint("correct the plugin, or its `output`"))
    }

    fn first_fault(&self, value: &Value) -> Result<Option<String>, PluginError> {
        let fault = self.validator()?.validate(value).err();
        Ok(fault.map(|fault| match fault.instance_path().as_str() {
            "" => fault.to_string(),
            path => format!("`{}`: {fault}", path.trim_start_matches('/')),
        }))
    }

    fn validator(&self) -> Result<&Validator, PluginError> {
        let compiled = self.validator.get_or_init(|| {
            // The usual patterns of this library backtrack, and a schema must not decide how long a call takes.
            let patterns = PatternOptions::regex().size_limit(MAX_PATTERN_BYTES);
            let options = jsonschema::options().offline().with_pattern_options(patterns);
            options.build(&self.value).map_err(|err| {
                let path = err.instance_path().as_str().to_owned();
                let place = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
                bad(format!("the schema is not valid{place}: {err}"))
            })
        });
        compiled.as_ref().map_err(Clone::clone)
    }
}

fn bad(message: String) -> PluginError {
    PluginError::new(PluginErrorKind::BadSchema, message)
        .hint("correct the schema: JSON Schema 2020-12 with references like `#/$defs/name` only")
}

/// Counts the values of a schema.
struct SchemaWalk<'a> {
    root: &'a Value,
    count: usize,
    most: usize,
}

impl<'a> SchemaWalk<'a> {
    fn add_one(&mut self) -> Result<(), PluginError> {
        self.count += 1;
        if self.count > self.most {
            return Err(bad(format!("the schema has more than {} values", self.most)));
        }
        Ok(())
    }

    /// Counts the values as they stand, and refuses what leads elsewhere.
    fn count_plain(&mut self, node: &Value, depth: usize) -> Result<(), PluginError> {
        self.add_one()?;
        if depth > MAX_SCHEMA_DEPTH {
            let message = format!("the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels");
            return Err(bad(message));
        }
        match node {
            Value::Object(object) => {
                for (key, value) in object {
                    let is_refused = match key.as_str() {
                        "$dynamicRef" | "$recursiveRef" => value.is_string(),
                        // Below such an id, `#` would mean something else.
                        "$id" | "id" => value.is_string() && depth > 0,
                        _ => false,
                    };
                    if is_refused {
                        return Err(bad(format!("the schema has `{key}`, which is not supported")));
                    }
                    self.count_plain(value, depth + 1)?;
                }
                Ok(())
            }
            Value::Array(items) => {
                items.iter().try_for_each(|item| self.count_plain(item, depth + 1))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    /// Counts the values as if every reference stood for a copy of its target.
    fn count_expanded(
        &mut self,
        node: &'a Value,
        within: &mut Vec<&'a str>,
    ) -> Result<(), PluginError> {
        self.add_one()?;
        match node {
            Value::Object(object) => {
                if let Some(Value::String(reference)) = object.get("$ref") {
                    self.count_reference(reference, within)?;
                }
                object.values().try_for_each(|value| self.count_expanded(value, within))
            }
            Value::Array(items) => {
                items.iter().try_for_each(|item| self.count_expanded(item, within))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn count_reference(
        &mut self,
        reference: &'a str,
        within: &mut Vec<&'a str>,
    ) -> Result<(), PluginError> {
        if within.contains(&reference) || reference == "#" {
            return Err(bad(format!("`{reference}` refers to itself, which is not supported")));
        }
        if within.len() >= MAX_REFERENCES {
            let message =
                format!("the schema has a chain of more than {MAX_REFERENCES} references");
            return Err(bad(message));
        }
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(target) = target else {
            return Err(bad(format!("`{reference}` is not a place in the schema")));
        };
        within.push(reference);
        self.count_expanded(target, within)?;
        within.pop();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    fn refused(schema: Value, part: &str) {
        let made = CheckedSchema::new(schema).and_then(|schema| schema.compile());
        let err = made.expect_err(part);
        assert_eq!(err.kind, PluginErrorKind::BadSchema);
        assert!(err.message.contains(part), "{part}: {}", err.message);
    }

    #[test]
    fn arguments_are_checked_and_every_fault_is_told() {
        let schema = CheckedSchema::new(json!({
            "type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {
                "a": {"$ref": "#/$defs/small"},
                "b": {"type": "string", "pattern": "^[a-z]+$"},
            },
            "$defs": {"small": {"type": "integer", "maximum": 9}},
        }))
        .unwrap();
        schema.check_args(&json!({"a": 3, "b": "x"})).unwrap();
        for (args, part) in [
            (json!({}), "a"),
            (json!({"a": 30}), "30"),
            (json!({"a": 3, "b": "X"}), "b"),
            (json!({"a": 3, "c": 1}), "c"),
            (json!([]), "object"),
        ] {
            let err = schema.check_args(&args).expect_err(part);
            assert_eq!(err.kind, ErrorKind::BadArgs);
            assert!(err.message.contains(part), "{part}: {}", err.message);
        }
    }

    #[test]
    fn a_result_that_does_not_fit_is_the_plugins_fault() {
        let schema = CheckedSchema::new(json!({"type": "object", "required": ["n"]})).unwrap();
        schema.check_result(&json!({"n": 1})).unwrap();
        let err = schema.check_result(&json!("n")).unwrap_err();
        assert_eq!((err.kind, &err.context["reason"]), (ErrorKind::Failed, &"bad_result".into()));
        assert!(err.message.contains("the result must be an object"), "{}", err.message);
    }

    #[test]
    fn no_reference_leads_elsewhere() {
        for away in
            ["https://example.com/x", "file:///etc/passwd", "other.json#/a", "#/none", "#name"]
        {
            refused(json!({"$ref": away}), "is not a place in the schema");
        }
        refused(json!({"$dynamicRef": "#a"}), "`$dynamicRef`");
        refused(json!({"properties": {"a": {"$id": "http://x/", "$ref": "#/a"}}}), "`$id`");
        refused(json!({"$schema": "https://example.com/unknown"}), "example.com");
        CheckedSchema::new(json!({"properties": {"$ref": {"type": "string"}, "$id": {}}})).unwrap();
    }

    #[test]
    fn a_schema_has_bounds() {
        let mut deep = json!({});
        for _ in 0..33 {
            deep = json!({"not": deep});
        }
        refused(deep, "nested deeper");
        refused(json!({"enum": vec![1; 3000]}), "more than 2000 values");
        refused(json!({"description": "x".repeat(70_000)}), "longer than");
        refused(json!({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}), "refers to itself");
        refused(json!({"items": {"$ref": "#"}}), "refers to itself");
        let mut defs = json!({"d0": {"type": "string"}});
        for at in 1..16 {
            let below = format!("#/$defs/d{}", at - 1);
            defs[format!("d{at}")] = json!({"allOf": [{"$ref": below}, {"$ref": below}]});
        }
        refused(json!({"$defs": defs}), "more than 20000 values");
    }

    #[test]
    fn a_bad_schema_and_a_bad_pattern_are_told() {
        refused(json!({"type": "objekt"}), "objekt");
        refused(json!({"pattern": "(?=a)"}), "(?=a)");
        refused(json!({"pattern": "(a{1000}){1000}"}), "pattern");
    }

    #[test]
    fn a_pattern_takes_no_longer_than_its_text() {
        let schema = CheckedSchema::new(json!({"pattern": "^(a+)+$"})).unwrap();
        let begin = Instant::now();
        assert!(schema.check_args(&json!("a".repeat(100_000) + "b")).is_err());
        schema.check_args(&json!("a".repeat(100_000))).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(20), "to backtrack would take years");
    }
}
