//! Where links lead: relative addresses made absolute, and those that a reader cannot follow left out.

/// The longest address that is shown.
const LONGEST_ADDRESS: usize = 2_000;

/// The schemes of addresses that are shown. Others, such as `javascript` and `data`, lead nowhere for a reader.
const SHOWN_SCHEMES: [&str; 12] = [
    "http", "https", "mailto", "tel", "ftp", "ftps", "magnet", "irc", "git", "ssh", "xmpp", "sftp",
];

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkGoal {
    /// Another page, by its absolute address.
    Elsewhere(String),
    /// Another place of the same page.
    SamePage,
    /// Nowhere that a reader can follow.
    Nowhere,
}

/// The address of a page, from which relative addresses are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageAddress {
    /// The address without its fragment.
    address: String,
    /// Where the parts of the address end: scheme, host, path.
    scheme_end: usize,
    host_end: usize,
    path_end: usize,
}

/// Returns the length of the scheme of an address, without the colon.
fn scheme_length(address: &str) -> Option<usize> {
    let bytes = address.as_bytes();
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let length = bytes.iter().take_while(|byte| is_letter(byte)).count();
    let is_scheme =
        bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(length) == Some(&b':');
    is_scheme.then_some(length)
}

/// Removes what browsers ignore in an address, and escapes what would end it in Markdown.
fn cleaned(address: &str) -> String {
    let mut cleaned = String::with_capacity(address.len());
    for letter in address.trim_matches(|letter: char| letter <= ' ').chars() {
        match letter {
            '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}' => {}
            ' ' | '(' | ')' | '<' | '>' | '"' | '|' | '`' => {
                const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
                let byte = letter as usize;
                cleaned.push('%');
                cleaned.push(char::from(DIGITS[byte >> 4]));
                cleaned.push(char::from(DIGITS[byte & 15]));
            }
            _ => cleaned.push(letter),
        }
    }
    cleaned
}

impl PageAddress {
    pub(crate) fn new(url: &str) -> Self {
        let mut address = cleaned(url);
        address.truncate(address.find('#').unwrap_or(address.len()));
        let scheme_end = match scheme_length(&address) {
            Some(length) if address[length..].starts_with("://") => length,
            _ => 0,
        };
        let host_begin = if scheme_end == 0 { 0 } else { scheme_end + 3 };
        let rest = &address[host_begin..];
        let host_length =
            if scheme_end == 0 { 0 } else { rest.find(['/', '?', '\\']).unwrap_or(rest.len()) };
        let host_end = host_begin + host_length;
        let path_end = address[host_end..].find('?').map_or(address.len(), |at| host_end + at);
        Self { address, scheme_end, host_end, path_end }
    }

    /// Returns the address that a `<base href>` of this page stands for.
    pub(crate) fn with_base(&self, href: &str) -> Option<Self> {
        match self.resolve(href) {
            LinkGoal::Elsewhere(address) => Some(Self::new(&address)),
            LinkGoal::SamePage | LinkGoal::Nowhere => None,
        }
    }

    /// Returns where an address leads that stands on this page.
    pub(crate) fn resolve(&self, href: &str) -> LinkGoal {
        if href.len() > LONGEST_ADDRESS * 2 {
            return LinkGoal::Nowhere;
        }
        let href = cleaned(href);
        let href = href.as_str();
        if href.is_empty() || href.starts_with('#') {
            return LinkGoal::SamePage;
        }
        let absolute = match scheme_length(href) {
            Some(length) => {
                if !SHOWN_SCHEMES.iter().any(|it| href[..length].eq_ignore_ascii_case(it)) {
                    return LinkGoal::Nowhere;
                }
                href.to_owned()
            }
            None if self.scheme_end == 0 => href.to_owned(),
            None => self.joined(&href.replace('\\', "/")),
        };
        if absolute.len() > LONGEST_ADDRESS {
            return LinkGoal::Nowhere;
        }
        match absolute.split_once('#') {
            Some((page, _)) if page == self.address => LinkGoal::SamePage,
            _ => LinkGoal::Elsewhere(absolute),
        }
    }

