//! The same lines as ripgrep, on trees that do not change.

use toolcrib_core::Cancel;
use toolcrib_core::search::{Search, Want};
use toolcrib_search::Engine;

use crate::fixture::{AMPLE_MEMORY, Fixture};
use crate::question::{check, check_names, check_same, question, random_question};
use crate::random::Random;
use crate::{random_tree, ripgrep};

#[test]
fn random_trees_give_the_same_lines() {
    let mut found = 0;
    let mut stopped = 0;
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let fixture = Fixture::new(AMPLE_MEMORY);
        random_tree::make_random_tree(&fixture.root(), 160, &mut random);
        check_names(&fixture.scan, &fixture.root(), None, &format!("seed {seed}, names by scan"));
        let status = fixture.wait_until_ready();
        check_names(&fixture.index, &fixture.root(), None, &format!("seed {seed}, names by index"));
        assert!(status.has_postings, "{status:?}");
        for _ in 0..30 {
            let mut ask = random_question(&mut random);
            if random.one_in(4) {
                let directories = random_tree::directories(&fixture.root());
                let directory = &directories[random.below(directories.len())];
                let below = directory.strip_prefix(fixture.root()).unwrap();
                let readable = std::fs::read_dir(directory).is_ok() && below.to_str().is_some();
                if readable
                    && !below.as_os_str().is_empty()
                    && !below.to_str().unwrap().contains(['$', '\n'])
                {
                    ask.scope.directory = below.to_str().map(str::to_owned);
                }
            }
            if let Err(err) = Search::check(&fixture.scan, Some(&ask.pattern), &ask.scope) {
                // A directory without permission is an error for us and nothing for ripgrep.
                assert_eq!(err.kind, toolcrib_core::ErrorKind::Permission, "{err}");
                continue;
            }
            let what = format!("seed {seed}");
            found +=
                check(&fixture.scan, &fixture.root(), &ask, &mut random, &format!("{what}, scan"));
            check(&fixture.index, &fixture.root(), &ask, &mut random, &format!("{what}, index"));
            stopped += usize::from(check_same(&fixture.scan, &fixture.index, &ask, &mut random));
        }
        let (_, status) = fixture.index.statuses().remove(0);
        assert!(status.answered > 10, "seed {seed}: the index was not asked: {status:?}");
    }
    assert!(found > 10_000, "only {found} lines in all");
    assert!(stopped > 20, "only {stopped} searches stopped at the count limit");
}

/// With the index of words, most lines are known before a text is read. Files that change are read again.
#[test]
fn the_index_of_words_gives_the_same_lines() {
    let mut random = Random::new(31);
    let fixture = Fixture::new(AMPLE_MEMORY);
    let root = fixture.root();
    for number in 0..300 {
        let folder = root.join(format!("d{}", number % 20));
        std::fs::create_dir_all(&folder).unwrap();
        random_tree::put(&folder.join(format!("f{number}.rs")), &random_tree::text(&mut random));
    }
    // A line of a long text is found by its number.
    let mut long = Vec::new();
    for line in 0..9000 {
        long.extend_from_slice(format!("line {line} has {}\n", line % 7).as_bytes());
    }
    long.extend_from_slice(b"no end beta");
    random_tree::put(&root.join("d1/long"), &long);
    ripgrep::give_all_to_reader(&root);
    fixture.wait_until_words_are_known();
    let mut found = 0;
    for round in 0..140 {
        if round % 20 == 19 {
            // Half of the changes are read one by one before the next question, half are not.
            for number in 0..round / 20 {
                let path = root.join(format!("d{}/f{}.rs", number % 20, number + round));
                random_tree::put(&path, &random_tree::text(&mut random));
            }
            if round % 40 == 19 {
                fixture.wait_until_words_are_known();
            }
        }
        let mut ask = match round % 10 {
            0 => question(r"line\W+8[0-9]+\W+has"),
            1 => question(r"\bbeta\b"),
            2 => question("alpha.*beta"),
            _ => random_question(&mut random),
        };
        if random.one_in(4) {
            ask.scope.directory = Some(format!("d{}", random.below(20)));
        }
        found += check(&fixture.index, &root, &ask, &mut random, &format!("round {round}"));
        check_same(&fixture.scan, &fixture.index, &ask, &mut random);
    }
    assert!(found > 10_000, "only {found} lines in all");
    let (_, status) = fixture.index.statuses().remove(0);
    assert!(status.answered > 300, "the index was not asked: {status:?}");
}

/// Long texts are searched in pieces: by the index in memory, and by the scan from the file.
#[test]
fn long_texts_give_the_same_lines() {
    let mut long = Vec::new();
    for number in 0..220_000 {
        let word = if number % 1000 == 7 { "alpha" } else { "beta" };
        long.extend_from_slice(format!("line {number} with {word}\n").as_bytes());
    }
    let filler = b"filler ".repeat(100_000);
    let long_line = [b"alpha\n".as_slice(), &filler, b"alpha ", &filler, b"\nalpha"].concat();
    let fixture = Fixture::new(AMPLE_MEMORY);
    random_tree::put(&fixture.root().join("a_megabyte"), &long[..1_500_000]);
    random_tree::put(&fixture.root().join("long"), &long);
    random_tree::put(&fixture.root().join("long_line"), &long_line);
    assert!(long.len() > 4 << 20, "not larger than what a scan reads whole");
    let status = fixture.wait_until_ready();
    assert!(status.memory.texts > long.len(), "the long text is not in memory: {status:?}");
    let mut random = Random::new(1);
    for text in ["alpha", "line 2000", "alpha$", "^alpha", r"\Aline", "^$", "not there", "7 with"] {
        let ask = question(text);
        for (engine, what) in [(&fixture.scan, "scan"), (&fixture.index, "index")] {
            check(engine, &fixture.root(), &ask, &mut random, what);
        }
        check_same(&fixture.scan, &fixture.index, &ask, &mut random);
    }
}

