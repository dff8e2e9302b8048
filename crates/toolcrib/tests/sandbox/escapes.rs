//! One attempt for each known way out. Each is made inside, where it must fail, and outside, where it
//! must succeed: an attempt that fails everywhere would prove nothing.

use crate::ground::{Ended, inside, outside, plain};
use crate::scratch::{Scratch, User, users};

/// Who the same attempt succeeds for outside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    /// Everyone.
    Everyone,
    /// Only the superuser.
    Superuser,
    /// Nobody here; the reason is beside it.
    Nobody(&'static str),
}

use Outside::{Everyone, Nobody, Superuser};

/// An attempt: its row among the known attacks, a shell script that prints `REACHED` if it gets
/// through, and who it gets through for outside. `{OUT}`, `{PID}` and `{PORT}` are filled in.
struct Attempt(&'static str, &'static str, Outside);

/// Runs a call to the kernel by number: `call(number, arguments…)` says whether it succeeded.
const CALL: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args]) == -1:
        print("refused:", os.strerror(ctypes.get_errno()))
    else:
        print("REACHED")
"#;

const ATTEMPTS: &[Attempt] = &[
    Attempt("X-001", "touch {OUT}/x && echo REACHED; rm -f {OUT}/x", Everyone),
    Attempt("X-002", "grep -q SECRET {OUT}/secret.txt && echo REACHED", Everyone),
    Attempt(
        "X-003",
        "cat ~/.ssh/id_rsa ~/.aws/credentials ~/.netrc >/dev/null && echo REACHED",
        Everyone,
    ),
    Attempt("X-004 passwords", "head -c 1 /etc/shadow >/dev/null && echo REACHED", Superuser),
    Attempt(
        "X-005",
        "python3 -c 'open(\"/proc/sys/kernel/core_pattern\", \"r+\"); print(\"REACHED\")'",
        Superuser,
    ),
    Attempt("X-006", "unshare -Ur true && echo REACHED", Everyone),
    Attempt("X-007", "nsenter -t {PID} -m true && echo REACHED", Superuser),
    Attempt("X-007 setns", "py call(308, os.open('/proc/self/ns/uts', os.O_RDONLY), 0)", Superuser),
    Attempt(
        "X-008 named socket",
        "py import socket; s = socket.socket(socket.AF_UNIX); s.connect('{OUT}/../project/named'); print('REACHED')",
        Everyone,
    ),
    Attempt(
        "A4 datagram to a socket outside",
        "py import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); \
         a.sendto(b'x', 'letters'); print('REACHED')",
        Everyone,
    ),
    Attempt(
        "A4 raw is the same as datagram",
        "py import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW | socket.SOCK_NONBLOCK); \
         a.sendto(b'x', 'letters'); print('REACHED')",
        Everyone,
    ),
    Attempt(
        "A4 descriptor to a socket outside",
        "py import socket, array; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); \
         rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1])); \
         a.sendmsg([b'x'], [rights], 0, 'letters'); print('REACHED')",
        Everyone,
    ),
    Attempt(
        "A4 a path for a datagram socket",
        "py import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); \
         a.bind('bound'); os.unlink('bound'); print('REACHED')",
        Everyone,
    ),
    Attempt(
        "A4 a path for a stream socket",
        "py import socket; a, b = socket.socketpair(); a.bind('bound'); os.unlink('bound'); print('REACHED')",
        Everyone,
    ),
    Attempt(
        "A4 a socket file",
        "py import stat; os.mknod('bound', stat.S_IFSOCK | 0o600); os.unlink('bound'); print('REACHED')",
        Everyone,
    ),
    Attempt(
        "X-009",
        "py import socket; s = socket.socket(socket.AF_UNIX); s.connect('\\0toolcrib-{PORT}'); print('REACHED')",
        Everyone,
    ),
    Attempt(
        "X-010",
        "py import socket; socket.socket(40, socket.SOCK_STREAM); print('REACHED')",
        Everyone,
    ),
    Attempt(
        "X-011 netlink",
        "py import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW); print('REACHED')",
        Everyone,
    ),
    Attempt(
        "X-011 packet",
        "py import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print('REACHED')",
        Superuser,
    ),
    Attempt(
        "X-011 families",
        "py import socket\nfor f in list(range(0, 2)) + list(range(3, 10)) + list(range(11, 46)):\n  try:\n    \
         socket.socket(f, socket.SOCK_STREAM); print('REACHED', f)\n  except OSError: pass",
        Everyone,
    ),
    Attempt("X-012", "py call(425, 1, ctypes.byref((ctypes.c_char * 120)()))", Everyone),
    Attempt("X-013 signal", "kill -0 {PID} && echo REACHED", Everyone),
    Attempt(
        "X-013 memory",
        "py b = ctypes.create_string_buffer(8); v = (ctypes.c_void_p * 2)(ctypes.addressof(b), 8); \
         call(310, os.getpid(), v, 1, v, 1, 0)",
        Everyone,
    ),
    Attempt("X-013 ptrace", "py call(101, 0x4206, os.getppid(), 0, 0)", Everyone),
    Attempt("X-014 other processes", "ls /proc/{PID}/ >/dev/null && echo REACHED", Everyone),
    Attempt(
        "X-015 the first process",
        "cat /proc/1/environ >/dev/null && echo REACHED",
        Nobody("the first process outside is another program"),
    ),
    Attempt(
        "X-015 its memory",
        "py open('/proc/1/mem', 'rb'); print('REACHED')",
        Nobody("the first process outside is another program"),
    ),
    Attempt(
        "X-015 its descriptors",
        "ls /proc/1/fd && echo REACHED",
        Nobody("the first process outside is another program"),
    ),
    Attempt(
        "X-017",
        "py import pty, fcntl; m, s = pty.openpty(); fcntl.ioctl(s, 0x5412, b'x'); print('REACHED')",
        Superuser,
    ),
    Attempt("X-018", "( exec 3<>/dev/tty ) && echo REACHED", Nobody("the tests have no terminal")),
    Attempt(
        "X-020 mounts",
        "mkdir -p m; mount -t tmpfs none m && echo REACHED; umount m; rmdir m",
        Superuser,
    ),
    Attempt("X-021 a new root", "py call(161, b'/tmp')", Superuser),
    Attempt("X-022", "py call(41, 0x100000001, 1, 0)", Everyone),
    Attempt(
        "X-023 other numbering",
        "py call(0x40000000 + 39)",
        Nobody("this kernel has no x32 calls"),
    ),
    Attempt(
        "X-024",
        "py h = (ctypes.c_uint * 40)(128); m = ctypes.c_int(); call(303, -100, b'/usr', h, ctypes.byref(m), 0)",
        Everyone,
    ),
    Attempt("X-025", "mknod n c 1 5 && echo REACHED; rm -f n", Superuser),
    Attempt("X-034 the system", "touch /usr/x && echo REACHED; rm -f /usr/x", Superuser),
    Attempt("X-035", "chmod 640 {OUT}/secret.txt && echo REACHED", Everyone),
    Attempt("X-035 times", "touch -d 2001-01-01 {OUT}/secret.txt && echo REACHED", Everyone),
    Attempt("X-036", "py call(41, 2, 1, 262)", Everyone),
    Attempt(
        "X-038",
        "py import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('8.8.8.8', 53)); print('REACHED')",
        Everyone,
    ),
    Attempt("X-039", "py call(248, b'user', b'toolcrib', b'x', 1, -2)", Everyone),
    Attempt(
        "X-040 bpf",
        "py call(321, 0, ctypes.byref((ctypes.c_char * 128)(2, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 1)), 128)",
        Superuser,
    ),
    Attempt(
        "X-041 the clock",
        "py call(227, 0, ctypes.byref((ctypes.c_long * 2)(-1, 0)))",
        Nobody("setting it would be felt by all"),
    ),
    Attempt(
        "X-042 host name",
        "hostname toolcrib-$(hostname | tail -c 20) && echo REACHED",
        Nobody("changing it would be felt by all"),
    ),
    Attempt(
        "X-043 the machine's ports",
        "exec 3<>/dev/tcp/127.0.0.1/{PORT} && echo REACHED",
        Everyone,
    ),
    Attempt(
        "N-001",
        "timeout 2 bash -c 'exec 3<>/dev/tcp/1.1.1.1/443' && echo REACHED",
        Nobody("the test machine may have no network"),
    ),
    Attempt(
        "N-017",
        "py import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('1.1.1.1', 443)); print('REACHED')",
        Everyone,
    ),
    Attempt("E-004", "grep -q TOKEN ~/.git-credentials && echo REACHED", Everyone),
];