    fn joined(&self, href: &str) -> String {
        let (scheme, host) = (&self.address[..self.scheme_end], &self.address[..self.host_end]);
        if href.starts_with("//") {
            return format!("{scheme}:{href}");
        }
        if href.starts_with('?') {
            return format!("{}{href}", &self.address[..self.path_end]);
        }
        let path_length = href.find(['?', '#']).unwrap_or(href.len());
        let (path, rest) = href.split_at(path_length);
        let old_path = &self.address[self.host_end..self.path_end];
        let folder = if path.starts_with('/') {
            ""
        } else {
            old_path.rfind('/').map_or("/", |at| &old_path[..=at])
        };
        let path = without_dots(&format!("{folder}{path}"));
        format!("{host}{path}{rest}")
    }
}

/// Resolves `.` and `..` in a path that begins with `/`.
fn without_dots(path: &str) -> String {
    if !path.contains("/.") {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    let mut all = path.split('/').skip(1).peekable();
    while let Some(part) = all.next() {
        let is_last = all.peek().is_none();
        match part {
            "." | ".." => {
                if part == ".." {
                    parts.pop();
                }
                if is_last {
                    parts.push("");
                }
            }
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_addresses_become_absolute() {
        let page = PageAddress::new("https://example.org/a/b/page.html?q=1#top");
        for (href, expected) in [
            ("c.html", "https://example.org/a/b/c.html"),
            ("./c", "https://example.org/a/b/c"),
            ("../c?x=1#y", "https://example.org/a/c?x=1#y"),
            ("../../../c", "https://example.org/c"),
            ("..", "https://example.org/a/"),
            ("/c/./d/../e", "https://example.org/c/e"),
            ("//other.org/x", "https://other.org/x"),
            ("?q=2", "https://example.org/a/b/page.html?q=2"),
            ("http://other.org", "http://other.org"),
            (" https://other.org/a b\n", "https://other.org/a%20b"),
            ("/wiki/A_(b)", "https://example.org/wiki/A_%28b%29"),
            ("\\c\\d", "https://example.org/c/d"),
            ("mailto:a@example.org", "mailto:a@example.org"),
            ("a:b", ""),
            ("/a:b", "https://example.org/a:b"),
            ("/ü", "https://example.org/ü"),
        ] {
            let expected = match expected {
                "" => LinkGoal::Nowhere,
                address => LinkGoal::Elsewhere(address.to_owned()),
            };
            assert_eq!(page.resolve(href), expected, "{href}");
        }
        let root = PageAddress::new("https://example.org");
        assert_eq!(root.resolve("x"), LinkGoal::Elsewhere("https://example.org/x".to_owned()));
        let unknown = PageAddress::new("");
        assert_eq!(unknown.resolve("x/y"), LinkGoal::Elsewhere("x/y".to_owned()));
    }

    #[test]
    fn links_that_a_reader_cannot_follow_are_left_out() {
        let page = PageAddress::new("https://example.org/a");
        let long = format!("/{}", "a".repeat(5_000));
        for href in [
            "javascript:alert(1)",
            " JavaScript:alert(1)",
            "java\nscript:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "blob:x",
            long.as_str(),
        ] {
            assert_eq!(page.resolve(href), LinkGoal::Nowhere, "{href}");
        }
        for href in ["", "#", "#part", "https://example.org/a#part", "/a#part"] {
            assert_eq!(page.resolve(href), LinkGoal::SamePage, "{href}");
        }
    }

    #[test]
    fn base_of_a_page_changes_where_links_lead() {
        let page = PageAddress::new("https://example.org/a/b").with_base("/c/").unwrap();
        assert_eq!(page.resolve("d"), LinkGoal::Elsewhere("https://example.org/c/d".to_owned()));
        assert!(page.with_base("javascript:x").is_none());
    }
}
