//! Filters: which of the files that a walk found are meant by a question.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::{Candidate, GlobBuilder, GlobMatcher};
use ignore::types::{FileTypeDef, Types, TypesBuilder};
use memchr::memmem;
use toolcrib_core::policy::{DeniedPaths, PathAccess};
use toolcrib_core::search::Scope;
use toolcrib_core::{ErrorKind, ToolError};

use crate::paths::{Paths, split};
use crate::scan::walk::HiddenNames;

/// The longest glob, in bytes.
const MAX_GLOB_BYTES: usize = 1000;
/// The longest name of a file type, in bytes.
const MAX_TYPE_BYTES: usize = 100;

/// ripgrep's file types. They are listed once, because that takes a millisecond.
static KNOWN_TYPES: LazyLock<Vec<FileTypeDef>> = LazyLock::new(|| {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    builder.definitions()
});

/// What a glob is matched subject.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum GlobSubject {
    /// The path below the directory.
    Path,
    /// The name if the glob has no slash, and the path otherwise.
    Name,
}

/// A compiled glob. Frequent shapes need no regular expression.
enum ScopeGlob {
    /// Every path.
    Any,
    /// Names with this ending.
    Suffix(Vec<u8>),
    Other(GlobMatcher, GlobSubject),
}

impl ScopeGlob {
    fn is_match(&self, below: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Suffix(suffix) => split(below).1.ends_with(suffix),
            Self::Other(glob, subject) => {
                let subject = if *subject == GlobSubject::Name { split(below).1 } else { below };
                glob.is_match_candidate(&Candidate::new(OsStr::from_bytes(subject)))
            }
        }
    }
}

/// The compiled filters of a scope. The scope's directory is not among them.
pub(crate) struct Filter {
    /// The directory that paths are relative to.
    base: Vec<u8>,
    glob: Option<ScopeGlob>,
    /// Text that every path has that the glob matches.
    needle: Option<Vec<u8>>,
    types: Option<Types>,
    depth: usize,
    denied: Option<DeniedBelow>,
}

/// The files below a root that policy denies.
#[derive(Clone)]
pub(crate) struct DeniedBelow {
    pub(crate) denied: DeniedPaths,
    /// The absolute path of the root.
    root: PathBuf,
}

impl DeniedBelow {
    pub(crate) fn new(denied: DeniedPaths, root: &Path) -> Self {
        Self { denied, root: root.to_owned() }
    }

    /// Whether policy denies the file at `path` below the root.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        let path = self.root.join(OsStr::from_bytes(path));
        self.denied.rule(&path, PathAccess::Read).is_some()
    }
}

impl Filter {
    /// Compiles the filters of `scope` for the directory at `base` below the root, whose absolute path is
    /// `absolute`.
    pub(crate) fn new(
        scope: &Scope,
        base: &[u8],
        subject: GlobSubject,
        absolute: &[u8],
    ) -> Result<Self, ToolError> {
        let root = absolute.strip_suffix(base).unwrap_or(absolute);
        let root = Path::new(OsStr::from_bytes(root));
        let denied = scope.denied.clone().map(|denied| DeniedBelow::new(denied, root));
        let text = scope.glob.as_deref().map(|text| normalize(text, absolute)).transpose()?;
        let glob = text.as_deref().map(|text| glob(text, subject)).transpose()?;
        let is_slow = matches!(glob, Some(ScopeGlob::Other(..)));
        let needle = text.as_deref().filter(|_| is_slow).and_then(needle);
        let types = scope.kind.as_deref().map(types).transpose()?;
        let depth = scope.depth.unwrap_or(usize::MAX);
        Ok(Self { base: base.to_vec(), glob, needle, types, depth, denied })
    }

    /// Whether every file passes.
    pub(crate) fn is_unrestricted(&self) -> bool {
        matches!(self.glob, None | Some(ScopeGlob::Any))
            && self.types.is_none()
            && self.depth == usize::MAX
            && self.denied.is_none()
    }

    /// Whether files with hidden names can pass. As with ripgrep, a file type brings them back.
    pub(crate) fn hidden_names(&self) -> HiddenNames {
        if self.types.is_some() { HiddenNames::Included } else { HiddenNames::Excluded }
    }

    /// Returns the files that policy denies, if there can be any.
    pub(crate) fn denied(&self) -> Option<&DeniedBelow> {
        self.denied.as_ref()
    }

    /// Returns how many of `paths` policy denies, whatever else the filter is.
    pub(crate) fn count_denied(&self, paths: &Paths) -> u64 {
        let Some(denied) = &self.denied else { return 0 };
        (0..paths.len()).filter(|index| denied.has(paths.get(*index))).count() as u64
    }

