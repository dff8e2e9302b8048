//! What a command leaves behind for git to run later, outside the sandbox. Each way has its control: where the same
//! script ran outside, the person's next git command runs the program.

mod usual;
mod ways;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::ground::{Session, eventually, for_all, inside, outside, processes_with};
use crate::scratch::{Ran, Scratch};
use usual::USUAL;
use ways::WAYS;

/// What a person has before: a repository that takes hooks from a folder that is not there yet, and more settings
/// from a file that is not there yet either.
const BEFORE: &str = "git init -q . && git config user.name a && git config user.email a@b && \
     git config core.hooksPath tools/hooks && git config include.path ../tools/more.gitconfig && \
     echo one > file && git add file && git commit -qm one && echo two >> file && git commit -qam two";

/// A git that needs no settings of its own.
const GIT: &str =
    "git() { command git -c user.name=a -c user.email=a@b -c init.defaultBranch=main \"$@\"; };";

#[test]
fn a_file_that_a_new_setting_leads_to_stays() {
    for_all(|scratch| {
        begin(scratch);
        scratch.put("notes.ini", "[alias]\n\tx = !PRIVATE\n");
        scratch.put("notes.txt", "no [settings at all\n");
        let way = "git init -q n && printf '[include]\\n\\tpath = ../../notes.ini\\n\\tpath = ../../notes.txt\\n' \
                   >> n/.git/config";
        let got = inside(scratch, &script(scratch, way));
        assert_eq!(got.code, 0, "{}", got.stderr);
        assert!(got.stderr.contains("include.path"), "{}", got.stderr);
        assert!(!got.stderr.contains("PRIVATE"), "{}", got.stderr);
        assert!(scratch.text("notes.ini").contains("PRIVATE"));
        assert!(scratch.text("notes.txt").contains("no [settings"));
    });
}

#[test]
fn what_a_person_links_to_is_protected_and_their_links_stay() {
    for_all(|scratch| {
        begin(scratch);
        let person = "git init -q p && mkdir s config && printf '#!/bin/sh\\n' > s/one && chmod +x s/one && \
             ln -s $PWD/s/one p/.git/hooks/post-commit && ln -s ../../../s/two p/.git/hooks/post-checkout && \
             ln -s file a-link && ln -s ../file s/link";
        assert_eq!(outside(scratch, person).code, 0);
        assert_ne!(inside(scratch, "echo x >> s/one").code, 0, "a hook");
        assert_eq!(inside(scratch, "echo x >> s/other").code, 0, "the control");
        let way = "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > s/two && chmod +x s/two";
        let later = "git -C p commit -q --allow-empty -m x; git -C p checkout -q -b other";
        assert_eq!(inside(scratch, &script(scratch, way)).code, 0);
        assert!(!ran(scratch, later));
        outside(scratch, &script(scratch, way));
        assert!(ran(scratch, &format!("{later}2")), "the control");
        // A new link does not make somebody's file git's.
        scratch.put("notes.ini", "[alias]\n\tx = !PRIVATE\n");
        let way = "git init -q n && ln -sf ../../notes.ini n/.git/config && ln -s ../../../s/one n/.git/hooks/pre-push";
        assert_eq!(inside(scratch, way).code, 0);
        assert!(
            scratch.text("notes.ini").contains("PRIVATE") && scratch.work().join("s/one").exists()
        );
        // With `config` beside it, this makes a git folder of the workspace.
        assert_eq!(inside(scratch, "echo hi > HEAD").code, 0);
        for link in ["a-link", "s/link", "p/.git/hooks/post-commit"] {
            assert!(fs::symlink_metadata(scratch.work().join(link)).is_ok(), "{link} stays");
        }
    });
}

#[test]
fn after_a_refused_command_nothing_of_a_person_is_held() {
    for_all(|scratch| {
        begin(scratch);
        outside(scratch, "mv .git/hooks h && ln -s ../h .git/hooks");
        assert_ne!(inside(scratch, "touch x").code, 0, "hooks cannot be a link");
        outside(scratch, "rm .git/hooks && mv h .git/hooks && git config alias.mine status");
        assert_eq!(inside(scratch, "touch y").code, 0);
        assert_eq!(held(scratch), Vec::<Value>::new());
    });
}

