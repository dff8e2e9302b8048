//! The rules of a robots.txt, as RFC 9309 has them.

use memchr::memmem;

/// The rules of a robots.txt, for all who ask.
#[derive(Debug, Default)]
pub(super) struct RobotsRules {
    groups: Vec<RobotsGroup>,
}

/// The rules for those whom a group names.
#[derive(Debug, Default)]
struct RobotsGroup {
    /// In lower case.
    agents: Vec<String>,
    lines: Vec<RobotsLine>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RobotsLine {
    /// The number of the line, from 1.
    pub(super) number: usize,
    /// The line as it is written, without comment.
    pub(super) text: String,
    pattern: String,
    allows: bool,
}

impl RobotsRules {
    /// Reads a robots.txt. What is no rule is skipped, because hosts write all sorts of things there.
    pub(super) fn parse(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text));
        let mut rules = Self::default();
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        for (index, line) in text.split('\n').enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let Some((name, value)) = line.split_once(':') else { continue };
            rules.add(&name.trim().to_ascii_lowercase(), value.trim(), (index + 1, line));
        }
        rules
    }

    fn add(&mut self, name: &str, value: &str, (number, text): (usize, &str)) {
        match name {
            "user-agent" => {
                // Names that follow each other share the rules after them.
                if self.groups.last().is_none_or(|group| !group.lines.is_empty()) {
                    self.groups.push(RobotsGroup::default());
                }
                if let Some(group) = self.groups.last_mut() {
                    group.agents.push(product_of(value));
                }
            }
            "allow" | "disallow" => {
                let Some(group) = self.groups.last_mut() else { return };
                let (pattern, text) = (normal_path(value), text.to_owned());
                group.lines.push(RobotsLine { number, text, pattern, allows: name == "allow" });
            }
            _ => {}
        }
    }

    /// Returns the line that denies a path, with its query, to who calls himself `user_agent`.
    pub(super) fn denial(&self, user_agent: &str, path: &str) -> Option<&RobotsLine> {
        let (own, path) = (product_of(user_agent), normal_path(path));
        if path == "/robots.txt" {
            return None;
        }
        let names =
            |agent: &str| self.groups.iter().any(|it| it.agents.iter().any(|it| it == agent));
        let agent = if !own.is_empty() && names(&own) { own.as_str() } else { "*" };
        let groups = self.groups.iter().filter(|it| it.agents.iter().any(|it| it == agent));
        let lines = groups.flat_map(|it| &it.lines);
        let matching = lines.filter(|it| !it.pattern.is_empty() && matches(&it.pattern, &path));
        // The longest pattern counts, and of two that are as long the one that allows.
        matching.max_by_key(|it| (it.pattern.len(), it.allows)).filter(|it| !it.allows)
    }
}

/// Returns the name in lower case by which a robots.txt knows a user agent: its first word up to the version.
fn product_of(user_agent: &str) -> String {
    if user_agent == "*" {
        return user_agent.to_owned();
    }
    let is_named = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    let end = user_agent.find(|it| !is_named(it)).unwrap_or(user_agent.len());
    user_agent[..end].to_ascii_lowercase()
}

/// Returns a path in the one way in which paths and patterns are compared: what needs no escape has none, and escapes are
/// in upper case.
fn normal_path(path: &str) -> String {
    let mut normal = String::with_capacity(path.len());
    let bytes = path.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).filter(|_| byte == b'%');
        let escaped = hex
            .filter(|hex| hex.iter().all(u8::is_ascii_hexdigit))
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        at += if escaped.is_some() { 3 } else { 1 };
        let (it, is_plain) = match escaped {
            Some(it) => (it, it.is_ascii_alphanumeric() || b"-._~".contains(&it)),
            None => (byte, byte.is_ascii_graphic()),
        };
        if is_plain {
            normal.push(char::from(it));
        } else {
            normal.push('%');
            for digit in [it >> 4, it & 0xf] {
                normal.push(char::from(b"0123456789ABCDEF"[usize::from(digit)]));
            }
        }
    }
    normal
}

