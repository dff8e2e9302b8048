//! What a command may not change in a workspace that it may write to.

use std::path::Path;

use serde_json::json;

use crate::ground::{Session, behind_mount, eventually, for_all, inside, inside_with, outside};
use crate::privilege::{is_root, skip};
use crate::scratch::{Ran, Scratch};

/// A repository with one commit, made outside.
fn repository(scratch: &Scratch, below: &str) {
    let made = outside(
        scratch,
        &format!(
            "mkdir -p ./{below} && cd ./{below} && git init -q . && echo one > file && git add file && \
             git -c user.name=a -c user.email=a@b commit -qm one"
        ),
    );
    assert_eq!(made.code, 0, "{}", made.stderr);
}

/// Everything below a folder, with the content of its files.
fn everything(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        all.push((path.display().to_string(), std::fs::read(&path).unwrap_or_default()));
        if entry.file_type().unwrap().is_dir() {
            all.extend(everything(&path));
        }
    }
    all.sort();
    all
}

/// Renames, and does not copy when that fails.
const RENAME: &str = "ren() { python3 -c 'import os, sys; os.rename(*sys.argv[1:])' \"$@\"; };";

/// Attempts on what git would execute, for a repository at `$R`.
const ON_GIT: [&str; 12] = [
    "echo evil > $R/.git/hooks/post-commit",
    "echo evil >> $R/.git/config",
    "rm -rf $R/.git/hooks",
    "ren $R/.git/hooks $R/.git/h2 && mkdir $R/.git/hooks && echo evil > $R/.git/hooks/post-commit",
    "ren $R/.git $R/g2 && mkdir -p $R/.git && echo evil > $R/.git/config",
    "ln -f $R/.git/config $R/c2 && echo evil >> $R/c2",
    "echo evil > $R/c3 && ren $R/c3 $R/.git/config",
    "git -C $R config core.fsmonitor evil",
    "echo ../evil > $R/.git/commondir; mkdir -p $R/evil",
    "chmod 777 $R/.git/config",
    "truncate -s 0 $R/.git/config",
    "ren $R r2 && mkdir -p $R/.git && echo evil > $R/.git/config",
];

#[test]
fn what_git_executes_stays_and_commits_work() {
    for_all(|scratch| {
        repository(scratch, ".");
        repository(scratch, "libs/inner");
        for below in [".", "libs/inner"] {
            for name in ["config", "hooks"] {
                assert!(scratch.work().join(below).join(".git").join(name).exists());
            }
            let settings = || {
                let git = scratch.work().join(below).join(".git");
                let mut all = everything(&git.join("hooks"));
                all.push(("config".to_owned(), std::fs::read(git.join("config")).unwrap()));
                all.push((
                    "led away".to_owned(),
                    std::fs::read(git.join("commondir")).unwrap_or_default(),
                ));
                all
            };
            let before = settings();
            for attempt in ON_GIT {
                inside(scratch, &format!("{RENAME} R={below}; {attempt}"));
                assert_eq!(settings(), before, "{below}: {attempt}");
            }
            // The control: the same attempt outside goes through.
            outside(scratch, &format!("{RENAME} R={below}; {}", ON_GIT[3]));
            assert_ne!(settings(), before, "{below}");
            let got = inside(
                scratch,
                &format!(
                    "cd {below} && echo two >> file && git -c user.name=a -c user.email=a@b commit -qam two && \
                     git log --oneline | wc -l && git branch side && git tag t"
                ),
            );
            assert_eq!(got.stdout.trim(), "2", "{below}: {}", got.stderr);
        }
    });
}

