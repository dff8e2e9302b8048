//! Commands that go on after their call.

use serde_json::{Value, json};

use crate::ground::{Session, eventually, for_all, inside, processes_with, sleepers};

fn start(session: &mut Session, command: &str) -> String {
    let args = json!({"command": command, "run_in_background": true});
    let reply = session.call("clemini/bash", args);
    assert_eq!(reply["status"], "running", "{reply}");
    reply["task_id"].as_str().unwrap().to_owned()
}

fn look(session: &mut Session, id: &str, wait: bool) -> Value {
    session.call("clemini/task_output", json!({"task_id": id, "wait": wait, "timeout": 20}))
}

#[test]
fn a_task_runs_ends_and_is_remembered() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &[]);
        let id = start(
            &mut session,
            "echo begun; while ! [ -e go ]; do sleep 0.01; done; echo ended; exit 3",
        );
        eventually("its first line", || look(&mut session, &id, false)["stdout"] == "begun\n");
        let waited = json!({"task_id": id, "wait": true, "timeout": 0});
        assert_eq!(session.call("clemini/task_output", waited)["status"], "running");
        scratch.put("go", "");
        let over = look(&mut session, &id, true);
        assert_eq!(over["status"], "completed");
        assert_eq!(
            (&over["exit_code"], &over["stdout"]),
            (&3.into(), &"begun\nended\n".into()),
            "{over}"
        );
        let killed = session.call("clemini/kill_shell", json!({"task_id": id}));
        assert_eq!(killed["status"], "already_completed");
        // By signal, it reports 128 and its number.
        let id = start(&mut session, "kill -TERM $$");
        assert_eq!(look(&mut session, &id, true)["exit_code"], 143);
        session.end();
        // Another process knows it, too.
        let mut session = Session::start(scratch, &[]);
        let known = look(&mut session, &id, false);
        assert_eq!(
            (&known["status"], &known["exit_code"]),
            (&"completed".into(), &143.into()),
            "{known}"
        );
        session.end();
    });
}

#[test]
fn a_single_call_says_that_it_cannot_leave_a_command_running_before_anyone_is_asked() {
    for_all(|scratch| {
        for args in [
            json!({"command": "touch ran", "run_in_background": true}),
            json!({"command": "touch ran", "on_timeout": "keep"}),
        ] {
            let words = ["call", "--park", "clemini/bash", &args.to_string(), "--json"];
            let got = scratch.run(words);
            let reply = got.json();
            assert_eq!(reply["error_code"], "INVALID_ARGUMENT", "{args}: {reply}");
            assert!(
                reply["error"].as_str().unwrap().contains("cannot run a command in the background")
            );
            let hint = reply["context"]["hint"].as_str().unwrap();
            assert!(hint.contains("toolcrib call --batch"), "{reply}");
        }
        assert!(!scratch.work().join("ran").exists());
        let mut session = Session::start(scratch, &[]);
        let id = start(&mut session, "echo the control");
        assert_eq!(look(&mut session, &id, true)["stdout"], "the control\n");
        session.end();
    });
}

#[test]
fn killing_a_task_ends_all_of_it() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &[]);
        let marker = format!("{}.7", 200_000 + session.id());
        let id =
            start(&mut session, &format!("echo begun; (setsid sleep {marker} &); sleep {marker}"));
        eventually("its processes", || sleepers(&marker).len() == 2);
        let reply = session.call("clemini/kill_shell", json!({"task_id": id}));
        assert_eq!(reply, json!({"task_id": id, "status": "killed", "success": true}));
        assert!(processes_with(&marker).is_empty());
        let over = look(&mut session, &id, false);
        assert_eq!(
            (&over["status"], &over["stdout"]),
            (&"killed".into(), &"begun\n".into()),
            "{over}"
        );
        assert_eq!(
            session.call("clemini/kill_shell", json!({"task_id": id}))["status"],
            "already_completed"
        );
        session.end();
    });
}

