//! Texts of a server that may name variables: values such as tokens come from the environment of Toolcrib, so that no
//! settings file has them.

use std::collections::BTreeMap;

use toolcrib_core::{ErrorKind, ToolError};

/// A text of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerText {
    /// The text as it is.
    Plain(String),
    /// A text with `${NAME}`, or `${NAME:-what else}`, in the place of values.
    Template(String),
    /// The value of a variable, if it is set.
    Variable(String),
}

impl ServerText {
    /// Returns the text as it was written, without values.
    pub fn written(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Template(text) | Self::Variable(text) => text,
        }
    }

    /// Returns the text with values. Without a value, a variable alone is nothing, and a template fails.
    pub(crate) fn value(
        &self,
        environment: &BTreeMap<String, String>,
    ) -> Result<Option<String>, ToolError> {
        match self {
            Self::Plain(text) => Ok(Some(text.clone())),
            Self::Variable(name) => Ok(environment.get(name).cloned()),
            Self::Template(text) => filled(text, environment).map(Some),
        }
    }
}

/// Puts values in the place of names.
fn filled(text: &str, environment: &BTreeMap<String, String>) -> Result<String, ToolError> {
    let mut parts = text.split("${");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((inside, rest)) = part.split_once('}') else {
            filled.push_str("${");
            filled.push_str(part);
            continue;
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let value = environment.get(name).map(String::as_str).filter(|value| !value.is_empty());
        let Some(value) = value.or(default) else {
            let message = format!("the variable `{name}` is not set");
            return Err(ToolError::new(ErrorKind::Unavailable, message)
                .hint("set it in the environment that Toolcrib is started in"));
        };
        filled.push_str(value);
        filled.push_str(rest);
    }
    Ok(filled)
}

/// Whether a text is a variable alone, or after one short word such as `Bearer`. Anything longer could be a secret.
pub(crate) fn is_named_value(text: &str) -> bool {
    let (word, variable) = text.split_once(' ').unwrap_or(("", text));
    let name = variable.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    word.len() <= 10
        && word.bytes().all(|byte| byte.is_ascii_alphabetic())
        && name.is_some_and(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_values_and_a_missing_one_is_told() {
        let environment =
            [("A", "1"), ("EMPTY", "")].map(|(name, value)| (name.into(), value.into()));
        let environment = BTreeMap::from(environment);
        for (text, expected) in [
            ("a ${A} b${A}", "a 1 b1"),
            ("${B:-other}", "other"),
            ("${A:-other}", "1"),
            ("${EMPTY:-other}", "other"),
            ("$A ${A", "$A ${A"),
            ("", ""),
        ] {
            let text = ServerText::Template(text.to_owned());
            assert_eq!(text.value(&environment).unwrap().unwrap(), expected);
        }
        let missing = ServerText::Template("x ${B}".to_owned()).value(&environment).unwrap_err();
        assert!(missing.message.contains("`B` is not set"));
        let plain = ServerText::Plain("${B}".to_owned());
        assert_eq!(plain.value(&environment).unwrap().unwrap(), "${B}");
        assert_eq!(ServerText::Variable("B".to_owned()).value(&environment).unwrap(), None);
    }

    #[test]
    fn a_header_of_the_settings_names_a_variable_and_has_no_secret() {
        for text in ["${TOKEN}", "Bearer ${TOKEN}", "token ${A_1}"] {
            assert!(is_named_value(text), "{text}");
        }
        for text in
            ["sk-123456", "Bearer sk-123", "${}", "sk123456789 ${A}", "${A}${B}", "${A:-sk}", ""]
        {
            assert!(!is_named_value(text), "{text}");
        }
    }
}
