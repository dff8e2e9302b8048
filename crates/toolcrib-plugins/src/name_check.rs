//! Names of plugins: their form, and that none is another tool's or looks like one.

use toolcrib_core::Shelf;

use crate::lifecycle::PLUGINS_CATALOGUE;
use crate::name_form::check_form;
use crate::plugin_error::{PluginError, PluginErrorKind};

/// Names that would let a reader take a plugin for a part of the system or of Toolcrib.
const RESERVED_NAMES: [&str; 20] = [
    "shell",
    "bash",
    "sh",
    "zsh",
    "exec",
    "execute",
    "eval",
    "sudo",
    "su",
    "root",
    "system",
    "admin",
    "toolcrib",
    "mcp",
    "find_tools",
    "use_tool",
    "propose_tool",
    "approve",
    "policy",
    "plugins",
];

/// Fails if a plugin cannot have this name. `others` are the names of other plugins. A further version of a plugin has
/// the name of the plugin.
pub fn check(name: &str, shelf: &Shelf, others: &[String]) -> Result<(), PluginError> {
    check_form(name)?;
    let own_skeleton = skeleton(name);
    let reserved = RESERVED_NAMES.iter().copied().chain(shelf.catalogues().map(|it| it.name));
    for other in reserved {
        if other == name {
            let message = format!("`{name}` is reserved");
            let taken = PluginError::new(PluginErrorKind::NameTaken, message);
            return Err(taken.hint("choose another name"));
        }
        if skeleton(other) == own_skeleton || is_misread(name, other) {
            return Err(taken(name, other, "a reserved name"));
        }
    }
    for shelved in shelf.tools() {
        let other = shelved.full_name();
        let is_earlier_version =
            other.catalogue() == Some(PLUGINS_CATALOGUE) && other.tool() == name;
        let looks_alike = skeleton(other.tool()) == own_skeleton || is_misread(name, other.tool());
        if !is_earlier_version && looks_alike {
            return Err(taken(name, other.as_str(), "another tool"));
        }
    }
    for other in others {
        if skeleton(other) == own_skeleton || is_misread(name, other) {
            return Err(taken(name, other, "another plugin"));
        }
    }
    Ok(())
}

fn taken(name: &str, other: &str, what: &str) -> PluginError {
    let bare = other.rsplit_once('/').map_or(other, |(_, bare)| bare);
    let relation = if bare == name { "is the name of" } else { "looks like" };
    let message = format!("`{name}` {relation} `{other}`, which is {what}");
    PluginError::new(PluginErrorKind::NameTaken, message).hint("choose another name")
}

/// Returns what two names have in common if a reader can take one for the other.
fn skeleton(name: &str) -> String {
    let folded: String = name
        .chars()
        .flat_map(char::to_lowercase)
        .filter(|c| !matches!(c, '_' | '-'))
        .map(|c| match c {
            '0' => 'o',
            '1' | 'i' => 'l',
            '3' => 'e',
            '4' => 'a',
            '5' => 's',
            '7' => 't',
            other => other,
        })
        .collect();
    folded.replace("rn", "m").replace("vv", "w")
}

/// The shortest name, and the shortest part of a name between underscores, in which one letter can be overlooked.
const MISREAD_NAME: usize = 6;
const MISREAD_WORD: usize = 4;

/// Whether a reader can overlook the difference: one letter of a longer word is another one, is missing, is too much, or
/// two are swapped. Digits are read one by one, and what ends a name, such as a plural, is seen.
fn is_misread(name: &str, other: &str) -> bool {
    if name.len().min(other.len()) < MISREAD_NAME {
        return false;
    }
    let (one, two): (Vec<&str>, Vec<&str>) =
        (name.split('_').collect(), other.split('_').collect());
    if one.len() != two.len() {
        return false;
    }
    let mut unlike = one.iter().zip(&two).filter(|(one, two)| one != two);
    match (unlike.next(), unlike.next()) {
        (Some((one, two)), None) => {
            one.len().max(two.len()) >= MISREAD_WORD && is_slip(one.as_bytes(), two.as_bytes())
        }
        _ => false,
    }
}

/// Whether one slip of the pen makes one word of the other.
fn is_slip(one: &[u8], two: &[u8]) -> bool {
    let (short, long) = if one.len() <= two.len() { (one, two) } else { (two, one) };
    let same = short.iter().zip(long).take_while(|(one, two)| one == two).count();
    let are_letters = |word: &[u8]| word.iter().all(u8::is_ascii_lowercase);
    match (&short[same..], &long[same..]) {
        // At the end, a further letter is a form of the word.
        ([], _) => false,
        (rest, [extra, longer @ ..]) if rest == longer => are_letters(&[*extra]),
        ([a, rest @ ..], [b, others @ ..]) if rest == others => are_letters(&[*a, *b]),
        ([a, b, rest @ ..], [c, d, others @ ..]) if (a, b) == (d, c) && rest == others => {
            are_letters(&[*a, *b])
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_tools() -> Shelf {
        Shelf::from([].as_slice())
    }

    #[test]
    fn a_name_has_a_form() {
        for good in ["a", "analyze_logs", "x2", &"a".repeat(40)] {
            check(good, &no_tools(), &[]).unwrap_or_else(|err| panic!("{good}: {err}"));
        }
        for bad in [
            "",
            "2x",
            "_a",
            "a_",
            "a__b",
            "Hello",
            "a-b",
            "a/b",
            "a b",
            "naïve",
            "shеll",
            &"a".repeat(41),
        ] {
            let err = check(bad, &no_tools(), &[]).expect_err(bad);
            assert_eq!(err.kind, PluginErrorKind::BadName, "{bad}");
        }
    }

    #[test]
    fn a_name_is_not_reserved_and_looks_like_no_reserved_one() {
        for bad in ["shell", "she11", "shel1", "s_hell", "too1crib", "adrnin", "ba5h", "5ystem"] {
            let Err(err) = check(bad, &no_tools(), &[]) else { panic!("{bad}") };
            let form = check_form(bad).is_err();
            let expected = if form { PluginErrorKind::BadName } else { PluginErrorKind::NameTaken };
            assert_eq!(err.kind, expected, "{bad}");
        }
        check("shellfish", &no_tools(), &[]).unwrap();
        let others = ["read_file".to_owned()];
        for bad in [
            "read_file",
            "re4d_file",
            "r3ad_fi1e",
            "readfile",
            "reed_file",
            "raed_file",
            "rread_file",
            "read_fle",
            "red_file",
            "read_fiie",
        ] {
            let Err(err) = check(bad, &no_tools(), &others) else { panic!("{bad}") };
            assert_eq!(err.kind, PluginErrorKind::NameTaken, "{bad}");
        }
        for good in ["read_files", "read_pile2", "write_file", "read_line_file"] {
            check(good, &no_tools(), &others).unwrap_or_else(|err| panic!("{good}: {err}"));
        }
        // Short names and numbers are read letter by letter.
        for (other, good) in [
            ("grep", "grip"),
            ("tool_1", "tool_2"),
            ("step_10", "step_11"),
            ("x_in_use", "x_on_use"),
        ] {
            check(good, &no_tools(), &[other.to_owned()])
                .unwrap_or_else(|err| panic!("{good}: {err}"));
        }
    }
}
