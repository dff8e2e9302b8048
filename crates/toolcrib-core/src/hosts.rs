//! The hosts that a call names, in URLs among its arguments and in the words of its command.

use std::fmt;

use serde_json::Value;

use crate::command_reading::Reading;
use crate::program::host_words;

/// Returns the host of every URL in the arguments and the words of a call, in lower case.
pub fn hosts_in(args: &Value, reading: Option<&Reading>) -> Vec<String> {
    let mut hosts = Vec::new();
    let mut open = vec![args];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => hosts.extend(hosts_of(text)),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    let words = reading.into_iter().flat_map(|reading| &reading.found).flatten();
    hosts.extend(words.flat_map(|word| hosts_of(word)));
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

/// Why the hosts of a command cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnclearHost {
    /// The word that could be any host.
    pub word: String,
}

impl fmt::Display for UnclearHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` could be a host that a rule matches", self.word)
    }
}

impl std::error::Error for UnclearHost {}

/// Returns every host that the words of a command could name without a scheme, if its programs reach hosts.
pub fn hosts_named(reading: &Reading) -> Result<Vec<String>, UnclearHost> {
    let mut hosts = Vec::new();
    for word in reading.found.iter().flat_map(|words| host_words(words)) {
        let unclear = || UnclearHost { word: word.clone() };
        if word.contains('\\') && word.contains(['@', '/']) {
            return Err(unclear());
        }
        // The value of a flag can be a host, too: in one word with a short flag, or behind `=`.
        let joined = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
        let joined = joined.and_then(|it| it.get(1..)).filter(|it| it.contains('.'));
        let joined = joined.and_then(|it| it.split_whitespace().last()).and_then(bare_host);
        hosts.extend(joined);
        let value = word.split_once('=').filter(|it| it.0.starts_with('-')).map(|it| it.1);
        let value = value.unwrap_or(word);
        let Some(host) = bare_host(value) else { continue };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
        if host.contains(char::is_whitespace) {
            continue;
        }
        if !host.chars().all(is_plain) {
            return Err(UnclearHost { word: value.to_owned() });
        }
        hosts.push(host);
    }
    Ok(hosts)
}

/// Returns the part of a word that could be a host: behind a scheme and a user name, up to a colon or a slash.
fn bare_host(word: &str) -> Option<String> {
    if word.starts_with('-') || word.starts_with('/') && !word.starts_with("//") {
        return None;
    }
    let is_scheme = |it: &(&str, &str)| it.0.bytes().all(|byte| byte.is_ascii_alphabetic());
    let rest = word.split_once(":/").filter(is_scheme).map_or(word, |it| it.1);
    let rest = rest.trim_start_matches('/');
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next()?;
    let host = match host.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((inner, _)) => inner,
        None => host.split(':').next()?,
    };
    let host = decoded(host).trim_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then(|| address(&host).unwrap_or(host))
}

/// Decodes `%xx` in a text.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..2).and_then(|it| u8::from_str_radix(it, 16).ok()) {
            Some(byte) if byte.is_ascii() => {
                out.push(char::from(byte));
                out.push_str(&part[2..]);
            }
            _ => {
                out.push('%');
                out.push_str(part);
            }
        }
    }
    out
}

/// Returns the usual spelling of an IP address, however it is spelt: `127.1`, `0x7f000001`, `2130706433`.
fn address(host: &str) -> Option<String> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u32::from_str_radix(text, 8).ok(),
        None => text.parse().ok(),
    };
    if let Ok(six) = host.parse::<std::net::Ipv6Addr>() {
        let four = six.to_ipv4_mapped();
        return Some(four.map_or_else(|| six.to_string(), |four| four.to_string()));
    }
    let parts: Vec<u32> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let mut value = *last;
    for (place, part) in first.iter().enumerate() {
        value |= part.checked_shl(24 - 8 * u32::try_from(place).ok()?)?;
    }
    // The address 0 is this machine.
    let value = if value == 0 { 0x7f00_0001 } else { value };
    Some(std::net::Ipv4Addr::from(value).to_string())
}

/// Returns the hosts that a URL could name. Some programs take a backslash for a slash, and some for a letter.
fn hosts_of(text: &str) -> Vec<String> {
    let mut all: Vec<String> = host_of(text, "/?# \"'\\").into_iter().collect();
    if text.contains('\\') {
        all.extend(host_of(text, "/?# \"'").filter(|host| !all.contains(host)));
    }
    all
}

/// Returns the host of a URL in a text. Any of the characters `ends` ends it.
fn host_of(text: &str, ends: &str) -> Option<String> {
    // A URL can stand behind a flag: `--url=https://…`.
    let at = text.find("://")?;
    let scheme = text[..at].rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?;
    if scheme.is_empty() || !scheme.is_ascii() || scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let rest = &text[at + 3..];
    let end = rest.find(|c| ends.contains(c)).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next()?,
        None => host.split(':').next()?,
    };
    let host = decoded(host).trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then(|| address(&host).unwrap_or(host))
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
            ("http://example.com./", "example.com"),
            ("http://[::1]:80/", "::1"),
            ("--url=ssh://git@host.example/r", "host.example"),
            ("http://evil%2eexample/", "evil.example"),
            ("http://2130706433/", "127.0.0.1"),
            ("http://127.1/", "127.0.0.1"),
            ("http://0x7f.0.0.1/", "127.0.0.1"),
            ("http://0:80/", "127.0.0.1"),
            ("http://[::ffff:127.0.0.1]:80/", "127.0.0.1"),
            ("http://[0:0:0:0:0:0:0:1]/", "::1"),
        ] {
            assert_eq!(hosts_in(&json!({"url": text}), None), [host], "{text}");
        }
        let both = hosts_in(&json!("https://evil.example\\@good.example/"), None);
        assert_eq!(both, ["evil.example\\@good.example", "evil.example", "good.example"][1..]);
        for text in ["no address", "://", "file:///etc/passwd", "https://", "a://?"] {
            assert!(hosts_in(&json!([text]), None).is_empty(), "{text}");
        }
    }
}
