//! Behaviours of reading and listing.

use toolcrib_core::policy::{DeniedPaths, Layer, Mode, Policy, rules_in};
use toolcrib_core::{EntryKind, ErrorKind, Listing};

use crate::repository::{Kind, Repository, each_kind};
use crate::sample::Sample;

fn sample() -> Sample {
    Sample::default()
        .file("README.md", "one\ntwo\nthree")
        .file("empty", "")
        .file("src/main.rs", "fn main() {}\n")
        .file("src/deep/er/x.txt", "x\n")
        .file("src-2/y.txt", "y")
        .file("src.txt", "z")
        .file(".hidden/secret.txt", "hush\n")
        .file(b"names/\xff\xfe.txt", "bytes")
        .file("names/a b.txt", "space")
        .file("names/line\nbreak", "break")
        .file("names/日本.txt", "unicode")
        .link("to-readme", "README.md")
        .link("to-src", "src")
        .link("src/up", "../README.md")
        .link("chain", "to-src/up")
        .link("out", "../elsewhere")
        .link("absolute", "/etc/passwd")
        .link("loop-a", "loop-b")
        .link("loop-b", "loop-a")
        .link("dangling", "nothing/here")
        .link("through-file", "README.md/x")
        .link("dots", "./src/./deep/../main.rs")
}

fn names(listing: &Listing) -> Vec<(&str, EntryKind)> {
    let all = listing.entries.iter().map(|entry| (entry.name.as_str(), entry.kind));
    // A checkout has the repository's own folder.
    all.filter(|(name, _)| *name != ".git").collect()
}

#[test]
fn files_are_read_whole_and_in_part() {
    each_kind(&sample(), |repository| {
        let files = repository.files();
        let kind = repository.kind;
        for (path, whole) in [
            ("README.md", "one\ntwo\nthree"),
            ("./src//main.rs", "fn main() {}\n"),
            ("src/../src/main.rs", "fn main() {}\n"),
            ("empty", ""),
            ("names/$'\\xff\\xfe.txt'", "bytes"),
            ("names/$'line\\nbreak'", "break"),
            ("names/日本.txt", "unicode"),
            (".hidden/secret.txt", "hush\n"),
        ] {
            let content =
                files.read(path, 1 << 20).unwrap_or_else(|err| panic!("{kind:?} {path}: {err}"));
            assert_eq!(content.bytes, whole.as_bytes(), "{kind:?} {path}");
            assert_eq!(content.size, whole.len() as u64, "{kind:?} {path}");
            assert!(!content.is_cut());
            let meta = files.stat(path).unwrap();
            assert_eq!((meta.kind, meta.size), (EntryKind::File, whole.len() as u64));
        }
        for most in [0, 1, 4, 13, 14] {
            let content = files.read("README.md", most).unwrap();
            assert_eq!(content.bytes, b"one\ntwo\nthree"[..13.min(most as usize)], "{kind:?}");
            assert_eq!(content.size, 13);
            assert_eq!(content.is_cut(), most < 13);
        }
        let lines = |path: &str| files.count_lines(path).unwrap();
        assert_eq!((lines("README.md"), lines("empty"), lines("src/main.rs")), (3, 0, 1));
    });
}

#[test]
fn an_absolute_path_below_the_root_is_that_of_the_file() {
    each_kind(&sample(), |repository| {
        let path = repository.root.join("src/main.rs");
        let content = repository.files().read(path.to_str().unwrap(), 100).unwrap();
        assert_eq!(content.bytes, b"fn main() {}\n");
        let root = repository.root.to_str().unwrap();
        assert_eq!(repository.files().stat(root).unwrap().kind, EntryKind::Directory);
    });
}

#[test]
fn directories_are_listed_in_order_of_their_names() {
    each_kind(&sample(), |repository| {
        let files = repository.files();
        let root = files.list(".", 1000).unwrap();
        let directory = EntryKind::Directory;
        let (file, link) = (EntryKind::File, EntryKind::Link);
        assert_eq!(
            names(&root),
            [
                (".hidden", directory),
                ("README.md", file),
                ("absolute", link),
                ("chain", link),
                ("dangling", link),
                ("dots", link),
                ("empty", file),
                ("loop-a", link),
                ("loop-b", link),
                ("names", directory),
                ("out", link),
                ("src", directory),
                ("src-2", directory),
                ("src.txt", file),
                ("through-file", link),
                ("to-readme", link),
                ("to-src", link),
            ],
            "{:?}",
            repository.kind
        );
        let own = usize::from(repository.kind == Kind::Folder);
        assert_eq!((root.directories, root.files), (4 + own, 13), "{:?}", repository.kind);
        let listed = files.list("names", 2).unwrap();
        assert_eq!(listed.total(), 4);
        assert_eq!(names(&listed), [("a b.txt", file), ("$'line\\nbreak'", file)]);
        let all = files.list("names/", 9).unwrap();
        assert_eq!(names(&all)[2..], [("日本.txt", file), ("$'\\xff\\xfe.txt'", file)]);
        assert_eq!(names(&files.list("to-src", 9).unwrap()).len(), 3);
    });
}

