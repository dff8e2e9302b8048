//! "Always" at the terminal: what it covers, what is offered, and that it holds.

use std::io::Read;
use std::time::Duration;

use toolcrib_core::policy::grant::{Covers, Grant, Grants, Scope};

use crate::prompt::Session;
use crate::scratch::Scratch;

/// Answers the questions that "always" leads to.
pub(crate) fn always(scratch: &Scratch, call: &[&str], answers: &str) -> (i32, String) {
    let mut session = Session::start(scratch, call, "");
    session.wait_for("Approve? (y/n/always): ");
    let code = session.answer(answers);
    let mut rest = String::new();
    let _ = session.master.read_to_string(&mut rest);
    (code, session.seen + &rest)
}

#[test]
fn always_covers_what_was_shown_and_no_more() {
    let scratch = Scratch::new();
    let bash = |command: &str| {
        scratch.run(["call", "clemini/bash", &format!("command={command}"), "--json"]).code
    };
    assert_eq!(bash("touch a"), 4);
    let call = ["call", "clemini/bash", "command=touch a b"];
    // The grant covers the first two words, in this project, until revoked.
    let (code, seen) = always(&scratch, &call, "always\n3\np\n3\ny\n");
    assert_eq!(code, 0, "{seen}");
    for shown in [
        "1  this exact call",
        "2  commands that begin with: touch a b",
        "3  commands that begin with: touch a",
        "4  commands that begin with: touch",
        "argv = [\"touch\", \"a\"]",
        "until revoked",
    ] {
        assert!(seen.contains(shown), "{shown}: {seen}");
    }
    assert_eq!(bash("touch a"), 0);
    assert_eq!(bash("touch a c"), 0);
    assert_eq!(bash("ls && touch a d"), 0);
    for other in
        ["touch b", "touch a; touch b", "touch a > x", "touch a $(id)", "./touch a", "TOUCH a"]
    {
        assert_eq!(bash(other), 4, "{other}");
    }
    // The grant does not apply in another project.
    scratch.put_at("elsewhere/", "");
    let elsewhere = scratch.path("elsewhere").display().to_string();
    let call = ["-C", &elsewhere, "call", "clemini/bash", "command=touch a", "--json"];
    assert_eq!(scratch.run(call).code, 4);
    let listed = scratch.run(["grants", "list", "--json"]).json();
    assert_eq!(listed[0]["use_count"], 3, "{listed}");
    let id = listed[0]["id"].as_str().unwrap();
    assert_eq!(scratch.run(["grants", "revoke", id]).code, 0);
    assert_eq!(scratch.run(["grants", "revoke", id]).code, 1);
    assert_eq!(bash("touch a"), 4);
}

#[test]
fn what_is_too_broad_is_not_offered() {
    for (command, refused, offered) in [
        ("git -c a=b status", "-  commands that begin with: git: too broad", "git -c a=b status"),
        ("python3 x.py", "-  commands that begin with: python3: too broad", "python3 x.py"),
        ("dotnet test a", "-  commands that begin with: dotnet: too broad", "dotnet test a"),
        ("env touch x", "-  commands that begin with: env touch: too broad", "env touch x"),
        ("cargo build", "-  commands that begin with: cargo: too broad", "cargo build"),
        // Parts that run without a question are not part of the grant.
        ("cargo build | head -5", "-  commands that begin with: cargo: too broad", "cargo build"),
    ] {
        let scratch = Scratch::new();
        let call = ["call", "clemini/bash", &format!("command={command}")];
        let (code, seen) = always(&scratch, &call, "always\n\n");
        assert_eq!(code, 3, "{seen}");
        assert!(seen.contains(refused), "{command}: {seen}");
        assert!(seen.contains(&format!("2  commands that begin with: {offered}")), "{seen}");
    }
}

