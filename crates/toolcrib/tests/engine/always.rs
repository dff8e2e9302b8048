//! "Always": what is offered, what a grant covers, and that it holds.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolcrib_core::command_reading::join;
use toolcrib_core::host_access::HostRequest;
use toolcrib_core::policy::{Answer, Covers, Scope, Wish};
use toolcrib_ledger::GrantFile;
use toolcrib_runtime::{Choice, Question};

use crate::opened::{Opened, Person, Scratch};

/// Returns what "always" could cover for a call. The person who is asked says no.
fn choices(crib: &Opened, tool: &str, args: Value) -> Vec<Choice> {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&shown);
    let refused = crib.ask(tool, args, move |question| {
        seen.lock().unwrap().clone_from(&question.choices);
        Answer::No("a person".to_owned(), String::new())
    });
    assert_eq!(refused.kind(), "declined", "{}", refused.text());
    shown.lock().unwrap().clone()
}

pub(crate) fn command_choices(crib: &Opened, command: &str) -> Vec<Choice> {
    choices(crib, "clemini/bash", json!({"command": command}))
}

/// Whether commands that begin with these words are offered.
fn offers(choices: &[Choice], words: &str) -> bool {
    let is_it = |it: &Choice| matches!(&it.0, Covers::Argv(argv) if join(argv) == words);
    choices.iter().any(|it| it.1.is_none() && is_it(it))
}

/// Returns why commands that begin with these words are not offered, if they are shown as too broad.
fn refusal<'a>(choices: &'a [Choice], words: &str) -> Option<&'a str> {
    let is_it = |it: &&Choice| matches!(&it.0, Covers::Argv(argv) if join(argv) == words);
    choices.iter().find(is_it)?.1.as_deref()
}

#[test]
fn what_is_too_broad_is_not_offered() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    for (command, refused, offered) in [
        ("git -c a=b status", "git", "git -c a=b status"),
        ("python3 x.py", "python3", "python3 x.py"),
        ("dotnet test a", "dotnet", "dotnet test a"),
        ("env touch x", "env touch", "env touch x"),
        ("cargo build", "cargo", "cargo build"),
        // Parts that run without a question are not part of the grant.
        ("cargo build | head -5", "cargo", "cargo build"),
    ] {
        let choices = command_choices(&crib, command);
        assert!(refusal(&choices, refused).is_some(), "{command}: {choices:?}");
        let open: Vec<&Covers> =
            choices.iter().filter(|it| it.1.is_none()).map(|it| &it.0).collect();
        assert!(matches!(open[0], Covers::Call { .. }), "{command}: {choices:?}");
        let Covers::Argv(words) = open[1] else { panic!("{command}: {choices:?}") };
        assert_eq!(join(words), offered, "{command}");
    }
}

#[test]
fn always_offers_what_holds_and_nothing_broader() {
    let offered = |rules: &str, command: &str| {
        let scratch = Scratch::new();
        scratch.put_rules(rules);
        command_choices(&scratch.open(), command)
    };
    for (command, holds, broader) in [
        ("git --no-pager commit", "git --no-pager commit", "git --no-pager"),
        ("kubectl -n prod get pods", "kubectl -n prod get pods", "kubectl -n prod"),
        ("cargo --offline build x", "cargo --offline build", "cargo --offline"),
    ] {
        let choices = offered("", command);
        assert!(offers(&choices, holds) && !offers(&choices, broader), "{command}: {choices:?}");
    }
    // Bounded by something else, or over, a rule lets nothing through; one that is over asks about nothing.
    let hosts = "[[rule]]\nargv = [\"curl\"]\nhosts = [\"a.example\"]\neffect = \"allow\"\n";
    let choices = offered(hosts, "curl -s https://b.example/x");
    assert!(offers(&choices, "curl -s https://b.example/x"), "{choices:?}");
    for effect in ["allow", "ask"] {
        let over = format!(
            "[[rule]]\nargv = [\"mkdir\"]\neffect = \"{effect}\"\nexpires = \"2020-01-01T00:00:00Z\"\n"
        );
        let choices = offered(&over, "mkdir q1 q2");
        assert!(offers(&choices, "mkdir q1"), "{effect}: {choices:?}");
    }
}