/// Fills a script in: `py` at its start makes it Python.
fn script(attempt: &Attempt, scratch: &Scratch, pid: u32, port: u16) -> String {
    let text = attempt
        .1
        .replace("{OUT}", &scratch.path("outside").display().to_string())
        .replace("{PID}", &pid.to_string())
        .replace("{PORT}", &port.to_string());
    match text.strip_prefix("py ") {
        Some(python) => format!("python3 -W ignore - <<'PYTHON'\n{CALL}\n{python}\nPYTHON"),
        None => text,
    }
}

#[test]
fn no_attempt_gets_out() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for user in users() {
        let scratch = Scratch::of(user);
        for (name, content) in [
            ("home/.ssh/id_rsa", "KEY"),
            ("home/.aws/credentials", "KEY"),
            ("home/.netrc", "KEY"),
            ("home/.git-credentials", "TOKEN"),
        ] {
            scratch.put_at(name, content);
        }
        let victim = Ended(plain(&scratch, "sleep").arg("1000").spawn().unwrap());
        let _sockets = Ended(plain(&scratch, "python3")
            .args(["-c", &format!(
                "import socket\nfor name in ['named', '\\0toolcrib-{port}']:\n  \
                 s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(100); globals()['s' + str(len(name))] = s\n\
                 letters = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); letters.bind('letters')\n\
                 while True: letters.recv(100)"
            )])
            .spawn()
            .unwrap());
        crate::ground::eventually("the sockets", || scratch.work().join("letters").exists());
        for attempt in ATTEMPTS {
            let text = script(attempt, &scratch, victim.0.id(), port);
            let (row, expect) = (attempt.0, attempt.2);
            let got = inside(&scratch, &text);
            assert!(
                !got.stdout.contains("REACHED"),
                "{row} as {user:?} got out: {}{}",
                got.stdout,
                got.stderr
            );
            assert!(!got.stderr.contains("the sandbox is not available"), "{row}: {}", got.stderr);
            let is_root = user == User::Own && users().len() > 1;
            let gets_through = match expect {
                Everyone => true,
                Superuser => is_root,
                Nobody(_) => continue,
            };
            let control = outside(&scratch, &text);
            assert_eq!(
                control.stdout.contains("REACHED"),
                gets_through,
                "{row} as {user:?}, outside: {}{}",
                control.stdout,
                control.stderr
            );
        }
    }
}

