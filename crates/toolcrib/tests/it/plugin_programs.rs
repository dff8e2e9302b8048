//! Programs that others bring: proposed as a folder, approved, called, and confined to what their manifest says.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::scratch::{Ran, Scratch, users};

/// Puts a program into the workspace. `run` is its script.
fn put_program(scratch: &Scratch, name: &str, run: &str, changes: &[(&str, Value)]) {
    let mut manifest = json!({
        "name": name, "version": "1.0.0", "type": "tool", "description": "A tool of a test",
        "provides": {"tool": name}, "command": ["./run"],
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    });
    for (field, value) in changes {
        manifest[*field] = value.clone();
    }
    scratch.put(&format!("{name}/manifest.json"), manifest.to_string());
    scratch.put(&format!("{name}/run"), run);
    let run = scratch.work().join(name).join("run");
    fs::set_permissions(run, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Proposes a program and approves it.
#[track_caller]
fn load(scratch: &Scratch, name: &str) {
    let proposed = scratch.run(["plugins", "propose", name]);
    assert_eq!(proposed.code, 0, "{}", proposed.stderr);
    let approved = scratch.run(["proposals", "approve", name, "--yes"]);
    assert_eq!(approved.code, 0, "{}", approved.stderr);
}

#[test]
fn a_new_program_is_tested_proposed_approved_and_called() {
    for user in users() {
        let scratch = Scratch::of(user);
        let new = scratch.run(["plugins", "new", "count", "--program"]);
        assert_eq!(new.code, 0, "{}", new.stderr);
        let again = scratch.run(["plugins", "new", "count", "--program"]);
        assert!(again.code == 2 && again.stderr.contains("exists"), "{}", again.stderr);
        let tested = scratch.run(["plugins", "test", "count"]);
        assert_eq!(tested.code, 0, "{}{}", tested.stdout, tested.stderr);
        assert!(tested.stdout.contains("2 examples passed"), "{}", tested.stdout);
        let proposed = scratch.run(["plugins", "propose", "count", "--why", "words"]);
        assert_eq!(proposed.code, 0, "{}", proposed.stderr);
        let shown = scratch.run(["proposals", "show", "count"]).stdout;
        for part in
            ["passed: counts words", "manifest.json (", "tool.py (", "can be run", "| serve("]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert_eq!(scratch.call("plugins/count", r#"{"text":"a b"}"#).code, 5, "not loaded yet");
        assert_eq!(scratch.run(["proposals", "approve", "count", "--yes"]).code, 0);
        let called = scratch.call("plugins/count", r#"{"text":"a b"}"#);
        assert_eq!(called.json()["result"], json!({"words": 2}), "{}", called.stderr);
        assert_eq!(scratch.call("count", r#"{"text":1}"#).code, 6);
        let examined = fs::read_dir(scratch.state().join("plugins/examined")).unwrap();
        assert_eq!(examined.count(), 0, "nothing is left of the examination");

        let program = scratch.work().join("count/tool.py");
        let worse = fs::read_to_string(&program).unwrap().replace("split()", "split(' ')");
        fs::write(&program, worse).unwrap();
        let tested = scratch.run(["plugins", "test", "count"]);
        assert!(tested.code == 1 && tested.stdout.contains("FAILED"), "{}", tested.stdout);
        assert_eq!(scratch.run(["plugins", "propose", "count"]).code, 0);
        let shown = scratch.run(["proposals", "show", "count"]).stdout;
        assert!(shown.contains("-|     return") && shown.contains("+|     return"), "{shown}");
        assert!(!shown.contains("class ToolFailure"), "only what changed: {shown}");
        assert_eq!(scratch.run(["proposals", "approve", "count", "--yes"]).code, 0);
        let called = scratch.call("plugins/count", r#"{"text":"a  b"}"#);
        assert_eq!(called.json()["result"], json!({"words": 3}), "{}", called.stderr);
        assert_eq!(scratch.run(["plugins", "rollback", "count"]).code, 0);
        let called = scratch.call("plugins/count", r#"{"text":"a  b"}"#);
        assert_eq!(called.json()["result"], json!({"words": 2}), "{}", called.stderr);
        assert_eq!(scratch.run(["audit", "verify"]).code, 0);
    }
}

#[test]
fn a_program_reaches_its_own_files_and_nothing_else() {
    let script = "#!/usr/bin/env python3\nimport json, os, socket, sys\n\
        request = json.loads(sys.stdin.readline())\n\
        def tried(work):\n    try:\n        return work()\n    except Exception as err:\n        return type(err).__name__\n\
        def connect():\n    socket.create_connection(('1.1.1.1', 53), 1)\n\
        result = {\n\
        'own': tried(lambda: open('data.txt').read()),\n\
        'write': tried(lambda: open('/plugin/new', 'w')),\n\
        'scratch': tried(lambda: open('/tmp/new', 'w').write('x')),\n\
        'workspace': tried(lambda: open(request['text']).read()),\n\
        'connect': tried(connect),\n\
        'environment': sorted(os.environ),\n\
        'state': 'state/plugins' in open('/proc/self/mountinfo').read(),\n\
        'call': len(request['callId']) > 0 and len(request['sessionId']) > 0,\n\
        }\n\
        print(json.dumps({'success': True, 'result': result}))\n";
    for user in users() {
        let scratch = Scratch::of(user);
        put_program(&scratch, "probe", script, &[]);
        scratch.put("probe/data.txt", "mine");
        scratch.put("secret.txt", "not mine");
        load(&scratch, "probe");
        let args = json!({"text": scratch.work().join("secret.txt")}).to_string();
        let called = scratch.call("plugins/probe", &args);
        assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
        let result = called.json()["result"].clone();
        assert_eq!((&result["own"], &result["scratch"]), (&"mine".into(), &1.into()), "{result}");
        assert!(
            ["OSError", "PermissionError"].map(Value::from).contains(&result["write"]),
            "{result}"
        );
        assert_eq!(result["workspace"], "FileNotFoundError", "{result}");
        assert_ne!(result["connect"], Value::Null, "{result}");
        assert_eq!((&result["state"], &result["call"]), (&false.into(), &true.into()), "{result}");
        let environment = json!(["HOME", "LANG", "PATH", "PYTHONDONTWRITEBYTECODE"]);
        let has: Vec<&Value> = result["environment"].as_array().unwrap().iter().collect();
        let more: Vec<_> =
            has.iter().filter(|it| !environment.as_array().unwrap().contains(it)).collect();
        assert!(more.iter().all(|it| **it == &json!("LC_CTYPE")), "{result}");
    }
}

#[test]
fn a_program_gets_no_more_than_the_operator_allows_and_misbehaves_without_harm() {
    let scratch = Scratch::new();
    let good = "#!/bin/bash\necho '{\"success\": true, \"result\": 1}'\n";
    let wide = json!({"network": {"egress": ["api.test"]}});
    put_program(&scratch, "wide", good, &[("capabilities", wide)]);
    let refused = scratch.run(["plugins", "propose", "wide"]);
    assert!(refused.stderr.contains("hosts `api.test`"), "{}", refused.stderr);
    let allowed = scratch.run(["-c", "plugins.hosts=api.test", "plugins", "propose", "wide"]);
    assert_eq!(allowed.code, 0, "{}", allowed.stderr);
    let large = json!({"resources": {"memory": "2GB"}});
    put_program(&scratch, "large", good, &[("capabilities", large)]);
    let refused = scratch.run(["plugins", "propose", "large"]);
    assert!(refused.stderr.contains("bytes of memory"), "{}", refused.stderr);
    let more = ["-c", "plugins.program_memory_bytes=2GiB", "plugins", "propose", "large"];
    assert_eq!(scratch.run(more).code, 0);

    let bomb = "#!/usr/bin/env python3\nx = bytearray(1 << 30)\nprint(len(x))\n";
    put_program(&scratch, "bomb", bomb, &[]);
    put_program(&scratch, "garbage", "#!/bin/bash\necho garbage; echo trouble >&2\n", &[]);
    put_program(&scratch, "slow", "#!/bin/bash\nsleep 60\n", &[]);
    for name in ["bomb", "garbage", "slow"] {
        load(&scratch, name);
    }
    let failed = scratch.call("plugins/bomb", "{}");
    assert!(failed.code != 0 && failed.stdout.contains("bomb"), "{}", failed.stdout);
    let failed = scratch.call("plugins/garbage", "{}");
    assert!(failed.stdout.contains("not JSON"), "{}", failed.stdout);
    let words =
        ["--yes", "-c", "forgekeeper.timeout_ms=500", "call", "plugins/slow", "{}", "--json"];
    let failed = scratch.run(words);
    assert!(failed.stdout.contains("exceeded 500ms"), "{}", failed.stdout);

    // With no approval needed, a program still waits for a person: it is native code.
    let folder = scratch.path("home/.config/toolcrib/tools");
    let place = folder.join("late");
    put_program(&scratch, "late", good, &[]);
    fs::rename(scratch.work().join("late"), &place).unwrap();
    let words = ["-c", "plugins.approval_required=off", "plugins", "reload"];
    let reloaded = scratch.run(words).stdout;
    assert!(reloaded.contains("late  waiting"), "{reloaded}");
    assert!(reloaded.contains("garbage  active"), "{reloaded}");
    let place = place.to_string_lossy().into_owned();
    assert_eq!(scratch.run(["plugins", "propose", &place]).code, 0);
    assert_eq!(scratch.run(["proposals", "approve", "late", "--yes"]).code, 0);
    assert_eq!(scratch.call("plugins/late", "{}").json()["result"], 1);
}

#[test]
fn a_program_keeps_what_it_writes_to_its_volume_and_gets_the_secrets_that_are_allowed() {
    let script = "#!/usr/bin/env python3\nimport json, os, sys\n\
        def tried(work):\n    try:\n        return work()\n    except Exception as err:\n        return type(err).__name__\n\
        before = tried(lambda: open('/data/notes').read())\n\
        wrote = tried(lambda: open('/data/notes', 'a').write('x'))\n\
        result = {'before': before, 'wrote': wrote, 'key': os.environ.get('TEAM_KEY')}\n\
        print(json.dumps({'success': True, 'result': result}))\n";
    let capabilities = |mode: &str| {
        json!({
            "volumes": [{"name": "notes", "path": "/data", "mode": mode}], "secrets": ["TEAM_KEY"],
        })
    };
    let examples = json!([{"args": {}, "about": "on an empty volume"}]);
    for user in users() {
        let scratch = Scratch::of(user);
        let propose = |mode: &str| {
            let changes = [("capabilities", capabilities(mode)), ("examples", examples.clone())];
            put_program(&scratch, "notes", script, &changes);
        };
        propose("rw");
        let refused = scratch.run(["plugins", "propose", "notes"]);
        assert!(refused.stderr.contains("secrets `TEAM_KEY`"), "{}", refused.stderr);
        assert!(refused.stderr.contains("`plugins.secrets`"), "{}", refused.stderr);
        assert_eq!(scratch.run(["config", "set", "plugins.secrets", "TEAM_KEY"]).code, 0);
        load(&scratch, "notes");
        let missing = scratch.call("plugins/notes", "{}");
        assert!(missing.stdout.contains("not set: TEAM_KEY"), "{}", missing.stdout);
        let words = ["--yes", "call", "plugins/notes", "{}", "--json"];
        let result = |count: usize| {
            let mut command = scratch.command();
            let called = command.env("TEAM_KEY", "hunter2222").args(words).output().unwrap();
            let called = Ran::from(called);
            assert_eq!(called.code, 0, "{count}: {}{}", called.stdout, called.stderr);
            called.json()["result"].clone()
        };
        let key = "[secret TEAM_KEY]";
        let first = result(1);
        assert_eq!(first, json!({"before": "FileNotFoundError", "wrote": 1, "key": key}));
        assert_eq!(result(2), json!({"before": "x", "wrote": 1, "key": key}));
        propose("ro");
        load(&scratch, "notes");
        let reads = result(3);
        assert_eq!((&reads["before"], &reads["key"]), (&"xx".into(), &key.into()), "{reads}");
        assert!(["OSError", "PermissionError"].map(Value::from).contains(&reads["wrote"]));
        let record = scratch.run(["audit", "export"]).stdout;
        assert!(record.contains("notes") && !record.contains("hunter2222"));
    }
}
