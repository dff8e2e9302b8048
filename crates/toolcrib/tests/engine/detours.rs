//! Ways around a rule, by paths, links, writes and hosts. Each stands beside the straight way, which is the control.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use toolcrib::CliErrorKind;
use toolcrib_core::policy::{Layer, rules_in};
use toolcrib_shell::BashReader;

use crate::opened::{Opened, Scratch};

const RULES: &str = r#"
[[rule]]
paths = [".env", "secrets/**", "locked/**", "src/**"]
effect = "deny"

[[rule]]
paths = ["docs/**"]
effect = "allow"

[[rule]]
argv = [["cd", "cp", "mv", "ln", "tee", "git", "printf", "tr", "bash", "python3", "./run.sh"]]
effect = "allow"

[[rule]]
argv = ["xargs", "cat"]
effect = "allow"

[[rule]]
argv = ["python3", "-m", "unittest"]
effect = "allow"
"#;

fn place() -> Scratch {
    let scratch = Scratch::new();
    scratch.put_rules(RULES);
    for (path, text) in [(".env", "TOKEN=1"), ("secrets/key", "k"), ("docs/a", "a"), ("sub/a", "a")]
    {
        scratch.put(path, text);
    }
    scratch
}

#[track_caller]
fn check(crib: &Opened, command: &str, expect: &str) {
    let got = crib.decide_command(command);
    // A command that is not known to be harmless may be refused or asked about.
    assert!(got == expect || expect == "not allow" && got != "allow", "{command}: {got}");
}

#[test]
fn a_project_cannot_drown_the_operators_rules() {
    let scratch = place();
    let read = || {
        let crib = scratch.try_open(&[]).map_err(|err| err.kind)?;
        Ok(crib.call("clemini/read_file", json!({"file_path": ".env"})).kind())
    };
    assert_eq!(read(), Ok("refused"));
    let rule =
        |globs: &str| format!("[[rule]]\nid = \"z\"\neffect = \"deny\"\npaths = [{globs}]\n");
    scratch.put(".toolcrib/rules.toml", rule(&format!("\"{}\"", "?".repeat(60_000))));
    assert_eq!(read(), Err(CliErrorKind::Rules), "a glob that long is refused");
    let many: Vec<String> = (0..2000).map(|it| format!("\"**/a{it}/**/b*{{c,d}}/**\"")).collect();
    scratch.put(".toolcrib/rules.toml", rule(&many.join(", ")));
    assert_eq!(read(), Ok("refused"), "and many of them change nothing");
}

#[test]
fn links_folders_and_spellings_do_not_lead_around_a_path() {
    let scratch = place();
    let crib = scratch.open();
    check(&crib, "echo hi > src/f", "deny");
    check(&crib, "echo hi > docs/f", "allow");
    symlink("../src/f", scratch.work().join("docs/link")).unwrap();
    symlink("link", scratch.work().join("docs/hop")).unwrap();
    check(&crib, "echo hi > docs/link", "not allow");
    check(&crib, "echo hi > docs/hop", "not allow");
    // An agent could make such links, or a project could bring them.
    let work = scratch.work();
    for (target, name) in [
        (work.as_path(), "docs/root"),
        (&work.join(".env"), "docs/abs"),
        (Path::new("../secrets"), "docs/folder"),
        (Path::new("/etc"), "docs/etc"),
        (Path::new("../locked"), "docs/shut"),
    ] {
        symlink(target, work.join(name)).unwrap();
    }
    for command in [
        "cat docs/root/.env",
        "cat docs/root/secrets/key",
        "echo x > docs/root/locked/x",
        "touch docs/root/locked/x",
        "cat docs/abs",
        "ls docs/folder",
        "grep -r . docs/folder/",
        "cp -r docs/folder x",
        "echo x > docs/shut/x",
        "echo x > docs/etc/passwd",
    ] {
        check(&crib, command, "deny");
    }
    check(&crib, "head -1 docs/etc/passwd", "not allow");
    check(&crib, "cat secrets/key", "deny");
    for command in [
        "cd secrets && cat key",
        "cd secrets; cat < key",
        "cd sub && cat ../.env",
        "cp -r secrets copy",
        "mv secrets other",
        "ln -s secrets other",
        "cp docs/a locked/a",
        "cat docs/a | tee locked/a",
        "grep -nf.env docs/a",
        "rg -nf.env docs",
        "grep -nnnnnnnnnnnf.env docs/a",
        "cd . && cd ./ && cd ./. && cd .// && cd secrets && cat key",
        "cp -t locked docs/a",
        "./secrets/run.sh",
    ] {
        check(&crib, command, "deny");
    }
    let address = format!("curl file://{}/.env", scratch.work().display());
    check(&crib, &address, "deny");
    for command in [
        "git log -p -- '.e*'",
        "git show ':(glob).en*'",
        "git log -p -- '.en\\v'",
        "git log -p -- ':(icase).ENV'",
        "echo HEAD:.e nv | tr -d ' ' | git cat-file --batch",
    ] {
        check(&crib, command, "not allow");
    }
    let padded = format!("echo {}; cat .env", "a=b ".repeat(101));
    check(&crib, &padded, "deny");
    check(&crib, "cat docs/a", "allow");
}

