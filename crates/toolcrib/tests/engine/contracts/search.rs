//! The examples of the search tools in the contracts of clemini, wink and hikai.

use serde_json::{Value, json};

use super::check;
use crate::opened::Scratch;

#[test]
fn clemini_grep() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    scratch.put("src/main.rs", format!("{}fn main() {{\n}}\n", "//\n".repeat(9)));
    let args = json!({"pattern": "fn\\s+\\w+", "type": "rs", "output_mode": "content"});
    let line = json!({"file": "src/main.rs", "line": 10, "content": "fn main() {"});
    let expect = json!({"matches": [line], "count": 1, "total_found": 1});
    check(&crib, "clemini/grep", &args, &expect);

    let scratch = Scratch::new();
    let crib = scratch.open();
    scratch.put("src/lib.rs", "// TODO\n");
    scratch.put("src/tools/bash.rs", "// TODO\n// TODO\n");
    let args = json!({"pattern": "TODO", "output_mode": "files_with_matches"});
    let expect =
        json!({"matches": ["src/lib.rs", "src/tools/bash.rs"], "count": 2, "total_found": 2});
    check(&crib, "clemini/grep", &args, &expect);

    let scratch = Scratch::new();
    let crib = scratch.open();
    let lines: Vec<String> = (1..50)
        .map(|n| if n == 42 { "An ERROR".to_owned() } else { format!("line {n}") })
        .collect();
    scratch.put("src/main.rs", lines.join("\n"));
    let args = json!({"pattern": "error", "case_insensitive": true, "context": 2});
    let line = json!({"file": "src/main.rs", "line": 42, "content": "An ERROR",
        "before": ["line 40", "line 41"], "after": ["line 43", "line 44"]});
    check(&crib, "clemini/grep", &args, &json!({"matches": [line], "count": 1}));

    let scratch = Scratch::new();
    let crib = scratch.open();
    scratch.put("src/main.rs", "x.unwrap()\n".repeat(5));
    scratch.put("src/lib.rs", "x.unwrap()\n".repeat(2));
    let args = json!({"pattern": "unwrap\\(\\)", "type": "rs", "output_mode": "count"});
    // The reply is sorted by path. The contract shows the order of a directory walk.
    let expect = json!({"matches": [{"file": "src/lib.rs", "count": 2},
        {"file": "src/main.rs", "count": 5}], "count": 2, "total_found": 7});
    check(&crib, "clemini/grep", &args, &expect);

    let scratch = Scratch::new();
    let crib = scratch.open();
    for number in 0..15 {
        scratch.put(&format!("src/components/c{number}.tsx"), "import x\n");
    }
    scratch.put("src/other.tsx", "import x\n");
    scratch.put("src/components/c.ts", "import x\n");
    let args = json!({"pattern": "import", "directory": "src/components", "file_pattern": "*.tsx"});
    check(&crib, "clemini/grep", &args, &json!({"count": 15, "total_found": 15}));
}

#[test]
fn clemini_glob() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    for file in ["src/main.rs", "src/lib.rs", "src/tools/mod.rs", "README.md"] {
        scratch.put(file, "");
    }
    let expect = json!({"matches": ["src/lib.rs", "src/main.rs", "src/tools/mod.rs"], "count": 3,
        "total_found": 3, "truncated": false});
    check(&crib, "clemini/glob", &json!({"pattern": "**/*.rs"}), &expect);
    let expect = json!({"matches": [], "count": 0, "total_found": 0, "truncated": false});
    check(&crib, "clemini/glob", &json!({"pattern": "**/*.xyz"}), &expect);

    scratch.put("docs/TEXT_RENDERING.md", "");
    scratch.put("docs/TOOLS.md", "");
    let old = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    let file =
        std::fs::File::options().write(true).open(scratch.work().join("docs/TEXT_RENDERING.md"));
    file.unwrap().set_modified(old).unwrap();
    let args = json!({"pattern": "*.md", "directory": "docs", "sort": "modified"});
    let expect = json!({"matches": ["docs/TOOLS.md", "docs/TEXT_RENDERING.md"], "count": 2,
        "total_found": 2, "truncated": false});
    check(&crib, "clemini/glob", &args, &expect);

    for number in 0..150 {
        scratch.put(&format!("src/components/c{number:03}.ts"), "");
    }
    let args = json!({"pattern": "**/*.ts", "head_limit": 10, "offset": 20});
    let expect = json!({"count": 10, "total_found": 150, "truncated": true});
    check(&crib, "clemini/glob", &args, &expect);
    let got = crib.reply("clemini/glob", &args);
    assert_eq!(got["matches"][0], "src/components/c020.ts");
}

