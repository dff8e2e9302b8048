//! Where settings come from, and who may set what.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::scratch::Scratch;

const USER: &str = "home/.config/toolcrib/config.toml";

fn show(scratch: &Scratch, words: &[&str]) -> Value {
    let all = words.iter().copied().chain(["config", "show", "--json"]);
    scratch.run(all).json()
}

#[test]
fn later_places_win_and_say_so() {
    let scratch = Scratch::new();
    let origin = |words: &[&str]| {
        let mode = show(&scratch, words)["mode"].clone();
        (mode["value"].as_str().unwrap().to_owned(), mode["origin"].as_str().unwrap().to_owned())
    };
    assert_eq!(origin(&[]), ("standard".to_owned(), "default".to_owned()));
    scratch.put_at(USER, "mode = 'permissive'\n");
    let (mode, from) = origin(&[]);
    assert!(mode == "permissive" && from.ends_with("config.toml"), "{mode} {from}");
    scratch.put(".toolcrib/config.toml", "mode = 'strict'\n");
    let (mode, from) = origin(&[]);
    assert!(mode == "strict" && from.ends_with(".toolcrib/config.toml"), "{mode} {from}");
    let in_environment = |mode: &str| {
        let mut command = scratch.command();
        let command = command.env("TOOLCRIB_MODE", mode).args(["config", "show", "--origin"]);
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        text.lines().find(|line| line.starts_with("mode")).unwrap().to_owned()
    };
    let line = in_environment("permissive");
    assert!(line.contains("strict"), "the environment can only tighten: {line}");
    fs::remove_file(scratch.work().join(".toolcrib/config.toml")).unwrap();
    let line = in_environment("standard");
    assert!(line.contains("standard") && line.contains("# environment TOOLCRIB_MODE"), "{line}");
    assert_eq!(
        origin(&["--mode", "permissive"]),
        ("permissive".to_owned(), "flag --mode".to_owned())
    );
    assert_eq!(origin(&["-c", "mode=permissive"]), ("permissive".to_owned(), "flag -c".to_owned()));
}

#[test]
fn a_project_that_loosens_is_ignored_aloud() {
    let scratch = Scratch::new();
    scratch.put("a", "b");
    scratch.put(
        ".toolcrib/config.toml",
        "mode = 'permissive'\nroots = ['/']\n[files]\nhardlinks = 'allow'\n",
    );
    let ran = scratch.run(["call", "clemini/write_file", r#"{"file_path": "a", "content": "x"}"#]);
    assert_eq!(ran.code, 4);
    for key in ["mode", "roots", "files.hardlinks"] {
        assert!(ran.stderr.contains(&format!("warning: `{key}`")), "{}", ran.stderr);
    }
    assert_eq!(scratch.text("a"), "b");
    scratch.put(".toolcrib/config.toml", "mode = 'strict'\n");
    let ran = scratch.run(["call", "clemini/read_file", r#"{"file_path": "a"}"#]);
    assert_eq!(ran.code, 4, "strict asks before it reads: {}", ran.stderr);
}

#[test]
fn a_file_that_others_could_have_written_is_not_trusted() {
    let scratch = Scratch::new();
    scratch.put_at(USER, "mode = 'permissive'\n");
    let path = scratch.path(USER);
    assert_eq!(show(&scratch, &[])["mode"]["value"], "permissive");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let ran = scratch.run(["config", "show"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("not trusted"), "{}", ran.stderr);
}

#[test]
fn typing_errors_are_refused() {
    let scratch = Scratch::new();
    for (text, says) in [
        ("sandobx = true", "no setting `sandobx`"),
        ("[files]\nhardlink = 'allow'", "did you mean `files.hardlinks`?"),
        ("mode = 3", "`mode` must be"),
        ("mode = ", "line 1"),
        ("[limits]\ndeadline_ms = 0", "between 1 and"),
    ] {
        for place in [USER, "project/.toolcrib/config.toml"] {
            scratch.put_at(place, text);
            let ran = scratch.run(["config", "show"]);
            assert_eq!(ran.code, 2, "{place}: {text}: {}", ran.stdout);
            assert!(ran.stderr.contains(says), "{place}: {}", ran.stderr);
            scratch.put_at(place, "");
        }
    }
    assert_eq!(scratch.run(["config", "show"]).code, 0);
    let output = scratch
        .command()
        .env("TOOLS_MAX_READ_BYTES", "lots")
        .args(["config", "show"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_projects_file_cannot_be_a_way_out() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.work().join(".toolcrib")).unwrap();
    let path = scratch.work().join(".toolcrib/config.toml");
    std::os::unix::fs::symlink(scratch.path("outside/secret.txt"), &path).unwrap();
    let ran = scratch.run(["config", "show"]);
    assert_eq!(ran.code, 2);
    assert!(!ran.stderr.contains("SECRET"), "{}", ran.stderr);
    fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert_eq!(scratch.run(["config", "show"]).code, 2);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "#".repeat(1 << 20)).unwrap();
    assert_eq!(scratch.run(["config", "show"]).code, 2);
}

#[test]
fn the_names_of_the_contract_work() {
    let scratch = Scratch::new();
    let output = scratch
        .command()
        .env("TOOLS_MAX_READ_BYTES", "11")
        .env("TOOLS_TIMEOUT_MS", "12")
        .env("TOOL_ALLOW", "echo, get_time")
        .args(["config", "show", "--json"])
        .output()
        .unwrap();
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all["forgekeeper.max_read_bytes"]["value"], 11);
    assert_eq!(all["forgekeeper.timeout_ms"]["origin"], "environment TOOLS_TIMEOUT_MS");
    assert_eq!(all["forgekeeper.allow"]["value"], serde_json::json!(["echo", "get_time"]));
}

#[test]
fn other_roots_are_reached_by_absolute_path_only_if_named() {
    let scratch = Scratch::new();
    let secret = scratch.path("outside/secret.txt");
    let read = |words: &[&str]| {
        let args = serde_json::json!({"file_path": secret}).to_string();
        let all = words.iter().map(|word| (*word).to_owned());
        scratch.run(all.chain(["call".to_owned(), "clemini/read_file".to_owned(), args]))
    };
    assert_eq!(read(&[]).code, 1);
    let roots = format!("roots={}", scratch.path("outside").display());
    let ran = read(&["-c", &roots]);
    assert!(ran.stdout.contains("SECRET"), "{}{}", ran.stdout, ran.stderr);
}
