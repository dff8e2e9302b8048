//! The page at several sizes, and what follows from what a person types.

use std::fmt::Write as _;

use clap::Parser;
use serde_json::{Value, json};
use toolcrib_core::approval::{ExpectedChange, ExpectedChangeKind, GrantOffer, RefusedGrant};
use toolcrib_core::command_reading::ReadingSummary;
use toolcrib_core::host_access::HostRequest;
use toolcrib_core::policy::{Answer, Covers, Mode, Scope, Wish, by_tier};
use toolcrib_core::{Plan, ToolName};
use toolcrib_core::{ProposedCommand, ProposedEdit};
use toolcrib_runtime::{Asker, Pins, Question};
use toolcrib_tools::CATALOGUES;

use super::dialog::{Dialog, Reaction};
use super::question_page::{ChangeOffer, PageMaker, QuestionForm, QuestionPage};
use crate::cli::Cli;
use crate::command::screen::{Screen, width_of};
use crate::terminal::Terminal;
use crate::wiring::user_at_terminal;

/// Returns the question about a call of `tool`, with this plan.
fn question(tool: &str, args: Value, plan: Plan) -> Question {
    let tool = ToolName::from(tool);
    let catalogue = CATALOGUES.iter().find(|it| Some(it.name) == tool.catalogue()).unwrap();
    let declarations = catalogue.tools.iter().map(|tool| tool.declaration());
    let declaration = declarations.into_iter().find(|it| it.name == tool.tool()).unwrap();
    let places: Vec<String> =
        plan.edits.iter().map(|edit| format!("/proj/{}", edit.path)).collect();
    let decision = by_tier(declaration.tier, Mode::Standard);
    let shown = toolcrib_core::approval::ApprovalQuestion {
        what: "run a command".to_owned(),
        why: "commands that are not known to be harmless are asked about in standard mode"
            .to_owned(),
        rule: decision.rule.clone(),
        files: places,
        ..Default::default()
    };
    Question {
        id: "01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned(),
        digest: String::new(),
        pins: Pins::default(),
        tool,
        tier: declaration.tier,
        args,
        plan,
        decision,
        choices: Vec::new(),
        shown,
        asker: Asker {
            session: "ci-agent".to_owned(),
            caller: user_at_terminal(),
            conversation: None,
            trace: None,
        },
        root: "/home/user/my-project".to_owned(),
    }
}

fn offer(words: &str, covers: Covers) -> GrantOffer {
    let rule = format!("clemini/bash {}", covers.text());
    let scope = Scope::Project("/home/user/my-project".to_owned());
    GrantOffer { words: words.to_owned(), rule, wish: Wish { covers, scope, minutes: Some(480) } }
}

fn command(text: &str) -> Question {
    use toolcrib_core::command::Shell;
    let plan = Plan {
        command: Some(ProposedCommand {
            shell: Shell::Bash,
            text: text.to_owned(),
            directory: None,
        }),
        ..Plan::default()
    };
    let mut question = question("clemini/bash", json!({"command": text}), plan);
    question.shown.runs = Some(ReadingSummary {
        runs: text.lines().map(|line| format!("`{line}`")).collect(),
        more: 0,
        writes: Vec::new(),
        uncertain: None,
    });
    question.shown.network = Some(Vec::new());
    question
}

fn deletion() -> Question {
    let mut question = command("cargo test --lib\nrm -rf target/tmp");
    question.shown.changes = vec![ExpectedChange {
        kind: ExpectedChangeKind::Delete,
        path: "target/tmp".to_owned(),
        spelt: None,
        files: Some(12),
        lines: None,
    }];
    question.shown.why = "deletes files (rule `caution-delete`, shipped)".to_owned();
    question.shown.unpinned = vec!["the other files that `cargo` reads".to_owned()];
    let words = ["cargo".to_owned(), "test".to_owned()].to_vec();
    question.shown.grants = vec![
        offer("commands that begin with `cargo test`, here, for 8 hours", Covers::Argv(words)),
        offer(
            "this exact call, here, until revoked",
            Covers::Call { args: "{}".to_owned(), links: Vec::new() },
        ),
    ];
    question.shown.refused_grants = vec![RefusedGrant {
        words: "commands that begin with `cargo`".to_owned(),
        why: "such commands can do many other things".to_owned(),
    }];
    question
}

fn edit() -> Question {
    let (before, after) = (
        "def greet(name):\n    return 'Hello, ' + name\n",
        "def greet(name):\n    return f'Hello, {name}!'\n",
    );
    let edits = vec![ProposedEdit {
        path: "src/greet.py".to_owned(),
        before: Some(before.to_owned()),
        after: Some(after.to_owned()),
    }];
    let args = json!({"file_path": "src/greet.py", "new_string": "x"});
    let mut question = question("clemini/edit", args, Plan { edits, ..Plan::default() });
    question.shown.what = "change src/greet.py (+1 -1)".to_owned();
    question.shown.why = "changes to files are asked about in standard mode".to_owned();
    let covers = Covers::Edits("/home/user/my-project/src".to_owned());
    question.shown.grants = vec![offer("edits below src/, in this session", covers)];
    question
}