#[test]
fn a_stored_grant_applies_behind_a_wrapper_too_and_to_nothing_else() {
    for command in ["timeout 60 rm -rf target", "git --no-pager push -f origin x"] {
        let scratch = Scratch::new();
        let crib = scratch.open();
        assert_eq!(crib.decide_command(command), "ask", "{command}");
        let choices = command_choices(&crib, command);
        let (covers, _) = choices.iter().filter(|it| it.1.is_none()).nth(1).unwrap();
        crib.grant("clemini/bash", covers);
        assert_eq!(crib.decide_command(command), "allow", "{command}");
        assert_eq!(crib.decide_command(&format!("{command}2")), "ask", "{command}");
    }
}

#[test]
fn an_answer_to_one_step_is_none_to_another() {
    let scratch = Scratch::new();
    scratch.put_rules(
        "[[rule]]\nid = \"askpush\"\nargv = [\"git\", \"push\"]\neffect = \"ask\"\n\
        [[rule]]\nargv = [\"git\"]\neffect = \"allow\"\n",
    );
    let crib = scratch.open();
    let choices = command_choices(&crib, "git push origin dev");
    let (covers, _) = choices.iter().filter(|it| it.1.is_none()).nth(1).unwrap();
    crib.grant("clemini/bash", covers);
    assert_eq!(crib.decide_command("git push origin dev; git log"), "allow");
    for command in [
        "git push origin dev; git push origin main",
        "git push origin dev; git --no-pager push origin main",
    ] {
        assert_eq!(crib.decide_command(command), "ask", "{command}");
    }
}

#[test]
fn what_is_fed_cannot_be_granted() {
    let scratch = Scratch::new();
    let choices = command_choices(&scratch.open(), "cat gen.sql | psql");
    assert_eq!(refusal(&choices, "psql"), Some("its input decides what it does"), "{choices:?}");
}

#[test]
fn this_exact_call_is_another_when_its_links_lead_elsewhere() {
    let write = json!({"file_path": "lnk/made", "content": "x"});
    let calls =
        [("clemini/bash", json!({"command": "touch lnk/made"})), ("clemini/write_file", write)];
    for (tool, args) in calls {
        let scratch = Scratch::new();
        let relink = |target: &str| {
            let link = scratch.work().join("lnk");
            let _ = fs::remove_file(&link);
            symlink(target, &link).unwrap();
        };
        scratch.put("one/", "");
        scratch.put("two/", "");
        relink("one");
        let crib = scratch.open();
        assert_eq!(crib.decide(tool, args.clone()), "ask");
        let choices = choices(&crib, tool, args.clone());
        let exact = &choices[0].0;
        assert!(exact.text().contains("leads to"), "{}", exact.text());
        crib.grant(tool, exact);
        let decided = || crib.decide(tool, args.clone());
        assert_eq!(decided(), "allow", "the control: it holds while they lead there");
        relink("two");
        assert_eq!(decided(), "ask");
        relink("one");
        assert_eq!(decided(), "allow");
        // A folder in place of the link is another place too.
        fs::remove_file(scratch.work().join("lnk")).unwrap();
        fs::create_dir(scratch.work().join("lnk")).unwrap();
        assert_eq!(decided(), "ask");
    }
}

#[test]
fn always_stores_the_grant_that_the_next_call_runs_by() {
    let scratch = Scratch::new();
    scratch.put("one/", "");
    scratch.put("two/", "");
    let link = scratch.work().join("lnk");
    symlink("one", &link).unwrap();
    let crib = scratch.open();
    let args = json!({"file_path": "lnk/made", "content": "x"});
    let write = || crib.call("clemini/write_file", args.clone()).kind();
    assert_eq!(write(), "approval_required");
    let answered = crib.ask("clemini/write_file", args.clone(), |question| {
        let covers = question.choices[0].0.clone();
        let scope = Scope::Project(question.root.clone());
        Answer::Always("a person".to_owned(), Wish { covers, scope, minutes: None })
    });
    answered.done();
    assert_eq!(write(), "ok");
    let grants = GrantFile::new(&crib.crib.state).all().unwrap();
    assert_eq!((grants.len(), grants[0].use_count, grants[0].by.as_str()), (1, 1, "a person"));
    fs::remove_file(&link).unwrap();
    symlink("two", &link).unwrap();
    assert_eq!(write(), "approval_required");
    assert!(!scratch.work().join("two/made").exists());
    assert!(GrantFile::new(&crib.crib.state).revoke(&grants[0].id).unwrap());
    fs::remove_file(&link).unwrap();
    symlink("one", &link).unwrap();
    assert_eq!(write(), "approval_required", "revoked");
    let given = |line: &Value| line["act"] == "grant" && line["event"] == "given";
    assert!(scratch.record().iter().any(given));
}