    /// Whether the file at `path`, which is below the base, passes.
    pub(crate) fn passes(&self, path: &[u8]) -> bool {
        let below = match self.base.len() {
            0 => path,
            length => path.get(length + 1..).unwrap_or_default(),
        };
        if self.depth != usize::MAX && memchr::memchr_iter(b'/', below).count() >= self.depth {
            return false;
        }
        if self.glob.as_ref().is_some_and(|glob| !glob.is_match(below)) {
            return false;
        }
        let is_type = self.types.as_ref().is_none_or(|types| {
            types.matched(Path::new(OsStr::from_bytes(below)), false).is_whitelist()
        });
        is_type && self.denied.as_ref().is_none_or(|denied| !denied.has(path))
    }

    /// Returns the indices of the paths that pass, from the index `from` up to, but not including, `to`.
    pub(crate) fn select(&self, paths: &Paths, from: usize, to: usize) -> Vec<usize> {
        let Some(needle) = &self.needle else {
            return (from..to).filter(|index| self.passes(paths.get(*index))).collect();
        };
        let mut found = Vec::new();
        let mut last = None;
        let (start, end) = (paths.start_byte(from), paths.start_byte(to));
        let mut at = start;
        let finder = memmem::Finder::new(needle);
        while let Some(hit) = finder.find(&paths.blob()[at..end]) {
            let index = paths.at_byte(at + hit);
            if last != Some(index) && self.passes(paths.get(index)) {
                found.push(index);
            }
            last = Some(index);
            at = paths.start_byte(index + 1);
        }
        found
    }
}

/// Returns a glob without what has no meaning: the path of the directory that is searched, `./`, doubled slashes. A
/// glob that leads out of the directory, or names a directory, matches no file and is refused.
fn normalize<'a>(text: &'a str, absolute: &[u8]) -> Result<Cow<'a, str>, ToolError> {
    let refuse = |why: &str, hint: &str| {
        let message = format!("Invalid glob pattern '{text}': {why}");
        Err(ToolError::new(ErrorKind::BadGlob, message).hint(hint))
    };
    let inside = std::str::from_utf8(absolute)
        .ok()
        .and_then(|absolute| text.strip_prefix(absolute)?.strip_prefix('/'));
    let below = match inside {
        Some(inside) => inside,
        None if text.starts_with('/') => {
            return refuse(
                "it leads out of the directory that is searched",
                "write it relative to that directory, as in `src/**/*.rs`",
            );
        }
        None => text,
    };
    if below.split('/').any(|name| name == "..") {
        return refuse(
            "it leads out of the directory that is searched",
            "search another directory instead of using `..`",
        );
    }
    if below.len() > 1 && below.ends_with('/') {
        return refuse(
            "it names a directory, and only files match",
            "add `**` to match the files in it",
        );
    }
    let names = || below.split('/').filter(|name| !name.is_empty() && *name != ".");
    if below.split('/').count() == names().count() {
        return Ok(Cow::Borrowed(below));
    }
    Ok(Cow::Owned(names().collect::<Vec<_>>().join("/")))
}

fn glob(text: &str, subject: GlobSubject) -> Result<ScopeGlob, ToolError> {
    if text.is_empty() {
        return Err(ToolError::new(ErrorKind::BadGlob, "The glob pattern is empty")
            .hint("use `**/*` for every file"));
    }
    if text.len() > MAX_GLOB_BYTES {
        let message = format!(
            "The glob pattern is {} bytes long, and the limit is {MAX_GLOB_BYTES}",
            text.len()
        );
        return Err(ToolError::new(ErrorKind::BadGlob, message).hint("use a shorter pattern"));
    }
    let built = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
    let glob = built.map_err(|err| refuse(text, err.kind()))?;
    let subject = if text.contains('/') { GlobSubject::Path } else { subject };
    let about_names = match (text.strip_prefix("**/"), subject) {
        (Some(name), _) => Some(name),
        (None, GlobSubject::Name) => Some(text),
        (None, GlobSubject::Path) => None,
    };
    let is_special = |c: char| "*?[]{}\\/".contains(c);
    match about_names.and_then(|name| name.strip_prefix('*')) {
        Some("") => Ok(ScopeGlob::Any),
        Some(suffix) if !suffix.contains(is_special) => {
            Ok(ScopeGlob::Suffix(suffix.as_bytes().to_vec()))
        }
        _ => Ok(ScopeGlob::Other(glob.compile_matcher(), subject)),
    }
}

