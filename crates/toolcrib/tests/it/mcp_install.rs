//! Toolcrib is added to the files of MCP clients and removed from them, and nothing else in the files changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use crate::prompt::Session;
use crate::scratch::{Ran, Scratch};

/// A client's file with entries and comments of its own, and the same file with Toolcrib.
struct Case {
    client: &'static str,
    user_file: &'static str,
    project_file: Option<&'static str>,
    before: &'static str,
    after: &'static str,
}

const CASES: [Case; 8] = [
    Case {
        client: "claude-code",
        user_file: ".claude.json",
        project_file: Some(".mcp.json"),
        before: "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"a\": {\n      \"type\": \"http\",\n      \"url\": \"https://a.example/mcp\"\n    }\n  },\n  \"projects\": {\"/x\": {\"mcpServers\": {}}}\n}",
        after: "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"a\": {\n      \"type\": \"http\",\n      \"url\": \"https://a.example/mcp\"\n    },\n    \"toolcrib\": {\n      \"type\": \"stdio\",\n      \"command\": \"toolcrib\",\n      \"args\": [\"mcp\"],\n      \"env\": {}\n    }\n  },\n  \"projects\": {\"/x\": {\"mcpServers\": {}}}\n}",
    },
    Case {
        client: "codex",
        user_file: ".codex/config.toml",
        project_file: Some(".codex/config.toml"),
        before: "# mine\nmodel = \"m\" # why\n\n[mcp_servers.a] # one\ncommand = \"x\"\nargs = [\n  \"y\", # two\n]\n",
        after: "# mine\nmodel = \"m\" # why\n\n[mcp_servers.a] # one\ncommand = \"x\"\nargs = [\n  \"y\", # two\n]\n\n[mcp_servers.toolcrib]\ncommand = \"toolcrib\"\nargs = [\"mcp\"]\n",
    },
    Case {
        client: "vscode",
        user_file: ".config/Code/User/mcp.json",
        project_file: Some(".vscode/mcp.json"),
        before: "{\n\t// Mine\n\t\"servers\": {\n\t\t\"a\": { \"command\": \"x\" }, // one\n\t\t/* two */\n\t},\n\t\"inputs\": []\n}\n",
        after: "{\n\t// Mine\n\t\"servers\": {\n\t\t\"a\": { \"command\": \"x\" }, // one\n\t\t\"toolcrib\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"toolcrib\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t},\n\t\t/* two */\n\t},\n\t\"inputs\": []\n}\n",
    },
    Case {
        client: "cursor",
        user_file: ".cursor/mcp.json",
        project_file: Some(".cursor/mcp.json"),
        before: "{\n    \"mcpServers\": {\n        \"a\": {\"command\": \"x\"}\n    }\n}\n",
        after: "{\n    \"mcpServers\": {\n        \"a\": {\"command\": \"x\"},\n        \"toolcrib\": {\n            \"type\": \"stdio\",\n            \"command\": \"toolcrib\",\n            \"args\": [\"mcp\"]\n        }\n    }\n}\n",
    },
    Case {
        client: "gemini-cli",
        user_file: ".gemini/settings.json",
        project_file: Some(".gemini/settings.json"),
        before: "{\n  // Mine\n  \"ui\": {\"theme\": \"x\"}\n}\n",
        after: "{\n  // Mine\n  \"ui\": {\"theme\": \"x\"},\n  \"mcpServers\": {\n    \"toolcrib\": {\n      \"command\": \"toolcrib\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n",
    },
    Case {
        client: "opencode",
        user_file: ".config/opencode/opencode.jsonc",
        project_file: Some("opencode.jsonc"),
        before: "// Mine\n{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    // one\n    \"a\": { \"type\": \"remote\", \"url\": \"https://a.example\" },\n  },\n}\n",
        after: "// Mine\n{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    // one\n    \"a\": { \"type\": \"remote\", \"url\": \"https://a.example\" },\n    \"toolcrib\": {\n      \"type\": \"local\",\n      \"command\": [\"toolcrib\", \"mcp\"],\n      \"enabled\": true\n    },\n  },\n}\n",
    },
    Case {
        client: "goose",
        user_file: ".config/goose/config.yaml",
        project_file: None,
        before: "# mine\nGOOSE_MODEL: \"m\"\nextensions:\n  # one\n  memory:\n    enabled: true\n    name: memory\n    type: builtin\nslash_commands:\n- command: \"x\"\n",
        after: "# mine\nGOOSE_MODEL: \"m\"\nextensions:\n  # one\n  memory:\n    enabled: true\n    name: memory\n    type: builtin\n  toolcrib:\n    type: stdio\n    cmd: toolcrib\n    args: [\"mcp\"]\n    name: toolcrib\n    description: \"Tools that Toolcrib checks, confines and records\"\n    enabled: true\n    envs: {}\n    timeout: 300\nslash_commands:\n- command: \"x\"\n",
    },
    Case {
        client: "zed",
        user_file: ".config/zed/settings.json",
        project_file: Some(".zed/settings.json"),
        before: "// Mine\n{\n  \"theme\": \"One Dark\",\n  \"context_servers\": {\n    \"a\": {\"url\": \"https://a.example\"} // one\n  }\n}\n",
        after: "// Mine\n{\n  \"theme\": \"One Dark\",\n  \"context_servers\": {\n    \"a\": {\"url\": \"https://a.example\"}, // one\n    \"toolcrib\": {\n      \"command\": \"toolcrib\",\n      \"args\": [\"mcp\"],\n      \"env\": {}\n    }\n  }\n}\n",
    },
];

