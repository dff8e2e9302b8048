//! What holds for every tool of every catalogue. Adding a tool adds no test here.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json as value};
use toolcrib_core::catalogue::Failure;
use toolcrib_core::{AnyTool, Catalogue, Declaration, ErrorKind, ToolError, json};

use crate::CATALOGUES;

fn each(check: impl Fn(&Catalogue, &'static dyn AnyTool, &'static Declaration)) {
    for catalogue in CATALOGUES {
        for tool in catalogue.tools {
            check(catalogue, *tool, tool.declaration());
        }
    }
}

#[test]
fn names_are_spelt_for_every_wire_and_stand_once() {
    each(|catalogue, _, declaration| {
        let name = declaration.name;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(name.chars().all(plain) && name.len() <= 40, "{}/{name}", catalogue.name);
        let same = catalogue.tools.iter().filter(|tool| tool.declaration().name == name);
        assert_eq!(same.count(), 1, "{}/{name}", catalogue.name);
    });
}

#[test]
fn summaries_say_what_is_returned() {
    each(|catalogue, _, declaration| {
        let summary = declaration.summary;
        let what = format!("{}/{}: {summary}", catalogue.name, declaration.name);
        assert!(summary.contains(" Returns: "), "{what}");
        assert!(!summary.contains("  ") && !summary.contains('\n'), "{what}");
        assert!(summary.starts_with(char::is_uppercase), "{what}");
    });
}

#[test]
fn every_argument_is_described_and_every_schema_is_strict() {
    fn check(schema: &Value, what: &str) {
        for (name, property) in schema["properties"].as_object().expect(what) {
            let what = format!("{what}.{name}");
            assert!(property["description"].as_str().is_some_and(|it| !it.is_empty()), "{what}");
            for stray in ["$schema", "title", "format", "$ref", "anyOf"] {
                assert!(property.get(stray).is_none(), "{what} has {stray}");
            }
            if property["items"]["type"] == "object" {
                check(&property["items"], &what);
            }
        }
        assert_eq!(schema["additionalProperties"], false, "{what}");
        assert!(schema.get("$schema").is_none() && schema.get("title").is_none(), "{what}");
    }
    each(|catalogue, tool, declaration| {
        check(&tool.schema(), &format!("{}/{}", catalogue.name, declaration.name));
    });
}

#[test]
fn every_tool_shows_a_success_and_a_failure() {
    each(|catalogue, _, declaration| {
        let what = format!("{}/{}", catalogue.name, declaration.name);
        let failures = declaration.examples.iter().filter(|example| {
            let reply = json::parse(example.reply.as_bytes()).expect(&what);
            reply.get("error").is_some() || reply.get("ok") == Some(&Value::Bool(false))
        });
        let failures = failures.count();
        assert!(failures > 0, "{what} shows no failure");
        // What PowerShell prints can only be shown where it is installed, and a reply of a host where it is reached.
        let elsewhere = [
            "run_powershell",
            "http_fetch",
            "check_pr_status",
            "fetch_webpage",
            "web_fetch",
            "web_search",
            // A model does the work, and a person answers.
            "task",
            "ask_user",
        ];
        if elsewhere.contains(&declaration.name) {
            return;
        }
        assert!(failures < declaration.examples.len(), "{what} shows no success");
    });
}

#[test]
fn every_example_is_json_and_a_sentence() {
    each(|catalogue, _, declaration| {
        for example in declaration.examples {
            let what = format!("{}/{}: {}", catalogue.name, declaration.name, example.about);
            assert!(example.about.ends_with('.'), "{what}");
            json::parse(example.args.as_bytes()).expect(&what);
        }
    });
}

#[test]
fn every_tool_has_a_source_hash() {
    each(|catalogue, _, declaration| {
        let what = format!("{}/{}", catalogue.name, declaration.name);
        assert_eq!(catalogue.source_hash(declaration.name).len(), 16, "{what}");
    });
}

#[test]
fn no_tool_file_is_forgotten() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    for catalogue in CATALOGUES {
        #[expect(clippy::disallowed_methods, reason = "the test reads its own source")]
        let files = std::fs::read_dir(format!("{source}/{}", catalogue.name)).unwrap();
        let files: BTreeSet<String> = files
            .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        let tools = catalogue.tools.iter().map(|tool| tool.declaration().name.to_owned());
        assert_eq!(files, tools.collect(), "{}", catalogue.name);
    }
}

/// Every kind of failure in every catalogue's format, and a success beside them.
#[test]
fn replies_have_these_formats() {
    let elapsed = Duration::from_millis(7);
    for catalogue in CATALOGUES {
        let declaration = catalogue.tools[0].declaration();
        let reply =
            value!({"output": "done", "files_affected": ["a.txt"], "metadata": {"lines": 2}});
        let mut all = format!("success: {}\n", (catalogue.reply)(declaration.name, reply, elapsed));
        for kind in ErrorKind::ALL {
            let error = ToolError::new(kind, "what went wrong")
                .hint("what to do next")
                .at("a.txt")
                .with("limit_ms", 500)
                .with("limit_bytes", 100)
                .with("actual_bytes", 200);
            let args = value!({"path": "a.txt"});
            let failure = Failure { tool: declaration.name, args: &args, error: &error, elapsed };
            let reply = (catalogue.error_reply)(&failure);
            let _ = writeln!(all, "{}: {reply}", kind.as_str());
        }
        insta::assert_snapshot!(format!("replies_of_{}", catalogue.name), all);
    }
}