#[test]
fn a_task_does_not_outlive_us_and_its_id_does() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &[]);
        let marker = format!("{}.8", 200_000 + session.id());
        let id = start(&mut session, &format!("echo begun; sleep {marker}"));
        eventually("its process", || !sleepers(&marker).is_empty());
        // While it runs, another process says so, and cannot end it.
        let mut other = Session::start(scratch, &[]);
        assert_eq!(look(&mut other, &id, false)["status"], "running");
        let refused = other.call("clemini/kill_shell", json!({"task_id": id}));
        assert!(refused["error"].as_str().unwrap().contains("another process"), "{refused}");
        other.end();
        session.kill();
        eventually("its end", || processes_with(&marker).is_empty());
        let mut session = Session::start(scratch, &[]);
        let lost = look(&mut session, &id, true);
        assert_eq!(
            (&lost["status"], &lost["stdout"]),
            (&"ended, unknown".into(), &"begun\n".into()),
            "{lost}"
        );
        assert_eq!(
            session.call("clemini/kill_shell", json!({"task_id": id}))["status"],
            "already_completed"
        );
        // Ended in good order, it was killed.
        let id = start(&mut session, "sleep 1000");
        session.end();
        let mut session = Session::start(scratch, &[]);
        assert_eq!(look(&mut session, &id, false)["status"], "killed");
        session.end();
        inside(scratch, "true");
        assert!(!scratch.work().join(".toolcrib").exists());
    });
}

#[test]
fn a_command_whose_time_is_up_can_go_on_as_a_task() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &[]);
        // On a busy machine it may not have begun within the second.
        let kept = [1, 5, 25, 60].into_iter().map(|seconds| {
            let command = "echo begun; while ! [ -e go ]; do sleep 0.01; done; echo ended";
            let args = json!({"command": command, "timeout_seconds": seconds,
                "on_timeout": "keep"});
            session.call("clemini/bash", args)
        });
        let kept = kept.into_iter().find(|kept| kept["stdout"] != "").unwrap();
        assert_eq!(
            (&kept["status"], &kept["stdout"]),
            (&"running".into(), &"begun\n".into()),
            "{kept}"
        );
        scratch.put("go", "");
        let over = look(&mut session, kept["task_id"].as_str().unwrap(), true);
        assert_eq!(
            (&over["status"], &over["stdout"]),
            (&"completed".into(), &"begun\nended\n".into()),
            "{over}"
        );
        let quick = json!({"command": "echo quick", "timeout_seconds": 20, "on_timeout": "keep"});
        assert_eq!(session.call("clemini/bash", quick)["stdout"], "quick\n");
        session.end();
    });
}

#[test]
fn many_tasks_leave_no_descriptors() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &["-c", "sandbox.tasks=40"]);
        session.bash("true");
        let descriptors = |session: &Session| {
            std::fs::read_dir(format!("/proc/{}/fd", session.id())).unwrap().count()
        };
        let before = descriptors(&session);
        let mut last = String::new();
        for number in 0..40 {
            last = start(&mut session, &format!("echo {number}"));
        }
        look(&mut session, &last, true);
        eventually("the descriptors' end", || descriptors(&session) <= before + 2);
        session.end();
    });
}

#[test]
fn others_are_told_when_a_task_ends() {
    use toolcrib_core::command::{CommandRequest, End, OnTimeout, Shell};
    use toolcrib_core::{CallId, Commands};

    let place = crate::network::place(&[], Vec::new());
    let (tell, told) = std::sync::mpsc::channel();
    place.sandbox.sandbox.on_task_end(Box::new(move |ended| {
        let _ = tell.send((ended.call.0.clone(), ended.end));
    }));
    for (id, script, end) in
        [("A", "exit 3", End::Exited(3)), ("B", "kill -TERM $$", End::Signalled(15))]
    {
        let request = CommandRequest {
            call: CallId(id.to_owned()),
            shell: Shell::Bash,
            text: script.to_owned(),
            directory: None,
            time: std::time::Duration::from_mins(1),
            on_timeout: OnTimeout::Kill,
            keep: 1000,
            rest_hint: "",
            is_read_only: true,
        };
        place.sandbox.start(&request).unwrap();
        let heard = told.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
        assert_eq!(heard, (id.to_owned(), end));
    }
    place.sandbox.sandbox.close();
}

#[test]
fn what_tasks_used_is_on_the_record() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &[]);
        let busy = start(&mut session, "i=0; while ((i < 300000)); do ((i++)); done; exit 3");
        look(&mut session, &busy, true);
        let cut = start(&mut session, "sleep 1000");
        session.end();
        let of = |id: &str, event: &str| {
            let lines = scratch.record();
            let mut found =
                lines.into_iter().filter(|line| line["trace_id"] == id && line["event"] == event);
            let line = found.next().unwrap_or_else(|| panic!("no {event} of {id}"));
            assert!(found.next().is_none(), "twice: {event} of {id}");
            line
        };
        let ended = of(&busy, "task_ended");
        assert_eq!(ended["name"], "bash");
        assert_eq!(ended["end"], json!({"exited": 3}));
        assert_eq!(ended["conv_id"], of(&busy, "ended")["conv_id"]);
        let cpu = |line: &Value| line["used"]["cpu_us"].as_u64().unwrap();
        assert!(cpu(&ended) > 50_000, "{ended}");
        assert!(cpu(&of(&busy, "ended")) < cpu(&ended), "the call itself only started it");
        // One that we ended with ourselves is told too.
        assert_eq!(of(&cut, "task_ended")["end"], "killed");
    });
}