#[test]
fn links_lead_inside_and_never_out() {
    each_kind(&sample(), |repository| {
        let files = repository.files();
        for (path, text) in [
            ("to-readme", "one\ntwo\nthree"),
            ("to-src/main.rs", "fn main() {}\n"),
            ("src/up", "one\ntwo\nthree"),
            ("chain", "one\ntwo\nthree"),
            ("dots", "fn main() {}\n"),
            // `..` leads up from where the link led.
            ("to-src/deep/../main.rs", "fn main() {}\n"),
        ] {
            let content = files
                .read(path, 100)
                .unwrap_or_else(|err| panic!("{:?} {path}: {err}", repository.kind));
            assert_eq!(content.bytes, text.as_bytes(), "{:?} {path}", repository.kind);
        }
        for (path, kind) in [
            ("out", ErrorKind::Outside),
            ("out/x", ErrorKind::Outside),
            ("absolute", ErrorKind::Outside),
            ("loop-a", ErrorKind::NotFound),
            ("dangling", ErrorKind::NotFound),
            ("through-file", ErrorKind::NotFound),
            ("to-src/../../x", ErrorKind::NotFound),
        ] {
            let kind = if path == "to-src/../../x" { ErrorKind::Outside } else { kind };
            for err in [files.read(path, 9).unwrap_err(), files.stat(path).unwrap_err()] {
                assert_eq!(err.kind, kind, "{:?} {path}", repository.kind);
                assert_eq!(err.path_text(), path);
            }
        }
    });
}

#[test]
fn a_chain_of_forty_links_is_followed_and_a_longer_one_is_not() {
    let mut sample = Sample::default().file("end", "end");
    for number in 0..50 {
        let target = if number == 0 { "end".to_owned() } else { format!("l{}", number - 1) };
        sample = sample.link(format!("l{number}"), target);
    }
    each_kind(&sample, |repository| {
        let files = repository.files();
        assert_eq!(files.read("l39", 9).unwrap().bytes, b"end", "{:?}", repository.kind);
        assert_eq!(files.read("l40", 9).unwrap_err().kind, ErrorKind::NotFound);
    });
}

#[test]
fn what_cannot_be_opened_is_an_error_of_its_kind() {
    each_kind(&sample(), |repository| {
        let files = repository.files();
        let read = |path: &str| files.read(path, 9).unwrap_err().kind;
        let list = |path: &str| files.list(path, 9).unwrap_err().kind;
        let long = "n".repeat(300);
        for (path, kind) in [
            ("missing", ErrorKind::NotFound),
            ("src/missing/x", ErrorKind::NotFound),
            ("README.md/x", ErrorKind::NotFound),
            ("README.md/../README.md", ErrorKind::NotFound),
            ("missing/../README.md", ErrorKind::NotFound),
            ("src", ErrorKind::IsDirectory),
            (".", ErrorKind::IsDirectory),
            ("", ErrorKind::BadArgs),
            ("a\0b", ErrorKind::BadArgs),
            (&long, ErrorKind::BadArgs),
            ("..", ErrorKind::Outside),
            ("../README.md", ErrorKind::Outside),
            ("src/../../x", ErrorKind::Outside),
            ("/etc/passwd", ErrorKind::Outside),
        ] {
            assert_eq!(read(path), kind, "{:?} {path}", repository.kind);
        }
        for (path, kind) in [
            ("missing", ErrorKind::NotFound),
            ("README.md", ErrorKind::NotDirectory),
            ("to-readme", ErrorKind::NotDirectory),
            ("out", ErrorKind::Outside),
        ] {
            assert_eq!(list(path), kind, "{:?} {path}", repository.kind);
        }
    });
}

/// Returns the paths that a rule denies, with the repository as the root of relative globs.
pub(crate) fn denied(repository: &Repository, globs: &str) -> DeniedPaths {
    let rules = format!("[[rule]]\nid = \"no\"\neffect = \"deny\"\npaths = [{globs}]\n");
    let rules = rules_in(&rules, "rules.toml", Layer::Operator, None).unwrap().rules;
    let now = jiff::Timestamp::UNIX_EPOCH;
    let root = || repository.root.clone();
    Policy::new(Mode::Standard, rules).denied_paths(&"t".into(), now, root).unwrap()
}

#[test]
fn denied_paths_are_neither_listed_nor_opened_by_any_way() {
    each_kind(&sample(), |repository| {
        let (free, files) = (repository.files(), repository.files());
        files.deny(denied(repository, "\"src/main.rs\", \"names/**\", \"README.md\""));
        for path in ["src/main.rs", "to-src/main.rs", "dots", "to-readme", "names/a b.txt"] {
            assert!(free.read(path, 9).is_ok(), "{path}");
            let err = files.read(path, 9).unwrap_err();
            assert_eq!(err.kind, ErrorKind::Refused, "{:?} {path}", repository.kind);
            assert_eq!(files.stat(path).unwrap_err().kind, ErrorKind::Refused);
            assert_eq!(files.count_lines(path).unwrap_err().kind, ErrorKind::Refused);
        }
        let listed = files.list("src", 9).unwrap();
        assert_eq!(names(&listed), [("deep", EntryKind::Directory), ("up", EntryKind::Link)]);
        assert_eq!((listed.denied, listed.total()), (1, 2), "{:?}", repository.kind);
        assert_eq!(free.list("src", 9).unwrap().denied, 0);
        let listed = files.list("names", 9);
        assert!(listed.map_or(true, |it| it.denied == 4), "{:?}", repository.kind);
        assert!(files.read("src.txt", 9).is_ok());
    });
}