#[test]
fn a_command_cannot_wash_a_setting_through_another_one() {
    for_all(|scratch| {
        begin(scratch);
        let spawn = |text: &str| {
            let mut command = scratch.command();
            command.args(["sandbox", "run", "--", "bash", "-c", &script(scratch, text)]);
            command.stderr(std::process::Stdio::null()).spawn().unwrap()
        };
        let set = "mkdir -p q/objects q/refs; echo 'ref: refs/heads/main' > q/HEAD; \
                   printf '[core]\\n\\tfsmonitor = \"%s\"\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n' \"$EVIL\" > q/config";
        let mut one = spawn(&format!(
            "{set}; touch set; while ! [ -e go ]; do sleep 0.01; done; rm -rf q; true"
        ));
        eventually("the setting", || scratch.work().join("set").exists());
        // Made at once, the new file gets the inode of the old one on some file systems.
        let mut other = spawn(&format!("touch begun; while [ -e q ]; do :; done; {set}"));
        eventually("the other command", || scratch.work().join("begun").exists());
        scratch.put("go", "");
        assert!(one.wait().unwrap().success());
        other.wait().unwrap();
        fs::remove_file(scratch.work().join("RAN")).ok();
        assert!(!ran(scratch, "cd q && git status"));
        // The control: the setting works.
        outside(scratch, &script(scratch, &format!("rm -rf q; {set}")));
        assert!(ran(scratch, "cd q && git status"));
    });
}

#[test]
fn a_second_name_of_a_shielded_file_changes_nothing() {
    for_all(|scratch| {
        begin(scratch);
        let first = "git init -q n && ln n/.git/config data";
        assert_eq!(inside(scratch, &script(scratch, first)).code, 0);
        let second = "printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$EVIL\" >> data";
        assert_eq!(inside(scratch, &script(scratch, second)).code, 0);
        fs::remove_file(scratch.work().join("RAN")).ok();
        assert!(!ran(scratch, "git -C n status"));
        // The control: outside, nothing is in the way.
        outside(scratch, &script(scratch, &format!("ln -f n/.git/config data; {second}")));
        assert!(ran(scratch, "git -C n status"));
    });
}

/// Makes the workspace as it was before.
fn begin(scratch: &Scratch) {
    outside(scratch, "chmod -R u+rwx .; rm -rf ./* ./.[!.]*; true");
    let made = outside(scratch, BEFORE);
    assert_eq!(made.code, 0, "{}", made.stderr);
}

fn script(scratch: &Scratch, text: &str) -> String {
    let ran = scratch.work().join("RAN");
    format!("{GIT} EVIL='touch {}'; {text}", ran.display())
}

/// Whether what the person did later ran the program.
fn ran(scratch: &Scratch, later: &str) -> bool {
    outside(scratch, &format!("{} </dev/null", script(scratch, later)));
    scratch.work().join("RAN").exists()
}