#[test]
fn a_task_and_its_output_belong_to_their_workspace() {
    for_all(|scratch| {
        scratch.put_at("other/file", "");
        let other = scratch.path("other").display().to_string();
        let mut session = Session::start(scratch, &[]);
        let ended = start(&mut session, "echo SECRET; seq 100000");
        look(&mut session, &ended, true);
        let running = start(&mut session, "echo SECRET; sleep 1000");
        eventually("its output", || look(&mut session, &running, false)["stdout"] == "SECRET\n");
        let read = |id: &str| json!({"task_id": id, "from_line": 1, "line_count": 1});
        let mut there = Session::start(scratch, &["-C", &other]);
        for id in [&ended, &running] {
            let refusals = [
                look(&mut there, id, false),
                there.call("clemini/task_output", read(id)),
                there.call("clemini/kill_shell", json!({"task_id": id})),
            ];
            for refused in refusals {
                assert_eq!(refused["error_code"], "NOT_FOUND", "{refused}");
                assert!(refused.to_string().contains("another workspace"), "{refused}");
                assert!(!refused.to_string().contains("SECRET"), "{refused}");
            }
            // The control: in its own workspace another process reads it, and a person reads it anywhere.
            let mut same = Session::start(scratch, &[]);
            let shown = same.call("clemini/task_output", read(id));
            assert_eq!(shown["stdout"], "SECRET\n", "{shown}");
            same.end();
            let printed = scratch.run(["-C", &other, "output", id, "--lines", "1"]);
            assert_eq!(printed.stdout, "SECRET\n", "{}", printed.stderr);
        }
        there.end();
        session.end();
    });
}

fn write(session: &mut Session, path: &str) -> String {
    session.call("clemini/write_file", json!({"file_path": path, "content": "x"})).to_string()
}

#[test]
fn bytes_of_a_task_count_when_it_ends() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &["-c", "policy.session_bytes=5000000"]);
        // What Toolcrib itself writes for its first command counts too, and is far less.
        let command = "head -c 10000000 /dev/zero > big; touch written; \
                       while ! [ -e go ]; do sleep 0.01; done";
        let id = start(&mut session, command);
        eventually("the file", || scratch.work().join("written").exists());
        let during = write(&mut session, "a");
        assert!(!during.contains("a session may write"), "the control: {during}");
        scratch.put("go", "");
        let over = look(&mut session, &id, true);
        assert_eq!(over["status"], "completed", "{over}");
        // The task is over a moment before its bytes are counted.
        eventually("the refusal", || write(&mut session, "b").contains("this one has written"));
        session.end();
    });
}

#[test]
fn so_many_tasks_run_at_once_and_no_more() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &["-c", "sandbox.tasks=2"]);
        let (first, second) = (start(&mut session, "sleep 600"), start(&mut session, "sleep 600"));
        for args in [
            json!({"command": "touch ran", "run_in_background": true}),
            json!({"command": "touch ran", "on_timeout": "keep"}),
        ] {
            let reply = session.call("clemini/bash", args);
            let error = reply["error"].as_str().unwrap_or_default();
            assert!(error.contains("2 commands run in the background"), "{reply}");
            let hint = reply["context"]["hint"].as_str().unwrap_or_default();
            assert!(hint.contains("clemini/kill_shell") && hint.contains(&first), "{reply}");
            assert_eq!(reply["context"]["tasks"].as_array().map(Vec::len), Some(2), "{reply}");
        }
        assert!(!scratch.work().join("ran").exists());
        // Other commands run, and so does the next task when one has ended.
        let reply = session.call("clemini/bash", json!({"command": "echo the control"}));
        assert_eq!(reply["stdout"], "the control\n", "{reply}");
        session.call("clemini/kill_shell", json!({"task_id": second}));
        start(&mut session, "sleep 600");
        session.end();
    });
}