#[test]
fn what_is_missing_cannot_be_made_and_leaves_nothing_behind() {
    for_all(|scratch| {
        scratch.put("file", "x");
        let names = [".toolcrib", ".git", ".vscode", ".mcp.json", ".husky", ".claude"];
        for name in names {
            for attempt in [
                format!("mkdir {name}; echo evil > {name}/config.toml"),
                format!("rmdir {name}; echo evil > {name}"),
                format!("mkdir made; echo evil > made/x; mv -T made {name}"),
                format!("mv {name} away; echo evil > {name}"),
                format!("ln -s /tmp {name}"),
                format!("ln -sfn /tmp {name}"),
            ] {
                inside(scratch, &attempt);
                assert!(!scratch.work().join(name).exists(), "{attempt}");
                assert!(scratch.work().join(name).symlink_metadata().is_err(), "{attempt}");
            }
        }
        outside(scratch, "rm -rf made away");
        let left = everything(&scratch.work());
        assert_eq!(left.len(), 1, "{left:?}");
        // The control: a neighbour's name can be made.
        inside(scratch, "mkdir .vscode2");
        assert!(scratch.work().join(".vscode2").is_dir());
        // And the operator can open a name.
        inside_with(scratch, &["sandbox.unprotected=.git"], "git init -q .");
        assert!(scratch.work().join(".git/HEAD").exists());
    });
}

#[test]
fn one_command_ending_does_not_uncover_another() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &[]);
        let first = json!({"command": "touch begun; while ! [ -e go ]; do sleep 0.01; done; \
            mkdir .toolcrib; echo evil > .toolcrib/config.toml; cat .toolcrib/config.toml"});
        session.ask("clemini/bash", first);
        eventually("the first command", || scratch.work().join("begun").exists());
        // Another of the same process, one of another process, and one of a process that is killed.
        let second = session.ask("clemini/bash", json!({"command": "true"}));
        assert_eq!(session.hear().0, second);
        inside(scratch, "true");
        let other = Session::start(scratch, &[]);
        other.kill();
        assert!(scratch.work().join(".toolcrib").is_dir(), "the first still needs its cover");
        scratch.put("go", "");
        let (_, reply) = session.hear();
        assert_ne!(reply["exit_code"], 0, "{reply}");
        assert_eq!(reply["stdout"], "", "{reply}");
        session.end();
        assert!(!scratch.work().join(".toolcrib").exists());
    });
}

#[test]
fn covers_left_by_a_killed_process_are_taken_away_by_the_next() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &[]);
        session.ask("clemini/bash", json!({"command": "touch begun; sleep 1000"}));
        eventually("the command", || scratch.work().join("begun").exists());
        session.kill();
        assert!(scratch.work().join(".toolcrib").is_dir(), "the control: something was left");
        // No command has to run for that.
        assert_eq!(scratch.call("clemini/read_file", r#"{"file_path": "begun"}"#).code, 0);
        assert!(!scratch.work().join(".toolcrib").exists());
        // A folder of the user's own is no cover, whatever is noted.
        scratch.put(".vscode/", "");
        inside(scratch, "true");
        assert!(scratch.work().join(".vscode").is_dir());
    });
}

#[test]
fn a_protected_name_that_is_a_link_is_refused() {
    for_all(|scratch| {
        scratch.put("real/", "");
        std::os::unix::fs::symlink("real", scratch.work().join(".vscode")).unwrap();
        let got = inside(scratch, "echo ran");
        assert_eq!((got.code, got.stdout.as_str()), (1, ""), "{}", got.stderr);
        assert!(got.stderr.contains("`.vscode` is a link"), "{}", got.stderr);
        let got = inside_with(scratch, &["sandbox.unprotected=.vscode"], "echo ran");
        assert_eq!(got.stdout, "ran\n", "{}", got.stderr);
    });
}

#[test]
fn changes_that_other_programs_execute_are_told() {
    for_all(|scratch| {
        scratch.put("Makefile", "all:\n");
        let call = |command: &str| {
            let args = json!({"command": command}).to_string();
            scratch.call("clemini/bash", &args).json()
        };
        let reply = call("echo '\techo hi' >> Makefile; echo '{}' > package.json");
        let notes = reply["notes"].to_string();
        assert!(notes.contains("`Makefile`, `package.json`"), "{reply}");
        let reply = call("cat Makefile; echo x > other");
        assert!(reply.get("notes").is_none(), "{reply}");
    });
}

