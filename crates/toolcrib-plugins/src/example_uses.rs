//! The uses of `ctx` in an example: nothing is reached, and the example says what each of them returns. So whoever reviews
//! a tool sees what it would read, write, fetch and call.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{canonical, escape};
use url::Url;

use crate::host_uses::{HostUses, UseError, UseKind};
use crate::permissions::Permissions;

/// A use that an example expects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleUse {
    /// The function of `ctx`.
    #[serde(rename = "use")]
    pub kind: UseKind,
    /// Its arguments.
    pub args: Vec<Value>,
    /// What it returns.
    #[serde(default)]
    pub returns: Value,
    /// The error that it fails with, in place of a return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails: Option<UseError>,
}

/// Answers the uses of one example, in the order in which it lists them.
pub struct ExampleUses<'a> {
    permissions: &'a Permissions,
    left: Mutex<std::slice::Iter<'a, ExampleUse>>,
}

impl<'a> ExampleUses<'a> {
    /// Answers with what the example lists, as far as the plugin declared it.
    pub fn new(permissions: &'a Permissions, uses: &'a [ExampleUse]) -> Self {
        Self { permissions, left: Mutex::new(uses.iter()) }
    }

    /// Returns what the example lists and the tool did not use, in words.
    pub fn unused(&self) -> Option<String> {
        let expected = self.left().next()?;
        Some(format!("it did not use {}", told(expected.kind, &expected.args)))
    }

    fn left(&self) -> MutexGuard<'_, std::slice::Iter<'a, ExampleUse>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_declared(&self, kind: UseKind, args: &[Value]) -> bool {
        let Some(first) = args.first().and_then(Value::as_str) else { return false };
        match kind {
            UseKind::Read => self.permissions.may_read(first),
            UseKind::Write => self.permissions.may_write(first),
            UseKind::Call => self.permissions.may_call(first),
            UseKind::Fetch => Url::parse(first)
                .ok()
                .and_then(|url| url.host_str().map(|host| self.permissions.may_reach(host)))
                .unwrap_or(false),
        }
    }
}

impl HostUses for ExampleUses<'_> {
    fn answer(&self, kind: UseKind, args: &Value) -> Result<Value, UseError> {
        let args = args.as_array().map(Vec::as_slice).unwrap_or_default();
        let refused =
            |code: &str, message: String| Err(UseError { code: code.to_owned(), message });
        if !self.is_declared(kind, args) {
            let message = format!("the module did not declare {}", told(kind, args));
            return refused("permission_not_declared", message);
        }
        let text = |args: &[Value]| canonical::text(&Value::from(args));
        match self.left().next() {
            Some(expected) if expected.kind == kind && text(&expected.args) == text(args) => {
                expected.fails.clone().map_or_else(|| Ok(expected.returns.clone()), Err)
            }
            _ => {
                let message = format!("the example does not list {} next", told(kind, args));
                refused("not_in_example", message)
            }
        }
    }

    fn waited(&self) -> Duration {
        Duration::ZERO
    }
}

fn told(kind: UseKind, args: &[Value]) -> String {
    let args: Vec<String> = args.iter().map(canonical::text).collect();
    format!("`ctx.{}({})`", kind.as_str(), escape::line(&args.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_example_answers_what_it_lists_in_order_and_nothing_else() {
        let permissions = Permissions { read: vec!["logs".to_owned()], ..Permissions::default() };
        let uses: Vec<ExampleUse> = serde_json::from_value(json!([
            {"use": "read", "args": ["logs/a"], "returns": "x"},
            {"use": "read", "args": ["logs/b"], "fails": {"code": "not_found", "message": "no"}},
        ]))
        .unwrap();
        let example = ExampleUses::new(&permissions, &uses);
        let read = |path: &str| example.answer(UseKind::Read, &json!([path]));
        assert_eq!(read("secret").unwrap_err().code, "permission_not_declared");
        let write = example.answer(UseKind::Write, &json!(["logs/a", "x"])).unwrap_err();
        assert_eq!(write.code, "permission_not_declared");
        assert_eq!(read("logs/a").unwrap(), "x");
        assert_eq!(example.unused().unwrap(), "it did not use `ctx.read(\"logs/b\")`");
        let example = ExampleUses::new(&permissions, &uses[1..]);
        let read = |path: &str| example.answer(UseKind::Read, &json!([path]));
        assert_eq!(read("logs/b").unwrap_err().code, "not_found");
        assert_eq!(example.unused(), None);
        assert_eq!(read("logs/a").unwrap_err().code, "not_in_example");
    }
}
