//! The query of a request: names with values, each at most once.

use std::collections::HashMap;

use axum::http::StatusCode;

use crate::reply::ApiError;

/// The parameters of a query.
#[derive(Debug)]
pub(crate) struct QueryParameters(HashMap<String, String>);

impl QueryParameters {
    /// Reads a query that may have these parameters and no others.
    pub(crate) fn parse(text: Option<&str>, known: &[&str]) -> Result<Self, ApiError> {
        let mut values = HashMap::new();
        for part in text.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if !known.contains(&name.as_str()) {
                let list = if known.is_empty() {
                    "this path takes none".to_owned()
                } else {
                    format!("this path takes `{}`", known.join("`, `"))
                };
                let message = format!("`{name}` is not a parameter here; {list}");
                return Err(refused(message));
            }
            if values.insert(name.clone(), value).is_some() {
                return Err(refused(format!("the parameter `{name}` is given twice")));
            }
        }
        Ok(Self(values))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns a number within bounds, or `default` if it is not given.
    pub(crate) fn number(
        &self,
        name: &str,
        default: usize,
        bounds: (usize, usize),
    ) -> Result<usize, ApiError> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let (least, most) = bounds;
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| {
            refused(format!("`{name}` must be a number from {least} to {most}, not `{text}`"))
        })
    }

    /// Returns a value that is parsed, if it is given.
    pub(crate) fn parsed<T>(
        &self,
        name: &str,
        what: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let parsed = parse(text);
        parsed.map(Some).ok_or_else(|| refused(format!("`{name}` must be {what}, not `{text}`")))
    }
}

fn refused(message: String) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "invalid_parameter", message)
}

fn decode(text: &str) -> Result<String, ApiError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let decoded = match byte {
            b'+' => Some(b' '),
            b'%' => digit().and_then(|high| Some((high * 16 + digit()?) as u8)),
            byte => Some(byte),
        };
        bytes
            .push(decoded.ok_or_else(|| refused("the query has a `%` without two digits".into()))?);
    }
    String::from_utf8(bytes).map_err(|_| refused("the query is not UTF-8".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_known_parameters_once_each() {
        let known = ["tool", "limit"];
        let query = QueryParameters::parse(Some("tool=a%2Fb+c&limit=7"), &known).unwrap();
        assert_eq!((query.get("tool"), query.get("limit")), (Some("a/b c"), Some("7")));
        assert_eq!(query.number("limit", 1, (1, 10)).unwrap(), 7);
        assert!(QueryParameters::parse(None, &known).unwrap().get("tool").is_none());
        for wrong in ["x=1", "tool=1&tool=2", "tool=%", "tool=%zz", "tool=%ff"] {
            let err = QueryParameters::parse(Some(wrong), &known).unwrap_err();
            assert_eq!(err.code(), "invalid_parameter", "{wrong}");
        }
        let query = QueryParameters::parse(Some("limit=11"), &known).unwrap();
        assert!(query.number("limit", 1, (1, 10)).is_err());
    }
}