#[test]
fn only_the_three_descriptors_come_in() {
    crate::ground::for_all(|scratch| {
        let list = "ls /proc/self/fd | tr '\\n' ' '";
        let wrap = |command: &str| format!("exec 251</dev/null 7>/dev/null; exec {command}");
        let toolcrib = env!("CARGO_BIN_EXE_toolcrib");
        let state = scratch.state();
        let run = format!(
            "TOOLCRIB_STATE={} {toolcrib} sandbox run -- sh -c \"{list}\"",
            state.display()
        );
        let got = outside(scratch, &wrap(&format!("env {run}")));
        assert_eq!(got.stdout.trim(), "0 1 2 3", "3 is the listing itself: {}", got.stderr);
        let control = outside(scratch, &wrap(&format!("sh -c \"{list}\"")));
        assert!(control.stdout.contains("251"), "{}", control.stdout);
    });
}

#[test]
fn only_listed_names_are_in_the_environment() {
    crate::ground::for_all(|scratch| {
        let run = |words: &[&str]| -> crate::scratch::Ran {
            let mut command = scratch.command();
            command.env("SECRET_TOKEN", "sk-live-1").env("LANG", "C.UTF-8").env("LD_PRELOAD", "");
            command.args(words).output().unwrap().into()
        };
        let script = "env; tr '\\0' '\\n' < /proc/self/environ; cat /proc/1/environ";
        let got = run(&["sandbox", "run", "--", "sh", "-c", script]);
        assert!(!got.stdout.contains("sk-live-1"), "{}", got.stdout);
        assert!(got.stdout.contains("LANG=C.UTF-8"), "{}", got.stdout);
        for line in got.stdout.lines() {
            let name = line.split('=').next().unwrap();
            let known = [
                "PATH",
                "HOME",
                "USER",
                "LOGNAME",
                "SHELL",
                "TERM",
                "NO_COLOR",
                "CI",
                "TMPDIR",
                "PAGER",
                "GIT_PAGER",
                "GIT_EDITOR",
                "GIT_CONFIG_COUNT",
                "GIT_CONFIG_KEY_0",
                "GIT_CONFIG_VALUE_0",
                "GIT_CONFIG_KEY_1",
                "GIT_CONFIG_VALUE_1",
                "EDITOR",
                "GIT_TERMINAL_PROMPT",
                "DEBIAN_FRONTEND",
                "LANG",
                "PWD",
                "OLDPWD",
                "SHLVL",
                "_",
            ];
            assert!(known.contains(&name), "{line}");
        }
        // The control: what the operator lists is handed on, and nothing that loads code can be.
        let named = ["-c", "sandbox.environment=SECRET_TOKEN"];
        let got = run(&[&named[..], &["sandbox", "run", "--", "env"]].concat());
        assert!(got.stdout.contains("SECRET_TOKEN=sk-live-1"), "{}", got.stderr);
        for name in [
            "LD_PRELOAD",
            "BASH_ENV",
            "PYTHONSTARTUP",
            "NODE_OPTIONS",
            "GIT_SSH_COMMAND",
            "PERL5OPT",
        ] {
            let named = format!("sandbox.environment={name}");
            let got = run(&["-c", &named, "sandbox", "run", "--", "env"]);
            assert_eq!(got.code, 2, "{name}: {}", got.stdout);
            assert!(got.stderr.contains("is never passed to a command"), "{}", got.stderr);
        }
    });
}

