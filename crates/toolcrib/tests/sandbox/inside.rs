//! What works and what is seen inside: the controls of the attempts to get out.

use crate::ground::inside;

/// The control of the attempts with socket pairs: pairs that stay connected work, and with them what programs use
/// them for.
#[test]
fn programs_get_the_socket_pairs_that_they_need() {
    crate::ground::for_all(|scratch| {
        let got = inside(
            scratch,
            "python3 -W ignore - <<'PYTHON'\n\
             import array, asyncio, multiprocessing, os, socket, subprocess\n\
             for kind in [socket.SOCK_STREAM, socket.SOCK_SEQPACKET]:\n  \
             for flags in [0, socket.SOCK_CLOEXEC, socket.SOCK_NONBLOCK, socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK]:\n    \
             a, b = socket.socketpair(socket.AF_UNIX, kind | flags)\n    \
             a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1]))])\n    \
             assert b.recv(1) == b'x'\n\
             async def started():\n  \
             child = await asyncio.create_subprocess_exec('echo', 'child', stdout=subprocess.PIPE)\n  \
             return (await child.communicate())[0]\n\
             assert asyncio.run(started()) == b'child\\n'\n\
             def answer(end): end.send(7)\n\
             here, there = multiprocessing.Pipe()\n\
             child = multiprocessing.Process(target=answer, args=(there,)); child.start()\n\
             assert here.recv() == 7; child.join()\n\
             print('python works')\nPYTHON\n\
             node -e \"const child = require('child_process'); child.spawn('cat', {stdio: ['pipe', 'inherit', 'inherit']})\
             .stdin.end('node works\\n')\"",
        );
        assert_eq!(got.stdout, "python works\nnode works\n", "{}", got.stderr);
    });
}

#[test]
fn mounts_do_not_tell_where_the_state_folder_is() {
    crate::ground::for_all(|scratch| {
        let got = inside(scratch, "cat /proc/self/mountinfo /etc/passwd && ls /etc/hosts");
        let folder = scratch.path("").file_name().unwrap().to_string_lossy().into_owned();
        assert!(!got.stdout.contains(&format!("{folder}/state")), "{}", got.stdout);
        // The control: the list has the paths of mounts, and the `/etc` of commands is there.
        for part in [&format!("{folder}/project"), "toolcrib:x:1000:1000", "/etc/hosts"] {
            assert!(got.stdout.contains(part), "{part}: {}{}", got.stdout, got.stderr);
        }
        let got = inside(scratch, "echo x > /etc/hosts || echo x > /etc/new");
        assert!(got.code != 0 && got.stderr.contains("Read-only file system"), "{}", got.stderr);
    });
}

/// If our reading of a command were wrong, the kernel would still refuse its writes.
#[test]
fn a_command_that_is_proven_to_read_cannot_write() {
    crate::ground::for_all(|scratch| {
        scratch.put("file", "x\n");
        let work = scratch.work().display().to_string();
        let run = |command: &str| {
            let args = serde_json::json!({"command": command}).to_string();
            let reply = scratch.call("clemini/bash", &args).json();
            assert_eq!(reply["exit_code"], 0, "{command}: {reply}");
            reply["stdout"].as_str().unwrap().to_owned()
        };
        let access = |command: &str| {
            let mounts = run(command);
            let mut fields = mounts.lines().map(|line| line.split(' ').skip(4));
            let of_work = |fields: &mut std::iter::Skip<_>| fields.next() == Some(work.as_str());
            let mut found = fields.find_map(|mut it| of_work(&mut it).then_some(it)).unwrap();
            found.next().unwrap().split(',').next().unwrap().to_owned()
        };
        assert_eq!(access("cat file /proc/self/mountinfo"), "ro");
        assert!(run("ls -a").lines().all(|name| [".", "..", "file"].contains(&name)), "no covers");
        // The control: a command that may write has a workspace that can be written to.
        assert_eq!(access("touch made; cat /proc/self/mountinfo"), "rw");
    });
}
