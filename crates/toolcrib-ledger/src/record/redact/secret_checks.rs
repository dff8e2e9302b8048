//! Decides whether what a form matched is a secret.

/// The schemes of authorization, as a part of a regular expression.
macro_rules! schemes {
    () => {
        "apikey|basic|bearer|bot|digest|geniekey|key|negotiate|ntlm|oauth|splunk|ssws|token"
    };
}
pub(super) use schemes;

/// The schemes of authorization, separated by `|`.
const SCHEMES: &str = schemes!();

/// Accepts everything: the form alone is proof.
pub(super) fn is_anything(_: &str) -> bool {
    true
}

/// Returns whether a value is written out, and not a placeholder that is filled in elsewhere.
pub(super) fn is_written_out(value: &str) -> bool {
    // Separators that follow the value in a command.
    let value = value.trim().trim_end_matches([';', ',', '|', '&']);
    let is_within = |start: &str, end: &str| {
        value.len() >= start.len() + end.len() && value.starts_with(start) && value.ends_with(end)
    };
    let is_filled_in = match value.as_bytes() {
        // The output of a command, and templates that were cut at their first blank.
        [b'$', b'(', ..] | b"{{" | b"${{" => true,
        [b'$', name @ ..] => is_variable(name) || is_within("${", "}"),
        // Placeholders of programs: `%s`, `%(name)s`, `%NAME%`.
        [b'%', kind] => kind.is_ascii_alphabetic(),
        [b'%', name @ .., b'%'] => name.iter().all(|byte| is_name_byte(*byte)),
        [b'%', b'(', .., b')', _] => true,
        _ => is_within("{", "}") || is_within("<", ">") || is_within("[", "]"),
    };
    // A value that was shortened for display: `sk-...`, `abc...xyz`.
    let is_short = |(start, end): (&str, &str)| start.len() <= 12 && end.len() <= 4;
    let is_shortened = value.rsplit_once("...").is_some_and(is_short);
    !is_filled_in && !is_shortened && !value.chars().all(|c| "*xX•".contains(c))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns whether this can be the name of a variable: all in upper case, or all in lower case without digits.
/// `$ecretPw12` is not a variable.
fn is_variable(name: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| name.iter().any(is);
    !name.is_empty()
        && name.iter().all(|byte| is_name_byte(*byte))
        && (!has(u8::is_ascii_lowercase)
            || !has(u8::is_ascii_uppercase) && !has(u8::is_ascii_digit))
}

/// Words that stand where a password could, and are none.
const NOT_PASSWORDS: [&str; 14] = [
    "none",
    "null",
    "nil",
    "true",
    "false",
    "str",
    "string",
    "required",
    "optional",
    "undefined",
    "empty",
    "text",
    "hidden",
    "secret",
];

/// Returns whether the value of a variable for a password is one, and not a switch or a path.
pub(super) fn is_setting(value: &str) -> bool {
    let is_switch = NOT_PASSWORDS.contains(&value.to_ascii_lowercase().as_str());
    is_written_out(value) && !is_switch && !is_path(value)
}

/// Returns whether the text before the `@` of an address names a person, and not a program that many people share.
pub(super) fn is_mailbox(name: &str) -> bool {
    const SHARED: [&str; 9] =
        ["git", "hg", "svn", "root", "noreply", "no-reply", "postmaster", "user", "username"];
    !name.contains('@') && !SHARED.contains(&name.to_ascii_lowercase().as_str())
}

/// Returns whether the text after `password=` is a password, and not a name, a type or a path in a program.
pub(super) fn is_password(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_name = NOT_PASSWORDS.contains(&lower.as_str())
        || ["pass", "pwd", "::", "->"].iter().any(|part| lower.contains(part))
        || value.contains('.') && value.bytes().all(|byte| is_name_byte(byte) || byte == b'.');
    is_written_out(value) && !is_name && !is_path(value)
}

/// Returns whether the text between `:` and `@` in a URL is the password of its user information, and not a port
/// with a path.
pub(super) fn is_userinfo(value: &str) -> bool {
    let port = value.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = port.len() < value.len() && port.bytes().all(|byte| byte.is_ascii_digit());
    !is_port && is_written_out(value)
}

/// Returns whether a value is a token: more than words and small numbers with dashes between them.
pub(super) fn is_token(value: &str) -> bool {
    value.split(['-', '_']).any(|part| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        part.len() > word.len() + 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase())
    })
}

