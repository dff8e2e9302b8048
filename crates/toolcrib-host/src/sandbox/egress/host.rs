//! Host names, and rules that cover them.

use std::fmt;

/// A rule for one host, or for every host below one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    name: String,
    is_below: bool,
}

/// A text that is not a host rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadHost {
    /// The text.
    pub text: String,
}

impl fmt::Display for BadHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a host: write `host.example` or `*.host.example`", self.text)
    }
}

impl std::error::Error for BadHost {}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = if self.is_below { "*." } else { "" };
        write!(f, "{below}{}", self.name)
    }
}

impl HostRule {
    /// Parses `host` or `*.host`.
    pub fn parse(text: &str) -> Result<Self, BadHost> {
        let (name, is_below) = text.strip_prefix("*.").map_or((text, false), |name| (name, true));
        if !is_name(name) || (is_below && !name.contains('.')) {
            return Err(BadHost { text: text.to_owned() });
        }
        Ok(Self { name: name.to_ascii_lowercase(), is_below })
    }

    /// Whether this rule covers `host`.
    pub fn covers(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        if !self.is_below {
            return host == self.name;
        }
        host.strip_suffix(&self.name).is_some_and(|below| below.len() > 1 && below.ends_with('.'))
    }
}

/// Whether this can be a host name: letters, digits and hyphens between dots, and not a number that some program
/// would take for an address.
pub(crate) fn is_name(host: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.to_ascii_lowercase().starts_with("0x");
    host.len() <= 253 && host.split('.').all(is_label) && !is_number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_covers_what_it_says_and_no_more() {
        let exact = HostRule::parse("allowed.example").unwrap();
        assert!(exact.covers("allowed.example") && exact.covers("ALLOWED.example"));
        for host in ["sub.allowed.example", "notallowed.example", "allowed.example.evil", ""] {
            assert!(!exact.covers(host), "{host}");
        }
        let below = HostRule::parse("*.allowed.example").unwrap();
        assert!(below.covers("a.allowed.example") && below.covers("a.b.allowed.example"));
        for host in ["allowed.example", "evilallowed.example", ".allowed.example"] {
            assert!(!below.covers(host), "{host}");
        }
    }

    #[test]
    fn what_is_no_name_is_no_rule() {
        for text in
            ["*", "*.com", "", "a b", "a\0.example", "1.2.3.4", "0x7f.1", "::1", "a..b", "*.*.x.y"]
        {
            assert!(HostRule::parse(text).is_err(), "{text}");
        }
        assert!(HostRule::parse("xn--bcher-kva.example").is_ok());
    }
}