fn held(scratch: &Scratch) -> Vec<Value> {
    let listed = scratch.run(["held", "list", "--json"]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    serde_json::from_str(&listed.stdout).unwrap()
}

#[test]
fn nothing_left_behind_runs_by_itself() {
    for_all(|scratch| {
        for (way, later) in WAYS {
            begin(scratch);
            let left = outside(scratch, &script(scratch, way));
            assert_eq!(left.code, 0, "{way}: {}", left.stderr);
            fs::remove_file(scratch.work().join("RAN")).ok();
            assert!(ran(scratch, later), "the control: {way}; {later}");

            begin(scratch);
            inside(scratch, "true");
            let before = held(scratch).len();
            let got = inside(scratch, &script(scratch, way));
            assert_eq!(got.code, 0, "{way}: {}", got.stderr);
            fs::remove_file(scratch.work().join("RAN")).ok();
            assert!(!ran(scratch, later), "{way}; {later}: {}", got.stderr);
            assert!(held(scratch).len() > before, "{way}: {}", got.stderr);
            assert!(got.stderr.contains("Toolcrib holds"), "{way}: {}", got.stderr);
        }
    });
}

#[test]
fn usual_commands_keep_working_and_nothing_of_them_is_held() {
    for_all(|scratch| {
        outside(scratch, "git init -q -b main . && echo one > file && git add file");
        let made = outside(scratch, &format!("{GIT} git commit -qm one"));
        assert_eq!(made.code, 0, "{}", made.stderr);
        let mut session = Session::start(scratch, &[]);
        for command in USUAL {
            let got = session.bash(&format!("{GIT} {command}"));
            assert_eq!(got["exit_code"], json!(0), "{command}: {got}");
            assert!(!got.to_string().contains("Toolcrib holds"), "{command}: {got}");
        }
        session.end();
        assert_eq!(held(scratch), Vec::<Value>::new());
    });
}

#[test]
fn what_a_command_leaves_in_a_repository_that_a_command_made_is_held() {
    for_all(|scratch| {
        begin(scratch);
        assert_eq!(inside(scratch, "git init -q n && git init -q --bare b.git").code, 0);
        let person = "git init -q p && git -C p config user.name p";
        assert_eq!(outside(scratch, person).code, 0);
        // A person's repository does not become a command's because a command made its folder.
        assert_eq!(inside(scratch, "mkdir -p mine/.git/objects").code, 0);
        assert_eq!(outside(scratch, "git init -q mine").code, 0);
        assert_ne!(inside(scratch, "git -C mine config user.name q").code, 0);
        for (way, later) in [
            ("git -C n config core.fsmonitor \"$EVIL\"", "git -C n status"),
            (
                "git --git-dir b.git config core.pager \"$EVIL;\"",
                "git --git-dir b.git -p branch -a",
            ),
            (
                "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > n/.git/hooks/post-checkout && chmod +x n/.git/hooks/post-checkout",
                "git -C n checkout -q -b other",
            ),
        ] {
            let got = inside(scratch, &script(scratch, way));
            assert_eq!(got.code, 0, "{way}: {}", got.stderr);
            assert!(got.stderr.contains("Toolcrib holds"), "{way}: {}", got.stderr);
            assert!(!ran(scratch, later), "{way}; {later}");
        }
        // The control: a repository that a person made is shielded.
        assert_ne!(inside(scratch, "git -C p config user.name q").code, 0);
        assert_ne!(inside(scratch, "rm -rf p").code, 0);
    });
}

#[test]
fn no_command_completes_a_folder_that_makes_git_run_a_program() {
    const HEAD: &str = "echo 'ref: refs/heads/main' > ev/HEAD";
    const PLAIN: &str = "printf '[core]\\nbare = false\\n' > ev/config";
    const HOSTILE: &str = "printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = .\\nfsmonitor = %s\\n' \"$EVIL\" > ev/config";
    for_all(|scratch| {
        begin(scratch);
        for (there, rest) in [
            ("mkdir ev/objects ev/refs".to_owned(), HEAD),
            (format!("{HEAD}; mkdir ev/refs"), "mkdir ev/objects"),
            (HEAD.to_owned(), "mkdir ev/objects ev/refs"),
        ] {
            let make = |config: &str| {
                let way = format!("rm -rf ev RAN; mkdir ev; {config}; {there}");
                assert_eq!(outside(scratch, &script(scratch, &way)).code, 0, "{way}");
            };
            let later = "cd ev && git status";
            make(HOSTILE);
            assert_ne!(inside(scratch, rest).code, 0, "{rest}");
            assert!(!ran(scratch, later), "{rest}");
            // The controls: git runs what is in such a folder, and one that names no program can be completed.
            outside(scratch, rest);
            assert!(ran(scratch, later), "{rest}");
            make(PLAIN);
            assert_eq!(inside(scratch, rest).code, 0, "{rest}");
        }
    });
}

#[test]
fn a_person_looks_at_what_is_held_and_releases_or_discards_it() {
    for_all(|scratch| {
        begin(scratch);
        let way = "git init -q n && git -C n config core.fsmonitor \"$EVIL\" && git -C n config user.name b && \
             printf '#!/bin/sh\\nexit 0\\n' > n/.git/hooks/pre-commit && chmod +x n/.git/hooks/pre-commit";
        let got = inside(scratch, &script(scratch, way));
        assert_eq!(got.code, 0, "{}", got.stderr);
        let items = held(scratch);
        let what: Vec<(&str, &str)> = items
            .iter()
            .map(|item| (item["path"].as_str().unwrap(), item["what"].as_str().unwrap()))
            .collect();
        let [setting, hook] = what.as_slice() else { panic!("{items:?}") };
        assert!(setting.0 == "n/.git/config" && setting.1.starts_with("core.fsmonitor = touch"));
        assert_eq!(*hook, ("n/.git/hooks/pre-commit", "a hook"));
        // The rest of the file is as it was.
        let config = || fs::read_to_string(scratch.work().join("n/.git/config")).unwrap();
        assert!(config().contains("name = b") && !config().contains("fsmonitor"), "{}", config());
        let id = |item: &Value| item["id"].as_str().unwrap().to_owned();
        let shown = scratch.run(["held", "show", &id(&items[1])]);
        assert!(
            shown.stdout.contains("exit 0") && shown.stdout.contains("pre-commit"),
            "{}",
            shown.stdout
        );
        let released = scratch.run(["held", "release", &id(&items[1])]);
        assert_eq!(released.code, 0, "{}", released.stderr);
        assert!(Path::new(&scratch.work().join("n/.git/hooks/pre-commit")).exists());
        // What a person released stays.
        inside(scratch, "touch something");
        assert!(scratch.work().join("n/.git/hooks/pre-commit").exists());
        assert_eq!(scratch.run(["held", "release", &id(&items[1])]).code, 1, "it is released");
        assert_eq!(scratch.run(["held", "release", &id(&items[0])]).code, 0);
        assert!(config().contains("fsmonitor"), "{}", config());
        assert!(ran(scratch, "git -C n status"), "released means released");

        let got =
            inside(scratch, &script(scratch, "git init -q m && git -C m config alias.x '!y'"));
        assert_eq!(got.code, 0, "{}", got.stderr);
        let [item] = held(scratch).try_into().unwrap();
        // What a person has set since is not set again behind their back.
        outside(scratch, "git -C m config alias.x status");
        let refused = scratch.run(["held", "release", &id(&item)]);
        assert!(
            refused.code == 1 && refused.stderr.contains("after Toolcrib held it"),
            "{}",
            refused.stderr
        );
        assert_eq!(held(scratch).len(), 1);
        assert_eq!(scratch.run(["held", "discard", ""]).code, 1, "no id");
        let discarded = scratch.run(["held", "discard", &id(&item)]);
        assert_eq!(discarded.code, 0, "{}", discarded.stderr);
        assert_eq!(held(scratch), Vec::<Value>::new());
        for words in [["held", "show", "nothing"], ["held", "discard", "nothing"]] {
            let got: Ran = scratch.run(words);
            assert!(got.code == 1 && got.stderr.contains("held list"), "{}", got.stderr);
        }
    });
}

#[test]
fn the_record_has_what_is_held_and_who_released_it() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &[]);
        let got = session.bash("git init -q n && git -C n config alias.x '!y'");
        session.end();
        assert!(got.to_string().contains("Toolcrib holds"), "{got}");
        let item = held(scratch).pop().unwrap();
        let call = item["call"].as_str().unwrap();
        let shown = scratch.run(["audit", "show", call]);
        assert!(shown.stdout.contains("n/.git/config: alias.x = !y"), "{}", shown.stdout);
        assert_eq!(scratch.run(["held", "release", item["id"].as_str().unwrap()]).code, 0);
        let lines = scratch.run(["audit", "tail", "--json"]).stdout;
        assert!(lines.contains(r#""released""#) && lines.contains("alias.x"), "{lines}");
    });
}

