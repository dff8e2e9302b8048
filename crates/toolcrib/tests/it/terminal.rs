//! The command line as a person meets it.

use std::fs;

use serde_json::{Value, json};

use crate::prompt::Session;
use crate::scratch::{Ran, Scratch};

#[test]
fn an_edit_shows_its_difference() {
    let scratch = Scratch::new();
    scratch.put("a.py", "one\ntwo\nthree\n");
    let ran = scratch.run([
        "--yes",
        "call",
        "clemini/edit",
        "file_path=a.py",
        "old_string=two",
        "new_string=2",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for line in ["(+1 -1)", "    2 - two", "    2 + 2", "    3   three"] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\u{1b}'), "no colour off a terminal");
    let ran = scratch.run([
        "--color",
        "always",
        "--yes",
        "call",
        "clemini/edit",
        "file_path=a.py",
        "old_string=2",
        "new_string=two",
    ]);
    assert!(ran.stdout.contains("\u{1b}[32m"), "{}", ran.stdout);
}

#[test]
fn a_dry_run_decides_and_changes_nothing() {
    let scratch = Scratch::new();
    scratch.put("a", "old\n");
    let words = ["call", "clemini/write_file", "file_path=a", "content=new", "--dry-run"];
    let ran = scratch.run(words);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("would ask a person: tier 2 in mode standard"), "{}", ran.stdout);
    assert!(ran.stdout.contains("- old") && ran.stdout.contains("+ new"), "{}", ran.stdout);
    let ran = scratch.run(["--mode", "permissive"].into_iter().chain(words).chain(["--json"]));
    assert_eq!(ran.json()["decision"], "allow");
    assert_eq!(scratch.text("a"), "old\n");
    let ran =
        scratch.run(["call", "clemini/read_file", "file_path=missing", "--dry-run", "--json"]);
    assert_eq!((ran.code, &ran.json()["error_code"]), (1, &json!("NOT_FOUND")));
}

#[test]
fn tools_are_listed_and_described() {
    let scratch = Scratch::new();
    let ran = scratch.run(["tools"]);
    assert!(ran.stdout.contains("wink/create_file") && ran.stdout.contains("safe_write"));
    let ran = scratch.run(["tools", "clemini/edit"]);
    for text in ["Tier 2 (safe_write)", "file_path string", "required", "Examples:", "NOT_UNIQUE"] {
        assert!(ran.stdout.contains(text), "{text}: {}", ran.stdout);
    }
    assert_eq!(scratch.run(["tools", "nope"]).code, 5);
    assert!(scratch.run(["tools", "wnik"]).stderr.contains("did you mean `wink`?"));
    assert_eq!(
        scratch.run(["tools", "hikai", "--format", "json"]).json().as_array().unwrap().len(),
        6
    );
}

#[test]
fn declarations_are_clean_in_every_dialect() {
    fn walk(value: &Value, what: &str) {
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    let stray = ["$schema", "$defs", "$ref", "format", "title", "anyOf", "oneOf"];
                    assert!(!stray.contains(&key.as_str()), "{what}: {key}");
                    if key == "type" {
                        assert!(value.is_string() || value.is_object(), "{what}: type {value}");
                    }
                    // A reply can have several forms, and the Inspector of MCP checks its schema.
                    if key == "outputSchema" {
                        continue;
                    }
                    // The names below `properties` are arguments, which may have any name.
                    if key == "properties" {
                        value.as_object().unwrap().values().for_each(|value| walk(value, what));
                    } else {
                        walk(value, what);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, what)),
            _ => {}
        }
    }
    let scratch = Scratch::new();
    for catalogue in ["wink", "clemini", "nachos", "hikai", "forgekeeper"] {
        for format in ["openai", "anthropic", "gemini", "mcp"] {
            let ran = scratch.run(["--toolset", catalogue, "tools", "--format", format]);
            assert!(ran.code == 0 && ran.stderr.is_empty(), "{catalogue} {format}: {}", ran.stderr);
            let mut declared = ran.json();
            // MCP has a title for each tool. A schema has none.
            let tools = declared.get_mut("tools").and_then(Value::as_array_mut);
            for tool in tools.into_iter().flatten() {
                let title = tool.as_object_mut().unwrap().remove("title");
                assert!(title.is_some_and(|title| title.is_string()), "{catalogue} {format}");
            }
            walk(&declared, &format!("{catalogue} {format}"));
        }
    }
    let ran = scratch.run(["tools", "--format", "openai"]);
    let names: std::collections::BTreeSet<String> = ran
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["function"]["name"].to_string())
        .collect();
    assert!(names.len() == 38 && names.contains("\"wink__read_file\""), "{names:?}");
    assert!(ran.stderr.contains("share a name"), "{}", ran.stderr);
    assert_eq!(scratch.run(["call", "nachos__calculator", "expression=1+1"]).code, 0);
    let ran = scratch.run(["--toolset", "wink", "tools", "--format", "mcp"]).json();
    assert_eq!(ran["tools"][0]["inputSchema"]["additionalProperties"], false);
    assert_eq!(ran["tools"][1]["annotations"]["readOnlyHint"], true);
}