#[test]
fn always_asks_again_about_new_flags_of_unknown_programs() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    for (command, asks) in [("svn diff", true), ("cargo build", false)] {
        let choices = command_choices(&crib, command);
        assert!(offers(&choices, command), "{command}: {choices:?}");
        let covers = &choices[1].0;
        assert_eq!(covers.asks_about_new_flags(), asks, "{command}");
        assert_eq!(covers.text().contains("without new flags"), asks, "{command}");
        crib.grant("clemini/bash", covers);
    }
    for (command, decision) in [
        ("svn diff", "allow"),
        ("svn diff src/a.c", "allow"),
        ("svn diff --diff-cmd=./evil", "ask"),
        ("svn diff A=b", "ask"),
        ("svn diff @args", "ask"),
        // Toolcrib knows which flags of this one matter.
        ("cargo build --release", "allow"),
        ("cargo build --config a=b", "ask"),
    ] {
        assert_eq!(crib.decide_command(command), decision, "{command}");
    }
    let args = json!({"command": "svn diff --diff-cmd=./evil"});
    let told = crib.explain("clemini/bash", args).decision.rule;
    assert!(told.ends_with("does not cover the new flag `--diff-cmd=./evil`"), "{told}");
}

/// A setting with which no command can start, because a test of the engine starts no process.
pub(crate) const NO_SANDBOX: &str = "sandbox.bubblewrap=/nowhere/bwrap";

/// Says "always" to a command, for the choice with this number.
pub(crate) fn say_always(crib: &Opened, command: &str, choice: usize) {
    crib.ask("clemini/bash", json!({"command": command}), move |question| {
        let covers = question.choices[choice].0.clone();
        let scope = Scope::Project(question.root.clone());
        Answer::Always("a person".to_owned(), Wish { covers, scope, minutes: None })
    });
}

#[test]
fn a_grant_is_for_the_program_that_it_was_given_for() {
    for choice in [0, 1] {
        let scratch = Scratch::new();
        scratch.put("run.sh", "#!/bin/sh\ntrue\n");
        scratch.set_mode("run.sh", 0o755);
        let crib = scratch.open_with(&[NO_SANDBOX]);
        say_always(&crib, "./run.sh all", choice);
        assert_eq!(crib.decide_command("./run.sh all"), "allow", "the control");
        scratch.put("run.sh", "#!/bin/sh\ntouch made\n");
        assert_eq!(crib.decide_command("./run.sh all"), "ask");
        let told = crib.explain("clemini/bash", json!({"command": "./run.sh all"})).decision.rule;
        assert!(told.contains("`./run.sh` changed since grant `"), "{told}");
        scratch.put("run.sh", "#!/bin/sh\ntrue\n");
        assert_eq!(crib.decide_command("./run.sh all"), "allow");
        fs::remove_file(scratch.work().join("run.sh")).unwrap();
        symlink("/bin/true", scratch.work().join("run.sh")).unwrap();
        assert_eq!(crib.decide_command("./run.sh all"), "ask", "a link leads elsewhere");
        fs::remove_file(scratch.work().join("run.sh")).unwrap();
        scratch.put("run.sh", "#!/bin/sh\ntrue\n");
        scratch.set_mode("run.sh", 0o755);
        assert_eq!(crib.decide_command("./run.sh all"), "allow", "the control");
        // What cannot be compared is not the same.
        fs::hard_link(scratch.work().join("run.sh"), scratch.work().join("second")).unwrap();
        assert_eq!(crib.decide_command("./run.sh all"), "ask", "a file with two names");
        fs::remove_file(scratch.work().join("second")).unwrap();
        scratch.put("other.sh", "#!/bin/sh\n");
        assert_eq!(crib.decide_command("./other.sh all"), "ask");
    }
}

