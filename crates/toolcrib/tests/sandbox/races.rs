//! Names that are exchanged while a command is being started, by another command.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::ground::{Session, eventually, for_all, inside_with, outside};
use crate::scratch::{User, users};

/// A bubblewrap that is told one more thing than we tell it: what a race would make it do.
fn fooled(folder: &std::path::Path, more: &str) -> String {
    let script = folder.join("bwrap");
    let text = format!("#!/bin/sh\nshift 3\nexec /usr/bin/bwrap --args 4 {more} -- \"$@\"\n");
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("sandbox.bubblewrap={}", script.display())
}

#[test]
fn a_mount_from_elsewhere_below_a_root_is_noticed() {
    // Only the superuser can name another bubblewrap.
    if users().len() == 1 {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    for_all(|scratch| {
        scratch.put("one/file", "x");
        scratch.put("two/file", "y");
        let work = scratch.work().display().to_string();
        // Where the launcher has the workspace: staged, if commands are another user than it is.
        let from = if scratch.user == User::Own { "/tmp/0" } else { &work };
        let run =
            |more: String| inside_with(scratch, &[&fooled(folder.path(), &more)], "cat two/file");
        // The controls: nothing more, and a part of the workspace on itself.
        for more in [String::new(), format!("--bind {from}/two {work}/two")] {
            let got = run(more);
            assert_eq!(got.stdout, "y", "{}", got.stderr);
        }
        for more in [
            format!("--bind {from}/one {work}/two"),
            format!("--ro-bind {from}/one {work}/two"),
            format!("--bind {from}/one/file {work}/two/file"),
            format!("--bind /usr {work}/two"),
            format!("--tmpfs {work}/two"),
        ] {
            let got = run(more.clone());
            assert_eq!((got.code, got.stdout.as_str()), (1, ""), "{more}: {}", got.stderr);
            assert!(got.stderr.contains("is mounted from elsewhere"), "{more}: {}", got.stderr);
        }
    });
}

/// Exchanges, again and again: two repositories whose `.git` is the same file twice, and one of them with
/// a link to a folder outside. The more repositories lie between them, the longer each look takes.
const EXCHANGE: &str = r"
import ctypes, os, random, time
libc = ctypes.CDLL(None)
def swap(one, two):
    assert libc.renameat2(-100, one, -100, two, 2) == 0
os.makedirs('git/hooks')
for number in range(40): os.makedirs(f'm{number}/.git')
os.mkdir('a'); os.mkdir('z'); os.symlink('../outside', 's')
open('a/.git', 'w').write('gitdir: ../git')
os.link('a/.git', 'z/.git')
count = 0
open('begun', 'w').close()
steps = [(b'a', b'z'), (b's', b'a'), (b's', b'a'), (b'a', b'z'), (b's', b'z'), (b's', b'z')]
while not os.path.exists('stop'):
    for step in steps:
        swap(*step); count += 1
        if not count % 5: time.sleep(random.choice([0, 0.0005, 0.002, 0.01]))
print(count)
";

#[test]
fn names_exchanged_during_a_start_lead_nowhere() {
    for_all(|scratch| {
        scratch.put_at("outside/.git/secret", "SECRET");
        scratch.put("exchange.py", EXCHANGE);
        let mut racing = Session::start(scratch, &[]);
        racing.ask("clemini/bash", json!({"command": "python3 exchange.py"}));
        eventually("the exchange", || scratch.work().join("begun").exists());
        // The control: without a sandbox the link, wherever it is just now, leads out.
        assert!(outside(scratch, "cat ?/.git/secret ?/.git/secret").stdout.contains("SECRET"));
        let mut session = Session::start(scratch, &[]);
        let (mut ran, mut refused) = (0, 0);
        for number in 0..120 {
            let command = format!(
                "echo ran; cat ?/.git/secret; for r in a z s; do echo evil > $r/.git/evil{number}; done; \
                 grep ' {}/[azs]/.git' /proc/self/mountinfo; true",
                scratch.work().display()
            );
            let reply = session.call("clemini/bash", json!({"command": command}));
            let printed = reply["stdout"].as_str().unwrap_or_default();
            assert!(!reply.to_string().contains("SECRET"), "{number}: {reply}");
            for mount in printed.lines().filter(|line| line.contains("/.git ")) {
                assert!(!mount.contains("outside"), "{number}: {mount}");
            }
            if printed.starts_with("ran") { ran += 1 } else { refused += 1 }
        }
        scratch.put("stop", "");
        let (_, reply) = racing.hear();
        let count: u64 =
            reply["stdout"].as_str().unwrap().trim().parse().unwrap_or_else(|_| panic!("{reply}"));
        assert!(count > 1000, "{reply}");
        assert!(refused > 0, "no exchange came in between: {ran} ran, {count} exchanges");
        let left = outside(scratch, "ls ../outside/.git git git/hooks").stdout;
        assert!(!left.contains("evil"), "{left}");
        // When nobody races any more, commands run.
        assert_eq!(session.bash("echo calm")["stdout"], "calm\n", "{ran} ran, {refused} did not");
        session.end();
        racing.end();
    });
}