#[test]
fn wink_searches() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    for file in ["cmd/main.go", "internal/agent.go", "a.go", "b.go", "c.go", "d.py"] {
        scratch.put(file, "");
    }
    let expect = json!({"tool": "file_search", "success": true,
        "output": "Found 5 files matching '**/*.go':\n  a.go\n  b.go\n  c.go\n  cmd/main.go\n  internal/agent.go\n",
        "files_affected": [], "execution_time_ms": 15,
        "metadata": {"matches": 5, "pattern": "**/*.go"}});
    check(&crib, "wink/file_search", &json!({"pattern": "**/*.go"}), &expect);

    scratch.put("app.py", format!("{}# TODO: implement\n", "\n".repeat(14)));
    scratch.put("b.py", "# TODO\n# TODO\n");
    let got = crib.reply("wink/grep_search", &json!({"pattern": "TODO"}));
    let output = got["output"].as_str().unwrap();
    assert!(output.starts_with("Found 3 matches for 'TODO':\n  app.py:15: # TODO: implement\n"));
    assert_eq!(
        got["metadata"],
        json!({"total_matches": 3, "files_searched": 8, "pattern": "TODO"})
    );
}

#[test]
fn wink_search_limits() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    for number in 0..2000 {
        scratch.put(&format!("many/{}/f{number:04}.txt", number % 20), "match me\n");
    }
    let got = crib.reply("wink/file_search", &json!({"pattern": "**/*.txt"}));
    let warning = "Warning: Found 2000 matches, showing first 1000";
    assert_eq!(got["metadata"]["warnings"], json!([warning]));
    assert!(got["output"].as_str().unwrap().ends_with(&format!("{warning}\n")));
    assert_eq!(got["output"].as_str().unwrap().lines().count(), 1002);
    let got = crib.reply("wink/grep_search", &json!({"pattern": "match"}));
    assert_eq!(got["metadata"]["total_matches"], 2000);
    assert_eq!(got["output"].as_str().unwrap().matches("match me").count(), 100);
    for bad in [0, 1001] {
        let args = json!({"pattern": "match", "max_results": bad});
        let got = crib.reply("wink/grep_search", &args);
        assert_eq!(got["error"]["code"], "invalid_parameters", "{got}");
    }
    // The search goes twenty levels deep, and no deeper.
    let deep = |levels: usize| format!("{}/file.deep", vec!["d"; levels - 1].join("/"));
    scratch.put(&deep(20), "");
    scratch.put(&deep(21), "");
    let got = crib.reply("wink/file_search", &json!({"pattern": "**/*.deep"}));
    assert_eq!(got["metadata"]["matches"], 1, "{got}");
}

#[test]
fn one_file_and_one_match_are_singular() {
    let scratch = Scratch::new();
    scratch.put("a.go", "TODO\n");
    let crib = scratch.open();
    let output = |tool: &str, pattern: &str| {
        crib.reply(tool, &json!({"pattern": pattern}))["output"].as_str().unwrap().to_owned()
    };
    assert!(output("wink/file_search", "*.go").starts_with("Found 1 file matching '*.go':\n"));
    assert!(output("wink/grep_search", "TODO").starts_with("Found 1 match for 'TODO':\n"));
    assert!(output("wink/grep_search", "none").starts_with("Found 0 matches for 'none':\n"));
}

#[test]
fn a_pattern_that_names_something_hidden_and_finds_nothing_is_told_why() {
    let scratch = Scratch::new();
    scratch.put(".github/workflows/ci.yml", "on: push\n");
    scratch.put("src/ci.yml", "on: push\n");
    let crib = scratch.open();
    let warned = |tool: &str, args: Value| {
        let got = crib.reply(tool, &args);
        got.to_string().contains("`.github` is hidden")
    };
    for (tool, hidden, plain) in [
        ("clemini/glob", json!({"pattern": ".github/**"}), json!({"pattern": "none/**"})),
        (
            "clemini/grep",
            json!({"pattern": "push", "file_pattern": ".github/**"}),
            json!({"pattern": "none", "file_pattern": "src/**"}),
        ),
        ("wink/file_search", json!({"pattern": ".github/**"}), json!({"pattern": "none/**"})),
        (
            "wink/grep_search",
            json!({"pattern": "push", "file_pattern": ".github/**"}),
            json!({"pattern": "none", "file_pattern": "src/**"}),
        ),
    ] {
        assert!(warned(tool, hidden), "{tool}");
        assert!(!warned(tool, plain), "{tool}");
    }
    // The way that the warning names.
    let args = json!({"pattern": "push", "directory": ".github"});
    assert_eq!(crib.reply("clemini/grep", &args)["count"], 1);
    let args = json!({"pattern": "**", "base_path": ".github"});
    assert_eq!(crib.reply("wink/file_search", &args)["metadata"]["matches"], 1);
}