/// A scratch place where `toolcrib` is on PATH.
struct Machine(Scratch);

impl Machine {
    fn new() -> Self {
        let scratch = Scratch::new();
        scratch.put_at("bin/", "");
        symlink(env!("CARGO_BIN_EXE_toolcrib"), scratch.path("bin/toolcrib")).unwrap();
        Self(scratch)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.0.command();
        let path = format!("{}:/usr/bin:/bin", self.0.path("bin").display());
        command.env("PATH", path).arg("mcp").args(words);
        command
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> Ran {
        self.command(words).output().unwrap().into()
    }

    /// Runs, and checks the exit code and a part of what is printed.
    #[track_caller]
    fn check(&self, words: &[&str], code: i32, printed: &str) {
        let ran = self.run(words);
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, code, "{words:?}: {all}");
        assert!(all.contains(printed), "{words:?} did not print `{printed}`: {all}");
    }

    fn home(&self, name: &str) -> String {
        fs::read_to_string(self.0.path("home").join(name)).unwrap_or_default()
    }
}

#[test]
fn every_client_gets_its_entry_and_is_given_its_file_back() {
    for Case { client, user_file, before, after, .. } in CASES {
        let machine = Machine::new();
        machine.0.put_at(&format!("home/{user_file}"), before);
        machine.check(&["install", client, "--write"], 0, "Added `toolcrib` to ");
        assert_eq!(machine.home(user_file), after, "{client}");
        machine.check(&["install"], 0, &format!("{client:<12} installed "));
        machine.check(&["install", client, "--write"], 0, "`toolcrib` is already in ");
        assert_eq!(machine.home(user_file), after, "{client}, installed twice");
        machine.check(&["uninstall", client, "--write"], 0, "Removed `toolcrib` from ");
        assert_eq!(machine.home(user_file), before, "{client}");
        machine.check(&["uninstall", client, "--write"], 0, "`toolcrib` is not in ");
        machine.check(&["install"], 0, &format!("{client:<12} not installed "));
    }
}

