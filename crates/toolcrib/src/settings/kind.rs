//! What a setting is: its name, what it may be, and what a project may do to it.

/// One setting.
#[derive(Debug)]
pub struct Key {
    /// Its name in files, with dots between tables.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it is if nobody sets it, as TOML.
    pub default: &'static str,
    /// What a project's own file may do to it.
    pub project: Project,
    /// A name in the environment beside `TOOLCRIB_…`.
    pub contract_name: Option<&'static str>,
}

impl Key {
    /// Its own name in the environment.
    pub fn variable(&self) -> String {
        format!("TOOLCRIB_{}", self.name.to_uppercase().replace('.', "_"))
    }
}

/// What a setting may be.
#[derive(Debug)]
pub enum Kind {
    /// One of these words, strictest first.
    Choice(&'static [&'static str]),
    /// A whole number in a range.
    Count(i64, i64),
    /// A list of words; in the environment, separated by commas.
    Names,
    /// Any text.
    Text,
    /// A table of JSON Schemas: inline, or as the path of a file.
    Schemas,
}

/// What a project's own file may do. Nothing here can loosen.
#[derive(Debug)]
pub enum Project {
    /// Nothing.
    Never,
    /// Choose a stricter word.
    Stricter,
    /// Choose a smaller number.
    Smaller,
    /// Leave out of the list, which means all when it is empty.
    Fewer,
    /// Leave out of the list, which means nothing when it is empty.
    Less,
    /// Add to the list.
    More,
    /// Set it to this and nothing else.
    Only(&'static str),
}
