//! What nearly went wrong once: each of these was found by someone who tried to break it.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::Path;

use serde_json::json;
use toolcrib::CliErrorKind;
use toolcrib_runtime::undo::UndoScope::{Everything, Unchanged};

use crate::opened::{Opened, Reply, Scratch, as_nobody, for_each_user};
use crate::place::User;
use crate::privilege::{is_root, skip};

fn delete(crib: &Opened, path: &str) -> Reply {
    crib.approve("nachos/filesystem", json!({"action": "delete", "path": path}))
}

fn read(crib: &Opened, path: &str) -> Reply {
    crib.approve("clemini/read_file", json!({"file_path": path}))
}

#[test]
fn powers_of_a_file_do_not_pass_to_new_content() {
    for_each_user(|scratch| {
        scratch.put("suid", "old");
        scratch.set_mode("suid", 0o6755);
        let crib = scratch.open();
        let id = crib.write("suid", "new").done();
        let bits = || fs::metadata(scratch.work().join("suid")).unwrap().mode() & 0o7777;
        assert_eq!(bits(), 0o755);
        crib.undo(&id, Unchanged).unwrap();
        assert_eq!(bits(), 0o755);
    });
}

#[test]
fn undo_of_a_delete_gives_a_file_back_to_its_owner() {
    if !is_root() {
        let test = "guard::undo_of_a_delete_gives_a_file_back_to_its_owner";
        return skip(test, "only root can give a file to another user");
    }
    let scratch = Scratch::new();
    scratch.put("theirs", "x");
    chown(scratch.work().join("theirs"), Some(1234), Some(1235)).unwrap();
    scratch.set_mode("theirs", 0o4640);
    let crib = scratch.open();
    let id = delete(&crib, "theirs").done();
    crib.undo(&id, Unchanged).unwrap();
    let meta = fs::metadata(scratch.work().join("theirs")).unwrap();
    assert_eq!((meta.uid(), meta.gid(), meta.mode() & 0o7777), (1234, 1235, 0o640));
}

#[test]
fn a_file_that_may_not_be_written_in_place_is_not_replaced_either() {
    if !is_root() {
        let test = "guard::a_file_that_may_not_be_written_in_place_is_not_replaced_either";
        return skip(test, "only root can put its file into another user's folder");
    }
    let scratch = Scratch::of(User::Nobody);
    let write = || {
        as_nobody(|| {
            let reply = scratch.open().write("roots", "agent's");
            (reply.kind(), reply.json()["error_code"].as_str().map(str::to_owned))
        })
    };
    fs::write(scratch.work().join("roots"), "root's").unwrap();
    assert_eq!(write().1.as_deref(), Some("ACCESS_DENIED"));
    assert_eq!(scratch.text("roots"), "root's");
    // A group that cannot be kept is a reason to refuse too.
    scratch.set_mode("roots", 0o666);
    assert_eq!(write().0, "permission_denied");
    chown(scratch.work().join("roots"), None, Some(65534)).unwrap();
    assert_eq!(write().0, "ok", "the control");
}

#[test]
fn root_passes_no_directory_that_its_owner_could_not() {
    for_each_user(|scratch| {
        scratch.put("locked/inner/s", "SECRET");
        scratch.put("fixed/f", "old");
        scratch.set_mode("locked", 0o000);
        scratch.set_mode("fixed", 0o555);
        let crib = scratch.open();
        let got = read(&crib, "locked/inner/s");
        assert!(got.kind() != "ok" && !got.text().contains("SECRET"), "{}", got.text());
        assert_eq!(delete(&crib, "fixed/f").kind(), "permission_denied");
        scratch.set_mode("locked", 0o755);
        scratch.set_mode("fixed", 0o755);
        assert!(read(&crib, "locked/inner/s").text().contains("SECRET"), "the control");
        assert_eq!(delete(&crib, "fixed/f").kind(), "ok", "the control");
    });
}

#[test]
fn own_settings_are_out_of_reach() {
    let scratch = Scratch::new();
    scratch.put_at("home/.config/toolcrib/config.toml", "");
    let config = scratch.path("home/.config");
    let refused = scratch.try_open_at(&config, &[]).err();
    assert_eq!(refused.map(|err| err.kind), Some(CliErrorKind::Workspace));
    let crib = scratch.open_at(&config, &["files.broad_root=allow"]);
    let got = crib.write("toolcrib/config.toml", "mode = 'permissive'");
    assert_ne!(got.kind(), "ok", "{}", got.text());
    assert_eq!(fs::read_to_string(config.join("toolcrib/config.toml")).unwrap(), "");
    crib.write("beside", "").done();
    let state = format!("forgekeeper.root={}", scratch.state().display());
    let refused = scratch.try_open(&[&state]).err();
    assert_eq!(refused.map(|err| err.kind), Some(CliErrorKind::Workspace));
}