#[test]
fn many_programs_do_not_hide_one_that_changed() {
    let scratch = Scratch::new();
    scratch.put("zrun.sh", "#!/bin/sh\ntrue\n");
    scratch.set_mode("zrun.sh", 0o755);
    let crib = scratch.open_with(&[NO_SANDBOX]);
    say_always(&crib, "./zrun.sh all", 1);
    let plain = "basename f; cat f; cmp f f; comm f f; cut -c1 f; date; df /; diff f f; dirname f; du f; \
         echo; egrep a f; false; fgrep a f; find f; grep a f; head f; id; ls; md5sum f; nl f; pwd; \
         readlink f; realpath f; seq 1; sha1sum f; sha256sum f; sort f; stat f; tail f; test a; true; uniq f; wc f";
    assert_eq!(crib.decide_command("ls; ./zrun.sh all"), "allow", "the control");
    scratch.put("zrun.sh", "#!/bin/sh\ntouch made\n");
    for before in [plain, "ls"] {
        assert_eq!(crib.decide_command(&format!("{before}; ./zrun.sh all")), "ask", "{before}");
    }
}

#[test]
fn a_grant_covers_no_new_flags_of_programs_with_more_than_are_listed() {
    let scratch = Scratch::new();
    for (granted, more) in [
        ("nm a.o", "nm a.o --plugin ./evil.so"),
        ("g++ x.cc -c", "g++ x.cc -c -fmodules-ts"),
        ("scp a b", "scp -D ./evil a b"),
    ] {
        let crib = scratch.open_with(&[NO_SANDBOX]);
        say_always(&crib, granted, 1);
        assert_eq!(crib.decide_command(granted), "allow", "the control: {granted}");
        assert_eq!(crib.decide_command(more), "ask", "{more}");
    }
}

#[test]
fn a_grant_ends_when_another_program_is_found_first() {
    let mut scratch = Scratch::new();
    scratch.put_at("home/.local/bin/", "");
    let path = format!("{}:/usr/bin:/bin", scratch.path("home/.local/bin").display());
    scratch.environment.insert("PATH".to_owned(), path.into());
    let open = || scratch.open_with(&[NO_SANDBOX]);
    say_always(&open(), "touch a", 1);
    assert_eq!(open().decide_command("touch a b"), "allow", "the control");
    let own = scratch.path("home/.local/bin/touch");
    fs::write(&own, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(open().decide_command("touch a b"), "ask");
    fs::remove_file(&own).unwrap();
    assert_eq!(open().decide_command("touch a b"), "allow");
}

#[test]
fn a_program_that_commands_can_change_is_never_harmless() {
    let scratch = Scratch::new();
    scratch.put("evil", "#!/bin/sh\n");
    scratch.set_mode("evil", 0o755);
    scratch.put_at("home/.local/bin/", "");
    let path = format!("{}:/usr/bin:/bin", scratch.path("home/.local/bin").display());
    let open = || scratch.open_where(&[("PATH", &path)]);
    assert_eq!(open().decide_command("ls -la"), "allow", "the control");
    symlink(scratch.work().join("evil"), scratch.path("home/.local/bin/ls")).unwrap();
    assert_eq!(open().decide_command("ls -la"), "ask");
    assert_eq!(open().decide_command("cat a"), "allow");
    scratch.put_rules("[[rule]]\nargv = [\"ls\"]\neffect = \"allow\"\n");
    assert_eq!(open().decide_command("ls -la"), "ask", "an allow rule does not know it either");
}

#[test]
fn a_grant_for_a_host_allows_no_call() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let host = HostRequest { host: "a.example".to_owned(), port: 443 };
    crib.grant("clemini/bash", &Covers::Host(host));
    for command in ["curl https://a.example", "touch a"] {
        assert_eq!(crib.decide_command(command), "ask", "{command}");
    }
    // The control: another grant for the same tool does.
    crib.grant("clemini/bash", &Covers::Argv(vec!["touch".to_owned(), "a".to_owned()]));
    assert_eq!(crib.decide_command("touch a"), "allow");
}

