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
        if matches!(first, '`' | '\'' | '"' | '“')
            && let Some(end) = closing(rest, first)
        {
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
        let end =
            rest.find(|c: char| c.is_whitespace() || "`'\"“".contains(c)).unwrap_or(rest.len());
        let end = end.max(first.len_utf8());
        out.push_str(&word(&rest[..end]));
        rest = &rest[end..];
    }
    out.trim().to_owned()
}

/// Where a quoted text ends, with its quote; nothing for an apostrophe.
fn closing(text: &str, quote: char) -> Option<usize> {
    let end = if quote == '“' { '”' } else { quote };
    let inner = &text[quote.len_utf8()..];
    let at = inner.find(end)?;
    (at < 400 && !inner[..at].contains('\n')).then(|| quote.len_utf8() + at + end.len_utf8())
}

/// A word, or what stands for all like it.
fn word(word: &str) -> String {
    let core = word.trim_matches(|c: char| "()[]{},;:.".contains(c));
    if core.is_empty() {
        return word.to_owned();
    }
    let is_path = core.contains('/') && core.len() > 1;
    let digits = core.bytes().filter(u8::is_ascii_digit).count();
    let is_id = core.len() >= 8
        && digits >= 2
        && core.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_path || is_id {
        return word.replacen(core, "…", 1);
    }
    // Numbers, wherever they are.
    let mut out = String::new();
    for c in word.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
    out
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
        ] {
            for message in messages {
                assert_eq!(shape(message), expect, "{message}");
            }
        }
        assert_ne!(shape("File 'x' not found"), shape("File 'x' not readable"));
        assert!(shape(&"word ".repeat(1000)).len() < 200);
        assert_eq!(shape(""), "");
    }
}