#[test]
fn the_file_of_a_project_names_no_folder_of_this_machine() {
    for Case { client, project_file, before, after, .. } in CASES {
        let machine = Machine::new();
        let words = ["install", client, "--scope", "project", "--write"];
        let Some(file) = project_file else {
            machine.check(&words, 2, "keeps no list of servers in projects");
            continue;
        };
        machine.0.put(file, before);
        machine.check(&words, 0, "Added `toolcrib` to ");
        let args = match client {
            "vscode" | "cursor" => "[\"mcp\", \"-C\", \"${workspaceFolder}\"]",
            _ => "[\"mcp\"]",
        };
        assert_eq!(machine.0.text(file), after.replace("[\"mcp\"]", args), "{client}");
        let words = ["uninstall", client, "--scope", "project", "--write"];
        machine.check(&words, 0, "Removed `toolcrib` from ");
        assert_eq!(machine.0.text(file), before, "{client}");
    }
}

#[test]
fn a_broken_file_is_refused_with_its_line_and_left_alone() {
    for Case { client, user_file, before, .. } in CASES {
        let machine = Machine::new();
        let broken = format!("{before}\n}} = :\n");
        let line = format!("line {}: ", broken.lines().count());
        machine.0.put_at(&format!("home/{user_file}"), &broken);
        for word in ["install", "uninstall"] {
            machine.check(&[word, client, "--write"], 1, "was left alone");
            let ran = machine.run(&[word, client, "--write"]);
            assert!(ran.stderr.contains(&line), "{client}: {line}: {}", ran.stderr);
        }
        assert_eq!(machine.home(user_file), broken, "{client}");
        machine.check(&["install"], 0, &format!("{client:<12} cannot be parsed "));
    }
}

#[test]
fn without_a_terminal_the_change_is_shown_and_not_made() {
    for Case { client, user_file, before, .. } in CASES {
        let machine = Machine::new();
        machine.0.put_at(&format!("home/{user_file}"), before);
        let ran = machine.run(&["install", client]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains(" + ") && ran.stdout.contains("toolcrib"), "{}", ran.stdout);
        assert!(ran.stderr.contains("With `--write`"), "{}", ran.stderr);
        let ran = machine.run(&["install", client, "--print"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("toolcrib") && !ran.stdout.contains(" + "), "{}", ran.stdout);
        assert!(ran.stderr.contains(user_file), "{}", ran.stderr);
        assert_eq!(machine.home(user_file), before, "{client}");
        // Printing needs no file, and makes none.
        let machine = Machine::new();
        assert_eq!(machine.run(&["install", client, "--print"]).code, 0);
        let left = fs::read_dir(machine.0.path("home")).unwrap().count();
        assert_eq!(left, 0, "{client}: nothing is made");
    }
}

#[test]
fn a_client_that_is_not_there_is_told_and_gets_its_file() {
    for Case { client, user_file, .. } in CASES {
        let machine = Machine::new();
        let user_file = user_file.replace("opencode.jsonc", "opencode.json");
        machine.check(&["install", client, "--write"], 0, "was not found here");
        let path = machine.0.path("home").join(&user_file);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{client}");
        machine.check(&["install"], 0, &format!("{client:<12} installed "));
        let ran = machine.run(&["install", client, "--print"]);
        assert_eq!(machine.home(&user_file), ran.stdout, "what is printed is what is written");
    }
}

#[test]
fn a_linked_file_stays_linked_and_keeps_its_mode() {
    let machine = Machine::new();
    machine.0.put_at("outside/dotfiles.json", "{}\n");
    let target = machine.0.path("outside/dotfiles.json");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    let link = machine.0.path("home/.claude.json");
    symlink(&target, &link).unwrap();
    machine.check(&["install", "claude-code", "--write"], 0, "Added `toolcrib` to ");
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains("\"toolcrib\""));
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    let names: Vec<_> = fs::read_dir(machine.0.path("outside")).unwrap().collect();
    assert_eq!(names.len(), 2, "no other file is left: {names:?}");
}