#[test]
fn completions_know_the_tools_and_man_pages_are_written() {
    let scratch = Scratch::new();
    for shell in ["bash", "zsh", "fish"] {
        let ran = scratch.run(["completions", shell]);
        assert!(ran.code == 0 && ran.stdout.contains("toolcrib complete-words"), "{shell}");
    }
    for shell in ["elvish", "powershell"] {
        let ran = scratch.run(["completions", shell]);
        assert!(ran.code == 0 && ran.stdout.contains("toolcrib"), "{shell}");
    }
    let folder = scratch.path("man");
    assert_eq!(scratch.run(["man", folder.to_str().unwrap()]).code, 0);
    for page in ["toolcrib.1", "toolcrib-call.1", "toolcrib-undo.1", "toolcrib-config-show.1"] {
        assert!(fs::read_to_string(folder.join(page)).unwrap().contains(".TH"), "{page}");
    }
}

#[test]
fn wrong_usage_is_exit_2_and_help_is_exit_0() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(["--help"]).code, 0);
    assert_eq!(scratch.run(["--version"]).code, 0);
    for words in [
        &["nonsense"][..],
        &[],
        &["call"],
        &["--mode", "loose", "tools"],
        &["call", "x", "--jobs", "2"],
        &["-C", "/nonexistent", "tools"],
        &["-c", "mode", "tools"],
        &["-c", "nope=1", "tools"],
    ] {
        let ran = scratch.run(words);
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.stdout);
        assert!(!ran.stderr.is_empty(), "{words:?}");
    }
}

#[test]
fn wink_forms_for_people_and_models() {
    let scratch = Scratch::new();
    let content = format!("content={}", "x".repeat(125));
    let ran = scratch.run(["--yes", "call", "wink/create_file", "path=hello.py", &content]);
    let place = scratch.work().join("hello.py").canonicalize().unwrap();
    let expect =
        format!("✓ Created file: hello.py (125 bytes)\n  Location: {}\n  Time: ", place.display());
    assert!(ran.stdout.starts_with(&expect), "{}", ran.stdout);

    let ran = scratch.run(["tools", "wink/create_file", "--format", "openai"]);
    let function = ran.json()[0]["function"].clone();
    assert_eq!(function["name"], "create_file");
    assert!(
        function["description"]
            .as_str()
            .unwrap()
            .starts_with("Create a new file with specified content")
    );
    let expect = json!({
        "path": {"type": "string", "description": "Relative path to the file to create"},
        "content": {"type": "string", "description": "Content to write to the file"},
    });
    assert_eq!(function["parameters"]["properties"], expect);
    assert_eq!(function["parameters"]["required"], json!(["path", "content"]));
}

/// Returns what a terminal is sent.
fn on_terminal(scratch: &Scratch, words: &[&str], last: &str) -> String {
    let words = [&["--color", "never"], words].concat();
    let mut session = Session::start(scratch, &words, "");
    session.wait_for(last);
    assert_eq!(session.answer(""), 0, "{}", session.seen);
    session.seen
}

#[test]
fn what_commands_and_tools_print_cannot_command_the_terminal() {
    let scratch = Scratch::new();
    // It sets the title, writes the clipboard, and clears the screen.
    let evil = "a\u{1b}]0;title\u{7}\u{1b}]52;c;aGk=\u{7}\u{9b}2J\tb\nlast\n";
    scratch.put("evil.txt", evil);
    let shown = on_terminal(&scratch, &["call", "clemini/read_file", "file_path=evil.txt"], "last");
    assert!(shown.contains("\\u{1b}]52;c") && !shown.contains('\u{1b}'), "{shown:?}");
    scratch.put_at("state/output/01CALL/stdout", evil);
    let shown = on_terminal(&scratch, &["output", "01CALL"], "last");
    assert!(shown.contains("\\u{1b}]52;c;aGk=\\u{7}\\u{9b}2J\tb\r\nlast"), "{shown:?}");
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{shown:?}");
    for words in [&["audit", "tail"][..], &["audit", "search"]] {
        let shown = on_terminal(&scratch, words, "evil.txt");
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{words:?}: {shown:?}");
    }
    let record = scratch.record();
    let call = record[0]["trace_id"].as_str().unwrap();
    let shown = on_terminal(&scratch, &["audit", "show", call], "version");
    assert!(shown.contains("]52;c;aGk="), "the reply is shown: {shown:?}");
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{shown:?}");
    // The control: a pipe gets the output as it is, and so does a terminal where that is wanted.
    assert_eq!(scratch.run(["output", "01CALL"]).stdout, evil);
    let shown = on_terminal(&scratch, &["output", "01CALL", "--raw"], "last");
    assert!(shown.contains("\u{1b}]52;c;aGk=\u{7}"), "{shown:?}");
}

