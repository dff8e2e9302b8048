//! Names that are exchanged while a command is being started, by another command.

use serde_json::json;

use crate::ground::{Session, eventually, for_all, outside};

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

/// How many commands are started at least.
const FEWEST_TRIES: usize = 120;

/// How many commands are started until an exchange came in between.
const MOST_TRIES: usize = 5000;

#[test]
fn names_exchanged_during_a_start_lead_nowhere() {
    for_all(|scratch| {
        scratch.put_at("outside/.git/secret", "SECRET");
        scratch.put("exchange.py", EXCHANGE);
        let mut racing = Session::start(scratch, &[]);
        racing.ask("clemini/bash", json!({"command": "python3 exchange.py"}));
        eventually("the exchange", || scratch.work().join("begun").exists());
        // The control: without a sandbox the link, wherever it is just now, leads out.
        eventually("the link", || outside(scratch, "cat ?/.git/secret").stdout.contains("SECRET"));
        let mut session = Session::start(scratch, &[]);
        let (mut ran, mut refused) = (0, 0);
        // How often an exchange comes in between depends on how busy the machine is.
        for number in 0..MOST_TRIES {
            if number >= FEWEST_TRIES && refused > 0 {
                break;
            }
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
