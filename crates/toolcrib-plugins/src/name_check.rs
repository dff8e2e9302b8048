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
        if skeleton(other) == own_skeleton {
            return Err(taken(name, other, "a reserved name"));
        }
    }
    for shelved in shelf.tools() {
        let other = shelved.full_name();
        let is_earlier_version =
            other.catalogue() == Some(PLUGINS_CATALOGUE) && other.tool() == name;
        if !is_earlier_version && skeleton(other.tool()) == own_skeleton {
            return Err(taken(name, other.as_str(), "another tool"));
        }
    }
    for other in others {
        if skeleton(other) == own_skeleton {
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
        for bad in ["read_file", "re4d_file", "r3ad_fi1e", "readfile"] {
            let Err(err) = check(bad, &no_tools(), &others) else { panic!("{bad}") };
            assert_eq!(err.kind, PluginErrorKind::NameTaken, "{bad}");
        }
        check("read_files", &no_tools(), &others).unwrap();
    }
}
