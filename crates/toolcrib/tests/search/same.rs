//! The same lines as ripgrep, on trees that do not change.

use crate::ask::{any_question, check, check_names};
use crate::chance::Chance;
use crate::ground::{Field, ROOMY};
use crate::wild;

#[test]
fn wild_trees_give_the_same_lines() {
    let mut found = 0;
    for seed in 0..12 {
        let mut chance = Chance::new(seed);
        let field = Field::new(ROOMY);
        wild::grow(&field.root(), 160, &mut chance);
        check_names(&field.scan, &field.root(), None, &format!("seed {seed}, names by scan"));
        let status = field.settle();
        check_names(&field.index, &field.root(), None, &format!("seed {seed}, names by index"));
        assert!(status.has_postings, "{status:?}");
        for _ in 0..30 {
            let mut ask = any_question(&mut chance);
            if chance.one_in(4) {
                let directories = wild::directories(&field.root());
                let directory = &directories[chance.below(directories.len())];
                let below = directory.strip_prefix(field.root()).unwrap();
                let readable = std::fs::read_dir(directory).is_ok() && below.to_str().is_some();
                if readable
                    && !below.as_os_str().is_empty()
                    && !below.to_str().unwrap().contains(['$', '\n'])
                {
                    ask.scope.directory = below.to_str().map(str::to_owned);
                }
            }
            if let Err(err) =
                toolcrib_core::Search::check(&field.scan, Some(&ask.pattern), &ask.scope)
            {
                // A directory without permission is an error for us and nothing for ripgrep.
                assert_eq!(err.kind, toolcrib_core::ErrorKind::Permission, "{err}");
                continue;
            }
            let what = format!("seed {seed}");
            found += check(&field.scan, &field.root(), &ask, &mut chance, &format!("{what}, scan"));
            check(&field.index, &field.root(), &ask, &mut chance, &format!("{what}, index"));
        }
        let (_, status) = field.index.statuses().remove(0);
        assert!(status.answered > 10, "seed {seed}: the index was not asked: {status:?}");
    }
    assert!(found > 10_000, "only {found} lines in all");
}

/// Where a NUL lies decides how much of a file is searched. What ripgrep makes of one beyond its
/// first read depends on the files before it, so that each stands alone here.
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
        let field = Field::new(ROOMY);
        wild::put(&field.root().join("file"), case);
        field.settle();
        let ask = crate::ask::question("alpha");
        let mut chance = Chance::new(number as u64);
        for (engine, what) in [(&field.scan, "scan"), (&field.index, "index")] {
            check(engine, &field.root(), &ask, &mut chance, &format!("case {number}, {what}"));
        }
    }
}
