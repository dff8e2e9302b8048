//! The operations that the hint of a failed undo names, as each door spells them.

/// How an operation begins at a terminal and over HTTP.
const SPELLINGS: [(&str, &str); 3] = [
    ("`toolcrib undo ", "`POST /api/undo/"),
    ("`toolcrib undo`", "`GET /api/undo`"),
    ("`toolcrib audit show ", "`GET /api/audit/"),
];

/// Returns a hint with the operations of the server's API.
pub(in crate::command) fn over_http(hint: &str) -> String {
    SPELLINGS.iter().fold(hint.to_owned(), |hint, (here, there)| hint.replace(here, there))
}

/// Returns a hint of a server with the commands of a terminal.
pub(super) fn at_terminal(hint: &str) -> String {
    SPELLINGS.iter().fold(hint.to_owned(), |hint, (here, there)| hint.replace(there, here))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_operation_of_its_door() {
        for (here, there) in [
            ("`toolcrib undo 01A` redoes the call", "`POST /api/undo/01A` redoes the call"),
            ("`toolcrib undo` lists the calls", "`GET /api/undo` lists the calls"),
            ("`toolcrib audit show 01A` says", "`GET /api/audit/01A` says"),
            ("repeat the call", "repeat the call"),
        ] {
            assert_eq!((over_http(here).as_str(), at_terminal(there).as_str()), (there, here));
        }
    }
}
