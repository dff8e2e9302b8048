//! Random questions, and what must hold for every answer.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use toolcrib_core::Cancel;
use toolcrib_core::search::{
    Found, FoundFile, Glob, Grep, Page, Pattern, Scope, Search, Sort, Want,
};
use toolcrib_search::Engine;

use crate::random::Random;
use crate::ripgrep;

/// Answers cut lines that are longer than this.
const MAX_SHOWN_BYTES: usize = 2000;

pub(crate) fn question(text: &str) -> Grep {
    Grep {
        pattern: Pattern { text: text.to_owned(), is_literal: false, ignores_case: false },
        scope: Scope::default(),
        want: Want::Lines { before: 0, after: 0 },
        page: Page::ALL,
        count_limit: u64::MAX,
        counts_files: true,
        time: Duration::from_mins(10),
    }
}

/// Makes a question about text like that of the random trees.
pub(crate) fn random_question(random: &mut Random) -> Grep {
    const PIECES: &[&str] = &[
        "alpha", "beta", "gam", "ma", "delta_x", "Zeta", "fn ", "é", "日本", "x1", "(", "0x", "a",
        "kelvin", "ss", "TODO", "end",
    ];
    const GLUE: &[&str] =
        &["", "", "", r"\s*", ".*", r"\w+", "[aeiou]", "(a|b)", ".", r"\b", "x?", "+"];
    let mut text = String::new();
    let is_literal = random.one_in(3);
    for _ in 0..=random.below(3) {
        let piece = random.pick(PIECES);
        if is_literal {
            text.push_str(piece);
        } else {
            text.push_str(&piece.replace('(', r"\("));
            text.push_str(random.pick(GLUE));
        }
    }
    if !is_literal && random.one_in(12) {
        random
            .pick(&["^", "$", ".*", r"^\s*$", "^end", "x*", r"\w{3,5}$", "[^a]"])
            .clone_into(&mut text);
    }
    let mut ask = question(&text);
    ask.pattern.is_literal = is_literal;
    ask.pattern.ignores_case = random.one_in(3);
    if random.one_in(5) {
        ask.scope.kind = Some(random.pick(&["rust", "rs", "txt", "hidden", "all"]).to_owned());
    }
    ask
}

/// Returns all lines of an answer, as a set.
fn hits(found: &Found) -> BTreeSet<ripgrep::Hit> {
    let lines = |file: &FoundFile| {
        let path = file.path.clone();
        let lines = file.lines.clone();
        lines.into_iter().map(move |line| (path.clone(), line.number, line.text))
    };
    found.files.iter().flat_map(lines).collect()
}

/// Asserts that an engine finds the lines that ripgrep finds, and that all forms of the answer agree.
#[track_caller]
pub(crate) fn check(
    engine: &Engine,
    root: &Path,
    ask: &Grep,
    random: &mut Random,
    what: &str,
) -> usize {
    let cancel = Cancel::default();
    let found = engine.grep(ask, &cancel).unwrap_or_else(|err| panic!("{what}: {err} {ask:?}"));
    let expect = ripgrep::lines(root, &ask.scope, &ask.pattern);
    if keys(&hits(&found)) != keys(&expect) {
        // A scan tells a stale index from ignore rules that are read differently.
        let scan = Engine::new(crate::fixture::trees(&crate::fixture::workspace(root)));
        let scanned = scan.grep(ask, &cancel).unwrap();
        let is_stale = keys(&hits(&scanned)) == keys(&expect);
        let status = engine.statuses();
        let what = format!("{what} (stale: {is_stale}, {status:?})");
        assert_same(
            &found,
            &expect,
            &format!("{what}: {:?} in {:?}", ask.pattern, ask.scope.directory),
        );
    }
    assert_same(
        &found,
        &expect,
        &format!("{what}: {:?} in {:?}", ask.pattern, ask.scope.directory),
    );
    check_form(engine, ask, &found, random, what);
    expect.len()
}