#[test]
fn nothing_of_the_workspace_is_taken_for_our_own_helpers() {
    crate::ground::for_all(|scratch| {
        scratch.put("bin/bwrap", "#!/bin/sh\necho PLANTED\n");
        let planted = scratch.work().join("bin/bwrap");
        let path = format!("{}:/usr/bin:/bin", scratch.work().join("bin").display());
        std::fs::set_permissions(&planted, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let mut command = scratch.command();
        let got: crate::scratch::Ran = command
            .env("PATH", &path)
            .args(["sandbox", "run", "--", "echo", "ran"])
            .output()
            .unwrap()
            .into();
        assert_eq!(got.stdout, "ran\n", "{}", got.stderr);
        let control =
            plain(scratch, "sh").env("PATH", &path).args(["-c", "bwrap"]).output().unwrap();
        assert_eq!(control.stdout, b"PLANTED\n");
        // Named by the operator, but not the superuser's: not trusted either.
        if scratch.user == User::Nobody || users().len() == 1 {
            let setting = format!("sandbox.bubblewrap={}", planted.display());
            let got = scratch.run(["-c", &setting, "sandbox", "run", "--", "echo", "ran"]);
            assert!(
                got.stderr.contains("users other than root can change"),
                "{}{}",
                got.stdout,
                got.stderr
            );
            assert_eq!(got.code, 1);
        }
    });
}

#[test]
fn words_that_look_like_options_are_the_program() {
    crate::ground::for_all(|scratch| {
        let got = scratch.run(["sandbox", "run", "--", "--bind", "/", "/"]);
        assert_eq!(got.code, 1, "{}", got.stdout);
        assert!(got.stderr.contains("`--bind`"), "{}", got.stderr);
    });
}

#[test]
fn commands_are_nobody_special_and_their_files_the_workspaces() {
    use std::os::unix::fs::MetadataExt;
    crate::ground::for_all(|scratch| {
        let got = inside(
            scratch,
            "id -u; grep -c '^Cap[A-Za-z]*:.*[1-9a-f]' /proc/self/status; grep NoNewPrivs /proc/self/status; \
             mkdir d && echo x > d/made && chmod 600 d/made",
        );
        assert_eq!(got.stdout, "1000\n0\nNoNewPrivs:\t1\n", "{}", got.stderr);
        let (made, root) = (scratch.work().join("d/made"), scratch.work());
        let (made, root) = (made.metadata().unwrap(), root.metadata().unwrap());
        assert_eq!((made.uid(), made.gid()), (root.uid(), root.gid()));
        // Through the same mount, what belongs to the owner can be read and changed.
        scratch.put("private", "secret of the owner");
        std::fs::set_permissions(
            scratch.work().join("private"),
            std::os::unix::fs::PermissionsExt::from_mode(0o600),
        )
        .unwrap();
        let got = inside(scratch, "cat private && echo changed > private");
        assert_eq!(got.stdout, "secret of the owner", "{}", got.stderr);
        assert_eq!(scratch.text("private"), "changed\n");
    });
}

#[test]
fn a_replaced_workspace_is_noticed() {
    crate::ground::for_all(|scratch| {
        let mut session = crate::ground::Session::start(scratch, &[]);
        assert_eq!(session.bash("echo ok")["stdout"], "ok\n");
        let (work, moved) = (scratch.work(), scratch.path("moved"));
        std::fs::rename(&work, &moved).unwrap();
        std::os::unix::fs::symlink("/etc", &work).unwrap();
        let reply = session.bash("cat passwd");
        assert_eq!(reply["context"]["reason"], "root_replaced", "{reply}");
        std::fs::remove_file(&work).unwrap();
        std::fs::rename(&moved, &work).unwrap();
        assert_eq!(session.bash("echo back")["stdout"], "back\n");
        session.end();
    });
}