/// Returns whether a word belongs to a sentence or to code: letters, and capitals only where words or names have
/// them.
fn is_plain(word: &str) -> bool {
    let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
    let is_number = word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = |part: &str| {
        let has_lower = part.bytes().any(|byte| byte.is_ascii_lowercase());
        let has_hump = part.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
        part.bytes().all(|byte| byte.is_ascii_alphabetic())
            && (word.contains('.') || !has_lower || !has_hump)
    };
    is_number || word.split(['.', '-', '_', '\'', '/']).all(is_name)
}

/// Returns whether the text after an authorization scheme is a credential: not a placeholder, and not the rest of a
/// sentence.
pub(super) fn is_credential_text(value: &str) -> bool {
    let words = || value.split_whitespace();
    let is_prose = words().all(is_plain) && (words().count() > 1 || value.trim().len() < 4);
    is_written_out(value) && words().any(is_written_out) && !is_prose
}

/// Returns whether the text after `Authorization:` is a credential of an unknown scheme: not a word, code or a
/// placeholder.
pub(super) fn is_credential(value: &str) -> bool {
    let is_code = ["::", "&&", " = ", "=="].iter().any(|sign| value.contains(sign));
    let is_called = |word: &str| word.contains(['(', ')', '[', ']', '{', '}', '<', '>']);
    let is_known = |word: &str| SCHEMES.split('|').any(|it| it.eq_ignore_ascii_case(word));
    // A secret in a URL is found by the forms of URLs.
    let is_secret = |word: &str| {
        is_written_out(word) && !is_plain(word) && !is_called(word) && !word.contains("://")
    };
    let mut words = value.split_whitespace();
    !is_code && !words.clone().next().is_some_and(is_known) && words.any(is_secret)
}

/// Returns whether a value mixes kinds of characters, as few words do.
pub(super) fn is_mixed(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let kinds = [has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase), has(u8::is_ascii_digit)];
    let symbols = value.bytes().any(|byte| b"!@#$%^&*+=~?".contains(&byte));
    let kinds = kinds.iter().filter(|kind| **kind).count() + usize::from(symbols);
    let name = value.trim_start_matches(['*', '&']);
    let is_type = name.len() < value.len() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_code = is_type || ["::", "()", "->"].iter().any(|sign| value.contains(sign));
    is_written_out(value)
        && !is_code
        && !is_path(value)
        && kinds >= 2
        && (has(u8::is_ascii_digit) || symbols || is_random(value))
}

/// Returns whether a value is a rooted path: words that may end in small numbers.
fn is_path(value: &str) -> bool {
    let is_rooted = ["/", "~/", "./", "../"].iter().any(|root| value.starts_with(root));
    let is_word = |part: &str| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let mut letters = word.bytes();
        part.len() <= word.len() + 4
            && letters.next().is_none_or(|byte| byte.is_ascii_alphabetic())
            && letters.all(|byte| byte.is_ascii_lowercase())
    };
    is_rooted && value.trim_start_matches('~').split(['/', '.', '-', '_']).all(is_word)
}

/// Returns whether a value is a strong password: it has digits and symbols that no name has.
pub(super) fn is_strong(value: &str) -> bool {
    let symbols = value.bytes().filter(|byte| b"!@#$%^&*()+=~?".contains(byte)).count();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    is_written_out(value) && symbols >= 2 && digits >= 2 && !value.contains("()")
}

/// Returns whether a value looks random: many different characters of several kinds, and no words.
pub(super) fn is_random(value: &str) -> bool {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let size = value.len() as f64;
    let entropy: f64 = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / size)
        .map(|share| -share * share.log2())
        .sum();
    let digits = value.bytes().filter(u8::is_ascii_digit).count() - digits_of_dates(value);
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let is_path = value.contains('/') && value.split('/').all(|part| part.bytes().all(is_plain));
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let is_long = value.len() >= 20 && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let is_varied = digits >= 2 && entropy >= 3.0 || digits >= 1 && is_long && entropy >= 3.8;
    is_written_out(value) && !is_path && letters >= 2 && is_varied
}

/// Returns how many digits of a value belong to dates (`2022-11-28`), which are not random.
fn digits_of_dates(value: &str) -> usize {
    let parts: Vec<&str> = value.split('-').collect();
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_part = |(part, size): (&&str, usize)| part.len() == size && is_number(part);
    parts.windows(3).filter(|parts| parts.iter().zip([4, 2, 2]).all(is_part)).count() * 8
}
