//! A plugin's declaration as data. It is extracted once, when the plugin is proposed, and is never read from the
//! plugin again, so a plugin cannot change it after its approval.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};
use toolcrib_core::Tier;

use crate::example_uses::ExampleUse;
use crate::permissions::Permissions;
use crate::plugin_error::{PluginError, PluginErrorKind};

/// The longest description, in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 4 << 10;

/// The most examples of one plugin.
pub const MAX_EXAMPLES: usize = 32;

/// Everything about a plugin's tool that is not code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PluginDeclaration {
    /// The tool's name.
    pub name: String,
    /// What the tool does.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    /// The JSON Schema of the result, if the plugin declares one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// How much harm the tool could do.
    #[serde(serialize_with = "tier_number", deserialize_with = "tier_of_number")]
    pub tier: Tier,
    /// What it may use.
    #[serde(default)]
    pub permissions: Permissions,
    /// Calls with their results.
    #[serde(default)]
    pub examples: Vec<PluginExample>,
}

/// A call of a plugin and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginExample {
    /// What the example shows.
    #[serde(default)]
    pub about: String,
    /// The arguments.
    pub args: Value,
    /// The result. Without one, the call only has to succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Value>,
    /// What it uses of `ctx`, in order, and what that returns. Nothing is reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ctx: Vec<ExampleUse>,
}

impl PluginDeclaration {
    /// Makes a declaration of a module's exports. Fails with all faults at once.
    pub fn of_exports(exports: &Value) -> Result<Self, PluginError> {
        let mut faults = Vec::new();
        let empty = Map::new();
        let declaration = Self::read(exports.as_object().unwrap_or(&empty), &mut faults);
        if !faults.is_empty() {
            let message = format!("the module's exports have faults: {}", faults.join("; "));
            return Err(PluginError::new(PluginErrorKind::BadModule, message)
                .hint("correct the exports, and propose the module again"));
        }
        Ok(declaration)
    }

    /// Makes a declaration of its fields, and tells what is wrong with them.
    pub(crate) fn read(exports: &Map<String, Value>, faults: &mut Vec<String>) -> Self {
        let name = text(exports, "name", faults);
        let description = text(exports, "description", faults);
        if description.len() > MAX_DESCRIPTION_BYTES {
            faults.push(format!("`description` is longer than {MAX_DESCRIPTION_BYTES} bytes"));
        }
        let parameters = match exports.get("parameters") {
            Some(schema @ Value::Object(_)) => schema.clone(),
            other => {
                faults.push(unfit("parameters", "a JSON Schema as an object", other));
                Value::Null
            }
        };
        let output = match exports.get("output") {
            None | Some(Value::Null) => None,
            Some(schema @ Value::Object(_)) => Some(schema.clone()),
            other => {
                faults.push(unfit("output", "a JSON Schema as an object", other));
                None
            }
        };
        let declared_tier = match exports.get("securityTier") {
            None | Some(Value::Null) => None,
            Some(number) => number.as_u64().and_then(tier_of).or_else(|| {
                faults.push(unfit("securityTier", "a whole number from 0 to 4", Some(number)));
                None
            }),
        };
        let permissions: Permissions = part(exports, "permissions", faults);
        let examples: Vec<PluginExample> = part(exports, "examples", faults);
        if examples.len() > MAX_EXAMPLES {
            faults.push(format!("there are more than {MAX_EXAMPLES} `examples`"));
        }
        let tier = declared_tier.unwrap_or(Tier::Standard).max(permissions.lowest_tier());
        Self { name, description, parameters, output, tier, permissions, examples }
    }
}

/// Returns a text that must be there and not be empty.
fn text(exports: &Map<String, Value>, name: &str, faults: &mut Vec<String>) -> String {
    match exports.get(name) {
        Some(Value::String(text)) if !text.trim().is_empty() => text.clone(),
        other => {
            faults.push(unfit(name, "a text that is not empty", other));
            String::new()
        }
    }
}

/// Returns an optional part, parsed.
fn part<T: Default + de::DeserializeOwned>(
    exports: &Map<String, Value>,
    name: &str,
    faults: &mut Vec<String>,
) -> T {
    let Some(value) = exports.get(name).filter(|value| !value.is_null()) else {
        return T::default();
    };
    T::deserialize(value).unwrap_or_else(|err| {
        faults.push(format!("`{name}`: {err}"));
        T::default()
    })
}

/// Says what a field must be, and what it is.
pub(crate) fn unfit(name: &str, expected: &str, found: Option<&Value>) -> String {
    let found = match found {
        None => return format!("`{name}` is missing; it must be {expected}"),
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(text)) if text.trim().is_empty() => "empty",
        Some(Value::String(_)) => "a text",
        Some(Value::Array(_)) => "an array",
        Some(Value::Object(_)) => "an object",
    };
    format!("`{name}` must be {expected}, and is {found}")
}

pub(crate) fn tier_of(number: u64) -> Option<Tier> {
    let tiers = [Tier::Safe, Tier::Standard, Tier::Elevated, Tier::Restricted, Tier::Dangerous];
    tiers.into_iter().find(|tier| u64::from(tier.number()) == number)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn tier_number<S: Serializer>(tier: &Tier, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(tier.number())
}

fn tier_of_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tier, D::Error> {
    let number = u64::deserialize(deserializer)?;
    tier_of(number).ok_or_else(|| de::Error::custom("a tier is a number from 0 to 4"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn exports_become_a_declaration_that_survives_its_file() {
        let exports = json!({
            "name": "hello", "description": "Greets.", "parameters": {"type": "object"},
            "securityTier": 0, "permissions": {"read": ["logs"]},
            "examples": [{"about": "One.", "args": {"who": "Ada"}, "reply": "Hello, Ada"}, {"args": {}}],
        });
        let declaration = PluginDeclaration::of_exports(&exports).expect("they are good");
        assert_eq!(declaration.tier, Tier::Standard, "permissions raise the tier");
        assert_eq!((declaration.examples.len(), &declaration.examples[1].reply), (2, &None));
        let saved = serde_json::to_value(&declaration).expect("it is data");
        assert_eq!(saved["tier"], 1);
        let loaded: PluginDeclaration = serde_json::from_value(saved).expect("it is the same data");
        assert_eq!(loaded, declaration);
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let exports = json!({
            "name": 7, "parameters": [], "output": "x", "securityTier": 9,
            "permissions": {"reads": []}, "examples": {},
        });
        let err = PluginDeclaration::of_exports(&exports).expect_err("they are bad");
        assert_eq!(err.kind, PluginErrorKind::BadModule);
        for part in [
            "`name` must be a text that is not empty, and is a number",
            "`description` is missing",
            "`parameters` must be a JSON Schema as an object, and is an array",
            "`output` must be",
            "`securityTier` must be a whole number from 0 to 4, and is a number",
            "`permissions`: unknown field `reads`",
            "`examples`: ",
        ] {
            assert!(err.message.contains(part), "{part}: {}", err.message);
        }
    }
}
