//! Workers: they answer, they have nothing that was not given to them, and nothing of them is left.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};
use std::sync::Arc;

use toolcrib_core::ErrorKind;
use toolcrib_core::command::{End, Limit};
use toolcrib_core::worker::{
    FolderAccess, WorkerEnd, WorkerFolder, WorkerLimits, WorkerProgram, WorkerRequest, Workers,
};

use crate::ground::{eventually, sleepers};
use crate::network::{PAGE, Server};
use crate::worker_place::{LiveWorker, WorkerPlace, for_everyone, python, request, script};

/// Set in a process that starts a worker and waits to be killed.
const OWNS_WORKER: &str = "TOOLCRIB_TEST_OWNS_WORKER";

#[test]
fn a_worker_answers_until_it_is_killed() {
    for_everyone("a_worker_answers_until_it_is_killed", || {
        let place = WorkerPlace::new();
        let mut worker = place.start(&request(&["cat"]));
        for line in ["one", "two", "three"] {
            assert_eq!(worker.ask(line), line);
        }
        assert_eq!(worker.control.end(), None);
        assert!(worker.control.usage().peak_memory > 0);
        worker.control.kill();
        assert_eq!(worker.control.end(), Some(WorkerEnd { end: End::Killed, limit: None }));
        assert_eq!(worker.line(), "", "its output is closed");
        // The next worker comes from the same launcher.
        assert_eq!(place.start(&request(&["cat"])).ask("again"), "again");
    });
}

#[test]
fn a_worker_that_ends_by_itself_says_how() {
    let place = WorkerPlace::new();
    let ended = |text: &str| place.start(&script(text)).ended();
    assert_eq!(ended("exit 3"), WorkerEnd { end: End::Exited(3), limit: None });
    assert_eq!(ended("kill -TERM $$").end, End::Signalled(15));
    let worker =
        place.start(&script("i=0; while [ $i -lt 9999 ]; do echo $i >&2; i=$((i+1)); done"));
    worker.ended();
    let printed = worker.control.printed();
    assert!(printed.ends_with("9998\n") && printed.len() == 16 << 10, "{}", printed.len());
}

#[test]
fn a_program_that_cannot_be_run_is_an_error_of_the_start() {
    let place = WorkerPlace::new();
    let fails = |request: &WorkerRequest| place.workers.start(request).err().unwrap();
    let err = fails(&request(&["no-such-program"]));
    assert_eq!(err.kind, ErrorKind::NotFound, "{err:?}");
    let mut elsewhere = request(&["cat"]);
    elsewhere.program =
        WorkerProgram::Command { words: vec!["cat".to_owned()], directory: "/nowhere".to_owned() };
    assert_eq!(fails(&elsewhere).kind, ErrorKind::NotFound);
    let data = place.data(FolderAccess::Read);
    for target in ["/", "/usr/x", "/proc", "/tmp", "/etc", "/a/../usr", "data"] {
        let folders = vec![WorkerFolder { target: target.to_owned(), ..data.clone() }];
        let err = fails(&WorkerRequest { folders, ..request(&["cat"]) });
        assert_eq!(err.kind, ErrorKind::BadArgs, "{target}: {err:?}");
    }
    std::os::unix::fs::symlink(&data.source, place.path("link")).unwrap();
    let source = place.path("link").display().to_string();
    let folders = vec![WorkerFolder { source, ..data.clone() }];
    assert_eq!(fails(&WorkerRequest { folders, ..request(&["cat"]) }).kind, ErrorKind::NotFound);
    // The control.
    let folders = vec![data];
    let got = place.printed_by(&WorkerRequest { folders, ..request(&["cat", "/data/file"]) });
    assert_eq!(got, "of the folder\n");
}

/// A worker with a child that is in no relation to it any more. The child is `sleep MARKER`.
fn restless(marker: &str) -> WorkerRequest {
    script(&format!("setsid sleep {marker} & setsid sh -c 'sleep {marker} & wait' & cat"))
}

#[test]
fn a_kill_takes_everything_along() {
    for_everyone("a_kill_takes_everything_along", || {
        let place = WorkerPlace::new();
        let marker = format!("3600.{}1", std::process::id());
        let worker = place.start(&restless(&marker));
        eventually("two sleepers", || sleepers(&marker).len() == 2);
        worker.control.kill();
        assert!(sleepers(&marker).is_empty(), "they are gone when the kill returns");
    });
}

