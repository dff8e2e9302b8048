//! The hosts that a call names: in addresses among its arguments, and among the words of its command.

use serde_json::Value;
use toolcrib_core::reading::Reading;

/// Returns every host that is named, in lower case.
pub(crate) fn hosts_in(args: &Value, reading: Option<&Reading>) -> Vec<String> {
    let mut hosts = Vec::new();
    let mut open = vec![args];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => hosts.extend(host_of(text)),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    let words = reading.into_iter().flat_map(|reading| &reading.found).flatten();
    hosts.extend(words.filter_map(|word| host_of(word)));
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

/// The host of an address; nothing if the text is none.
fn host_of(text: &str) -> Option<String> {
    // Behind a flag, too: `--url=https://…`.
    let at = text.find("://")?;
    let scheme = text[..at].rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?;
    if scheme.is_empty() || !scheme.is_ascii() || scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let rest = &text[at + 3..];
    // Some readers take a backslash for a slash.
    let end = rest.find(['/', '?', '#', '\\', ' ', '"', '\'']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next()?,
        None => host.split(':').next()?,
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hosts_are_found_however_addresses_are_spelt() {
        for (text, host) in [
            ("https://Example.COM/a", "example.com"),
            ("https://user:pass@evil.example:8443/x", "evil.example"),
            ("https://good.example@evil.example/", "evil.example"),
            ("https://evil.example\\@good.example/", "evil.example"),
            ("http://example.com./", "example.com"),
            ("http://[::1]:80/", "::1"),
            ("--url=ssh://git@host.example/r", "host.example"),
        ] {
            assert_eq!(hosts_in(&json!({"url": text}), None), [host], "{text}");
        }
        for text in ["no address", "://", "file:///etc/passwd", "https://", "a://?"] {
            assert!(hosts_in(&json!([text]), None).is_empty(), "{text}");
        }
    }
}