#[test]
fn context_beyond_the_most_is_the_most() {
    let scratch = Scratch::new();
    scratch.put("a", "one\ntwo\n");
    let crib = scratch.open();
    let call =
        |lines: u64| crib.reply("clemini/grep", &json!({"pattern": "two", "context": lines}));
    assert_eq!(call(5000)["matches"][0]["before"], json!(["one"]));
    let warning = "`context` can be 1000 at most, so 1000 was used, not 5000";
    assert_eq!(call(5000)["warnings"], json!([warning]));
    assert!(call(1000).get("warnings").is_none());
}

#[test]
fn a_dollar_matches_at_the_end_of_a_line_with_a_carriage_return() {
    let scratch = Scratch::new();
    scratch.put("dos.txt", "hello\r\nhello world\r\n\r\n");
    scratch.put("unix.txt", "hello\nhello world\n\n");
    let crib = scratch.open();
    let lines = |pattern: &str| -> Vec<(String, u64)> {
        let got = crib.reply("clemini/grep", &json!({"pattern": pattern}));
        let matches = got["matches"].as_array().unwrap().iter();
        let place =
            |it: &Value| (it["file"].as_str().unwrap().to_owned(), it["line"].as_u64().unwrap());
        matches.map(place).collect()
    };
    let both = |line: u64| vec![("dos.txt".to_owned(), line), ("unix.txt".to_owned(), line)];
    assert_eq!(lines("hello$"), both(1));
    assert_eq!(lines("^hello world$"), both(2));
    assert_eq!(lines("^$"), both(3));
    assert_eq!(lines("wor.*$"), both(2));
    assert_eq!(lines("[a-z]$").len(), 4);
    // A pattern that names carriage returns still finds them.
    let dos = |line: u64| ("dos.txt".to_owned(), line);
    assert_eq!(lines("\\r$"), [dos(1), dos(2), dos(3)]);
    assert_eq!(lines("hello\\r$"), [dos(1)]);
}

#[test]
fn a_search_that_runs_out_of_time_says_so() {
    let scratch = Scratch::new();
    for number in 0..3000 {
        scratch.put(&format!("f{}/{number}.txt", number % 50), "needle\n".repeat(50));
    }
    let call = |tool: &str, time: &str| -> Value {
        scratch
            .open_with(&[time, "search.count_limit=0"])
            .reply(tool, &json!({"pattern": "needle"}))
    };
    let got = call("wink/grep_search", "search.time_ms=1");
    assert_eq!(got["success"], true);
    let warning = "Warning: Search timed out after 1ms, returning partial results";
    assert!(got["metadata"]["warnings"].as_array().unwrap().contains(&json!(warning)), "{got}");
    assert!(got["metadata"]["total_matches"].as_u64().unwrap() < 150_000);
    let got = call("clemini/grep", "search.time_ms=1");
    assert_eq!((&got["truncated"], &got["warnings"][0]), (&json!(true), &json!(warning)));
    // With enough time, the reply is complete.
    let got = call("wink/grep_search", "search.time_ms=35000");
    assert_eq!(got["metadata"]["total_matches"], 150_000);
}

#[test]
fn hikai_search_code() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let got = scratch
        .open_with(&["hikai.connection=none"])
        .reply("hikai/search_code", &json!({"query": "auth"}));
    assert_eq!(got, json!({"error": "No active GitHub connection found"}));
    // The contract's example answers a query for `auth` in `*.ts` with a line of a `.tsx` file that
    // has no `auth` in it, so only the format of the reply is checked.
    scratch.put("src/auth/login.ts", "export function AuthForm() {\n");
    let args = json!({"query": "auth", "filePattern": "*.ts", "limit": 20});
    let expect = json!([{"path": "src/auth/login.ts", "snippet": "export function AuthForm() {"}]);
    check(&crib, "hikai/search_code", &args, &expect);
    for number in 0..60 {
        scratch.put(&format!("src/{number}.ts"), "auth\n");
    }
    let count = |args: Value| crib.reply("hikai/search_code", &args).as_array().unwrap().len();
    assert_eq!(count(json!({"query": "auth"})), 20);
    assert_eq!(count(json!({"query": "auth", "limit": 50})), 50);
    let got = crib.reply("hikai/search_code", &json!({"query": "auth", "limit": 51}));
    assert!(got["error"].as_str().unwrap().contains("50"), "{got}");
}
