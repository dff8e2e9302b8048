//! A host that no setting lists: its connection waits until somebody has decided.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use toolcrib_core::host_access::{HostGate, HostRequest, HostVerdict};
use toolcrib_core::{Cancel, Commands};

use crate::network::{HELLO_BACK, Server, hello, place};

/// Answers by the first part of the host's name, and notes what it was asked.
#[derive(Default)]
struct Gate {
    asked: Mutex<Vec<String>>,
    is_taken_away: AtomicBool,
}

impl HostGate for Gate {
    fn known(&self, request: &HostRequest) -> Option<HostVerdict> {
        match request.host.split('.').next()? {
            "granted" => Some(HostVerdict::Allowed),
            "denied" => Some(HostVerdict::Refused("a rule".to_owned())),
            "probe" if self.is_taken_away.load(Ordering::Acquire) => {
                Some(HostVerdict::Refused("taken away".to_owned()))
            }
            "probe" => Some(HostVerdict::Refused("still open".to_owned())),
            _ => None,
        }
    }

    fn ask(&self, request: &HostRequest, cancel: &Cancel) -> HostVerdict {
        self.asked.lock().unwrap().push(request.to_string());
        match request.host.split('.').next() {
            Some("no") => HostVerdict::Refused("a person said no".to_owned()),
            Some("slow") => {
                let until = Instant::now() + Duration::from_secs(50);
                while !cancel.is_cancelled() && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(5));
                }
                self.is_taken_away.store(cancel.is_cancelled(), Ordering::Release);
                HostVerdict::Refused("nobody answered".to_owned())
            }
            _ => HostVerdict::Allowed,
        }
    }
}

#[test]
fn the_answer_counts_and_private_addresses_stay_refused() {
    let server = Server::start(HELLO_BACK);
    let port = server.port;
    let place = place(&[], Vec::new());
    let gate = Arc::new(Gate::default());
    place.sandbox.ask_about_hosts(Arc::clone(&gate) as Arc<dyn HostGate>);
    let tunnel = |host: &str| {
        let script = format!(
            "print(say(b'CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n', b'{}'))",
            hello(host)
        );
        let finished = place.finished(&script);
        format!("{}{:?}", finished.stdout.text, finished.notes)
    };
    for (host, said) in [
        ("yes.example", "HELLO BACK"),
        ("granted.example", "HELLO BACK"),
        ("no.example", "a person said no"),
        ("denied.example", "a rule"),
        ("inside.example", "not on the open internet"),
    ] {
        let got = tunnel(host);
        assert!(got.contains(said), "{host}: {got}");
        assert_eq!(got.contains("HELLO BACK"), said == "HELLO BACK", "{host}: {got}");
    }
    let asked = gate.asked.lock().unwrap().clone();
    let expect = ["yes.example", "no.example", "inside.example"].map(|it| format!("{it}:{port}"));
    assert_eq!(asked, expect, "only what rules and grants leave open is asked");
    // The control: without anybody to decide, there is no way out at all.
    let closed = crate::network::place(&[], Vec::new());
    let script = "try:\n    connect()\n    print('open')\nexcept OSError as err:\n    print(err)";
    let got = closed.finished(script).stdout.text;
    assert!(got.contains("refused"), "{got}");
}

#[test]
fn one_question_for_a_host_and_few_for_a_command() {
    let server = Server::start(HELLO_BACK);
    let port = server.port;
    let place = place(&[], Vec::new());
    let gate = Arc::new(Gate::default());
    place.sandbox.ask_about_hosts(Arc::clone(&gate) as Arc<dyn HostGate>);
    let script = format!(
        "import threading\n\
         def one(host): return say(b'CONNECT %s:{port} HTTP/1.1\\r\\n\\r\\n' % host.encode())\n\
         got = []\n\
         def many(host): got.append(one(host))\n\
         all = [threading.Thread(target=many, args=('no.example',)) for _ in range(12)]\n\
         for it in all: it.start()\n\
         for it in all: it.join()\n\
         print(len(got), sum(b'a person said no' in it for it in got))\n\
         for n in range(9): print(one('no.host%d.example' % n))"
    );
    let finished = place.finished(&script);
    let text = finished.stdout.text;
    assert!(text.starts_with("12 12\n"), "{text}");
    assert_eq!(text.matches("a person said no").count(), 4, "{text}");
    assert_eq!(text.matches("has asked about 5 hosts already").count(), 5, "{text}");
    assert_eq!(gate.asked.lock().unwrap().len(), 5);
}

#[test]
fn a_question_that_nobody_waits_for_is_taken_away() {
    let place = place(&[], Vec::new());
    let gate = Arc::new(Gate::default());
    place.sandbox.ask_about_hosts(Arc::clone(&gate) as Arc<dyn HostGate>);
    // The program gives up, and the command goes on.
    let script = "s = connect(); s.sendall(b'CONNECT slow.example:443 HTTP/1.1\\r\\n\\r\\n')\n\
         s.close()\n\
         while b'taken away' not in say(b'CONNECT probe.example:443 HTTP/1.1\\r\\n\\r\\n'): time.sleep(0.02)\n\
         print('gone')";
    assert_eq!(place.finished(script).stdout.text, "gone\n");
    // The command ends.
    gate.is_taken_away.store(false, Ordering::Release);
    let start = Instant::now();
    let script = "s = connect(); s.sendall(b'CONNECT slow.example:443 HTTP/1.1\\r\\n\\r\\n')\n\
         print('sent')";
    assert_eq!(place.finished(script).stdout.text, "sent\n");
    assert!(start.elapsed() < Duration::from_secs(30), "it waited for the answer");
}