fn refuse(text: &str, kind: &globset::ErrorKind) -> ToolError {
    use globset::ErrorKind as Kind;
    let at = match kind {
        Kind::UnclosedClass => faults(text).class,
        Kind::UnclosedAlternates | Kind::NestedAlternates => faults(text).open,
        Kind::UnopenedAlternates => faults(text).close,
        Kind::InvalidRange(a, b) => faults(text).classes.into_iter().find_map(|(from, to)| {
            text.get(from..to)?.find(&format!("{a}-{b}")).map(|at| from + at)
        }),
        Kind::DanglingEscape => text.rfind('\\'),
        _ => None,
    };
    let mut hint = kind.to_string();
    let at = at.and_then(|at| text.get(..at)).map(|before| before.chars().count() + 1);
    if let Some(at) = at {
        let _ = write!(hint, ", at character {at}");
    }
    hint.push_str("; to match a special character literally, put it in brackets, as in `[[]`");
    let err =
        ToolError::new(ErrorKind::BadGlob, format!("Invalid glob pattern '{text}'")).hint(hint);
    match at {
        Some(at) => err.with("position", at),
        None => err,
    }
}

/// Where a glob's brackets and braces do not match.
#[derive(Default)]
struct Faults {
    /// Where each character class begins and ends.
    classes: Vec<(usize, usize)>,
    /// A class that does not end.
    class: Option<usize>,
    /// A brace that is not closed.
    open: Option<usize>,
    /// A brace that was not opened.
    close: Option<usize>,
}

fn faults(text: &str) -> Faults {
    let mut faults = Faults::default();
    let mut open = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => {
                // A closing bracket that is the first character of a class does not end it.
                let negated = usize::from(matches!(bytes.get(at + 1), Some(b'!' | b'^')));
                let first = at + 1 + negated;
                let end = bytes.iter().skip(first + 1).position(|byte| *byte == b']');
                let Some(end) = end.map(|end| first + 1 + end) else {
                    faults.class = faults.class.or(Some(at));
                    break;
                };
                faults.classes.push((at, end));
                at = end;
            }
            b'{' => open.push(at),
            b'}' if open.pop().is_none() => faults.close = faults.close.or(Some(at)),
            _ => {}
        }
        at += 1;
    }
    faults.open = open.first().copied();
    faults
}

/// Returns the longest text that every path has that a glob matches.
fn needle(glob: &str) -> Option<Vec<u8>> {
    // Text in braces or brackets is one of several alternatives, and a backslash escapes what follows.
    if glob.contains(['{', '[', '\\']) {
        return None;
    }
    let runs = glob.split(['*', '?']).map(|run| {
        // The slashes around `**` may match nothing.
        run.trim_matches('/')
    });
    let longest = runs.max_by_key(|run| run.len())?;
    (longest.len() >= 2).then(|| longest.as_bytes().to_vec())
}