#[test]
fn what_other_programs_run_is_told_at_any_depth() {
    for_all(|scratch| {
        repository(scratch, ".");
        let notes = |command: &str| {
            let args = json!({"command": command}).to_string();
            let reply = scratch.call("clemini/bash", &args).json();
            assert_eq!(reply["exit_code"], 0, "{command}: {reply}");
            reply.get("notes").map_or_else(String::new, ToString::to_string)
        };
        for path in [
            ".idea/workspace.xml",
            ".zed/tasks.json",
            ".github/workflows/ci.yml",
            ".npmrc",
            ".yarnrc.yml",
            ".cargo/config.toml",
            ".nvim.lua",
            ".githooks/post-commit",
            "AGENTS.md",
            "p/q/r/s/t/u/.envrc",
            "p/q/.vscode/tasks.json",
            "p/.husky/pre-commit",
        ] {
            let told = notes(&format!("mkdir -p $(dirname {path}) && echo x > {path}"));
            assert!(told.contains(&format!("`{path}`")), "{path}: {told}");
        }
        // A folder that is moved to such a name is told of as well.
        let told = notes("mkdir -p plain/x && echo x > plain/x/tasks.json");
        assert_eq!(told, "", "the control");
        let told = notes("mv plain/x plain/.zed");
        assert!(told.contains("`plain/.zed`"), "{told}");
        let told = notes("rm AGENTS.md");
        assert!(told.contains("`AGENTS.md`"), "{told}");
        // What a package manager installs is one place.
        let told = notes(
            "for i in $(seq 30); do mkdir -p node_modules/$i && echo '{}' > node_modules/$i/package.json; done",
        );
        assert!(told.contains("`node_modules` (30 files)"), "{told}");
        // The ordinary work of developers.
        let git = "git -c user.name=a -c user.email=a@b";
        for work in [
            "cat .npmrc && echo x > other",
            &format!("git add -A && {git} commit -qm two"),
            &format!(
                "git checkout -q -b side HEAD~1 && echo y > y && git add y && {git} commit -qm y"
            ),
            &format!("{git} rebase -q - && git status --short"),
        ] {
            notes(work);
        }
    });
}

#[test]
fn covers_hold_for_someone_with_another_state_folder() {
    for_all(|scratch| {
        let mut first = Session::start(scratch, &[]);
        first.ask(
            "clemini/bash",
            json!({"command": "touch begun; while ! [ -e go ]; do sleep 0.01; done"}),
        );
        eventually("the first command", || scratch.work().join("begun").exists());
        let try_on = "touch tried; for i in $(seq 300); do mkdir .vscode 2>/dev/null && \
            echo evil > .vscode/tasks.json; sleep 0.01; done; true";
        let mut second = scratch.command();
        second.env("TOOLCRIB_STATE", scratch.path("other-state"));
        let second = second.args(["sandbox", "run", "--", "bash", "-c", try_on]).spawn().unwrap();
        let mut second = crate::ground::Ended(second);
        eventually("the second command", || scratch.work().join("tried").exists());
        scratch.put("go", "");
        first.hear();
        first.end();
        assert!(second.0.wait().unwrap().success());
        assert!(!scratch.work().join(".vscode/tasks.json").exists(), "it was uncovered");
        // Whoever noted a cover takes it away with the next command.
        inside(scratch, "true");
        assert!(!scratch.work().join(".vscode").exists());
    });
}