#[test]
fn a_grant_from_before_programs_were_stored_can_be_read() {
    let covers = Covers::Argv(vec!["touch".to_owned(), "a".to_owned()]);
    let scratch = Scratch::new();
    let crib = scratch.open();
    crib.grant("clemini/bash", &covers);
    let stored = GrantFile::new(&crib.crib.state).all().unwrap();
    assert_eq!(stored[0].files, None);
    assert!(!serde_json::to_string(&stored).unwrap().contains("programs"));
    assert_eq!(crib.decide_command("touch a"), "allow");
}

#[test]
fn a_program_that_comes_while_a_person_thinks_is_not_granted() {
    let scratch = Scratch::new();
    scratch.put("run.sh", "#!/bin/sh\ntrue\n");
    scratch.set_mode("run.sh", 0o755);
    let crib = scratch.open_with(&[NO_SANDBOX]);
    let file = scratch.work().join("run.sh");
    let refused = crib.ask("clemini/bash", json!({"command": "./run.sh all"}), move |question| {
        fs::write(&file, "#!/bin/sh\ntouch made\n").unwrap();
        let covers = question.choices[1].0.clone();
        let scope = Scope::Project(question.root.clone());
        Answer::Always("a person".to_owned(), Wish { covers, scope, minutes: None })
    });
    assert_ne!(refused.kind(), "ok");
    assert_eq!(crib.decide_command("./run.sh all"), "ask");
    // The control: the program that the question was about is granted.
    scratch.put("run.sh", "#!/bin/sh\ntrue\n");
    assert_eq!(crib.decide_command("./run.sh all"), "allow");
}

#[test]
fn a_grant_is_not_bound_to_programs_of_the_system() {
    let scratch = Scratch::new();
    scratch.put("run.sh", "#!/bin/sh\n");
    scratch.set_mode("run.sh", 0o755);
    let crib = scratch.open_with(&[NO_SANDBOX]);
    say_always(&crib, "touch a", 0);
    say_always(&crib, "./run.sh a", 0);
    let stored = GrantFile::new(&crib.crib.state).all().unwrap();
    let programs: Vec<usize> =
        stored.iter().map(|grant| grant.files.as_ref().unwrap().len()).collect();
    assert_eq!(programs, [0, 1], "only the program of the workspace is compared");
}

#[test]
fn a_grant_holds_in_its_session_its_project_or_everywhere() {
    let scope_of = |name: &str, session: &str, root: &str| match name {
        "session" => Scope::Session(session.to_owned()),
        "project" => Scope::Project(root.to_owned()),
        _ => Scope::User,
    };
    for (name, expect) in [
        ("session", ["allow", "ask", "ask"]),
        ("project", ["allow", "allow", "ask"]),
        ("everywhere", ["allow", "allow", "allow"]),
    ] {
        let scratch = Scratch::new();
        scratch.put_at("elsewhere/", "");
        let crib = scratch.open_with(&[NO_SANDBOX]);
        let questions = Arc::new(Mutex::new(0));
        let asked = Arc::clone(&questions);
        let person = Person(move |question: &Question| {
            *asked.lock().unwrap() += 1;
            let scope = scope_of(name, &question.asker.session, &question.root);
            let covers = question.choices[0].0.clone();
            Answer::Always("a person".to_owned(), Wish { covers, scope, minutes: None })
        });
        let runtime = crib.crib.runtime(Arc::new(person)).unwrap();
        for _ in 0..2 {
            crib.call_in(&runtime, "clemini/bash", json!({"command": "touch a"}));
        }
        let here = if *questions.lock().unwrap() == 1 { "allow" } else { "ask" };
        let decided = |crib: &Opened| crib.decide_command("touch a");
        let elsewhere = scratch.open_at(&scratch.path("elsewhere"), &[]);
        let got = [here, decided(&scratch.open()), decided(&elsewhere)];
        assert_eq!(got, expect, "{name}");
    }
}