fn maker(question: &Question, form: QuestionForm, columns: usize, rows: usize) -> PageMaker<'_> {
    let cli = Cli::parse_from(["toolcrib", "--color", "never", "tour"]);
    PageMaker {
        question,
        terminal: Terminal::new(&cli.global),
        form,
        screen: Screen::new(columns, rows),
        seconds_left: 118,
        change: ChangeOffer::Offered,
    }
}

/// Returns a page, whose rows fit on the screen.
fn page(question: &Question, form: QuestionForm, columns: usize, rows: usize) -> QuestionPage {
    let maker = maker(question, form, columns, rows);
    let page = maker.page();
    assert!(page.rows.len() <= rows, "{columns}x{rows}: {:#?}", page.rows);
    for row in &page.rows {
        assert!(width_of(row) <= columns.max(23), "{columns}x{rows}: {row}");
    }
    page
}

#[test]
fn a_question_looks_like_this_at_six_sizes() {
    let mut all = String::new();
    for (columns, rows) in [(80, 24), (120, 50), (60, 12), (40, 24), (40, 8), (20, 5)] {
        for (about, question) in [("a command", deletion()), ("an edit", edit())] {
            let page = page(&question, QuestionForm::Toolcrib, columns, rows);
            let whole = if page.is_whole { "" } else { ", folded" };
            let _ =
                write!(all, "# {about} at {columns}x{rows}{whole}\n{}\n\n", page.rows.join("\n"));
        }
    }
    insta::assert_snapshot!("sizes", all);
}

#[test]
fn a_host_is_asked_about_like_this() {
    let host = HostRequest { host: "index.example.org".to_owned(), port: 443 };
    let mut question = command("cargo fetch");
    question.shown.runs = None;
    question.shown.network = None;
    question.shown.why = "`sandbox.egress` does not list it".to_owned();
    question.shown.grants = ["here, until revoked", "everywhere, for 8 hours"]
        .map(|scope| {
            let words = format!("connections to {host}, {scope}");
            offer(&words, Covers::Host(host.clone()))
        })
        .to_vec();
    question.shown.host = Some(host);
    let mut all = String::new();
    for (columns, rows) in [(80, 24), (40, 24), (20, 5)] {
        let page = page(&question, QuestionForm::Toolcrib, columns, rows);
        let _ = write!(all, "# at {columns}x{rows}\n{}\n\n", page.rows.join("\n"));
    }
    all.push_str(&maker(&question, QuestionForm::Toolcrib, 80, 24).unfolded());
    insta::assert_snapshot!("host", all);
}

#[test]
fn the_contract_of_wink_has_its_form() {
    let new = "print('hello')\n";
    let edits = vec![ProposedEdit {
        path: "hello.py".to_owned(),
        before: None,
        after: Some(new.to_owned()),
    }];
    let create = question(
        "wink/create_file",
        json!({"path": "hello.py", "content": new}),
        Plan { edits, ..Plan::default() },
    );
    let mut ruled = command("sh run.sh \u{1b}[2J\necho two");
    ruled.args["timeout"] = 5.into();
    ruled.shown.unpinned = vec!["the other files that `sh` reads".to_owned()];
    let mut all = String::new();
    for (about, question) in [("a new file", &create), ("a command", &ruled)] {
        let page = page(question, QuestionForm::Wink, 80, 24);
        let _ = write!(all, "# {about}\n{}\n\n", page.rows.join("\n"));
    }
    insta::assert_snapshot!("wink", all);
}

#[test]
fn what_does_not_fit_is_folded_and_nothing_forges_a_row_of_ours() {
    // A command that would scroll its end off the screen.
    let long = command(&format!("{}touch PWNED", "true; ".repeat(500)));
    // An argument that is padded to the width would begin a row of its own.
    let forged = command(&format!("true{}y once   a always: everything", " ".repeat(30)));
    for form in [QuestionForm::Toolcrib, QuestionForm::Wink] {
        for columns in [20, 40, 80, 200] {
            for rows in [5, 10, 24, 50] {
                let folded = page(&long, form, columns, rows);
                let is_cut = folded.rows.iter().any(|row| {
                    ["not shown …]", "hidden]", "left out"].iter().any(|mark| row.contains(mark))
                });
                assert_eq!(is_cut, !folded.is_whole, "{columns}x{rows}: {:#?}", folded.rows);
                let whole = maker(&long, form, columns, rows).whole();
                assert!(whole.replace("\n    ↪ ", "").contains("touch PWNED"), "{whole}");
                let rows = page(&forged, form, columns, 50).rows;
                let forged = rows.iter().filter(|row| row.starts_with("y once"));
                assert_eq!(forged.count(), 0, "{rows:#?}");
            }
        }
    }
    // The control: on a large screen, everything is there.
    let large = page(&long, QuestionForm::Toolcrib, 200, 100);
    assert!(large.is_whole && large.rows.concat().contains("PWNED"), "{:#?}", large.rows);
}