fn types(kind: &str) -> Result<Types, ToolError> {
    let name = kind.strip_prefix('.').unwrap_or(kind);
    let is_plain = |c: char| c.is_alphanumeric() || "_-+.#".contains(c);
    if name.is_empty() || name.len() > MAX_TYPE_BYTES || !name.chars().all(is_plain) {
        let shown: String = kind.chars().take(60).collect();
        return Err(ToolError::new(ErrorKind::BadArgs, format!("`{shown}` is not a file type"))
            .hint("use a type such as `rust` or `py`, or an extension such as `rs` or `tsx`"));
    }
    let mut builder = TypesBuilder::new();
    if name == "all" {
        builder.add_defaults();
        builder.select(name);
    } else if let Some(known) = KNOWN_TYPES.iter().find(|known| known.name() == name) {
        for glob in known.globs() {
            let _ = builder.add(name, glob);
        }
        builder.select(name);
    } else {
        // Names of types are letters and digits only, so an extension gets a type name of its own.
        let _ = builder.add("extension", &format!("*.{name}"));
        builder.select("extension");
    }
    builder.build().map_err(|err| ToolError::new(ErrorKind::BadArgs, err.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(glob: Option<&str>, kind: Option<&str>, base: &str, subject: GlobSubject) -> Filter {
        let scope = Scope {
            glob: glob.map(str::to_owned),
            kind: kind.map(str::to_owned),
            ..Scope::default()
        };
        Filter::new(&scope, base.as_bytes(), subject, b"/root").unwrap()
    }

    #[test]
    fn a_filter_without_a_slash_is_about_names() {
        let names = filter(Some("*.tsx"), None, "src", GlobSubject::Name);
        assert!(names.passes(b"src/a/b.tsx") && !names.passes(b"src/b.ts"));
        let paths = filter(Some("*.tsx"), None, "src", GlobSubject::Path);
        assert!(!paths.passes(b"src/a/b.tsx") && paths.passes(b"src/b.tsx"));
        let anchored = filter(Some("a/**/*.go"), None, "", GlobSubject::Name);
        assert!(anchored.passes(b"a/x/y.go") && anchored.passes(b"a/y.go"));
        assert!(!anchored.passes(b"b/a/y.go"));
    }

    #[test]
    fn short_ways_are_the_long_way() {
        for (glob, subject) in [
            ("**/*.rs", GlobSubject::Path),
            ("*.rs", GlobSubject::Name),
            ("**/*", GlobSubject::Path),
            ("*", GlobSubject::Name),
            ("**/*_a.rs", GlobSubject::Path),
        ] {
            let short = filter(Some(glob), None, "", subject);
            let long = GlobBuilder::new(glob).literal_separator(true).build().unwrap();
            let long = ScopeGlob::Other(long.compile_matcher(), subject);
            for path in ["a.rs", "x/.rs", "x/y/b_a.rs", "rs", "x/a.rst", ".rs", "a.rs/b"] {
                assert_eq!(
                    short.passes(path.as_bytes()),
                    long.is_match(path.as_bytes()),
                    "{glob} {path}"
                );
            }
        }
    }

    #[test]
    fn types_are_names_or_extensions() {
        assert!(filter(None, Some("rust"), "", GlobSubject::Name).passes(b"a/b.rs"));
        assert!(filter(None, Some("rs"), "", GlobSubject::Name).passes(b"a/b.rs"));
        assert!(filter(None, Some("ts"), "", GlobSubject::Name).passes(b"b.tsx"));
        assert!(!filter(None, Some("tsx"), "", GlobSubject::Name).passes(b"b.ts"));
        assert!(!filter(None, Some("py"), "", GlobSubject::Name).passes(b"b.rs"));
    }

    #[test]
    fn every_type_is_the_one_that_ripgrep_has() {
        let names = ["a.rs", "b.py", "Makefile", "CMakeLists.txt", "x.h", "c.d.ts", ".bashrc", "y"];
        for known in KNOWN_TYPES.iter().map(FileTypeDef::name).chain(["all"]) {
            let mut builder = TypesBuilder::new();
            builder.add_defaults();
            let theirs = builder.select(known).build().unwrap();
            let ours = types(known).unwrap();
            for name in names {
                let [ours, theirs] =
                    [&ours, &theirs].map(|types| types.matched(name, false).is_whitelist());
                assert_eq!(ours, theirs, "{known}: {name}");
            }
        }
        assert!(KNOWN_TYPES.len() > 100);
    }

    #[test]
    fn a_needle_is_in_every_match() {
        for (glob, expected) in [
            ("**/*visitor*.rs", Some("visitor")),
            ("source/**/*.go", Some("source")),
            ("*.{a,b}", None),
            ("**/*", None),
            ("[ab]cdef", None),
        ] {
            assert_eq!(needle(glob).as_deref(), expected.map(str::as_bytes), "{glob}");
        }
        let mut paths = Paths::default();
        for path in ["a/visitor/x.rs", "a/visitor_visitor.rs", "b/visitor.rs"] {
            paths.push_path(path.as_bytes());
        }
        let visitors = filter(Some("**/*visitor*.rs"), None, "", GlobSubject::Path);
        assert_eq!(visitors.select(&paths, 0, 3), [1, 2]);
        assert_eq!(visitors.select(&paths, 2, 3), [2]);
    }

    #[track_caller]
    fn refused(glob: &str) -> ToolError {
        let scope = Scope { glob: Some(glob.to_owned()), ..Scope::default() };
        Filter::new(&scope, b"", GlobSubject::Path, b"/root")
            .err()
            .unwrap_or_else(|| panic!("{glob}"))
    }

    #[test]
    fn a_glob_that_is_none_is_refused_with_its_place() {
        assert_eq!(refused("**/*[.go").message, "Invalid glob pattern '**/*[.go'");
        for (glob, at) in
            [("**/*[.go", 5), ("[a[b", 1), ("{a,[{]", 1), ("[}]}", 4), ("z-a[z-a]", 5), ("é{a", 2)]
        {
            assert_eq!(refused(glob).context["position"], at, "{glob}");
        }
    }

    #[test]
    fn a_glob_that_can_match_nothing_is_refused_and_a_roundabout_one_is_not() {
        for glob in ["/etc/*", "../x", "a/../b", "src/", "/rootless/x"] {
            assert_eq!(refused(glob).kind, ErrorKind::BadGlob, "{glob}");
        }
        for glob in ["/root/src/*.rs", "./src/*.rs", "src//*.rs", "src/./*.rs"] {
            assert!(filter(Some(glob), None, "", GlobSubject::Path).passes(b"src/a.rs"), "{glob}");
        }
    }
}