#[test]
fn the_sweep_of_a_killed_process_is_made_before_the_next_command() {
    for_all(|scratch| {
        begin(scratch);
        inside(scratch, "true");
        let way = script(
            scratch,
            "git init -q n && git -C n config alias.x \"!$EVIL\" && touch done && sleep 100.125",
        );
        let mut command = scratch.command();
        let mut child = command.args(["sandbox", "run", "--", "bash", "-c", &way]).spawn().unwrap();
        eventually("the setting", || scratch.work().join("done").exists());
        child.kill().unwrap();
        child.wait().unwrap();
        eventually("the end of the command", || processes_with("sleep 100.125").is_empty());
        assert!(scratch.work().join("n/.git/config").exists());
        let got = inside(scratch, "true");
        assert!(got.stderr.contains("Toolcrib holds"), "{}", got.stderr);
        assert!(!ran(scratch, "git -C n x"));
    });
}

#[test]
fn what_a_person_does_meanwhile_stays() {
    for_all(|scratch| {
        begin(scratch);
        outside(scratch, "git config --unset core.hooksPath");
        inside(scratch, "true");
        let mut session = Session::start(scratch, &[]);
        session.ask(
            "clemini/bash",
            json!({"command": "touch begun; while ! [ -e go ]; do sleep 0.01; done"}),
        );
        eventually("the command", || scratch.work().join("begun").exists());
        // The root's own hooks are shielded from the command, so it cannot have made this one.
        let hook = scratch.work().join(".git/hooks/pre-push");
        fs::write(&hook, "#!/bin/sh\n").unwrap();
        scratch.put("go", "");
        session.hear();
        session.end();
        assert!(hook.exists());
    });
}