#[test]
fn the_file_that_is_changed_is_on_the_page_however_it_is_spelt() {
    let detour = format!("{}Makefile", "docs/../".repeat(20));
    let long = format!("{}/deploy.sh", "deep".repeat(30));
    for (path, spelt) in [("Makefile", Some(&detour)), (&long, None)] {
        let mut question = edit();
        question.shown.what = format!("create {path}");
        question.shown.changes = vec![ExpectedChange {
            kind: ExpectedChangeKind::Create,
            path: path.to_owned(),
            spelt: spelt.cloned(),
            files: None,
            lines: None,
        }];
        for (columns, rows) in [(80, 24), (40, 30), (20, 5)] {
            let page = page(&question, QuestionForm::Toolcrib, columns, rows);
            let shown = page.rows.join("\n").replace("\n    ↪ ", "");
            assert!(!page.is_whole || shown.contains(path), "{columns}x{rows}: {shown}");
            assert!(rows < 24 || page.is_whole, "the control: {columns}x{rows}: {shown}");
        }
    }
}

/// Types into a dialog about a question on a screen of 80 columns, and returns what follows from the last word.
fn typed(question: &Question, rows: usize, words: &[&str]) -> Reaction {
    let maker = maker(question, QuestionForm::Toolcrib, 80, rows);
    let mut dialog = Dialog::new(&maker.page());
    let reactions = words.iter().map(|word| dialog.react(word, &maker));
    reactions.last().unwrap()
}

#[test]
fn keys_and_words_answer_and_all_else_asks_again() {
    let question = deletion();
    let no = |words: &str| Reaction::Answer(Answer::No("terminal".to_owned(), words.to_owned()));
    let yes = Reaction::Answer(Answer::Yes("terminal".to_owned()));
    let always = |at: usize| {
        let wish = question.shown.grants[at].wish.clone();
        Reaction::Answer(Answer::Always("terminal".to_owned(), wish))
    };
    for (words, reaction) in [
        (&["y"][..], &yes),
        (&["Yes"], &yes),
        (&["q", "y"], &yes),
        (&["v", "y"], &yes),
        (&["?", "e", "", "y"], &yes),
        (&["a"], &always(0)),
        (&["always"], &always(0)),
        (&["e", "1", "y"], &always(0)),
        (&["e", "99", "2", "yes"], &always(1)),
        (&[""], &no("")),
        (&["n"], &no("")),
        (&["no keep target/tmp"], &no("keep target/tmp")),
        (&["c keep it"], &no("keep it")),
        (&["e", "2", "n", "n"], &no("")),
        (&["c"], &Reaction::ReadReason),
    ] {
        assert_eq!(&typed(&question, 24, words), reaction, "{words:?}");
    }
    for words in [
        &["q"][..],
        &["yes please"],
        &["a b"],
        &["e"],
        &["e", "0"],
        &["e", "x"],
        &["e", "2"],
        &["e", "2", "q"],
        &["e", "2", ""],
        &["\u{1b}"],
        &["yy"],
    ] {
        let reaction = typed(&question, 24, words);
        let is_asked = matches!(reaction, Reaction::Show(_) | Reaction::AskAgain(_));
        assert!(is_asked, "{words:?}: {reaction:?}");
    }
}

#[test]
fn what_was_not_seen_is_not_approved_by_one_key() {
    let question = deletion();
    let answers = |words: &[&str]| matches!(typed(&question, 7, words), Reaction::Answer(_));
    assert!(!answers(&["y"]) && !answers(&["a"]) && !answers(&["always"]));
    assert!(answers(&["y", "y"]) && answers(&["v", "y"]));
    // The rule is shown before it is stored.
    assert!(!answers(&["v", "a"]) && answers(&["v", "a", "a"]));
    assert!(!answers(&["e", "1", "y"]) && answers(&["e", "1", "y", "y"]));
    // The control: where everything is seen, one key is enough.
    assert!(matches!(typed(&question, 24, &["y"]), Reaction::Answer(_)));
    assert!(matches!(typed(&question, 24, &["a"]), Reaction::Answer(_)));
}

#[test]
fn the_dialog_speaks_in_these_words() {
    let question = deletion();
    let mut all = String::new();
    for words in [&["?"][..], &["e"], &["e", "2"], &["e", "9"], &["huh"]] {
        let (Reaction::Show(text) | Reaction::AskAgain(text)) = typed(&question, 24, words) else {
            panic!("{words:?}")
        };
        let _ = write!(all, "# {}\n{text}\n", words.join(", "));
    }
    for (words, rows) in [(&["y"][..], 7), (&["v", "a"], 7), (&["v"], 24)] {
        let Reaction::Show(text) = typed(&question, rows, words) else { panic!("{words:?}") };
        let _ = write!(all, "# {} on {rows} rows\n{text}\n", words.join(", "));
    }
    insta::assert_snapshot!("dialog", all);
}
