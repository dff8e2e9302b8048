//! The shape of an error message: the part that stays the same when the message is about another file, number or
//! id.

/// The shape that messages have together that are not told apart.
pub(crate) const OTHER_SHAPES: &str = "(others)";

/// The length at which a shape is cut.
const LONGEST_SHAPE: usize = 160;

/// The length up to which quoted text is taken for one.
const LONGEST_QUOTE: usize = 400;

/// Returns a message with its particulars replaced.
pub(crate) fn message_shape(message: &str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some(first) = rest.chars().next() {
        if out.len() >= LONGEST_SHAPE {
            break;
        }
        // Quoted text is about this one call.
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
        out.push_str(&word_shape(&rest[..end]));
        rest = &rest[end..];
    }
    out.trim().to_owned()
}

/// Opening quotes, each with its closing one.
const QUOTES: [(char, char); 6] =
    [('`', '`'), ('\'', '\''), ('"', '"'), ('“', '”'), ('‘', '’'), ('«', '»')];

/// Returns where a quoted text ends, its closing quote included; `None` if no quoted text begins here.
fn closing(text: &str, quote: char) -> Option<usize> {
    let (_, end) = QUOTES.iter().find(|(open, _)| *open == quote)?;
    let inner = &text[quote.len_utf8()..];
    // An apostrophe closes nothing: a letter follows it.
    let is_closing = |at: &usize| {
        let behind = inner[at + end.len_utf8()..].chars().next();
        !matches!(quote, '\'' | '‘') || !behind.is_some_and(char::is_alphanumeric)
    };
    let at = inner.match_indices(*end).map(|(at, _)| at).find(is_closing)?;
    (at < LONGEST_QUOTE && !inner[..at].contains('\n'))
        .then(|| quote.len_utf8() + at + end.len_utf8())
}

/// Returns whether a quote is an apostrophe: it follows a letter, as in `can't`, and the letter is not the prefix of
/// a string literal, as in Python's `b'…'`.
fn is_apostrophe(before: &str, quote: char) -> bool {
    let start = before.trim_end_matches(char::is_alphabetic);
    quote == '\'' && !matches!(&before[start.len()..], "" | "b" | "f" | "r" | "u")
}

/// Returns a word, or the placeholder of all words like it.
fn word_shape(word: &str) -> String {
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
    // Numbers are replaced wherever they are in the word.
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

/// Returns whether a word is an e-mail address, or the name of a host in a common domain.
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
                assert_eq!(message_shape(message), expect, "{message}");
            }
        }
        assert_ne!(message_shape("File 'x' not found"), message_shape("File 'x' not readable"));
        // Code and the end of a sentence are not hosts.
        for message in [
            "serde.Error is not std.fmt.Error",
            "it failed.It is slow",
            "@ least",
            "0x is no number",
        ] {
            assert_eq!(message_shape(message), message.replace('0', "#"), "{message}");
        }
        assert!(message_shape(&"word ".repeat(1000)).len() < 200);
        assert_eq!(message_shape(""), "");
    }
}