#[test]
fn names_that_a_command_makes_itself_do_not_lead_around_a_path() {
    let scratch = place();
    let crib = scratch.open();
    for (target, name) in [(".env", "{a,b}"), (".env", "a$IFSb"), ("../src", "docs/{c,d}")] {
        symlink(target, scratch.work().join(name)).unwrap();
    }
    for command in [
        "ln -s . d; cat d/secrets/key",
        "ln -s . d && echo x > d/src/f",
        "cp -r . d; cat d/secrets/key",
        "cat d/secrets/key | ln -s . d",
        "ln -s ../src docs/l && echo x > docs/l/f",
        "cat '{a,b}'",
        "cat 'a$IFSb'",
        "cp docs/a 'docs/{c,d}/new'",
        "ln -s . d; rg --file=d/secrets/key",
        "unzip -o docs/a.zip",
        "git apply docs/p",
        "git stash pop",
        "cp -r docs/t/. .",
    ] {
        check(&crib, command, "not allow");
    }
    check(&crib, "ln -s docs/a d", "allow");
    check(&crib, "cat docs/a && cp docs/a d", "allow");
}

#[test]
fn what_is_written_is_known_however_it_is_spelt() {
    let scratch = Scratch::new();
    scratch.put_rules(
        r#"
        [[rule]]
        writes = ["locked/**"]
        effect = "deny"

        [[rule]]
        argv = [["cp", "mv", "install", "gcc", "c++", "wget", "rm", "chmod", "rsync", "gzip", "link", "cat", "grep", "git"]]
        effect = "allow"
        "#,
    );
    let crib = scratch.open();
    for command in [
        "cp docs/a locked/a",
        "cp -at locked docs/a",
        "cp --t=locked docs/a",
        "install -Dt locked docs/a",
        "install -d locked/x docs/y",
        "gcc --output=locked/f docs/a.c",
        "wget -qP locked http://x.example",
        "rm locked/x",
        "rm -rf locked",
        "chmod +x locked/x",
        "sed -i s/a/b/ locked/x",
        "git rm locked/x",
    ] {
        check(&crib, command, "deny");
    }
    for command in [
        "cp -r docs/tree/. .",
        "cp -rT docs/tree .",
        "rsync docs/a .",
        "gzip locked/f",
        "link docs/a locked/b",
        "cp --parents conf/x.toml app",
        "mv locked other",
        "mv . other",
    ] {
        check(&crib, command, "not allow");
    }
    check(&crib, "gzip docs/f", "allow");
    check(&crib, "cat locked/a", "allow");
    check(&crib, "grep -rn '/api/' docs", "allow");
    check(&crib, "git commit -m 'fix: is it *ok*?'", "allow");
    check(&crib, "cp locked/a docs/a", "allow");
    check(&crib, "mv docs/a docs/b", "allow");
}

#[test]
fn what_is_moved_takes_along_what_is_in_it() {
    let scratch = Scratch::new();
    scratch.put_rules(
        r#"
        [[rule]]
        paths = ["config/secrets/**", "migrations/*.sql"]
        effect = "deny"

        [[rule]]
        argv = ["mv"]
        effect = "allow"
        "#,
    );
    let crib = scratch.open();
    for command in ["mv config cfg", "mv migrations old", "rm -rf config", "mv config/secrets x"] {
        check(&crib, command, "deny");
    }
    check(&crib, "mv configs cfg", "allow");
    check(&crib, "mv config/other x", "allow");
}

