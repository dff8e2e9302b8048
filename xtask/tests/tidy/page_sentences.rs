//! The sentences of a Markdown page: of its paragraphs and list items, and each row of a table and each code block.

/// Words that end with a dot within a sentence.
const ABBREVIATIONS: [&str; 3] = ["e.g.", "i.e.", "vs."];

/// Returns the sentences of a page in their order, each with single blanks. Headings are left out: those of sections
/// and tables, and words in bold that begin a paragraph as a heading does.
pub(crate) fn sentences(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut text = String::new();
    let mut table_rows = 0;
    let mut code: Option<String> = None;
    for line in page.lines() {
        let trimmed = line.trim();
        if let Some(mut block) = code.take() {
            block.push(' ');
            block.push_str(trimmed);
            match trimmed {
                "```" => found.push(in_single_blanks(&block)),
                _ => code = Some(block),
            }
            continue;
        }
        let is_row = trimmed.starts_with('|');
        table_rows = if is_row { table_rows + 1 } else { 0 };
        let is_text = !is_row && !trimmed.is_empty() && !trimmed.starts_with(['#', '`']);
        let is_text = is_text || trimmed.starts_with('`') && !trimmed.starts_with("```");
        let item = trimmed.strip_prefix("- ");
        if !is_text || item.is_some() {
            found.extend(split(&std::mem::take(&mut text)));
        }
        if trimmed.starts_with("```") {
            code = Some(trimmed.to_owned());
        } else if table_rows > 2 {
            // The first two rows of a table are its head and the rule below it.
            found.push(in_single_blanks(trimmed));
        } else if is_text {
            text.push(' ');
            text.push_str(item.unwrap_or(trimmed));
        }
    }
    found.extend(split(&text));
    found
}

fn in_single_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Splits a paragraph or a list item. A sentence ends where a dot, `!` or `?` outside of backticks has a blank behind it.
fn split(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut sentence = String::new();
    let mut is_in_code = false;
    for word in text.split_whitespace() {
        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.push_str(word);
        is_in_code ^= word.matches('`').count() % 2 == 1;
        let bare = word.trim_end_matches(['*', '_', ')', '"']);
        let is_short = ABBREVIATIONS.contains(&word.trim_start_matches('('));
        if bare.ends_with(['.', '!', '?']) && !is_in_code && !is_short {
            found.push(std::mem::take(&mut sentence));
        }
    }
    if !sentence.is_empty() {
        found.push(sentence);
    }
    found.retain(|it| !(it.starts_with("**") && it.ends_with(".**")));
    found
}

#[track_caller]
fn check(page: &str, expect: &[&str]) {
    assert_eq!(sentences(page), expect, "{page}");
}

#[test]
fn paragraphs_are_split_into_sentences() {
    check(
        "One. Two\nwraps. Three?\n\nFour! *Five.* (Six.)",
        &["One.", "Two wraps.", "Three?", "Four!", "*Five.*", "(Six.)"],
    );
    check("It says \"no.\" And so on", &["It says \"no.\"", "And so on"]);
    check("See [x](y.md#z). git runs.", &["See [x](y.md#z).", "git runs."]);
}

#[test]
fn dots_within_a_sentence_do_not_end_it() {
    check("Some (e.g. `a`) and i.e. b vs. c.", &["Some (e.g. `a`) and i.e. b vs. c."]);
    check("Run `a. b` in v1.2 of x.toml.", &["Run `a. b` in v1.2 of x.toml."]);
    check("A word `of two. Words`. Next.", &["A word `of two. Words`.", "Next."]);
    check("`.env` begins. `x.` too", &["`.env` begins.", "`x.` too"]);
}

#[test]
fn list_items_are_paragraphs_of_their_own() {
    check(
        "Such as:\n- one;\n- two. More\n  of two.\n\nAfter.",
        &["Such as:", "one;", "two.", "More of two.", "After."],
    );
    check(
        "**Head.** Text.\n- **Not** a head.\n- **Head.** Item.",
        &["Text.", "**Not** a head.", "Item."],
    );
}

#[test]
fn rows_and_code_blocks_are_one_sentence_each() {
    check(
        "# Head. Line\n| a | b |\n| --- | --- |\n| One. | Two  x. |\n| c | d |\nText.",
        &["| One. | Two x. |", "| c | d |", "Text."],
    );
    check(
        "Like:\n```sh\n$ a.  b\n\n# c. D\n- e\n```\nDone.",
        &["Like:", "```sh $ a. b # c. D - e ```", "Done."],
    );
}