#[test]
fn always_offers_what_holds_and_nothing_broader() {
    let offered = |rules: &str, command: &str| {
        let scratch = Scratch::new();
        scratch.put_at("home/.config/toolcrib/rules.toml", rules);
        let command = format!("command={command}");
        always(&scratch, &["call", "clemini/bash", &command], "always\n\n").1
    };
    let has = |seen: &str, words: &str| {
        let lines = seen.lines().map(str::trim);
        lines.clone().any(|line| {
            let line = line.trim_end_matches(" (asks about new flags)");
            line.ends_with(&format!("commands that begin with: {words}"))
                && line.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    for (command, offers, refuses) in [
        ("git --no-pager branch", "git --no-pager branch", "git --no-pager"),
        ("kubectl -n prod get pods", "kubectl -n prod get pods", "kubectl -n prod"),
        ("cargo --offline build x", "cargo --offline build", "cargo --offline"),
    ] {
        let seen = offered("", command);
        assert!(has(&seen, offers) && !has(&seen, refuses), "{command}: {seen}");
    }
    // Bounded by something else, or over, a rule lets nothing through; one that is over asks about nothing.
    let hosts = "[[rule]]\nargv = [\"curl\"]\nhosts = [\"a.example\"]\neffect = \"allow\"\n";
    let seen = offered(hosts, "curl -s https://b.example/x");
    assert!(has(&seen, "curl -s https://b.example/x"), "{seen}");
    let over = "expires = \"2020-01-01T00:00:00Z\"\n";
    let seen = offered(
        &format!("[[rule]]\nargv = [\"mkdir\"]\neffect = \"allow\"\n{over}"),
        "mkdir q1 q2",
    );
    assert!(has(&seen, "mkdir q1"), "{seen}");
    let seen =
        offered(&format!("[[rule]]\nargv = [\"mkdir\"]\neffect = \"ask\"\n{over}"), "mkdir q1 q2");
    assert!(has(&seen, "mkdir q1"), "{seen}");
    // The stored grant applies, behind a wrapper too.
    for command in ["timeout 60 rm -rf target", "git --no-pager push -f origin x"] {
        let scratch = Scratch::new();
        let named = format!("command={command}");
        let call = ["call", "clemini/bash", &named];
        let explain = || {
            let words = ["policy", "explain", "clemini/bash", &named, "--json"];
            scratch.run(words).json()["decision"].clone()
        };
        assert_eq!(explain(), "ask", "{command}");
        let (_, seen) = always(&scratch, &call, "always\n2\np\n3\ny\n");
        assert!(seen.contains("This grant will be stored"), "{seen}");
        assert_eq!(explain(), "allow", "{command}: {seen}");
        let other = named.clone() + "2";
        let words = ["policy", "explain", "clemini/bash", &other, "--json"];
        assert_eq!(scratch.run(words).json()["decision"], "ask", "{command}");
    }
}

#[test]
fn always_asks_again_about_new_flags_of_unknown_programs() {
    let scratch = Scratch::new();
    let explain = |command: &str| {
        let command = format!("command={command}");
        scratch.run(["policy", "explain", "clemini/bash", &command, "--json"]).json()["decision"]
            .clone()
    };
    for command in ["svn diff", "cargo build"] {
        let named = format!("command={command}");
        let (_, seen) = always(&scratch, &["call", "clemini/bash", &named], "always\n2\np\n3\ny\n");
        assert!(seen.contains("This grant will be stored"), "{seen}");
        assert_eq!(
            seen.contains("svn diff (asks about new flags)"),
            command == "svn diff",
            "{seen}"
        );
        assert_eq!(seen.contains("without new flags"), command == "svn diff", "{seen}");
    }
    for (command, decision) in [
        ("svn diff", "allow"),
        ("svn diff src/a.c", "allow"),
        ("svn diff --diff-cmd=./evil", "ask"),
        ("svn diff A=b", "ask"),
        // Toolcrib knows which flags of this one matter.
        ("cargo build --release", "allow"),
        ("cargo build --config a=b", "ask"),
    ] {
        assert_eq!(explain(command), decision, "{command}");
    }
}

#[test]
fn an_answer_to_one_step_is_none_to_another() {
    let scratch = Scratch::new();
    let rules = "[[rule]]\nid = \"askpush\"\nargv = [\"git\", \"push\"]\neffect = \"ask\"\n\
        [[rule]]\nargv = [\"git\"]\neffect = \"allow\"\n";
    scratch.put_at("home/.config/toolcrib/rules.toml", rules);
    let call = ["call", "clemini/bash", "command=git push origin dev"];
    let (_, seen) = always(&scratch, &call, "always\n2\np\n3\ny\n");
    assert!(seen.contains("This grant will be stored"), "{seen}");
    let explain = |command: &str| {
        let command = format!("command={command}");
        scratch.run(["policy", "explain", "clemini/bash", &command, "--json"]).json()["decision"]
            .clone()
    };
    assert_eq!(explain("git push origin dev; git log"), "allow");
    for command in [
        "git push origin dev; git push origin main",
        "git push origin dev; git --no-pager push origin main",
    ] {
        assert_eq!(explain(command), "ask", "{command}");
    }
}

#[test]
fn this_exact_call_is_another_when_its_links_lead_elsewhere() {
    use std::os::unix::fs::symlink;
    let relink = |scratch: &Scratch, target: &str| {
        let link = scratch.work().join("lnk");
        let _ = std::fs::remove_file(&link);
        symlink(target, &link).unwrap();
    };
    let calls: [&[&str]; 2] = [
        &["call", "clemini/bash", "command=touch lnk/made"],
        &["call", "clemini/write_file", "file_path=lnk/made", "content=x"],
    ];
    for call in calls {
        let scratch = Scratch::new();
        scratch.put("one/", "");
        scratch.put("two/", "");
        relink(&scratch, "one");
        let (code, seen) = always(&scratch, call, "always\n1\np\n3\ny\n");
        assert_eq!(code, 0, "{seen}");
        assert!(seen.contains("leads to"), "{seen}");
        assert_eq!(scratch.run(call).code, 0, "the control: it holds while they lead there");
        relink(&scratch, "two");
        assert_eq!(scratch.run(call).code, 4);
        assert!(!scratch.work().join("two/made").exists());
        relink(&scratch, "one");
        assert_eq!(scratch.run(call).code, 0);
        // A folder in place of the link is another place too.
        std::fs::remove_file(scratch.work().join("lnk")).unwrap();
        std::fs::create_dir(scratch.work().join("lnk")).unwrap();
        assert_eq!(scratch.run(call).code, 4);
    }
}

#[test]
fn a_grant_that_ends_while_its_call_waits_answers_nothing() {
    let scratch = Scratch::new();
    let call = ["call", "clemini/bash", "command=touch a"];
    let mut waiting = Session::start(&scratch, &call, "");
    waiting.wait_for("Approve? (y/n/always): ");
    let now = jiff::Timestamp::now();
    let expires = now.checked_add(jiff::SignedDuration::from_secs(2)).unwrap();
    let grant = Grant {
        id: "01A".to_owned(),
        tool_name: "clemini/bash".into(),
        param_pattern: String::new(),
        description: String::new(),
        created_at: now,
        last_used_at: None,
        use_count: 0,
        expires_at: Some(expires),
        enabled: true,
        scope: Scope::User,
        covers: Covers::Argv(vec!["touch".to_owned(), "a".to_owned()]),
        by: "user 0".to_owned(),
    };
    let state = toolcrib_ledger::StateFolder::open(&scratch.state()).unwrap();
    toolcrib_ledger::GrantFile::new(&state).add(grant).unwrap();
    assert_eq!(scratch.run(call).code, 0, "the control: while it holds, it answers");
    std::fs::remove_file(scratch.work().join("a")).unwrap();
    while jiff::Timestamp::now() < expires {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(scratch.run(call).code, 4);
    assert_eq!(waiting.answer("n\n"), 3);
    assert!(!scratch.work().join("a").exists());
}

#[test]
fn what_is_fed_cannot_be_granted() {
    let scratch = Scratch::new();
    let call = ["call", "clemini/bash", "command=cat gen.sql | psql"];
    let (code, seen) = always(&scratch, &call, "always\n\n");
    assert_eq!(code, 3, "{seen}");
    let refused = "-  commands that begin with: psql: too broad: its input decides what it does";
    assert!(seen.contains(refused), "{seen}");
}
