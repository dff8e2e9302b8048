//! Harmless git: a command that only reads runs without a question only if no setting makes git run a program.

use serde_json::json;

use crate::opened::{Opened, Scratch};

/// Returns the verdict about a command, and how it is read.
fn explain(scratch: &Scratch, command: &str) -> (&'static str, String) {
    let decision = scratch.open().explain("clemini/bash", json!({"command": command})).decision;
    let reading = decision.reading.as_ref().map(ToString::to_string).unwrap_or_default();
    (decision.verdict().as_str(), reading)
}

fn decided(scratch: &Scratch, command: &str) -> &'static str {
    explain(scratch, command).0
}

fn repository(scratch: &Scratch, folder: &str, config: &str) {
    scratch.put(&format!("{folder}.git/HEAD"), "ref: refs/heads/main\n");
    scratch.put(&format!("{folder}.git/config"), config);
}

/// Returns an index with one entry, which stands for a repository.
fn index_with(path: &str) -> Vec<u8> {
    let mut bytes = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
    let mut entry = vec![0; 24];
    entry.extend(0o160_000_u32.to_be_bytes());
    entry.resize(60, 0);
    entry.extend((path.len() as u16).to_be_bytes());
    entry.extend(path.bytes());
    entry.resize((entry.len() + 1).next_multiple_of(8), 0);
    bytes.extend(entry);
    bytes.extend([0; 20]);
    bytes
}

const PLAIN: &str =
    "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://x.example/a.git\n";

#[test]
fn git_that_runs_no_program_is_harmless() {
    let scratch = Scratch::new();
    // Outside a repository, git fails.
    assert_eq!(decided(&scratch, "git status"), "allow");
    repository(&scratch, "", PLAIN);
    scratch.put(".git/hooks/pre-commit", "#!/bin/sh\n");
    scratch.put(".git/hooks/post-index-change.sample", "#!/bin/sh\n");
    scratch.put(".git/index", index_with("sub"));
    repository(&scratch, "sub/", PLAIN);
    for command in
        ["git status", "git diff", "git log -p", "git show", "git blame a", "ls && git status"]
    {
        assert_eq!(decided(&scratch, command), "allow", "{command}");
    }
}

#[test]
fn git_that_runs_a_program_of_the_settings_is_asked_about() {
    for (file, content, told) in [
        (
            ".git/config",
            "[filter \"x\"]\nclean = ./evil\n",
            "`filter.x.clean` in `.git/config` names a program",
        ),
        (".git/config", "[diff]\nexternal = ./evil\n", "`diff.external` in `.git/config`"),
        (".git/config", "[diff \"x\"]\ntextconv = ./evil\n", "`diff.x.textconv` in `.git/config`"),
        (".git/config", "[core]\nfsmonitor = ./evil\n", "`core.fsmonitor` in `.git/config`"),
        (".git/config", "[core]\nsshCommand = ./evil\n", "`core.sshcommand` in `.git/config`"),
        (".git/config", "[gpg]\nprogram = ./evil\n", "`gpg.program` in `.git/config`"),
        (".git/config.worktree", "[diff]\nexternal = ./evil\n", "in `.git/config.worktree`"),
        (".git/config", "[include]\npath = ../inc\n", "`diff.external` in `.git/../inc`"),
        (
            ".git/config",
            "[includeIf \"onbranch:x\"]\npath = ../inc\n",
            "`diff.external` in `.git/../inc`",
        ),
        (".git/config", "[include]\npath = ~/inc\n", "leads out of the workspace"),
        (".git/config", "[include]\npath = /etc/inc\n", "`/etc/inc` leads outside the workspace"),
        (".git/config", "[core]\nhooksPath = .husky\n", "`.husky/post-index-change` is a hook"),
        (".git/config", "not git's\n", "`.git/config` cannot be read: line 1"),
        (".git/hooks/post-index-change", "#!/bin/sh\n", "`.git/hooks/post-index-change` is a hook"),
        (".git/hooks/pre-auto-gc", "#!/bin/sh\n", "`.git/hooks/pre-auto-gc` is a hook"),
        (
            ".git/config",
            "[status]\nsubmoduleSummary\n",
            "`status.submodulesummary` in `.git/config`",
        ),
        (".git/config", "[log]\ndiffMerges = remerge\n", "`log.diffmerges` in `.git/config`"),
        (".git/config", "[protocol \"ext\"]\nallow = always\n", "`protocol.ext.allow` in"),
        (".git/index", "damaged", "`.git/index` cannot be read"),
        (".git/commondir", "../other\n", "`diff.external` in `.git/../other/config`"),
        ("sub/.git/config", "[filter \"x\"]\nprocess = ./evil\n", "in `sub/.git/config`"),
        (
            "sub/.git/modules/m/config",
            "[filter \"x\"]\nprocess = ./evil\n",
            "in `sub/deep/../.git/modules/m/config`",
        ),
    ] {
        let scratch = Scratch::new();
        repository(&scratch, "", PLAIN);
        repository(&scratch, "sub/", PLAIN);
        scratch.put(".git/index", index_with("sub"));
        scratch.put("sub/.git/index", index_with("deep"));
        scratch.put("sub/deep/.git", "gitdir: ../.git/modules/m\n");
        scratch.put("inc", "[diff]\nexternal = ./evil\n");
        scratch.put("other/config", "[diff]\nexternal = ./evil\n");
        scratch.put(".husky/post-index-change", "#!/bin/sh\n");
        assert_eq!(decided(&scratch, "git status"), "allow", "{file}");
        scratch.put(file, content);
        let (verdict, reading) = explain(&scratch, "git status");
        assert_eq!(verdict, "ask", "{file}: {content}: {reading}");
        assert!(reading.contains(told), "{told}: {reading}");
        // Another program does not care, and the operator's own rule says that git may.
        assert_eq!(decided(&scratch, "ls"), "allow");
        let rule = "[[rule]]\nargv = [\"git\", \"status\"]\neffect = \"allow\"\n";
        scratch.put_rules(rule);
        assert_eq!(decided(&scratch, "git status"), "allow", "{file}");
    }
}

