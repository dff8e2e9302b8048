//! MCP servers of others, mounted by a few lines of settings: the reference servers from the registries of npm and Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::node_clients::tools_folder;
use crate::scratch::Scratch;

/// Returns the folder of a package, without links.
fn folder_of(package: &str) -> PathBuf {
    fs::canonicalize(tools_folder().join(package)).unwrap()
}

/// Returns the words of the command that runs a server of npm.
pub(crate) fn npm_server(server: &str, more: &[&str]) -> Vec<String> {
    let packages = folder_of("npm_mounted").join("node_modules");
    let script = packages.join(format!("@modelcontextprotocol/{server}/dist/index.js"));
    let own = [packages.join(".bin/node"), script];
    let own = own.iter().map(|path| path.display().to_string());
    own.chain(more.iter().map(|word| (*word).to_owned())).collect()
}

/// Returns the words of the command that runs a server of Python.
fn python_server(package: &str, more: &[&str]) -> Vec<String> {
    let path = format!("PYTHONPATH={}", folder_of(package).display());
    let words = ["/usr/bin/env", &path, "/usr/bin/python3", "-m", &package.replace('-', "_")];
    words.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

/// Returns the table of a server in the settings.
fn table(name: &str, command: &[String], folders: &[&Path], more: &str) -> String {
    format!("[mcp.{name}]\ncommand = {}\nfolders = {}\n{more}", json!(command), json!(folders))
}

fn settings(scratch: &Scratch, text: &str) {
    scratch.put_at("home/.config/toolcrib/config.toml", text);
}

#[test]
fn the_reference_servers_answer_behind_policy_and_are_on_the_record() {
    let scratch = Scratch::new();
    scratch.put_at("shown/a.txt", "of a file\n");
    let (shown, repository) = (scratch.path("shown"), scratch.path("repository"));
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.org", "-C"]);
        assert!(command.arg(&repository).args(words).output().unwrap().status.success());
    };
    fs::create_dir(&repository).unwrap();
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "the first commit"]);
    let npm = folder_of("npm_mounted");
    let (of_git, of_time) = (folder_of("mcp-server-git"), folder_of("mcp-server-time"));
    let shown_word = shown.to_str().unwrap();
    let repository_word = repository.to_str().unwrap();
    // In the sandbox, the repository is another user's, which git distrusts unless it is told otherwise.
    let mut git_server = python_server("mcp-server-git", &[]);
    let trusts = ["GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"];
    git_server.splice(1..1, trusts.map(str::to_owned));
    let text = [
        table("files", &npm_server("server-filesystem", &[shown_word]), &[&npm, &shown], ""),
        table("everything", &npm_server("server-everything", &[]), &[&npm], ""),
        table("git", &git_server, &[&of_git, &repository], ""),
        table("clock", &python_server("mcp-server-time", &[]), &[&of_time], ""),
    ];
    settings(&scratch, &text.concat());
    for (tool, args, part) in [
        ("files/read_text_file", json!({"path": shown.join("a.txt")}), "of a file"),
        ("everything/get-sum", json!({"a": 2, "b": 40}), "42"),
        ("git/git_log", json!({"repo_path": repository_word}), "the first commit"),
        ("clock/get_current_time", json!({"timezone": "Etc/UTC"}), "Etc/UTC"),
    ] {
        let args = args.to_string();
        let asked = scratch.run(["call", tool, &args]);
        assert!(asked.stderr.contains("needs a person's approval"), "{tool}: {}", asked.stderr);
        let reply = scratch.call(tool, &args);
        assert_eq!(reply.code, 0, "{tool}: {} {}", reply.stdout, reply.stderr);
        let said = reply.json()["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(said.contains(part), "{tool}: {said}");
        let record = scratch.run(["audit", "tail"]).stdout;
        let server = tool.split('/').next().unwrap();
        for part in [format!("loaded      {server}"), format!("ended       {tool}")] {
            assert!(record.contains(&part), "{part}: {record}");
        }
    }
    let write = json!({"path": shown.join("b.txt"), "content": "x"}).to_string();
    assert_ne!(scratch.call("files/write_file", &write).code, 0, "its folders are read-only");
    assert!(!shown.join("b.txt").exists());
    let stats = scratch.run(["stats"]).stdout;
    assert!(stats.contains("everything/get-sum"), "{stats}");
}

#[test]
fn a_call_that_tells_its_progress_may_take_longer_than_a_silent_one() {
    let scratch = Scratch::new();
    let npm = folder_of("npm_mounted");
    let command = npm_server("server-everything", &[]);
    settings(&scratch, &table("everything", &command, &[&npm], "idle_ms = 2000\n"));
    let tool = "everything/trigger-long-running-operation";
    let told = scratch.call(tool, r#"{"duration":4,"steps":16}"#);
    assert_eq!(told.code, 0, "{} {}", told.stdout, told.stderr);
    let silent = scratch.call(tool, r#"{"duration":6,"steps":1}"#);
    assert!(silent.stdout.contains("did not answer within 2000 ms"), "{}", silent.stdout);
}

#[test]
fn servers_of_an_existing_file_are_imported_and_a_changed_one_waits() {
    let scratch = Scratch::new();
    let npm = folder_of("npm_mounted");
    let command = npm_server("server-everything", &[]);
    let file = scratch.work().join(".mcp.json");
    let write = |name: &str| {
        let entry = json!({"command": command[0], "args": [command[1]], "env": {"SEEN": "${SECRET:-none}"}});
        fs::write(&file, json!({"mcpServers": {name: entry}}).to_string()).unwrap();
    };
    write("everything");
    let call = |args: &[&str]| {
        let mut run = scratch.command();
        run.env("SECRET", "s1").args(["--yes", "call", "everything/get-env", "{}", "--json"]);
        scratch.run(args);
        run.output().unwrap()
    };
    let nothing = String::from_utf8(call(&["tools"]).stdout).unwrap();
    assert!(!nothing.contains("s1"), "a project's own file is not read by itself: {nothing}");
    // What it may read is not in the file, so the settings say it.
    settings(
        &scratch,
        &format!("mcp.import = {}\n[mcp.everything]\nfolders = {}\n", json!([file]), json!([npm])),
    );
    let seen = String::from_utf8(call(&["tools"]).stdout).unwrap();
    assert!(seen.contains("SEEN") && seen.contains("s1"), "{seen}");
    assert!(!seen.contains("TOOLCRIB_STATE"), "no other variable is passed: {seen}");
    write("other");
    let told = scratch.run(["tools", "clemini"]);
    assert!(!told.stdout.contains("other/"));
    let waits = scratch.run(["plugins", "servers"]);
    assert!(waits.stderr.contains("toolcrib plugins accept other"), "{}", waits.stderr);
    let accepted = scratch.run(["--yes", "plugins", "accept", "other"]);
    assert!(accepted.stdout.contains("Accepted: other"), "{} {}", accepted.stdout, accepted.stderr);
    let mounted = scratch.run(["plugins", "servers"]);
    assert!(!mounted.stderr.contains("waits"), "{}", mounted.stderr);
    scratch.put(".toolcrib/config.toml", format!("mcp.import = {}\n", json!([file])));
    let refused = scratch.run(["tools"]);
    assert!(refused.stderr.contains("a project may not set this"), "{}", refused.stderr);
}
