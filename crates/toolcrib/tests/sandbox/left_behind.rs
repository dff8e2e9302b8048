//! What a command leaves behind for git to run later, outside the sandbox. Each way has its control: where the same
//! script ran outside, the person's next git command runs the program.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::ground::{Session, eventually, for_all, inside, outside, processes_with};
use crate::scratch::{Ran, Scratch};

/// What a person has before: a repository that takes hooks from a folder that is not there yet, and more settings
/// from a file that is not there yet either.
const BEFORE: &str = "git init -q . && git config user.name a && git config user.email a@b && \
     git config core.hooksPath tools/hooks && git config include.path ../tools/more.gitconfig && \
     echo one > file && git add file && git commit -qm one && echo two >> file && git commit -qam two";

/// A git that needs no settings of its own.
const GIT: &str =
    "git() { command git -c user.name=a -c user.email=a@b -c init.defaultBranch=main \"$@\"; };";

/// What a command does, and what a person does later. `$EVIL` is the program.
const WAYS: [(&str, &str); 25] = [
    (
        "mkdir -p a && git init -q a/sub && git -C a/sub commit -q --allow-empty -m x && \
         git -C a/sub config core.fsmonitor \"$EVIL\" && git add a/sub",
        "git status",
    ),
    (
        "git init -q p/q/r/s/t && mkdir -p p/q/r/s/t/.git/hooks && \
         printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > p/q/r/s/t/.git/hooks/post-commit && chmod +x p/q/r/s/t/.git/hooks/post-commit",
        "git -C p/q/r/s/t commit --allow-empty -qm x",
    ),
    (
        "mkdir -p tools/hooks && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > tools/hooks/post-commit && chmod +x tools/hooks/post-commit",
        "git commit --allow-empty -qm x",
    ),
    (
        "mkdir -p tools && printf '[alias]\\n\\tx = \"!%s\"\\n' \"$EVIL\" > tools/more.gitconfig",
        "git x",
    ),
    (
        "GIT_SEQUENCE_EDITOR=\"sed -i -e '1s/^pick/edit/' -e '\\$a exec $EVIL'\" git rebase -q -i HEAD~1; true",
        "git rebase --continue",
    ),
    (
        "git init -q --bare b && git --git-dir b config core.bare false && git --git-dir b config core.worktree . && \
         git --git-dir b config core.fsmonitor \"$EVIL\"",
        "cd b && git status",
    ),
    (
        "git init -q --bare .x/store && git --git-dir .x/store config core.bare false && \
         git --git-dir .x/store config core.fsmonitor \"$EVIL\" && mkdir w && echo 'gitdir: ../.x/store' > w/.git",
        "git -C w status",
    ),
    (
        "git init -q n && printf '[alias]\\n\\tx = \"!%s\"\\n' \"$EVIL\" > evil.cfg && cat n/.git/config >> evil.cfg && \
         ln -sf ../../evil.cfg n/.git/config",
        "git -C n x",
    ),
    (
        "git init -q n && rm -rf n/.git/hooks && mkdir h && ln -s ../../h n/.git/hooks && \
         printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > h/post-commit && chmod +x h/post-commit",
        "git -C n commit --allow-empty -qm x",
    ),
    ("git init -q n && git -C n config alias.x \"!$EVIL\"", "git -C n x"),
    (
        "git init -q n && git -C n config include.path ../../inc && printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$EVIL\" > inc",
        "git -C n status",
    ),
    (
        "mkdir -p tpl/hooks && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > tpl/hooks/post-commit && \
         chmod +x tpl/hooks/post-commit && git init -q --template=tpl n",
        "git -C n commit --allow-empty -qm x",
    ),
    (
        "git init -q n && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > n/.git/hooks/post-commit",
        "chmod -R +x n/.git/hooks && git -C n commit --allow-empty -qm x",
    ),
    ("git init -q n && git -C n config core.editor \"$EVIL\"", "git -C n commit --allow-empty"),
    (
        "git init -q n && printf '[core]\\n\\teditor = \"%s\"\\n' \"$EVIL\" > n/.git/config.worktree && \
         git -C n config extensions.worktreeConfig true",
        "git -C n commit --allow-empty",
    ),
    (
        "git init -q n && git -C n config core.sshCommand \"$EVIL;\" && git -C n remote add o ssh://x.invalid/y",
        "git -C n fetch o",
    ),
    (
        "git init -q n/deep && mv n/deep/.git n/store && echo 'gitdir: ../store' > n/deep/.git && \
         git -C n/deep config diff.external \"$EVIL\" && echo a > n/deep/f && git -C n/deep add f && echo b > n/deep/f",
        "git -C n/deep diff",
    ),
    (
        "git commit -q --allow-empty -m y && echo z > z && git add z && git commit -q -m z; \
         GIT_SEQUENCE_EDITOR='sed -i 1s/^pick/edit/' git rebase -q -i HEAD~2; echo x/evil > .git/rebase-merge/strategy; \
         mkdir git-merge-x && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > git-merge-x/evil && chmod +x git-merge-x/evil && \
         git commit -q --amend --allow-empty -m b",
        "GIT_EDITOR=true git rebase --continue",
    ),
    ("git init -q n && git -C n config core.fsmonitor \"$EVIL\" && chmod 111 n", "git -C n status"),
    (
        "git init -q n && git -C n config core.fsmonitor \"$EVIL\" && chmod 311 n/.git",
        "git -C n status",
    ),
    (
        "git init -q n && git -C n config core.fsmonitor \"$EVIL\" && chmod 444 n/.git/config && chmod 555 n/.git n",
        "git -C n status",
    ),
    (
        "mkdir -p d/.git && touch d/.git/objects d/.git/refs && chmod +x d/.git/objects d/.git/refs && \
         echo ref: refs/heads/main > d/.git/HEAD && \
         printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \"%s\"\\n' \"$EVIL\" > d/.git/config",
        "git -C d status",
    ),
    (
        "git init -q d && cp -r d/.git c && git --git-dir c config core.fsmonitor \"$EVIL\" && rm c/HEAD d/.git/config && \
         echo /proc/self/cwd/../c > d/.git/commondir",
        "cd d && git status",
    ),
    (
        "git init -q n && git -C n config alias.st \"ls-remote --upload-pack='$EVIL;' .\"",
        "git -C n st",
    ),
    (
        "git init -q n && git -C n config diff.external \"$EVIL\" && echo a > n/f && git -C n add f && echo b > n/f && \
         chmod 0 n/.git/hooks",
        "git -C n diff",
    ),
];

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