/// Files that lead to settings, and what is said about them. Once a path was read with blanks cut off or other bytes
/// replaced, so that git obeyed settings that nobody had looked at.
const LEADS: [(&str, &[u8], &str); 12] = [
    (".git/config", b"[include]\npath = ../inc\xc2\xa0\n", r"in `.git/../inc\u{a0}`"),
    (".git/config", b"[include]\npath = ../inc\x0b\n", r"in `.git/../inc\u{b}`"),
    (".git/config", b"[include]\npath = ../inc\xff\n", "a path that Toolcrib cannot read"),
    (".git/config", b"[core]\nhooksPath = h\xff\n", "a path that Toolcrib cannot read"),
    (".git/config", b"[core]\nhooksPath = :(optional)h\n", "a path that Toolcrib cannot read"),
    (".git/config", b"[core]\nworktree = ../other\nhooksPath = h\n", "`.git/../other/h/post"),
    (".git/config", b"[core]\nworktree = ../other\n", "in `.git/../other/sub/.git/config`"),
    (".git/commondir", b"../common \n", "in `.git/../common /config`"),
    (".git/commondir", b"../comm\xffon\n", "`.git/commondir` has a path"),
    ("sub/.git", b"gitdir: ../store \r\n", "in `sub/../store /config`"),
    ("sub/.git", b"gitdir: ../store \0x", "`sub/.git` has a path"),
    ("sub/.git", b"gitdir:  store\n", "in `sub/ store/config`"),
];

#[test]
fn git_is_followed_to_the_byte() {
    for (file, content, told) in LEADS {
        let scratch = Scratch::new();
        repository(&scratch, "", PLAIN);
        scratch.put(".git/index", index_with("sub"));
        scratch.put("sub/", "");
        for path in
            ["inc\u{a0}", "inc\u{b}", "common /config", "store /config", "sub/ store/config"]
        {
            scratch.put(path, "[diff]\nexternal = ./evil\n");
        }
        repository(&scratch, "other/sub/", "[filter \"x\"]\nclean = ./evil\n");
        scratch.put("other/h/post-index-change", "#!/bin/sh\n");
        assert_eq!(decided(&scratch, "git status"), "allow", "{file}");
        scratch.put(file, content);
        let (verdict, reading) = explain(&scratch, "git status");
        assert_eq!(verdict, "ask", "{file}: {told}: {reading}");
        assert!(reading.contains(told), "{told}: {reading}");
    }
}

#[test]
fn only_the_first_file_of_settings_says_how_long_hashes_are() {
    let scratch = Scratch::new();
    repository(&scratch, "", &format!("{PLAIN}[include]\npath = more\n"));
    // With longer hashes, the name of the second entry is within the first, and no repository is found.
    scratch.put(".git/more", "[extensions]\nobjectFormat = sha256\n");
    scratch.put(".git/index", index_with("sub"));
    repository(&scratch, "sub/", "[diff]\nexternal = ./evil\n");
    assert!(explain(&scratch, "git status").1.contains("in `sub/.git/config`"));
}

#[test]
fn a_command_that_changes_the_settings_of_git_first_is_asked_about() {
    let scratch = Scratch::new();
    repository(&scratch, "", PLAIN);
    let rules = "[[rule]]\nargv = [[\"cp\", \"touch\"]]\neffect = \"allow\"\n";
    scratch.put_rules(rules);
    for (command, decision) in [
        ("touch a && git status", "allow"),
        ("git status && cp a b", "allow"),
        ("cp -r evil sub && git status", "ask"),
        ("touch .git/config && git status", "ask"),
    ] {
        assert_eq!(decided(&scratch, command), decision, "{command}");
    }
}

#[test]
fn git_also_reads_settings_above_the_workspace_and_at_home_if_commands_see_them() {
    let evil = "[diff]\nexternal = ./evil\n";
    let verdict = |crib: &Opened| crib.decide_command("git status");
    let mut scratch = Scratch::new();
    repository(&scratch, "", evil);
    scratch.put("inner/", "");
    let (inner, outer) = (scratch.work().join("inner"), scratch.work());
    // The control: what is above the roots is not there for commands.
    assert_eq!(verdict(&scratch.open_at(&inner, &[])), "allow");
    let roots = format!("roots=[\"{}\"]", outer.display());
    assert_eq!(verdict(&scratch.open_at(&inner, &[&roots])), "ask");
    // The home of commands is empty, unless it is in a root.
    scratch.put_at("home/.gitconfig", evil);
    repository(&scratch, "", PLAIN);
    assert_eq!(verdict(&scratch.open()), "allow");
    scratch.put(".gitconfig", evil);
    assert_eq!(verdict(&scratch.open()), "allow");
    scratch.environment.insert("HOME".to_owned(), scratch.work().into());
    assert_eq!(verdict(&scratch.open_with(&["files.broad_root=allow"])), "ask");
}
