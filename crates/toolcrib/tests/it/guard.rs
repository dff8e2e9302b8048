//! What nearly went wrong once: each of these was found by someone who tried to break it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::scratch::{Scratch, User, users};

fn write(scratch: &Scratch, path: &str, content: &str) -> crate::scratch::Ran {
    scratch.call("clemini/write_file", &json!({"file_path": path, "content": content}).to_string())
}

fn last_call(scratch: &Scratch) -> String {
    scratch.record().last().unwrap()["trace_id"].as_str().unwrap().to_owned()
}

fn mode(scratch: &Scratch, name: &str, mode: u32) {
    fs::set_permissions(scratch.work().join(name), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_workspace_given_with_dots_does_not_shift_absolute_paths() {
    let scratch = Scratch::new();
    scratch.put("f", "root");
    scratch.put("sub/f", "sub");
    let args = json!({"file_path": scratch.work().join("sub/f"), "content": "new"}).to_string();
    let output = scratch
        .command()
        .current_dir(scratch.work().join("sub"))
        .args(["-C", "..", "--yes", "call", "clemini/write_file", &args])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!((scratch.text("f"), scratch.text("sub/f")), ("root".to_owned(), "new".to_owned()));
}

#[test]
fn powers_of_a_file_do_not_pass_to_new_content() {
    for user in users() {
        let scratch = Scratch::of(user);
        scratch.put("suid", "old");
        mode(&scratch, "suid", 0o6755);
        assert_eq!(write(&scratch, "suid", "new").code, 0);
        let bits = || fs::metadata(scratch.work().join("suid")).unwrap().mode() & 0o7777;
        assert_eq!(bits(), 0o755, "{user:?}");
        let ran = scratch.run(["undo", &last_call(&scratch)]);
        assert_eq!((ran.code, bits()), (0, 0o755), "{user:?} {}", ran.stderr);
    }
}

#[test]
fn undo_of_a_delete_gives_a_file_back_to_its_owner() {
    if !users().contains(&User::Nobody) {
        return;
    }
    let scratch = Scratch::new();
    scratch.put("theirs", "x");
    chown(scratch.work().join("theirs"), Some(1234), Some(1235)).unwrap();
    mode(&scratch, "theirs", 0o4640);
    let args = r#"{"action": "delete", "path": "theirs"}"#;
    assert_eq!(scratch.call("nachos/filesystem", args).code, 0);
    assert_eq!(scratch.run(["undo", &last_call(&scratch)]).code, 0);
    let meta = fs::metadata(scratch.work().join("theirs")).unwrap();
    assert_eq!((meta.uid(), meta.gid(), meta.mode() & 0o7777), (1234, 1235, 0o640));
}

#[test]
fn a_file_that_may_not_be_written_in_place_is_not_replaced_either() {
    if !users().contains(&User::Nobody) {
        return;
    }
    let scratch = Scratch::of(User::Nobody);
    fs::write(scratch.work().join("roots"), "root's").unwrap();
    let ran = write(&scratch, "roots", "agent's");
    assert_eq!(ran.json()["error_code"], "ACCESS_DENIED");
    assert_eq!(scratch.text("roots"), "root's");
    // A group that cannot be kept is a reason to refuse too.
    mode(&scratch, "roots", 0o666);
    assert_eq!(write(&scratch, "roots", "agent's").code, 1);
    chown(scratch.work().join("roots"), None, Some(65534)).unwrap();
    assert_eq!(write(&scratch, "roots", "agent's").code, 0, "the control");
}

#[test]
fn root_passes_no_directory_that_its_owner_could_not() {
    for user in users() {
        let scratch = Scratch::of(user);
        scratch.put("locked/inner/s", "SECRET");
        scratch.put("fixed/f", "old");
        mode(&scratch, "locked", 0o000);
        mode(&scratch, "fixed", 0o555);
        let ran = scratch.call("clemini/read_file", r#"{"file_path": "locked/inner/s"}"#);
        assert!(ran.code == 1 && !ran.stdout.contains("SECRET"), "{user:?} {}", ran.stdout);
        let ran = scratch.call("nachos/filesystem", r#"{"action": "delete", "path": "fixed/f"}"#);
        assert_eq!(ran.code, 1, "{user:?} {}", ran.stdout);
        mode(&scratch, "locked", 0o755);
        mode(&scratch, "fixed", 0o755);
        let ran = scratch.call("clemini/read_file", r#"{"file_path": "locked/inner/s"}"#);
        assert!(ran.stdout.contains("SECRET"), "the control");
        let ran = scratch.call("nachos/filesystem", r#"{"action": "delete", "path": "fixed/f"}"#);
        assert_eq!(ran.code, 0, "the control");
    }
}

#[test]
fn undo_touches_nothing_that_only_took_a_files_place() {
    let scratch = Scratch::new();
    scratch.put("d/f", "old");
    scratch.put("e/f", "new");
    scratch.put(".git/hooks/f", "new");
    assert_eq!(write(&scratch, "d/f", "new").code, 0);
    let id = last_call(&scratch);
    fs::rename(scratch.work().join("d"), scratch.work().join("d.moved")).unwrap();
    for target in ["e", ".git/hooks"] {
        symlink(target, scratch.work().join("d")).unwrap();
        for words in [vec!["undo", &id], vec!["undo", &id, "--force"]] {
            assert_ne!(scratch.run(words).code, 0, "{target}");
        }
        assert_eq!(scratch.text(&format!("{target}/f")), "new");
        fs::remove_file(scratch.work().join("d")).unwrap();
    }
    fs::rename(scratch.work().join("d.moved"), scratch.work().join("d")).unwrap();
    assert_eq!(scratch.run(["undo", &id]).code, 0, "the control");
    assert_eq!(scratch.text("d/f"), "old");
}

#[test]
fn undo_is_for_the_directory_that_was_changed_and_no_other_of_its_name() {
    let scratch = Scratch::new();
    scratch.put("f", "old");
    assert_eq!(write(&scratch, "f", "new").code, 0);
    let id = last_call(&scratch);
    fs::rename(scratch.work(), scratch.path("moved")).unwrap();
    fs::create_dir(scratch.work()).unwrap();
    scratch.put("f", "new");
    assert_ne!(scratch.run(["undo", &id]).code, 0);
    assert_eq!(scratch.text("f"), "new");
}

#[test]
fn a_change_that_failed_cannot_be_taken_back() {
    for user in users() {
        let scratch = Scratch::of(user);
        scratch.put("closed/", "");
        mode(&scratch, "closed", 0o555);
        let ran = scratch.call("wink/create_directory", r#"{"path": "closed/x"}"#);
        assert_eq!(ran.code, 1);
        let id = last_call(&scratch);
        mode(&scratch, "closed", 0o755);
        scratch.put("closed/x/", "");
        assert_ne!(scratch.run(["undo", &id]).code, 0);
        assert!(scratch.work().join("closed/x").is_dir(), "{user:?}");
    }
}

#[test]
fn a_directory_made_anew_since_is_kept() {
    let scratch = Scratch::new();
    assert_eq!(scratch.call("wink/create_directory", r#"{"path": "d"}"#).code, 0);
    let id = last_call(&scratch);
    fs::remove_dir(scratch.work().join("d")).unwrap();
    fs::create_dir(scratch.work().join("d")).unwrap();
    let ran = scratch.run(["undo", &id, "--json"]);
    assert_eq!(ran.json()["files"][0]["action"], "kept", "{}{}", ran.stdout, ran.stderr);
    assert!(scratch.work().join("d").is_dir());
}

#[test]
fn of_many_undos_of_one_call_one_works() {
    let scratch = Scratch::new();
    scratch.put("f", "old");
    assert_eq!(write(&scratch, "f", "new").code, 0);
    let id = last_call(&scratch);
    let children: Vec<_> = (0..6)
        .map(|_| {
            let mut command = scratch.command();
            command.args(["undo", &id]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let worked = children
        .into_iter()
        .filter_map(|mut child| child.wait().ok())
        .filter(std::process::ExitStatus::success);
    assert_eq!(worked.count(), 1);
    assert_eq!(scratch.text("f"), "old");
}

#[test]
fn runtimes_with_different_state_folders_lose_no_update() {
    const EACH: usize = 60;
    let scratch = Scratch::new();
    scratch.put("list.txt", "END\n");
    let children: Vec<_> = ["a", "b", "c", "d"]
        .map(|who| {
            let input = scratch.path(&format!("calls-{who}"));
            let line = |number: usize| {
                let new = format!("{who}-{number}\nEND");
                let args = json!({"file_path": "list.txt", "old_string": "END", "new_string": new});
                format!("{}\n", json!({"id": number, "tool": "clemini/edit", "args": args}))
            };
            fs::write(&input, (0..EACH).map(line).collect::<String>()).unwrap();
            let mut command = scratch.command();
            command
                .env("TOOLCRIB_STATE", scratch.path(&format!("state-{who}")))
                .args(["--yes", "call", "--batch"])
                .stdin(fs::File::open(input).unwrap())
                .stdout(Stdio::piped());
            command.spawn().unwrap()
        })
        .into_iter()
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    assert_eq!(scratch.text("list.txt").lines().count(), 4 * EACH + 1);
}

#[test]
fn what_is_deleted_was_kept() {
    let scratch = Scratch::new();
    let path = scratch.work().join("f");
    fs::write(&path, "version 0").unwrap();
    let stop = AtomicBool::new(false);
    let call = json!({"tool": "nachos/filesystem", "args": {"action": "delete", "path": "f"}});
    let input = format!("{call}\n").repeat(1500);
    let gone = std::thread::scope(|scope| {
        let racer = scope.spawn(|| save_over_and_over(&path, &scratch.path("aside"), &stop));
        scratch.feed(["--yes", "call", "--batch"], input.as_bytes());
        stop.store(true, Ordering::Relaxed);
        racer.join().unwrap()
    });
    assert!(gone.len() > 10, "only {} deletes", gone.len());
    let mut kept = contents(&scratch.work());
    for folder in fs::read_dir(scratch.state().join("objects")).unwrap() {
        kept.extend(contents(&folder.unwrap().path()));
    }
    for version in gone {
        assert!(kept.contains(&version), "{version} was deleted and not kept");
    }
}

/// Saves version after version over a file, as editors do. Returns the versions that somebody else
/// took away: at the moment of the next save the name was free.
fn save_over_and_over(path: &Path, aside: &Path, stop: &AtomicBool) -> Vec<String> {
    let (mut gone, mut number) = (Vec::new(), 0_u64);
    while !stop.load(Ordering::Relaxed) {
        let last = format!("version {number}");
        number += 1;
        fs::write(aside, format!("version {number}")).unwrap();
        match renameat_with(CWD, aside, CWD, path, RenameFlags::NOREPLACE) {
            Ok(()) => gone.push(last),
            Err(_) => fs::rename(aside, path).unwrap(),
        }
        // Sometimes in the middle of a delete, sometimes not.
        std::thread::sleep(std::time::Duration::from_millis(number % 30));
    }
    gone
}

fn contents(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).map(|path| fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn an_approval_holds_the_place_of_a_file_that_is_not_there_yet() {
    // The prompt's own tests swap a file; this swaps the directory of a new one, through the pin.
    let scratch = Scratch::new();
    scratch.put("p/", "");
    scratch.put("q/", "");
    let call = ["call", "clemini/write_file", "file_path=p/new", "content=x"];
    let mut session = crate::prompt::Session::start(&scratch, &call, "");
    session.wait_for("Approve? (y/n/always): ");
    fs::rename(scratch.work().join("p"), scratch.work().join("p.old")).unwrap();
    symlink("q", scratch.work().join("p")).unwrap();
    assert_eq!(session.answer("y\n"), 1);
    assert!(!scratch.work().join("q/new").exists());
}

#[test]
fn own_settings_are_out_of_reach() {
    let scratch = Scratch::new();
    scratch.put_at("home/.config/toolcrib/config.toml", "");
    let config = scratch.path("home/.config");
    let ran = scratch.run([
        "-C",
        config.to_str().unwrap(),
        "--yes",
        "call",
        "clemini/write_file",
        r#"{"file_path": "toolcrib/config.toml", "content": "mode = 'permissive'"}"#,
    ]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    let ran = scratch.run([
        "-C",
        config.to_str().unwrap(),
        "-c",
        "files.broad_root=allow",
        "--yes",
        "call",
        "clemini/write_file",
        r#"{"file_path": "toolcrib/config.toml", "content": "mode = 'permissive'"}"#,
    ]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert_eq!(fs::read_to_string(config.join("toolcrib/config.toml")).unwrap(), "");
    let state = format!("forgekeeper.root={}", scratch.state().display());
    let ran = scratch.run(["-c", &state, "call", "forgekeeper/read_dir", "{}"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
}

#[test]
fn a_pipe_is_not_even_opened() {
    let scratch = Scratch::new();
    let pipe = scratch.work().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut writer =
        Command::new("bash").args(["-c", "echo precious > \"$0\""]).arg(&pipe).spawn().unwrap();
    for _ in 0..5 {
        assert_eq!(scratch.call("clemini/read_file", r#"{"file_path": "pipe"}"#).code, 1);
    }
    assert!(writer.try_wait().unwrap().is_none(), "the writer was let go by a reader");
    let read = fs::read_to_string(&pipe).unwrap();
    writer.wait().unwrap();
    assert_eq!(read, "precious\n");
}

#[test]
fn a_file_too_large_to_keep_is_left_alone() {
    let scratch = Scratch::new();
    fs::File::create(scratch.work().join("sparse")).unwrap().set_len(1 << 40).unwrap();
    let ran = scratch.call("nachos/filesystem", r#"{"action": "delete", "path": "sparse"}"#);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("undo.max_bytes"), "{}", ran.stdout);
    assert!(scratch.work().join("sparse").exists());
}

#[test]
fn a_file_of_any_name_survives_its_neighbours_write() {
    let scratch = Scratch::new();
    for name in [".toolcrib-new~", ".toolcrib-0123456789ab~", ".toolcrib-x"] {
        scratch.put(name, "precious");
    }
    scratch.put("f", "old");
    assert_eq!(write(&scratch, "f", "new").code, 0);
    assert_eq!(scratch.call("nachos/filesystem", r#"{"action": "delete", "path": "f"}"#).code, 0);
    for name in [".toolcrib-new~", ".toolcrib-0123456789ab~", ".toolcrib-x"] {
        assert_eq!(scratch.text(name), "precious");
    }
    assert_eq!(write(&scratch, ".toolcrib-new~", "x").code, 1, "reserved for temporary files");
    assert_eq!(scratch.text(".toolcrib-new~"), "precious");
}

#[test]
fn settings_are_out_of_reach_through_links_too() {
    let scratch = Scratch::new();
    // The folder is not there yet, and is reached through a link.
    scratch.put_at("real/u/.config/keep", "");
    symlink("real", scratch.path("link")).unwrap();
    let config = scratch.path("real/u/.config");
    let run = |home: &Path, root: &Path, words: &[&str]| {
        let mut command = scratch.command();
        command.env("HOME", home).arg("-C").arg(root).args(words);
        command.output().unwrap().status.code()
    };
    let args = r#"{"file_path": "toolcrib/config.toml", "content": "mode = 'permissive'"}"#;
    let words = ["--yes", "call", "clemini/write_file", args];
    assert_eq!(run(&scratch.path("link/u"), &config, &words), Some(2));
    assert!(!config.join("toolcrib").exists());
    // The file is a link into a folder of settings that an agent may work on.
    scratch.put_at("dotfiles/toolcrib.toml", "mode = 'strict'");
    scratch.put_at("home/.config/toolcrib/keep", "");
    let dotfiles = scratch.path("dotfiles");
    symlink(dotfiles.join("toolcrib.toml"), scratch.path("home/.config/toolcrib/config.toml"))
        .unwrap();
    let args = r#"{"file_path": "toolcrib.toml", "content": "mode = 'permissive'"}"#;
    let words = ["--yes", "--mode", "standard", "call", "clemini/write_file", args];
    assert_eq!(run(&scratch.path("home"), &dotfiles, &words), Some(2));
    let broad = ["-c", "files.broad_root=allow"].into_iter().chain(words).collect::<Vec<_>>();
    assert_eq!(run(&scratch.path("home"), &dotfiles, &broad), Some(1));
    assert_eq!(fs::read_to_string(dotfiles.join("toolcrib.toml")).unwrap(), "mode = 'strict'");
}

#[test]
fn what_was_private_stays_private() {
    let scratch = Scratch::new();
    scratch.put("sec", "secret");
    mode(&scratch, "sec", 0o600);
    let args = r#"{"file_path": "sec", "content": "new", "backup": true}"#;
    assert_eq!(scratch.call("clemini/write_file", args).code, 0);
    let bits = |name: &str| fs::metadata(scratch.work().join(name)).unwrap().mode() & 0o777;
    assert_eq!((bits("sec.bak"), scratch.text("sec.bak")), (0o600, "secret".to_owned()));
    let id = last_call(&scratch);
    fs::remove_file(scratch.work().join("sec")).unwrap();
    symlink("elsewhere", scratch.work().join("sec")).unwrap();
    assert_eq!(scratch.run(["undo", &id, "--force"]).code, 0);
    assert_eq!((bits("sec"), scratch.text("sec")), (0o600, "secret".to_owned()));
    let ran = scratch.run(["call", "clemini/write_file", args, "--dry-run", "--json"]);
    assert_eq!(ran.json()["files_affected"], json!(["sec", "sec.bak"]));
}

#[test]
fn an_undo_that_fails_half_way_gives_back_what_it_took() {
    if !users().contains(&User::Nobody) {
        return;
    }
    let scratch = Scratch::new();
    scratch.put("s", "old");
    let args = r#"{"file_path": "s", "content": "new", "backup": true}"#;
    assert_eq!(scratch.call("clemini/write_file", args).code, 0);
    let id = last_call(&scratch);
    let immutable =
        |flag: &str| Command::new("chattr").arg(flag).arg(scratch.work().join("s")).status();
    if !immutable("+i").is_ok_and(|status| status.success()) {
        return;
    }
    let ran = scratch.run(["undo", &id]);
    immutable("-i").unwrap();
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert_eq!((scratch.text("s"), scratch.text("s.bak")), ("new".to_owned(), "old".to_owned()));
    assert_eq!(scratch.run(["undo", &id]).code, 0, "the control");
}

#[test]
fn undo_does_not_wait_for_ever() {
    let scratch = Scratch::new();
    scratch.put("f", "old");
    assert_eq!(write(&scratch, "f", "new").code, 0);
    let id = last_call(&scratch);
    let held = fs::File::open(scratch.work()).unwrap();
    held.lock().unwrap();
    let start = std::time::Instant::now();
    let ran = scratch.run(["undo", &id]);
    assert!(ran.code != 0 && ran.stderr.contains("holds the lock"), "{}", ran.stderr);
    assert!(start.elapsed().as_secs() < 60);
    assert_eq!(scratch.text("f"), "new");
}