#[test]
fn a_worker_ends_when_nobody_holds_it() {
    for_everyone("a_worker_ends_when_nobody_holds_it", || {
        let place = WorkerPlace::new();
        let marker = format!("3600.{}2", std::process::id());
        let LiveWorker { input, output, control } = place.start(&restless(&marker));
        eventually("two sleepers", || sleepers(&marker).len() == 2);
        let other = Arc::clone(&control);
        drop(control);
        assert_eq!(other.end(), None, "somebody still holds it");
        drop(other);
        eventually("no sleeper", || sleepers(&marker).is_empty());
        drop((input, output));
    });
}

#[test]
fn a_worker_ends_with_the_process_that_started_it() {
    if let Ok(marker) = std::env::var(OWNS_WORKER) {
        let place = WorkerPlace::new();
        let worker = place.start(&restless(&marker));
        eventually("two sleepers", || sleepers(&marker).len() == 2);
        std::io::stderr().write_all(b"started\n").unwrap();
        worker.ended();
    }
    for_everyone("a_worker_ends_with_the_process_that_started_it", || {
        let marker = format!("3600.{}3", std::process::id());
        let folder = tempfile::tempdir().unwrap();
        let mut owner = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "workers::a_worker_ends_with_the_process_that_started_it"])
            .env(OWNS_WORKER, &marker)
            .env("TMPDIR", folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(owner.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!((line.as_str(), sleepers(&marker).len()), ("started\n", 2));
        owner.kill().unwrap();
        owner.wait().unwrap();
        eventually("no sleeper", || sleepers(&marker).is_empty());
    });
}

#[test]
fn a_worker_has_no_environment_and_no_files_but_its_own() {
    for_everyone("a_worker_has_no_environment_and_no_files_but_its_own", || {
        let place = WorkerPlace::new();
        let environment = vec![("GIVEN".to_owned(), "a=b c".to_owned())];
        let got = place.printed_by(&WorkerRequest { environment, ..request(&["env"]) });
        assert_eq!(got, "GIVEN=a=b c\n");
        let folder = place.path("").display().to_string();
        let file = place.workspace_file();
        let looks = format!(
            "for path in {file} {folder}/sandbox /home /root /mnt /srv /var/lib {folder}; do \
             test -e $path && echo $path; done; cat /data/file; ls /; grep -c {folder} /proc/self/mountinfo"
        );
        let folders = vec![place.data(FolderAccess::Copy)];
        let got = place.printed_by(&WorkerRequest { folders, ..script(&looks) });
        let lines: Vec<&str> = got.lines().collect();
        // The control: the folder that was given is there, and the loop would have printed what it found.
        assert_eq!((lines[0], lines[lines.len() - 1]), ("of the folder", "0"), "{got}");
        let found = place
            .printed_by(&script("for path in /usr /nowhere; do test -e $path && echo $path; done"));
        assert_eq!(found, "/usr\n");
        assert!(fs::exists(&file).unwrap());
        let known = [
            "bin", "data", "dev", "etc", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc",
            "run", "sbin", "tmp", "usr", "var",
        ];
        let unknown = lines[1..lines.len() - 1].iter().find(|name| !known.contains(name));
        assert_eq!(unknown, None, "{got}");
        // It is nobody in particular, and holds no descriptor but its three.
        let got = place.printed_by(&script("id -u; ls /proc/self/fd | wc -l; cat /etc/passwd"));
        assert!(got.starts_with("1000\n4\ntoolcrib:x:1000:1000::/tmp:"), "{got}");
    });
}