/// Whether a path begins as a pattern says. `*` stands for any text, and `$` at the end for the end of the path. Each part
/// is looked for once, so that no pattern takes long.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let last = if is_whole { parts.pop() } else { None };
    for part in &parts {
        let Some(at) = memmem::find(rest.as_bytes(), part.as_bytes()) else { return false };
        rest = &rest[at + part.len()..];
    }
    match last {
        Some(last) => rest.ends_with(last),
        None => !is_whole || rest.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(robots: &str, path: &str, denied_by: Option<usize>) {
        let rules = RobotsRules::parse(robots.as_bytes());
        let denial = rules.denial("toolcrib/0.1.0", path).map(|it| it.number);
        assert_eq!(denial, denied_by, "{robots:?} {path}");
    }

    #[test]
    fn the_longest_pattern_counts_and_allows_if_two_are_as_long() {
        let robots = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nAllow: /same\nDisallow: /same";
        for (path, denied_by) in [
            ("/", None),
            ("/a", Some(2)),
            ("/apple", Some(2)),
            ("/a/b", None),
            ("/a/b/c?d", Some(4)),
            ("/same", None),
            ("/A", None),
        ] {
            check(robots, path, denied_by);
        }
    }

    #[test]
    fn stars_and_ends_are_matched() {
        for (pattern, path, is_denied) in [
            ("/*.gif$", "/x/y.gif", true),
            ("/*.gif$", "/x/y.gif?z", false),
            ("/*.gif", "/x/y.gif?z", true),
            ("/x*y*z", "/x--y--z--", true),
            ("/x*y*z", "/x--z--y--", false),
            ("/$", "/", true),
            ("/$", "/a", false),
            ("*", "/a", true),
            ("/a*$", "/abc", true),
            ("/ab*b$", "/ab", false),
            ("/ab*b$", "/abb", true),
            ("/**a", "/xa", true),
            ("/$a", "/$a", true),
            ("", "/", false),
            ("/caf%c3%A9", "/caf%C3%a9", true),
            ("/caf\u{e9}", "/caf%C3%A9", true),
            ("/%61", "/a", true),
            ("/a%2Fb", "/a/b", false),
            ("/a%2fb", "/a%2Fb", true),
            ("/%zz%", "/%zz%1", true),
        ] {
            check(&format!("User-agent: *\nDisallow: {pattern}"), path, is_denied.then_some(2));
        }
        let stars = "*a".repeat(20_000);
        check(
            &format!("User-agent: *\nDisallow: /{stars}b"),
            &format!("/{}", "a".repeat(8000)),
            None,
        );
    }

    #[test]
    fn the_group_that_names_us_counts_instead_of_the_one_for_all() {
        let robots = "User-agent: *\nDisallow: /\n\nUser-Agent: ToolCrib/9\nUser-agent: other\nDisallow: /x\n\
                      User-agent: toolcrib\nDisallow: /y # with a comment\n";
        check(robots, "/", None);
        check(robots, "/x", Some(6));
        check(robots, "/y", Some(8));
        let rules = RobotsRules::parse(robots.as_bytes());
        assert_eq!(rules.denial("toolcrib/1", "/y").unwrap().text, "Disallow: /y");
        assert_eq!(rules.denial("someone/1", "/z").unwrap().number, 2);
        check("User-agent: toolcribber\nDisallow: /", "/", None);
    }

    #[test]
    fn what_is_no_rule_is_skipped() {
        for (robots, denied_by) in [
            ("", None),
            ("Disallow: /", None),
            ("User-agent: *\nDisallow:", None),
            ("<html>404: not found</html>", None),
            ("\u{feff}User-agent: *\rDisallow: /", Some(2)),
            ("user-agent : *\r\ndisallow : /\r\n", Some(2)),
            ("User-agent: *\nSitemap: x\nDisallow: /", Some(3)),
            ("User-agent: *\n\n\nDisallow: /", Some(4)),
        ] {
            check(robots, "/a", denied_by);
        }
        check("User-agent: *\nDisallow: /", "/robots.txt", None);
        assert!(
            RobotsRules::parse(b"User-agent: *\nDisallow: /\xff")
                .denial("a", "/\u{fffd}")
                .is_some()
        );
    }
}
