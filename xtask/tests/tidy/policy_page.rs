//! `docs/policy.md` is true: a list names, for every sentence of the page, the tests that hold it.

use std::collections::BTreeSet;
use std::fs;

use syn::visit::{self, Visit};
use xtask::docs::root;

use crate::page_sentences::sentences;

/// The list. A block of it is a sentence, wrapped as one likes, and below it, indented, either the tests that hold it
/// or `-- ` and the reason why there is nothing to test.
const LIST: &str = "xtask/tests/tidy/policy_page.txt";

const PAGE: &str = "docs/policy.md";

/// At most one in so many sentences may have a reason in place of a test.
const SENTENCES_PER_REASON: usize = 12;

/// One sentence of the list, and what holds it.
#[derive(Debug, Default, PartialEq, Eq)]
struct ListedSentence {
    sentence: String,
    /// Each as `file.rs::test_name`.
    tests: Vec<String>,
    /// Why there is no test.
    reason: Option<String>,
}

/// Reads the list. Lines that begin with `# ` are headings, which only help the reader.
fn listed(text: &str) -> Vec<ListedSentence> {
    let mut all: Vec<ListedSentence> = Vec::new();
    let mut is_in_sentence = false;
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("# ")) {
        let Some(held) = line.strip_prefix("    ") else {
            if !is_in_sentence {
                all.push(ListedSentence::default());
            }
            is_in_sentence = true;
            let sentence = &mut all.last_mut().unwrap().sentence;
            let words = sentence.split_whitespace().chain(line.split_whitespace());
            *sentence = words.collect::<Vec<_>>().join(" ");
            continue;
        };
        is_in_sentence = false;
        let last = all.last_mut().unwrap_or_else(|| panic!("no sentence before `{held}`"));
        match held.strip_prefix("-- ") {
            Some(reason) => last.reason = Some(reason.to_owned()),
            None => last.tests.push(held.to_owned()),
        }
    }
    all
}

/// Collects the names of the tests of a file, in modules too.
#[derive(Default)]
struct TestNames(BTreeSet<String>);

impl<'ast> Visit<'ast> for TestNames {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if item.attrs.iter().any(|attribute| attribute.path().is_ident("test")) {
            self.0.insert(item.sig.ident.to_string());
        }
        visit::visit_item_fn(self, item);
    }
}

/// Returns the names of the tests in the text of a file.
fn tests_in(text: &str) -> BTreeSet<String> {
    let file = syn::parse_file(text).unwrap_or_else(|err| panic!("{err}"));
    let mut names = TestNames::default();
    names.visit_file(&file);
    names.0
}

/// Returns why a listed test is none, if it is none.
fn fault(test: &str) -> Option<String> {
    let Some((file, name)) = test.split_once("::") else {
        return Some(format!("`{test}` is not `file.rs::test_name`"));
    };
    let Ok(text) = fs::read_to_string(root().join(file)) else {
        return Some(format!("there is no file `{file}`"));
    };
    (!tests_in(&text).contains(name)).then(|| format!("`{file}` has no test `{name}`"))
}

#[test]
fn every_sentence_of_the_policy_page_is_held_by_a_test() {
    let page = sentences(&fs::read_to_string(root().join(PAGE)).unwrap());
    let list = listed(&fs::read_to_string(root().join(LIST)).unwrap());
    assert!(page.len() > 150, "{PAGE} has only {} sentences", page.len());
    let mut faults = Vec::new();
    for sentence in page.iter().filter(|it| !list.iter().any(|row| row.sentence == **it)) {
        faults.push(format!(
            "{PAGE} says and {LIST} does not have:\n  {sentence}\n\
             write the test that holds this sentence, and name it in {LIST}"
        ));
    }
    for row in &list {
        let sentence = &row.sentence;
        if !page.contains(sentence) {
            faults.push(format!(
                "{LIST} has and {PAGE} does not say:\n  {sentence}\n\
                 if the sentence changed, check that its tests hold the new one; if it is gone, remove it"
            ));
        }
        if row.tests.is_empty() == row.reason.is_none() {
            faults.push(format!(
                "{LIST}:\n  {sentence}\nname the tests that hold this sentence, or a reason (`-- `) why there are none"
            ));
        }
        let wrong = row.tests.iter().filter_map(|test| fault(test));
        faults.extend(wrong.map(|fault| format!("{LIST}:\n  {sentence}\n{fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    let order: Vec<&String> = list.iter().map(|row| &row.sentence).collect();
    assert_eq!(order, page.iter().collect::<Vec<_>>(), "{LIST} has the order of the page");
    let reasons = list.iter().filter(|row| row.reason.is_some()).count();
    assert!(
        reasons * SENTENCES_PER_REASON <= list.len(),
        "{reasons} of {} sentences have a reason in place of a test: write tests",
        list.len()
    );
}

#[test]
fn rows_are_read_with_their_tests_or_reason() {
    let text = "# Heading\n\nOne sentence\nwraps.\n    a.rs::b\n    a.rs::c\nTwo.\n    -- heads a list\n\nThree.\n";
    let rows = listed(text);
    let row = |sentence: &str, tests: &[&str], reason: Option<&str>| ListedSentence {
        sentence: sentence.to_owned(),
        tests: tests.iter().map(|&it| it.to_owned()).collect(),
        reason: reason.map(str::to_owned),
    };
    assert_eq!(rows[0], row("One sentence wraps.", &["a.rs::b", "a.rs::c"], None));
    assert_eq!(rows[1], row("Two.", &[], Some("heads a list")));
    assert_eq!(rows[2], row("Three.", &[], None));
}

#[test]
fn only_tests_count_as_tests() {
    let text = "#[test] fn a() {} fn b() {} mod tests { #[test] fn c() {} } // #[test] fn d() {}\n";
    assert_eq!(tests_in(text).into_iter().collect::<Vec<_>>(), ["a", "c"]);
    let known = "xtask/tests/tidy/policy_page.rs::only_tests_count_as_tests";
    assert_eq!(fault(known), None);
    for wrong in ["x.rs", "no/such/file.rs::a", "xtask/tests/tidy/policy_page.rs::listed"] {
        assert!(fault(wrong).is_some(), "{wrong}");
    }
}