#[test]
fn a_worker_reaches_the_hosts_that_it_was_given_and_no_other() {
    for_everyone("a_worker_reaches_the_hosts_that_it_was_given_and_no_other", || {
        let server = Server::start(PAGE);
        let place = WorkerPlace::with("/bin/echo", vec![server.port]);
        let port = server.port;
        let direct = python(&format!(
            "import socket\ntry:\n  socket.create_connection(('127.0.0.1', {port}), 5); print('reached')\n\
             except OSError as err: print('refused')"
        ));
        TcpStream::connect(("127.0.0.1", port)).unwrap();
        assert_eq!(place.printed_by(&direct), "refused\n");
        let fetch = |host: &str| {
            python(&format!(
                "import urllib.request\ntry:\n  print(urllib.request.urlopen('http://{host}:{port}/', timeout=20).read())\n\
                 except Exception as err: print('failed')"
            ))
        };
        let hosts = || vec!["allowed.example".to_owned()];
        let with_hosts = |request| WorkerRequest { hosts: hosts(), ..request };
        assert_eq!(place.printed_by(&with_hosts(fetch("allowed.example"))), "b'page'\n");
        assert_eq!(place.printed_by(&with_hosts(fetch("other.example"))), "failed\n");
        assert_eq!(place.printed_by(&with_hosts(direct)), "refused\n");
        assert_eq!(place.printed_by(&fetch("allowed.example")), "failed\n");
        let hosts = vec!["not a host".to_owned()];
        let err = place.workers.start(&WorkerRequest { hosts, ..request(&["cat"]) }).err().unwrap();
        assert_eq!(err.kind, ErrorKind::BadArgs);
    });
}

#[test]
fn a_folder_is_written_to_only_if_the_request_says_so() {
    for_everyone("a_folder_is_written_to_only_if_the_request_says_so", || {
        let place = WorkerPlace::new();
        let write = "cat /data/file; echo new > /data/new && echo written";
        for (access, is_written) in [(FolderAccess::Read, false), (FolderAccess::Write, true)] {
            let folders = vec![place.data(access)];
            let got = place.printed_by(&WorkerRequest { folders, ..script(write) });
            assert!(got.starts_with("of the folder\n"), "{got}");
            assert_eq!(got.contains("\nwritten\n"), is_written, "{got}");
            assert_eq!(place.path("data/new").exists(), is_written);
        }
        // What it writes belongs to the owner of the folder.
        let owner = |name: &str| fs::metadata(place.path(name)).unwrap().uid();
        assert_eq!(owner("data/new"), owner("data"));
        // A folder that takes the place of another is seen by the next worker.
        let hold = place.start(&WorkerRequest {
            folders: vec![place.data(FolderAccess::Read)],
            ..request(&["cat"])
        });
        fs::rename(place.path("data"), place.path("old")).unwrap();
        let folders = vec![place.data(FolderAccess::Read)];
        let got = place.printed_by(&WorkerRequest { folders, ..script("ls /data") });
        assert_eq!(got, "file\n");
        drop(hold);
    });
}

#[test]
fn a_small_folder_is_copied_and_does_not_tell_where_it_is() {
    for_everyone("a_small_folder_is_copied_and_does_not_tell_where_it_is", || {
        let place = WorkerPlace::new();
        let looks = "/data/deep/run; cat /data/file; grep -c /data$ /proc/self/mountinfo; \
                     grep ' /data ' /proc/self/mountinfo; touch /data/new";
        let see = |access| {
            let folder = place.data(access);
            fs::create_dir_all(place.path("data/deep/empty")).unwrap();
            fs::write(place.path("data/deep/run"), "#!/bin/sh\necho run\n").unwrap();
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(place.path("data/deep/run"), mode).unwrap();
            place.printed_by(&WorkerRequest { folders: vec![folder], ..script(looks) })
        };
        let name = place.path("").file_name().unwrap().to_string_lossy().into_owned();
        let copied = see(FolderAccess::Copy);
        assert!(copied.starts_with("run\nof the folder\n"), "{copied}");
        assert!(!copied.contains(&name) && copied.contains("Read-only"), "{copied}");
        assert!(see(FolderAccess::Read).contains(&name), "the control");
        fs::write(place.path("data/large"), vec![1; 9 << 20]).unwrap();
        let large = see(FolderAccess::Copy);
        assert!(large.starts_with("run\nof the folder\n") && large.contains(&name), "{large}");
    });
}

#[test]
fn a_worker_is_kept_to_its_cores() {
    let place = WorkerPlace::new();
    let cores = |cpus: f64| -> usize {
        let request = python(
            "import os\ntry: os.sched_setaffinity(0, range(1000))\nexcept OSError: pass\n\
             print(len(os.sched_getaffinity(0)))",
        );
        let limits = WorkerLimits { cpus, ..request.limits };
        place.printed_by(&WorkerRequest { limits, ..request }).trim().parse().unwrap()
    };
    let all = std::thread::available_parallelism().unwrap().get();
    assert_eq!(cores(0.5), 1);
    assert_eq!(cores(1.2), all.min(2));
    assert_eq!(cores(100_000.0), all);
}