#[test]
fn what_is_told_does_not_tell_what_is_outside() {
    for_all(|scratch| {
        scratch.put_at("outside/there", "x");
        let notes = |name: &str, target: &str| {
            let target = scratch.path("outside").join(target);
            let got =
                inside(scratch, &format!("mkdir {name}; ln -s {} {name}/.git", target.display()));
            assert_eq!(got.code, 0, "{}", got.stderr);
            got.stderr.replace(name, "NAME")
        };
        let (there, missing) = (notes("one", "there"), notes("two", "missing"));
        assert_eq!(there, missing);
        // The control: where the target is in the workspace, it is read.
        outside(scratch, "git init -q --bare store && git --git-dir store config alias.x '!y'");
        let got = inside(scratch, "mkdir three; ln -s ../store three/.git; cp -r store four");
        assert!(got.stderr.contains("`four/config` (alias.x = !y)"), "{}", got.stderr);
    });
}

#[test]
fn a_repository_stays_protected_whatever_a_command_does_around_it() {
    let evil = "chmod 755 libs 2>/dev/null; echo evil > libs/deep/repo/.git/hooks/post-commit";
    for attempt in [
        "true",
        "chmod 000 libs",
        "mkdir .f; cd .f; mkdir $(seq 10100)",
        "for i in $(seq 600); do mkdir -p .r/$i/.git; done",
        "mkdir -p aa/.git; touch aa/.git/HEAD; ln -s ../../x aa/.git/hooks",
    ] {
        for_all(|scratch| {
            repository(scratch, "libs/deep/repo");
            let hook = scratch.work().join("libs/deep/repo/.git/hooks/post-commit");
            inside(scratch, attempt);
            let got = inside(scratch, evil);
            let _ = outside(scratch, "chmod 755 libs");
            assert!(!hook.exists(), "{attempt}: {}", got.stderr);
            // And commands run again, at the latest when the user has seen to it.
            let got = inside(scratch, "echo ran");
            assert_eq!(got.stdout, "ran\n", "{attempt}: {}", got.stderr);
            // The control.
            outside(scratch, evil);
            assert!(hook.exists(), "{attempt}");
        });
    }
}

#[test]
fn a_repository_on_another_mount_is_protected_too() {
    if !is_root() {
        let test = "protected::a_repository_on_another_mount_is_protected_too";
        return skip(test, "only root can mount something into the workspace");
    }
    for_all(|scratch| {
        scratch.put("data/", "");
        repository(scratch, "../elsewhere/repo");
        let script = "cat data/repo/file; echo evil > data/repo/.git/hooks/post-commit";
        let mut command = behind_mount(scratch, "../elsewhere data");
        command.arg(env!("CARGO_BIN_EXE_toolcrib")).args(["sandbox", "run", "--"]);
        command.args(["sh", "-c", script]).env("TOOLCRIB_STATE", scratch.state());
        let got: Ran = command.output().unwrap().into();
        assert_eq!(got.stdout, "one\n", "{}", got.stderr);
        assert!(got.stderr.contains("Read-only file system"), "{}", got.stderr);
    });
}

#[test]
fn a_repository_within_a_protected_folder_does_not_open_it() {
    for_all(|scratch| {
        repository(scratch, ".");
        repository(scratch, ".claude/skills/s");
        for attempt in [
            "echo evil > .claude/settings.json",
            "echo evil > .claude/skills/s/x",
            "mkdir -p .git/modules/lib/hooks",
            "mkdir -p .git/worktrees/w",
            "mkdir -p .claude/skills/s/.git/modules/x",
        ] {
            assert_ne!(inside(scratch, attempt).code, 0, "{attempt}");
            // The control.
            assert_eq!(
                outside(scratch, &format!("{attempt} && git clean -qfdx .claude")).code,
                0,
                "{attempt}"
            );
            outside(
                scratch,
                "rm -rf .git/modules .git/worktrees .claude/skills/s/.git/modules .claude/settings.json",
            );
        }
        let left = outside(scratch, "ls .git").stdout;
        assert!(!left.contains("modules") && !left.contains("worktrees"), "{left}");
        let got = inside(
            scratch,
            "git -c user.name=a -c user.email=a@b commit -qm two --allow-empty && git worktree list",
        );
        assert_eq!(got.code, 0, "{}", got.stderr);
    });
    for_all(|scratch| {
        let made = outside(scratch, "git init -q --separate-git-dir=.bare .");
        assert_eq!(made.code, 0, "{}", made.stderr);
        for attempt in ["echo evil > .bare/hooks/post-commit", "git config core.fsmonitor evil"] {
            assert_ne!(inside(scratch, attempt).code, 0, "{attempt}");
        }
    });
}