#[test]
fn a_person_is_asked_and_anything_but_yes_means_no() {
    let machine = Machine::new();
    for (answer, is_written) in [("n\n", false), ("\n", false), ("y\n", true)] {
        let mut command = machine.command(&["install", "cursor"]);
        command.env("NO_COLOR", "1");
        let mut session = Session::on_terminal(command, "");
        session.wait_for("Write this? [y/N] ");
        assert!(session.seen.contains("+ "), "{}", session.seen);
        assert_eq!(session.answer(answer), 0);
        assert_eq!(!machine.home(".cursor/mcp.json").is_empty(), is_written, "{answer:?}");
    }
}

#[test]
fn options_become_part_of_the_entry() {
    let machine = Machine::new();
    let folder = machine.0.work().canonicalize().unwrap();
    let words = ["install", "codex", "--write", "--name", "crib2", "--toolset", "wink", "-C", "."];
    machine.check(&words, 0, "toolcrib mcp uninstall codex --scope user --name crib2");
    let written = machine.home(".codex/config.toml");
    let args =
        format!("args = [\"mcp\", \"--toolset\", \"wink\", \"-C\", \"{}\"]", folder.display());
    assert!(written.contains("[mcp_servers.crib2]") && written.contains(&args), "{written}");
    // Another set of options changes the entry, and what a person added to it stays.
    let file = machine.0.path("home/.codex/config.toml");
    fs::write(&file, format!("{written}tool_timeout_sec = 9 # mine\n")).unwrap();
    machine.check(&["install", "codex", "--write", "--name", "crib2"], 0, "Changed `crib2` in ");
    let expected = "[mcp_servers.crib2]\ncommand = \"toolcrib\"\nargs = [\"mcp\"]\ntool_timeout_sec = 9 # mine\n";
    assert_eq!(machine.home(".codex/config.toml"), expected);
    // Off PATH, the entry has the path of the program; a project's file cannot.
    let ran = machine.0.run(["mcp", "install", "zed", "--print"]);
    let own = fs::canonicalize(env!("CARGO_BIN_EXE_toolcrib")).unwrap();
    assert!(ran.stdout.contains(&own.display().to_string()), "{}", ran.stdout);
    let ran = machine.0.run(["mcp", "install", "zed", "--print", "--scope", "project"]);
    assert!(ran.stdout.contains("\"command\": \"toolcrib\""), "{}", ran.stdout);
    assert!(ran.stderr.contains("`toolcrib` is not on PATH here"), "{}", ran.stderr);
}

#[test]
fn wrong_words_are_told_and_change_nothing() {
    let machine = Machine::new();
    machine.check(&["install", "claud-code", "--write"], 2, "claude-code");
    machine.check(&["install", "zed", "--name", "a-b", "--write"], 2, "small letters");
    machine.check(&["install", "zed", "--write", "--print"], 2, "cannot be used with");
    machine.check(&["install", "zed", "--write", "--toolset", "wnik"], 2, "wnik");
    machine.check(&["install", "zed", "--write", "--yes"], 2, "--write writes the file");
    machine.check(&["install", "zed", "--write", "--mode", "strict"], 2, "toolcrib config set");
    machine.check(&["install", "zed", "--write", "-C", "nowhere"], 2, "cannot be the workspace");
    machine.check(&["install", "--write"], 2, "CLIENT");
    assert_eq!(fs::read_dir(machine.0.path("home")).unwrap().count(), 0, "nothing is made");
    // The entry of another server is not taken over.
    let other = "{\"mcpServers\": {\"toolcrib\": {\"url\": \"https://a.example\"}}}";
    machine.0.put_at("home/.cursor/mcp.json", other);
    machine.check(&["install", "cursor", "--write"], 1, "another server");
    assert_eq!(machine.home(".cursor/mcp.json"), other);
    machine.check(&["install", "cursor", "--write", "--name", "own"], 0, "Added `own` to ");
}