#[test]
fn a_worker_that_passes_a_limit_is_ended_and_the_limit_is_named() {
    for_everyone("a_worker_that_passes_a_limit_is_ended_and_the_limit_is_named", || {
        let place = WorkerPlace::new();
        let take = "held = []\nfor number in range(200):\n  held.append(b'x' * (1 << 20))\nprint('has it', flush=True)\ninput()";
        let with = |request: WorkerRequest, memory: u64| WorkerRequest {
            limits: WorkerLimits { memory, ..request.limits },
            ..request
        };
        let mut worker = place.start(&with(python(take), 1 << 30));
        assert_eq!(worker.line(), "has it");
        let worker = place.start(&with(python(take), 64 << 20));
        assert_eq!(worker.ended().limit, Some(Limit::Memory), "{}", worker.control.printed());
        // Several processes together.
        let many = "import os\nfor child in range(4):\n  if os.fork() == 0:\n    held = b'x' * (40 << 20); print('has it', flush=True)\n    \
                    import time; time.sleep(3600)\nos.wait()";
        let worker = place.start(&with(python(many), 100 << 20));
        assert_eq!(worker.ended(), WorkerEnd { end: End::Limited, limit: Some(Limit::Memory) });
        // Scratch space is full sooner or later.
        let fill = "head -c 20000000 /dev/zero > /tmp/full || echo full; head -c 20000000 /dev/zero > /dev/shm/full || echo full";
        assert_eq!(place.printed_by(&script(fill)).matches("full\n").count(), 2);
        let small = "head -c 2000000 /dev/zero > /tmp/small && cp /tmp/small /dev/shm && echo fits";
        assert_eq!(place.printed_by(&script(small)), "fits\n");
    });
}

#[test]
fn a_fork_bomb_has_a_bound() {
    for_everyone("a_fork_bomb_has_a_bound", || {
        let place = WorkerPlace::new();
        let bomb = |most: u64, wanted: u64| {
            let request = python(&format!(
                "import os, time\ncount = 0\ntry:\n  while count < {wanted}:\n    if os.fork() == 0: time.sleep(3600)\n    count += 1\n\
                 except OSError: pass\nprint(count, flush=True)\ninput()"
            ));
            let limits = WorkerLimits { processes: most, ..request.limits };
            let mut worker = place.start(&WorkerRequest { limits, ..request });
            let count: u64 = worker.line().parse().unwrap();
            worker.control.kill();
            count
        };
        let count = bomb(20, 1000);
        assert!((10..=20).contains(&count), "{count}");
        assert_eq!(bomb(100, 50), 50);
    });
}

#[test]
fn the_module_worker_is_our_own_program() {
    for_everyone("the_module_worker_is_our_own_program", || {
        let place = WorkerPlace::new();
        let module = WorkerRequest { program: WorkerProgram::ModuleWorker, ..request(&["cat"]) };
        assert_eq!(place.printed_by(&module), "__module_worker\n");
        // No other worker sees it, and none can change it.
        let looks = script("ls -A /run; echo ran");
        assert_eq!(place.printed_by(&looks), "ran\n");
        let shell = WorkerPlace::with("/bin/sh", Vec::new());
        fs::write(
            shell.path("program"),
            "#!/bin/sh\necho x >> /run/toolcrib-worker; echo tried $1\n",
        )
        .unwrap();
        let got = shell.printed_by(&module);
        assert!(
            got.starts_with("tried __module_worker\n") && got.contains("cannot create"),
            "{got}"
        );
        // A program that was replaced is another version.
        for place in [place, WorkerPlace::new()] {
            fs::remove_file(place.path("program")).unwrap();
            fs::copy("/bin/cat", place.path("program")).unwrap();
            let err = place.workers.start(&module).err().unwrap();
            let told = (err.kind, err.hint.as_deref());
            assert_eq!(told, (ErrorKind::Unavailable, Some("restart Toolcrib")));
        }
    });
}