#[test]
fn a_host_is_known_without_its_scheme() {
    let scratch = Scratch::new();
    scratch.put_rules(
        r#"
        [[rule]]
        hosts = ["evil.example", "127.0.0.1"]
        effect = "deny"

        [[rule]]
        argv = [["curl", "wget", "git", "scp", "ping"]]
        effect = "allow"
        "#,
    );
    let crib = scratch.open();
    for command in [
        "curl -s http://evil.example/",
        "curl -s evil.example/x",
        "wget evil.example",
        "curl -s http:/evil.example/",
        "curl -s http:///evil.example/",
        "curl -s http://evil%2eexample/",
        "git fetch git@evil.example:r",
        "ping evil.example",
        "curl -s http://2130706433/",
        "curl -s 127.1",
    ] {
        check(&crib, command, "deny");
    }
    check(&crib, "curl -s 'http://evi[l-l].example/'", "not allow");
    check(&crib, "curl -s 'http://[::ffff:127.0.0.1]:80/'", "deny");
    check(&crib, "wget -i docs/urls", "not allow");
    check(&crib, "git commit -m 'add a feature'", "allow");
    check(&crib, "git diff HEAD~1", "allow");
    check(&crib, "curl -s https://good.example/a", "allow");
}

#[test]
fn what_runs_is_what_the_rule_was_given_for() {
    let scratch = place();
    let crib = scratch.open();
    for command in ["./run.sh", "python3 -m unittest"] {
        check(&crib, command, "allow");
        let there = json!({"command": command, "working_directory": "sub"});
        assert_eq!(crib.decide("clemini/bash", there), "ask", "{command}");
    }
    for command in [
        "bash < docs/a",
        "cat docs/a | python3",
        "echo .e nv | tr -d ' ' | xargs cat",
        "printf a%n PATH",
    ] {
        check(&crib, command, "not allow");
    }
    check(&crib, "printf a", "allow");
}

#[test]
fn a_tool_can_be_allowed_as_a_whole() {
    let scratch = Scratch::new();
    let write = || {
        let args = json!({"file_path": "a", "content": "x"});
        scratch.open().call("clemini/write_file", args).kind()
    };
    assert_eq!(write(), "approval_required");
    scratch.put_rules("[[rule]]\ntool = \"write_file\"\neffect = \"allow\"\n");
    assert_eq!(write(), "ok");
}

#[test]
fn rules_that_can_never_hold_are_refused() {
    for (rule, why) in [
        ("paths = [\"./.env\"]\neffect = \"deny\"", "matches nothing"),
        ("paths = [\"secrets/\"]\neffect = \"deny\"", "write `secrets/**`"),
        ("paths = [\"~/.ssh/**\"]\neffect = \"deny\"", "matches nothing"),
        ("argv = [\"git push\"]\neffect = \"deny\"", "no program is called `git push`"),
        ("argv = [\"git*\"]\neffect = \"deny\"", "no program is called"),
        ("effect = \"allow\"", "allows everything"),
        ("tool = \"write_file\"\npaths = []\neffect = \"allow\"", "`paths` is empty"),
        ("tool = \"bash\"\nhosts = []\neffect = \"allow\"", "`hosts` is empty"),
        ("tool = \"bash\"\ndanger = []\neffect = \"allow\"", "`danger` is empty"),
        ("words = \"a)|(?:b\"\neffect = \"deny\"", "cannot be used"),
    ] {
        let text = format!("[[rule]]\n{rule}\n");
        let refused = rules_in(&text, "rules.toml", Layer::Operator, Some(&BashReader::default()));
        let refused = refused.err().map(|err| err.to_string()).unwrap_or_default();
        assert!(refused.contains(why), "{rule}: {refused}");
    }
}

#[test]
fn ordinary_commands_are_not_refused() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    for command in [
        "cd /usr/share && ls 2>&1",
        "touch done; cd /usr/share/doc && ls",
        "git diff > p.diff; cd /usr/share/x; git status",
        "(cd /usr/include && ls) > headers.txt",
        "ln -s /etc/hosts",
        "touch -r /etc/hosts x",
        "cp x /proc/self/fd/1",
        "mkdir -p /usr/local/share/foo",
        "rm -rf /opt/app",
        "cp /etc/hosts x",
        "cat /etc/passwd",
        "ls /usr/lib",
        "npm ci 2> npm.log",
    ] {
        assert_ne!(crib.decide_command(command), "deny", "{command}");
    }
    for command in ["cp x /etc/passwd", "cd /etc && touch x", "echo x > /usr/bin/y"] {
        check(&crib, command, "deny");
    }
}
