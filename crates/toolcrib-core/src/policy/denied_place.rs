//! Where denied paths can be: the part of a glob before its first wildcard tells, so that nobody has to look at a
//! whole tree for `secrets/**`.

use std::path::{Component, Path, PathBuf};

/// A place where denied paths can be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeniedPlace {
    /// An absolute path without wildcards. Denied paths are there or below it.
    pub base: PathBuf,
    /// How many levels below the base they can be at most; `None` if there is no bound.
    pub levels: Option<usize>,
}

/// The part of a glob before its first wildcard, and how far below it the glob can match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GlobReach {
    base: String,
    levels: Option<usize>,
}

impl GlobReach {
    /// Reads a glob as it is written.
    pub(super) fn of(glob: &str) -> Self {
        let Some(wild) = glob.find(['*', '?', '[', '{', '\\']) else {
            return Self { base: glob.to_owned(), levels: Some(0) };
        };
        let (base, rest) = glob.split_at(glob[..wild].rfind('/').map_or(0, |at| at + 1));
        // Alternatives and classes can hold a slash.
        let is_bounded = !rest.contains("**") && !rest.contains(['[', '{', '\\']);
        let levels = is_bounded.then(|| rest.split('/').count());
        Self { base: base.to_owned(), levels }
    }

    /// Returns the places where the glob can match, if relative globs start from `root`.
    pub(super) fn places(&self, root: &Path) -> impl Iterator<Item = DeniedPlace> {
        let levels = self.levels;
        // A glob that begins with a wildcard can match an absolute path as well: `**/*.pem` does.
        let anywhere = self.base.is_empty().then(|| PathBuf::from("/"));
        let bases = [Some(root.join(&self.base)), anywhere].into_iter().flatten();
        // No path without links has `..` in it.
        let is_real = |base: &PathBuf| !base.components().any(|it| it == Component::ParentDir);
        bases.filter(is_real).map(move |base| DeniedPlace { base, levels })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_reaches_as_far_as_its_wildcards() {
        let anywhere = Some("/");
        for (glob, base, levels, other) in [
            (".env", "/r/.env", Some(0), None),
            ("secrets/**", "/r/secrets", None, None),
            ("secrets/*.key", "/r/secrets", Some(1), None),
            ("a/b*/c/?", "/r/a", Some(3), None),
            ("a/{b,c/d}", "/r/a", None, None),
            ("a/[b]", "/r/a", None, None),
            ("/x/y/*", "/x/y", Some(1), None),
            ("*.pem", "/r", Some(1), anywhere),
            ("**/*.pem", "/r", None, anywhere),
        ] {
            let places: Vec<_> = GlobReach::of(glob).places(Path::new("/r")).collect();
            let place = |base: &str| DeniedPlace { base: PathBuf::from(base), levels };
            let expected: Vec<_> = [Some(base), other].into_iter().flatten().map(place).collect();
            assert_eq!(places, expected, "{glob}");
        }
        assert_eq!(GlobReach::of("../x").places(Path::new("/r")).count(), 0);
    }
}