/// What people and agents do with git and npm all day.
const USUAL: [&str; 28] = [
    "git init -q fresh",
    "git clone -q . copy",
    "git clone -q --bare . copy.git",
    "git -C copy status",
    "git -C copy log --oneline",
    "git -C copy checkout -q -b topic",
    "echo more >> copy/file && git -C copy add file",
    "git -C copy commit -qm more",
    "git -C copy commit -q --amend -m again",
    "git -C copy stash list",
    "echo less > copy/file && git -C copy stash -q && git -C copy stash pop -q",
    "git -C copy checkout -q -- file",
    "git -C copy tag v1",
    "git -C copy branch other",
    "git -C copy merge -q other",
    "git -C copy rebase -q main",
    "git -C copy cherry-pick --allow-empty HEAD 2>&1 || git -C copy cherry-pick --skip",
    "git -C copy push -q ../copy.git HEAD:refs/heads/pushed",
    "git --git-dir copy.git gc -q",
    "git -C copy fetch -q ../copy.git",
    "git -C copy reset -q --hard HEAD",
    "git -C copy diff HEAD~1 --stat",
    "git add file && git commit -q --allow-empty -m here",
    "git rm -q file && git commit -qm gone",
    // A command may do with a repository that a command made what it likes.
    "git -C copy config user.name somebody && git -C copy remote add other ../copy.git",
    "mv copy moved && git -C moved fetch -q other && git -C moved log --oneline",
    "git -C moved clean -fdxq && git -C moved stash -q -u",
    "rm -rf moved copy.git fresh && ! [ -e moved ]",
];

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
        assert!(refused.code == 1 && refused.stderr.contains("since"), "{}", refused.stderr);
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
