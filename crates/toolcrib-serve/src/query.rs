//! The query of a request: names with values, each at most once.

use axum::http::StatusCode;

use crate::reply::ApiError;

/// Reads a query.
pub(crate) fn parse(text: Option<&str>) -> Result<Vec<(String, String)>, ApiError> {
    let mut values: Vec<(String, String)> = Vec::new();
    for part in text.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (decode(name)?, decode(value)?);
        if values.iter().any(|(known, _)| *known == name) {
            return Err(refused(format!("the parameter `{name}` is given twice")));
        }
        values.push((name, value));
    }
    Ok(values)
}

/// Whether a query has a parameter of this name, also if the query is malformed.
pub(crate) fn has_name(text: Option<&str>, name: &str) -> bool {
    let mut parts = text.unwrap_or_default().split('&');
    parts.any(|part| {
        let (given, _) = part.split_once('=').unwrap_or((part, ""));
        decode(given).is_ok_and(|given| given == name)
    })
}

/// Refuses a query.
pub(crate) fn refused(message: impl Into<String>) -> ApiError {
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
        bytes.push(decoded.ok_or_else(|| refused("the query has a `%` without two digits"))?);
    }
    String::from_utf8(bytes).map_err(|_| refused("the query is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_each_parameter_once() {
        let query = parse(Some("tool=a%2Fb+c&limit=7")).unwrap();
        let expected = [("tool", "a/b c"), ("limit", "7")];
        assert_eq!(query, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(parse(None).unwrap().is_empty());
        for wrong in ["tool=1&tool=2", "tool=%", "tool=%zz", "tool=%ff"] {
            assert!(parse(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