#[test]
fn settings_are_out_of_reach_through_links_too() {
    let mut scratch = Scratch::new();
    // The folder is not there yet, and is reached through a link.
    scratch.put_at("real/u/.config/keep", "");
    symlink("real", scratch.path("link")).unwrap();
    let config = scratch.path("real/u/.config");
    let home = scratch.path("link/u");
    scratch.environment.insert("HOME".to_owned(), home.into());
    let refused = scratch.try_open_at(&config, &[]).err();
    assert_eq!(refused.map(|err| err.kind), Some(CliErrorKind::Workspace));
    assert!(!config.join("toolcrib").exists());
    // The file is a link into a folder of settings that an agent may work on.
    scratch.put_at("dotfiles/toolcrib.toml", "mode = 'strict'");
    scratch.put_at("home/.config/toolcrib/keep", "");
    let home = scratch.path("home");
    scratch.environment.insert("HOME".to_owned(), home.into());
    let dotfiles = scratch.path("dotfiles");
    symlink(dotfiles.join("toolcrib.toml"), scratch.path("home/.config/toolcrib/config.toml"))
        .unwrap();
    let refused = scratch.try_open_at(&dotfiles, &["mode=standard"]).err();
    assert_eq!(refused.map(|err| err.kind), Some(CliErrorKind::Workspace));
    let crib = scratch.open_at(&dotfiles, &["mode=standard", "files.broad_root=allow"]);
    assert_ne!(crib.write("toolcrib.toml", "mode = 'permissive'").kind(), "ok");
    assert_eq!(fs::read_to_string(dotfiles.join("toolcrib.toml")).unwrap(), "mode = 'strict'");
    crib.write("beside", "").done();
}

#[test]
fn a_pipe_is_not_even_opened() {
    let scratch = Scratch::new();
    let pipe = scratch.put_pipe("pipe");
    let crib = scratch.open();
    let (told, hear) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        // Waits in `open` until somebody opens the pipe to read.
        scope.spawn(|| {
            let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
            told.send(()).unwrap();
            std::io::Write::write_all(&mut writer, b"precious").unwrap();
        });
        for _ in 0..5 {
            assert_eq!(read(&crib, "pipe").kind(), "not_regular_file");
        }
        assert!(hear.try_recv().is_err(), "the writer was let go by a reader");
        assert_eq!(fs::read_to_string(&pipe).unwrap(), "precious");
    });
}

#[test]
fn a_file_too_large_to_keep_is_left_alone() {
    let scratch = Scratch::new();
    fs::File::create(scratch.work().join("sparse")).unwrap().set_len(1 << 40).unwrap();
    let got = delete(&scratch.open(), "sparse");
    assert_ne!(got.kind(), "ok");
    assert!(got.text().contains("undo.max_bytes"), "{}", got.text());
    assert!(scratch.work().join("sparse").exists());
}

#[test]
fn a_file_of_any_name_survives_its_neighbours_write() {
    let scratch = Scratch::new();
    let names = [".toolcrib-new~", ".toolcrib-0123456789ab~", ".toolcrib-x"];
    for name in names {
        scratch.put(name, "precious");
    }
    scratch.put("f", "old");
    let crib = scratch.open();
    crib.write("f", "new").done();
    delete(&crib, "f").done();
    for name in names {
        assert_eq!(scratch.text(name), "precious");
    }
    let reserved = crib.write(".toolcrib-new~", "x");
    assert_ne!(reserved.kind(), "ok", "reserved for temporary files");
    assert_eq!(scratch.text(".toolcrib-new~"), "precious");
}

#[test]
fn what_was_private_stays_private() {
    let scratch = Scratch::new();
    scratch.put("sec", "secret");
    scratch.set_mode("sec", 0o600);
    let crib = scratch.open();
    let args = json!({"file_path": "sec", "content": "new", "backup": true});
    let id = crib.approve("clemini/write_file", args.clone()).done();
    let bits = |name: &str| fs::metadata(scratch.work().join(name)).unwrap().mode() & 0o777;
    assert_eq!((bits("sec.bak"), scratch.text("sec.bak")), (0o600, "secret".to_owned()));
    fs::remove_file(scratch.work().join("sec")).unwrap();
    symlink("elsewhere", scratch.work().join("sec")).unwrap();
    crib.undo(&id, Everything).unwrap();
    assert_eq!((bits("sec"), scratch.text("sec")), (0o600, "secret".to_owned()));
    let edits = crib.explain("clemini/write_file", args).question.plan.edits;
    let files: Vec<&str> = edits.iter().map(|edit| edit.path.as_str()).collect();
    assert_eq!(files, ["sec", "sec.bak"]);
}

#[test]
fn an_approval_holds_the_place_of_a_file_that_is_not_there_yet() {
    // The test of the prompt swaps a file; this swaps the directory of a new one, through the pin.
    let scratch = Scratch::new();
    scratch.put("p/", "");
    scratch.put("q/", "");
    let work = scratch.work();
    let crib = scratch.open();
    let swap = |work: &Path| {
        fs::rename(work.join("p"), work.join("p.old")).unwrap();
        symlink("q", work.join("p")).unwrap();
    };
    let write = json!({"file_path": "p/new", "content": "x"});
    let got = crib.answer_after("clemini/write_file", write, move || swap(&work));
    assert_ne!(got.kind(), "ok", "{}", got.text());
    assert!(!scratch.work().join("q/new").exists());
    fs::remove_file(scratch.work().join("p")).unwrap();
    fs::rename(scratch.work().join("p.old"), scratch.work().join("p")).unwrap();
    let write = json!({"file_path": "p/new", "content": "x"});
    assert_eq!(crib.answer_after("clemini/write_file", write, || ()).kind(), "ok", "the control");
}
