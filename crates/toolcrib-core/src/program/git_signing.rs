//! When git signs or checks a signature. It runs `gpg` for that, or whatever program the settings name.

use super::arguments::is_long;

/// The short flags of a subcommand that sign or check, and those that take a value: what follows such a letter is the
/// value, as in `git commit -mS`.
struct SigningLetters {
    command: &'static str,
    signs: &'static str,
    values: &'static str,
}

const SIGNING_LETTERS: &[SigningLetters] = &[
    SigningLetters { command: "am", signs: "S", values: "Cp" },
    SigningLetters { command: "cherry-pick", signs: "S", values: "Xm" },
    SigningLetters { command: "commit", signs: "S", values: "CFcmtu" },
    SigningLetters { command: "commit-tree", signs: "S", values: "Fmp" },
    SigningLetters { command: "merge", signs: "S", values: "FXms" },
    SigningLetters { command: "pull", signs: "S", values: "Xjos" },
    SigningLetters { command: "revert", signs: "S", values: "Xm" },
    SigningLetters { command: "tag", signs: "suv", values: "Fmn" },
];

/// The long flags that sign or check, and the subcommands that have them. Other subcommands have a harmless flag of the
/// same name or beginning, such as `git commit --signoff`.
const SIGNING_FLAGS: &[(&str, &str)] = &[
    ("push", "--signed"),
    ("send-pack", "--signed"),
    ("tag", "--local-user"),
    ("tag", "--sign"),
    ("tag", "--verify"),
];

/// Whether a subcommand of git checks signatures, whatever its words are.
pub(super) fn checks_signatures(command: &str) -> bool {
    matches!(command, "verify-commit" | "verify-tag")
}

/// Whether a word makes a subcommand of git sign or check a signature.
pub(super) fn signs(command: &str, word: &str) -> bool {
    let letters = SIGNING_LETTERS.iter().find(|it| it.command == command);
    let is_letter = letters.is_some_and(|it| has_letter(word, it));
    let is_flag = |(of, long): &(&str, &str)| *of == command && is_long(word, long);
    is_letter || SIGNING_FLAGS.iter().any(is_flag) || shows_signature(command, word)
}

/// Whether a group of short flags has one that signs, before one that takes the rest of the word as its value.
fn has_letter(word: &str, of: &SigningLetters) -> bool {
    let Some(letters) = word.strip_prefix('-').filter(|it| !it.starts_with('-')) else {
        return false;
    };
    letters.chars().take_while(|it| !of.values.contains(*it)).any(|it| of.signs.contains(it))
}

/// Whether a format or the order of a list asks for a signature, which git then checks. Between `%` and a letter can be
/// a sign that says how empty values are shown.
fn shows_signature(command: &str, word: &str) -> bool {
    let mut places = word.split('%').skip(1);
    let is_signature = |place: &str| place.trim_start_matches(['-', '+', ' ']).starts_with('G');
    let lists_refs = matches!(command, "branch" | "for-each-ref" | "tag");
    places.any(is_signature) || lists_refs && word.contains("signature")
}