#[test]
fn a_tool_has_a_help_of_its_own() {
    let scratch = Scratch::new();
    let ran = scratch.run(["call", "wink/read_file", "--help"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for part in [
        "Usage: toolcrib call wink/read_file path=TEXT",
        "start_line=N  (optional, 1 or more)",
        "\nExample:\n  toolcrib call wink/read_file path=",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    // The example can be pasted, where its files are.
    let example = ran.stdout.lines().find(|line| line.starts_with("  toolcrib call")).unwrap();
    scratch.put("hello.py", "one\ntwo\nthree\n");
    let pasted = scratch.run(example.split_whitespace().skip(1));
    assert!(pasted.code == 0 && pasted.stdout.contains("two"), "{example}: {}", pasted.stderr);
    let ran = scratch.run(["call", "--help"]);
    assert!(ran.code == 0 && ran.stdout.contains("--dry-run"), "{}", ran.stdout);
    let own = ran.stdout.find("\nOptions:").unwrap();
    let global = ran.stdout.find("\nGlobal options:").unwrap();
    assert!(own < global && ran.stdout.find("--batch").unwrap() < global, "{}", ran.stdout);
    assert!(ran.stdout.find("--workspace").unwrap() > global, "{}", ran.stdout);
    assert_eq!(scratch.run(["call", "wink/raed_file", "--help"]).code, 5);
}

#[test]
fn lists_fit_a_narrow_terminal() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\n");
    scratch.run(["call", "wink/read_file", "path=a.txt"]);
    scratch.call("clemini/write_file", r#"{"file_path": "b.txt", "content": "x"}"#);
    for words in [&["audit", "search"][..], &["audit", "tail"], &["stats"], &["tools"], &["undo"]] {
        let at = |columns: &str| -> Ran {
            scratch.command().env("COLUMNS", columns).args(words).output().unwrap().into()
        };
        let (wide, narrow) = (at("1000").stdout, at("50").stdout);
        assert_eq!(wide.lines().count(), narrow.lines().count(), "{words:?}");
        for (whole, cut) in wide.lines().zip(narrow.lines()) {
            assert!(cut.chars().count() <= 50, "{words:?}: {cut}");
            let kept = cut.trim_end_matches(" …");
            assert!(whole.starts_with(kept), "{words:?}: {cut}");
            assert!(whole == cut || whole[kept.len()..].starts_with(' '), "mid-word: {cut}");
        }
        // The control: nobody's terminal ends, if there is none.
        assert_eq!(scratch.run(words).stdout, wide, "{words:?}");
    }
}

#[test]
fn bash_completes_tools_arguments_and_ids() {
    let scratch = Scratch::new();
    scratch.call("clemini/write_file", r#"{"file_path": "b.txt", "content": "x"}"#);
    let listed = scratch.run(["undo", "--json"]).json();
    let id = listed["calls"][0]["call"].as_str().unwrap();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_toolcrib"));
    let complete = |words: &[&str]| -> String {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let script = format!(
            "compopt() {{ :; }}; source <(toolcrib completions bash); COMP_WORDS=({}); COMP_CWORD={}; \
             _toolcrib_words toolcrib; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            quoted.join(" "),
            words.len() - 1
        );
        let folder = program.parent().unwrap().display();
        let mut bash = std::process::Command::new("bash");
        bash.args(["-c", &script]).current_dir(scratch.work()).env_clear();
        bash.env("PATH", format!("{folder}:/usr/bin:/bin")).env("HOME", scratch.path("home"));
        let ran: Ran = bash.env("TOOLCRIB_STATE", scratch.state()).output().unwrap().into();
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
        ran.stdout
    };
    assert_eq!(complete(&["toolcrib", "call", "wink/read"]), "wink/read_file\n");
    let keys = complete(&["toolcrib", "call", "wink/read_file", "path", "=", "b.txt", ""]);
    assert_eq!(keys, "start_line=\nend_line=\n");
    assert_eq!(
        complete(&["toolcrib", "undo", &id[..4].to_lowercase()]),
        format!("{}\n", &id[..10])
    );
    assert_eq!(complete(&["toolcrib", "--toolset", "wink", "appro"]), "approvals\n");
    assert!(!complete(&["toolcrib", "--toolset", "wink", "call", "clem"]).contains("clemini"));
    assert!(complete(&["toolcrib", "--toolset", "clemini", "call", "clem"]).contains("clemini"));
    assert_eq!(
        complete(&["toolcrib", "--toolset", "wink", "call", "wink/read"]),
        "wink/read_file\n"
    );
    // The control: what the script knows itself is completed by it.
    assert!(complete(&["toolcrib", "appro"]).contains("approvals"));
    assert!(complete(&["toolcrib", "call", "--dry"]).contains("--dry-run"));
}