fn keys(hits: &BTreeSet<ripgrep::Hit>) -> BTreeSet<(String, u64)> {
    hits.iter().map(|hit| (hit.0.clone(), hit.1)).collect()
}

#[track_caller]
fn assert_same(found: &Found, expect: &BTreeSet<ripgrep::Hit>, what: &str) {
    let got = hits(found);
    let (ours, theirs) = (keys(&got), keys(expect));
    assert!(
        ours == theirs,
        "{what}\n only ours {:?}\n only rg's {:?}",
        ours.difference(&theirs).take(5).collect::<Vec<_>>(),
        theirs.difference(&ours).take(5).collect::<Vec<_>>()
    );
    let short = |hit: &&ripgrep::Hit| hit.2.len() <= MAX_SHOWN_BYTES / 3;
    let ours: Vec<_> = got.iter().filter(short).collect();
    let theirs: Vec<_> = expect.iter().filter(short).collect();
    assert_eq!(ours, theirs, "{what}");
    assert_eq!(found.lines as usize, expect.len(), "{what}");
    assert!(!found.is_partial && !found.is_cut, "{what}");
}

/// Asserts that pages, counts, files and contexts are those of the whole answer.
#[track_caller]
fn check_form(engine: &Engine, ask: &Grep, whole: &Found, random: &mut Random, what: &str) {
    let cancel = Cancel::default();
    let lines: Vec<(String, u64, String)> = whole
        .files
        .iter()
        .flat_map(|file| {
            file.lines.iter().map(|it| (file.path.clone(), it.number, it.text.clone()))
        })
        .collect();
    let mut sorted = lines.clone();
    let key = |hit: &ripgrep::Hit| (hit.0.replace('/', "\0"), hit.1);
    sorted.sort_by_key(key);
    if lines.iter().all(|hit| !hit.0.contains('$')) {
        assert!(lines == sorted, "{what}: out of order");
    }
    let mut ask = ask.clone();
    match random.below(5) {
        0 => {
            ask.want = Want::Files;
            let found = engine.grep(&ask, &cancel).unwrap();
            let paths =
                |found: &Found| found.files.iter().map(|it| it.path.clone()).collect::<Vec<_>>();
            assert_eq!(paths(&found), paths(whole), "{what}: files");
            assert_eq!(found.files_matched, whole.files_matched, "{what}");
        }
        1 => {
            ask.want = Want::Counts;
            let found = engine.grep(&ask, &cancel).unwrap();
            let expect: Vec<(String, u64)> =
                whole.files.iter().map(|it| (it.path.clone(), it.lines.len() as u64)).collect();
            let got: Vec<(String, u64)> =
                found.files.iter().map(|it| (it.path.clone(), it.count)).collect();
            assert_eq!(got, expect, "{what}: counts");
        }
        2 | 3 => {
            ask.page = Page {
                skip: random.below(lines.len() + 3),
                most: 1 + random.below(6),
                most_bytes: usize::MAX,
            };
            ask.count_limit = random_limit(lines.len(), random);
            let found = engine.grep(&ask, &cancel).unwrap();
            let end = (ask.page.skip + ask.page.most).min(lines.len());
            let expect = lines.get(ask.page.skip..end).unwrap_or_default();
            let got: Vec<_> = found
                .files
                .iter()
                .flat_map(|file| {
                    file.lines.iter().map(|it| (file.path.clone(), it.number, it.text.clone()))
                })
                .collect();
            assert_eq!(got, expect, "{what}: page {:?}", ask.page);
            assert_eq!(found.is_cut, end < lines.len() && ask.page.skip < lines.len(), "{what}");
            check_total(&ask, &found, found.lines, lines.len(), end);
        }
        _ => {
            ask.want = if random.one_in(2) { Want::Files } else { Want::Counts };
            check_page_of_files(engine, ask, whole, random);
        }
    }
}

