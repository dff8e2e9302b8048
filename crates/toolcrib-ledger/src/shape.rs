//! The shape of a message: what stays the same when it is about another file, number or id.

/// Returns a message with its particulars taken out.
pub(crate) fn shape(message: &str) -> String {
    const LONGEST: usize = 160;
    let mut out = String::new();
    let mut rest = message;
    while let Some(first) = rest.chars().next() {
        if out.len() >= LONGEST {
            break;
        }
        // What is quoted is about this call.
        let before = &message[..message.len() - rest.len()];
        if let Some(end) = closing(rest, first).filter(|_| !is_apostrophe(before, first)) {
            out.push('…');
            rest = &rest[end..];
            continue;
        }
        if first.is_whitespace() {
            if !out.ends_with(' ') {
                out.push(' ');
            }
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let is_end = |c: char| c.is_whitespace() || QUOTES.iter().any(|(open, _)| *open == c);
        let end = rest.find(is_end).unwrap_or(rest.len());
        let end = end.max(first.len_utf8());
        out.push_str(&word(&rest[..end]));
        rest = &rest[end..];
    }
    out.trim().to_owned()
}

/// Quotes, and what closes each.
const QUOTES: [(char, char); 6] =
    [('`', '`'), ('\'', '\''), ('"', '"'), ('“', '”'), ('‘', '’'), ('«', '»')];

/// Where a quoted text ends, with its quote; nothing if this opens none.
fn closing(text: &str, quote: char) -> Option<usize> {
    let (_, end) = QUOTES.iter().find(|(open, _)| *open == quote)?;
    let inner = &text[quote.len_utf8()..];
    // Neither does an apostrophe close anything: a letter comes right behind it.
    let is_closing = |at: &usize| {
        let behind = inner[at + end.len_utf8()..].chars().next();
        !matches!(quote, '\'' | '‘') || !behind.is_some_and(char::is_alphanumeric)
    };
    let at = inner.match_indices(*end).map(|(at, _)| at).find(is_closing)?;
    (at < 400 && !inner[..at].contains('\n')).then(|| quote.len_utf8() + at + end.len_utf8())
}

/// Whether a quote is an apostrophe: it comes right behind a letter, as in `can't`, which is not the mark of a kind of
/// text, as in Python's `b'…'`.
fn is_apostrophe(before: &str, quote: char) -> bool {
    let start = before.trim_end_matches(char::is_alphabetic);
    quote == '\'' && !matches!(&before[start.len()..], "" | "b" | "f" | "r" | "u")
}

/// A word, or what stands for all like it.
fn word(word: &str) -> String {
    let core = word.trim_matches(|c: char| "()[]{}<>,;:.".contains(c));
    if core.is_empty() {
        return word.to_owned();
    }
    let is_path = core.contains('/') && core.len() > 1;
    let digits = core.bytes().filter(u8::is_ascii_digit).count();
    let is_id = core.len() >= 8
        && digits >= 2
        && !core.starts_with("0x")
        && core.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_path || is_id || is_address(core) {
        return word.replacen(core, "…", 1);
    }
    // Numbers, wherever they are.
    let mut out = String::new();
    let mut rest = word;
    while let Some(c) = rest.chars().next() {
        let hex =
            rest.strip_prefix("0x").filter(|hex| hex.starts_with(|c: char| c.is_ascii_hexdigit()));
        rest = if let Some(hex) = hex {
            out.push('#');
            hex.trim_start_matches(|c: char| c.is_ascii_hexdigit())
        } else if c.is_ascii_digit() {
            out.push('#');
            rest.trim_start_matches(|c: char| c.is_ascii_digit())
        } else {
            out.push(c);
            &rest[c.len_utf8()..]
        };
    }
    out
}

/// Whether a word is the address of somebody, or the name of a host: what ends in a domain that many have.
fn is_address(word: &str) -> bool {
    const DOMAINS: [&str; 24] = [
        "ai",
        "app",
        "arpa",
        "ca",
        "ch",
        "cloud",
        "co",
        "com",
        "de",
        "dev",
        "edu",
        "eu",
        "fr",
        "gov",
        "internal",
        "io",
        "jp",
        "lan",
        "local",
        "localdomain",
        "net",
        "org",
        "test",
        "uk",
    ];
    if let Some((user, host)) = word.split_once('@') {
        return !user.is_empty() && !host.is_empty();
    }
    let (host, port) = word.split_once(':').unwrap_or((word, ""));
    let is_part = |part: &str| {
        let mut bytes = part.bytes();
        !part.is_empty()
            && bytes.all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
    };
    let ends = host.rsplit_once('.').is_some_and(|(_, end)| DOMAINS.contains(&end));
    ends && host.split('.').all(is_part) && port.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_about_other_things_have_one_shape() {
        for (messages, expect) in [
            (&["File 'x' not found", "File 'y z' not found"][..], "File … not found"),
            (&["`a/b` is a file", "`c` is a file"], "… is a file"),
            (&["took longer than 30000 ms", "took longer than 5 ms"], "took longer than # ms"),
            (
                &["cannot open /tmp/a.txt: denied", "cannot open /b: denied"],
                "cannot open …: denied",
            ),
            (
                &["no task 01M7FEQ426FFZH392JP3N0SSSH", "no task 01M7G27YAHDG5Q7JDFBQ8FH0K0"],
                "no task …",
            ),
            (&["it isn't there", "it isn't there"], "it isn't there"),
            (&["can't open 'a.txt'", "can't open 'b c'"], "can't open …"),
            (
                &["the users' list isn't in 'a'", "the users' list isn't in 'b'"],
                "the users' list isn't in …",
            ),
            (&["'a' isn't 'b'", "'it isn't' isn't 'c'"], "… isn't …"),
            (&["not a number: b'x1'", "not a number: b'y z'"], "not a number: b…"),
            (&["no «a b»", "no «c»"], "no …"),
            (&["no ‘a b’ here", "no ‘it’s c’ here"], "no … here"),
            (
                &["cannot reach db1.example.com: gone", "cannot reach a-b.co.uk:8080: gone"],
                "cannot reach …: gone",
            ),
            (&["<ada@example.com> is unknown", "<bob@localhost> is unknown"], "<…> is unknown"),
            (&["fault at 0x1f, code 7", "fault at 0x7ffd12345678, code 12"], "fault at #, code #"),
            (&["code=0xdeadbeef", "code=0x0"], "code=#"),
        ] {
            for message in messages {
                assert_eq!(shape(message), expect, "{message}");
            }
        }
        assert_ne!(shape("File 'x' not found"), shape("File 'x' not readable"));
        // Neither code nor the end of a sentence is a host.
        for message in [
            "serde.Error is not std.fmt.Error",
            "it failed.It is slow",
            "@ least",
            "0x is no number",
        ] {
            assert_eq!(shape(message), message.replace('0', "#"), "{message}");
        }
        assert!(shape(&"word ".repeat(1000)).len() < 200);
        assert_eq!(shape(""), "");
    }
}
