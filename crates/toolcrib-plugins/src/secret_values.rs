//! The values of secrets: given to programs that were approved with their names, and to nobody else.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use toolcrib_core::{ToolError, escape};

/// The shortest value that is taken out of texts. A shorter one would be found in words that have nothing to do with it.
const LEAST_HIDDEN: usize = 6;

/// Values by their names. They are never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretValues(BTreeMap<String, String>);

impl SecretValues {
    /// Keeps values by their names.
    pub fn new(values: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(values.into_iter().filter(|(_, value)| !value.is_empty()).collect())
    }

    /// Returns the values of these names alone. Fails with the names that have none.
    pub(crate) fn only(&self, names: &[String]) -> Result<Self, Vec<String>> {
        let (found, missing): (Vec<_>, Vec<_>) =
            names.iter().partition(|name| self.0.contains_key(*name));
        if !missing.is_empty() {
            return Err(missing.into_iter().cloned().collect());
        }
        Ok(Self(found.into_iter().map(|name| (name.clone(), self.0[name].clone())).collect()))
    }

    /// Returns each name with its value.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&String, &String)> {
        self.0.iter()
    }

    /// Puts the names of secrets in the place of their values.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        let long = self.0.iter().filter(|(_, value)| value.len() >= LEAST_HIDDEN);
        // Also as our own errors write them, in which some characters are escaped.
        let mut hidden: Vec<(&String, Cow<'_, str>)> = long
            .flat_map(|(name, value)| {
                let forms =
                    [Cow::Borrowed(value.as_str()), escape::lines(value), escape::line(value)];
                forms.map(|form| (name, form))
            })
            .collect();
        // A value can be the beginning of another.
        hidden.sort_by_key(|(_, form)| Reverse(form.len()));
        hidden.iter().fold(text.to_owned(), |text, (name, form)| {
            text.replace(&**form, &format!("[secret {name}]"))
        })
    }

    /// Does the same in the texts of an error.
    pub(crate) fn hide_in_error(&self, err: ToolError) -> ToolError {
        if self.0.is_empty() {
            return err;
        }
        let hide = |(name, value)| (name, self.hide(value));
        ToolError {
            message: self.hide_in(&err.message),
            hint: err.hint.as_deref().map(|hint| self.hide_in(hint)),
            context: err.context.into_iter().map(hide).collect(),
            ..err
        }
    }

    /// Does the same in every text of a value.
    pub(crate) fn hide(&self, value: Value) -> Value {
        if self.0.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.hide_in(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.hide(item)).collect(),
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| (self.hide_in(&name), self.hide(value)))
                .collect(),
            Value::Number(number) => {
                let text = number.to_string();
                let hidden = self.hide_in(&text);
                if hidden == text { Value::Number(number) } else { Value::String(hidden) }
            }
            other => other,
        }
    }
}

impl fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_given_by_name_and_hidden_everywhere() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let all = SecretValues::new([pair("KEY", "hunter2222"), pair("PIN", "12"), pair("NO", "")]);
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        assert_eq!(all.only(&names(&["KEY", "NO", "X"])), Err(names(&["NO", "X"])));
        let given = all.only(&names(&["KEY", "PIN"])).unwrap();
        let told = given.hide(json!({"hunter2222": ["a hunter2222 b", 12, "12"]}));
        assert_eq!(told, json!({"[secret KEY]": ["a [secret KEY] b", 12, "12"]}));
        let nested =
            [pair("SHORT", "abcdefgh"), pair("LONG", "abcdefghijkl"), pair("PIN", "123456")];
        let nested =
            SecretValues::new(nested.into_iter().chain([pair("ODD", "\u{1}abc\u{202e}def")]));
        assert_eq!(nested.hide_in("abcdefghijkl abcdefgh"), "[secret LONG] [secret SHORT]");
        assert_eq!(nested.hide(json!([123_456, 1234])), json!(["[secret PIN]", 1234]));
        let escaped = escape::lines("\u{1}abc\u{202e}def").into_owned();
        assert_eq!(nested.hide_in(&escaped), "[secret ODD]");
        assert!(!format!("{given:?}").contains("hunter2222"));
    }
}