#[test]
fn a_root_within_a_root_keeps_its_place() {
    for_all(|scratch| {
        scratch.put("p/q/inner/file", "x");
        scratch.put("p/q/other", "y");
        let inner = scratch.work().join("p/q/inner").display().to_string();
        let roots = format!("roots=[\"{inner}\"]");
        let run = |script: &str| inside_with(scratch, &[&roots], script);
        let got =
            run("cat p/q/inner/file p/q/other; echo z > p/q/inner/made; mkdir p/q/inner/.vscode");
        assert_eq!(got.stdout, "xy", "{}", got.stderr);
        assert_eq!(scratch.text("p/q/inner/made"), "z\n");
        assert!(!scratch.work().join("p/q/inner/.vscode").exists());
        // With a link in its place nothing is run, and nothing made where it leads.
        outside(scratch, "mv p away; mkdir -p ../outside/q; ln -s ../outside p");
        let got = run("echo ran");
        assert_ne!(got.stdout, "ran\n", "{}", got.stderr);
        assert!(!scratch.path("outside/q/inner").exists());
    });
}

#[test]
fn the_sandbox_names_itself_and_the_setting_that_opens_it() {
    for_all(|scratch| {
        repository(scratch, ".");
        for (command, stopped, setting) in [
            ("git config a.b c", "`.git/config`", "sandbox.unprotected = [\".git\"]"),
            ("mkdir .vscode", "`.vscode`", "sandbox.unprotected = [\".vscode\"]"),
            ("echo x > .vscode/a; echo y > .vscode/b", "`.vscode`", "sandbox.unprotected"),
            ("rm -rf .vscode", "`.vscode`", "sandbox.unprotected = [\".vscode\"]"),
            ("mkdir .vscode; true", "`.vscode`", "sandbox.unprotected = [\".vscode\"]"),
            ("echo x > .toolcrib/config.toml", "`.toolcrib`", "no setting"),
            ("echo x > /usr/made", "`/usr/made`", "`roots`"),
            ("mv -T .git gone", "`.git/", "sandbox.unprotected = [\".git\"]"),
        ] {
            let ran = inside(scratch, command);
            let notes: Vec<&str> =
                ran.stderr.lines().filter(|line| line.contains("the sandbox stopped")).collect();
            assert_eq!(notes.len(), 1, "{command}: {}", ran.stderr);
            assert!(
                notes[0].contains(stopped) && notes[0].contains(setting),
                "{command}: {notes:?}"
            );
        }
        // The controls: nothing was stopped, or another reason stopped it.
        for command in [
            "mkdir src && echo x > src/a",
            "mkdir src",
            "cat missing",
            "echo 'notes: Read-only file system' >&2",
            "echo '.vscode: Read-only file system'",
            "git status --short",
        ] {
            let ran = inside(scratch, command);
            assert!(!ran.stderr.contains("the sandbox stopped"), "{command}: {}", ran.stderr);
        }
        let open = &["sandbox.unprotected=['.git', '.vscode']"];
        let ran = inside_with(scratch, open, "git config a.b c && mkdir .vscode");
        assert_eq!(ran.code, 0, "what the note says opens it: {}", ran.stderr);
        assert!(!ran.stderr.contains("the sandbox stopped"), "{}", ran.stderr);
    });
}