/// What ripgrep does with `-t`: a type brings files with hidden names back, but neither hidden directories nor ignored
/// files.
#[test]
fn a_type_finds_hidden_names_and_nothing_else_that_is_hidden() {
    let fixture = Fixture::new(AMPLE_MEMORY);
    let root = fixture.root();
    for directory in [".git", ".github", "sub", "sub/.cache"] {
        std::fs::create_dir(root.join(directory)).unwrap();
    }
    random_tree::put(&root.join(".gitignore"), b"ignored.yml\n.ignored.yml\n!.listed.txt\n");
    for path in [
        "a.yml",
        "b.txt",
        ".a.yml",
        "sub/.b.yaml",
        ".github/ci.yml",
        "sub/.cache/c.yml",
        "ignored.yml",
        ".ignored.yml",
        ".listed.txt",
        ".notes.txt",
        ".env",
    ] {
        random_tree::put(&root.join(path), b"needle\n");
    }
    ripgrep::give_all_to_reader(&root);
    fixture.wait_until_ready();
    let files = |engine: &Engine, kind: Option<&str>, directory: Option<&str>| {
        let mut ask = question("needle");
        ask.want = Want::Files;
        ask.scope.kind = kind.map(str::to_owned);
        ask.scope.directory = directory.map(str::to_owned);
        let found = engine.grep(&ask, &Cancel::default()).unwrap();
        found.files.into_iter().map(|file| file.path).collect::<Vec<_>>()
    };
    let check = |kind: Option<&str>, directory: Option<&str>, expect: &[&str]| {
        assert_eq!(files(&fixture.scan, kind, directory), expect, "scan: {kind:?} {directory:?}");
        assert_eq!(files(&fixture.index, kind, directory), expect, "index: {kind:?} {directory:?}");
    };
    check(None, None, &[".listed.txt", "a.yml", "b.txt"]);
    check(Some("yaml"), None, &[".a.yml", "a.yml", "sub/.b.yaml"]);
    check(Some("yml"), None, &[".a.yml", "a.yml"]);
    check(Some("txt"), None, &[".listed.txt", ".notes.txt", "b.txt"]);
    check(Some("env"), None, &[".env"]);
    check(Some("yaml"), Some(".github"), &[".github/ci.yml"]);
    check(Some("yaml"), Some("sub"), &["sub/.b.yaml"]);
    // The index learns of such files by events, too.
    random_tree::put(&root.join("sub/.new.yml"), b"needle\n");
    std::fs::create_dir(root.join("made")).unwrap();
    random_tree::put(&root.join("made/.new.yml"), b"needle\n");
    random_tree::put(&root.join(".a.yml"), b"nothing\n");
    std::fs::remove_file(root.join("sub/.b.yaml")).unwrap();
    check(Some("yaml"), None, &["a.yml", "made/.new.yml", "sub/.new.yml"]);
    check(None, None, &[".listed.txt", "a.yml", "b.txt"]);
    let (_, status) = fixture.index.statuses().remove(0);
    // Only the search in a hidden directory is a scan.
    assert_eq!((status.answered, status.scanned), (8, 1), "the index was not asked: {status:?}");
}

/// The position of a NUL byte decides how much of a file is searched. What ripgrep makes of a NUL beyond its first read
/// depends on the files before it, so each file has a tree of its own here.
#[test]
fn a_nul_ends_a_file_where_it_does_for_ripgrep() {
    let lines = |count: usize| b"some text with alpha in it\n".repeat(count);
    let cases: Vec<Vec<u8>> = vec![
        [lines(10).as_slice(), b"\0", &lines(1)].concat(),
        [b"a\n\0".as_slice(), &lines(2)].concat(),
        [b"alpha\0".as_slice(), &lines(2)].concat(),
        [lines(3000).as_slice(), b"\0alpha\n"].concat(),
        [lines(2426).as_slice(), b"alpha\0"].concat(),
        [lines(2428).as_slice(), b"alpha\0"].concat(),
        [lines(20_000).as_slice(), b"\0alpha\n"].concat(),
        [lines(200_000).as_slice(), b"\0alpha\n"].concat(),
        [b"alpha ".repeat(30_000).as_slice(), b"\n\0alpha\n"].concat(),
    ];
    for (number, case) in cases.iter().enumerate() {
        let fixture = Fixture::new(AMPLE_MEMORY);
        random_tree::put(&fixture.root().join("file"), case);
        fixture.wait_until_ready();
        let ask = question("alpha");
        let mut random = Random::new(number as u64);
        for (engine, what) in [(&fixture.scan, "scan"), (&fixture.index, "index")] {
            check(engine, &fixture.root(), &ask, &mut random, &format!("case {number}, {what}"));
        }
    }
}