/// Asserts that a page of files, or of counts, is that of the whole answer.
#[track_caller]
fn check_page_of_files(engine: &Engine, mut ask: Grep, whole: &Found, random: &mut Random) {
    let files = whole.files.len();
    ask.page = Page { skip: random.below(files + 2), most: 1 + random.below(6), ..Page::ALL };
    let end = (ask.page.skip + ask.page.most).min(files);
    let lines = |files: &[FoundFile]| files.iter().map(|file| file.lines.len()).sum();
    let (total, shown) = if ask.want == Want::Files {
        (files, end)
    } else {
        (lines(&whole.files), lines(&whole.files[..end]))
    };
    ask.count_limit = random_limit(total, random);
    let found = engine.grep(&ask, &Cancel::default()).unwrap();
    let counted = |file: &FoundFile| match ask.want {
        Want::Files => (file.path.clone(), 1),
        _ => (file.path.clone(), file.lines.len() as u64),
    };
    let expect = whole.files.get(ask.page.skip..end).unwrap_or_default();
    let expect: Vec<(String, u64)> = expect.iter().map(counted).collect();
    let got = found.files.iter().map(|file| (file.path.clone(), file.count));
    assert_eq!(got.collect::<Vec<_>>(), expect, "{ask:?}");
    let got = if ask.want == Want::Files { found.files_matched } else { found.lines };
    check_total(&ask, &found, got, total, shown);
}

/// Makes a limit that is often just below, at or above a total.
fn random_limit(total: usize, random: &mut Random) -> u64 {
    match random.below(4) {
        0 => 0,
        1 => u64::MAX,
        2 => random.below(total + 2) as u64,
        _ => (total + random.below(3)).saturating_sub(1) as u64,
    }
}

/// Asserts that a total is exact up to the count limit, and if all results are on the page or before it. `shown` is
/// what of the total is on the page and before it.
#[track_caller]
fn check_total(ask: &Grep, found: &Found, got: u64, total: usize, shown: usize) {
    let (total, shown) = (total as u64, shown as u64);
    let is_lower_bound = found.is_cut && total > ask.count_limit;
    let expect = if is_lower_bound { ask.count_limit.max(shown) } else { total };
    assert_eq!((found.is_lower_bound, got), (is_lower_bound, expect), "{ask:?}");
    assert!(got <= total, "{ask:?}");
}

/// Asserts that a scan and the index give the same answer where the search stops at the count limit.
#[track_caller]
pub(crate) fn check_same(scan: &Engine, index: &Engine, ask: &Grep, random: &mut Random) -> bool {
    let mut ask = ask.clone();
    let all = scan.grep(&ask, &Cancel::default()).unwrap();
    ask.page = Page { skip: random.below(4), most: 1 + random.below(6), ..Page::ALL };
    ask.count_limit = random_limit(all.lines as usize, random);
    let [scanned, indexed] =
        [scan, index].map(|engine| engine.grep(&ask, &Cancel::default()).unwrap());
    assert_eq!(scanned, indexed, "{ask:?}");
    scanned.is_lower_bound
}

/// Asserts that an engine lists the files that ripgrep would search.
#[track_caller]
pub(crate) fn check_names(engine: &Engine, root: &Path, directory: Option<&str>, what: &str) {
    let scope = Scope {
        directory: directory.map(str::to_owned),
        glob: Some("**/*".to_owned()),
        ..Scope::default()
    };
    let ask = Glob { scope, sort: Sort::Name, page: Page::ALL };
    let names = engine.glob(&ask, &Cancel::default()).unwrap();
    let got: BTreeSet<String> = names.paths.iter().cloned().collect();
    assert_eq!(got.len(), names.total, "{what}");
    let expect = ripgrep::files(root, directory);
    assert!(
        got == expect,
        "{what}: {directory:?}\n only ours {:?}\n only rg's {:?}",
        got.difference(&expect).take(5).collect::<Vec<_>>(),
        expect.difference(&got).take(5).collect::<Vec<_>>()
    );
}
