//! Tools that others bring: proposed, approved, loaded while the server runs, rolled back, and on the record.

use std::thread::ScopedJoinHandle;

use serde_json::{Value, json};

use crate::mcp_client::{McpClient, Protocol};
use crate::running_server::{RunningServer, wait_until};
use crate::scratch::{Scratch, users};

/// Returns a module that replies with what `result` computes from `args`.
fn module(name: &str, result: &str) -> String {
    format!(
        "export const name = {name:?};\n\
         export const description = \"A tool of a test\";\n\
         export const parameters = {{type: \"object\", properties: {{text: {{type: \"string\"}}}}}};\n\
         export async function execute(args, ctx) {{ return {result}; }}\n"
    )
}

fn proposal(name: &str, code: &str) -> Value {
    json!({"name": name, "description": "A tool of a test", "code": code, "reasoning": "a test"})
}

/// The three roles that take part.
struct Roles<'a> {
    server: RunningServer<'a>,
    agent: String,
    approver: String,
    admin: String,
}

impl<'a> Roles<'a> {
    fn start(scratch: &'a Scratch, words: &[&str]) -> Self {
        let server = RunningServer::start_with(scratch, words);
        let [agent, approver, admin] = ["agent", "approver", "admin"].map(|it| server.token(it));
        Self { server, agent, approver, admin }
    }

    fn propose(&self, name: &str, code: &str) -> (u16, Value) {
        self.server.post(&self.agent, "/api/tools/propose", &proposal(name, code))
    }

    /// Proposes a tool and approves it. Returns its version.
    fn load(&self, name: &str, code: &str) -> String {
        let (status, proposed) = self.propose(name, code);
        assert_eq!(status, 200, "{proposed}");
        let path = format!("/api/tools/approve/{name}");
        let (status, approved) = self.server.send(&self.approver, "POST", &path, "", "");
        assert_eq!(status, 200, "{approved}");
        approved["tool"]["version"].as_str().unwrap().to_owned()
    }

    fn execute(&self, tool: &str, args: Value) -> (u16, Value) {
        self.server.execute(&self.agent, tool, args)
    }
}

#[test]
fn an_agent_proposes_a_person_approves_the_agent_calls_and_a_worse_version_is_rolled_back() {
    for user in users() {
        let scratch = Scratch::of(user);
        let roles = Roles::start(&scratch, &[]);
        let good = module("shout", "args.text.toUpperCase()");
        let (status, proposed) = roles.propose("shout", &good);
        assert_eq!(status, 200, "{proposed}");
        let contract = &proposed["proposal"];
        assert!(contract["id"].as_str().unwrap().starts_with("prop_"), "{proposed}");
        assert_eq!(
            (&contract["toolName"], &contract["status"]),
            (&"shout".into(), &"pending".into())
        );
        assert_eq!(proposed["message"], "Tool proposal submitted. Awaiting approval.");
        let (status, early) = roles.execute("shout", json!({"text": "a"}));
        assert_eq!((status, &early["error"]), (404, &"tool_not_found".into()), "{early}");

        let (_, pending) = roles.server.get(&roles.approver, "/api/tools/pending");
        assert_eq!(
            (&pending["count"], &pending["pending"][0]["toolName"]),
            (&1.into(), &"shout".into())
        );
        assert!(
            pending["pending"][0]["codePreview"].as_str().unwrap().contains("shout"),
            "{pending}"
        );
        let approve = "/api/tools/approve/shout";
        let (status, own) = roles.server.send(&roles.agent, "POST", approve, "", "");
        assert_eq!((status, &own["error"]), (403, &"role_not_allowed".into()), "{own}");
        let (status, approved) = roles.server.send(&roles.approver, "POST", approve, "", "");
        assert_eq!(
            (status, &approved["message"]),
            (200, &"Tool approved and written to disk".into())
        );
        assert_eq!(approved["tool"]["status"], "approved", "{approved}");
        let first = approved["tool"]["version"].as_str().unwrap().to_owned();
        assert_eq!(roles.execute("shout", json!({"text": "hi"})).1["result"], "HI");
        let (_, tools) = roles.server.get(&roles.agent, "/api/tools");
        assert!(tools["names"].as_array().unwrap().contains(&"shout".into()), "{tools}");

        let worse = roles.load("shout", &module("shout", "args.text.toShout()"));
        let (status, failed) = roles.execute("shout", json!({"text": "hi"}));
        assert_eq!(status, 422, "{failed}");
        assert!(failed["message"].as_str().unwrap().contains("shout.mjs:4:"), "{failed}");
        let back = "/api/plugins/shout/rollback";
        let (status, rolled) = roles.server.send(&roles.admin, "POST", back, "", "");
        assert_eq!(status, 200, "{rolled}");
        assert!(rolled["version"].as_str().unwrap().starts_with(&first), "{rolled}");
        assert_eq!(roles.execute("shout", json!({"text": "hi"})).1["result"], "HI");

        let (_, stats) = roles.server.get(&roles.admin, "/api/tools/errors/shout");
        assert_eq!(
            (&stats["stats"]["totalCalls"], &stats["stats"]["errors"]),
            (&3.into(), &1.into()),
            "{stats}"
        );
        roles.server.stop();
        let story = scratch.run(["audit", "tail"]).stdout;
        let places: Vec<Option<usize>> =
            ["proposed", "approved", "rolled_back"].map(|step| story.find(step)).into();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{story}");
        assert!(story.contains(&worse), "{story}");
        assert_eq!(scratch.run(["audit", "verify"]).code, 0);
    }
}

#[test]
fn nobody_approves_their_own_proposal_and_an_approval_is_for_what_was_shown() {
    let scratch = Scratch::new();
    let roles = Roles::start(&scratch, &[]);
    let own = proposal("mine", &module("mine", "1"));
    let (status, proposed) = roles.server.post(&roles.admin, "/api/tools/propose", &own);
    assert_eq!(status, 200, "{proposed}");
    let approve = "/api/tools/approve/mine";
    let (status, refused) = roles.server.post(&roles.admin, approve, &json!({}));
    assert_eq!((status, &refused["error"]), (403, &"own_proposal".into()), "{refused}");
    let other = json!({"hash": "0".repeat(64)});
    let (status, refused) = roles.server.post(&roles.approver, approve, &other);
    assert_eq!((status, &refused["error"]), (409, &"changed_since_shown".into()), "{refused}");
    let (status, twice) = roles.propose("mine", &module("mine", "2"));
    assert_eq!((status, &twice["error"]), (409, &"already_pending".into()), "{twice}");
    let shown = json!({"hash": proposed["proposal"]["hash"]});
    let (status, approved) = roles.server.post(&roles.approver, approve, &shown);
    assert_eq!(status, 200, "the control: {approved}");
    let (status, late) = roles.server.post(&roles.approver, "/api/tools/reject/mine", &json!({}));
    assert_eq!((status, &late["error"]), (409, &"proposal_closed".into()), "{late}");
    let (_, next) = roles.propose("mine", &module("mine", "2"));
    assert_eq!(next["ok"], true, "{next}");
    let why = json!({"reason": "one is enough"});
    let (status, rejected) = roles.server.post(&roles.approver, "/api/tools/reject/mine", &why);
    assert_eq!((status, &rejected["tool"]["reason"]), (200, &"one is enough".into()), "{rejected}");
    let (_, told) = roles.server.get(&roles.agent, "/api/tools/pending/mine");
    assert_eq!(told["answer"]["reason"], "one is enough", "the proposer learns why: {told}");
    assert_eq!(roles.execute("mine", json!({})).1["result"], 1);
}

#[test]
fn a_tool_with_faults_is_refused_with_all_of_them() {
    let scratch = Scratch::new();
    let roles = Roles::start(&scratch, &[]);
    let refused = |name: &str, code: &str| {
        let (status, reply) = roles.propose(name, code);
        assert!(matches!(status, 409 | 413 | 422), "{status} {reply}");
        reply
    };
    let syntax = refused("broken", "export const name = ;\n");
    assert_eq!(
        (&syntax["errors"][0]["line"], &syntax["errors"][0]["column"]),
        (&1.into(), &21.into()),
        "{syntax}"
    );
    let missing = refused("empty", "export const name = 'empty';").to_string();
    assert!(missing.contains("description") && missing.contains("parameters"), "{missing}");
    for taken in ["echo", "read_file", "shell"] {
        let reply = refused(taken, &module(taken, "1"));
        assert!(reply.to_string().contains("name_taken"), "{taken}: {reply}");
    }
    // The second letter is Cyrillic.
    refused("sh\u{435}ll", &module("sh\u{435}ll", "1"));
    let asks = module("asks", "1") + "export const permissions = {write: ['.']};\n";
    assert!(refused("asks", &asks).to_string().contains("too_many_permissions"), "{asks}");
    let schema = module("schema", "1").replace("type: \"string\"", "$ref: \"http://x.test/a\"");
    refused("schema", &schema);
    let hidden = module("hidden", "1").replace("A tool of", "A tool\\u{202e} of");
    assert!(refused("hidden", &hidden).to_string().contains("does not see"), "{hidden}");
    refused("large", &("//".to_owned() + &"x".repeat(1 << 20)));
    assert_eq!(roles.propose("fine", &module("fine", "1")).0, 200, "the control");
}

#[test]
fn a_module_reaches_nothing_and_ends_at_its_limits_whatever_it_does() {
    for user in users() {
        let scratch = Scratch::of(user);
        // The deadline of every call below is over after a second.
        let roles = Roles::start(&scratch, &["-c", "forgekeeper.timeout_ms=1000"]);
        let rows = [
            ("endless", "(() => { for (;;) {} })()", 408, "exceeded 1000ms"),
            (
                "caught",
                "(() => { for (;;) { try { for (;;) {} } catch (e) {} } })()",
                408,
                "exceeded",
            ),
            ("native", "Array(2 ** 30).join('x')", 408, ""),
            ("memory", "'x'.repeat(2 ** 29)", 422, "memory"),
            ("stack", "(function f() { return f() + 1; })()", 422, "stack"),
            ("jobs", "(async () => { for (;;) await 0; })()", 408, "exceeded"),
            ("never", "new Promise(() => {})", 422, "settle"),
            ("cycle", "(() => { const a = {}; a.a = a; return a; })()", 422, "circular"),
            ("getter", "({ get a() { throw new Error('no'); } })", 422, "no"),
            ("huge", "'x'.repeat(1e6)", 413, ""),
            ("imports", "import('fs')", 422, "fs"),
            ("sleeps", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", 422, ""),
        ];
        for (name, result, status, part) in rows {
            roles.load(name, &module(name, result));
            let (told, reply) = roles.execute(name, json!({}));
            let text = reply.to_string();
            let is_killed = name == "native" && told == 422 && text.contains("memory");
            assert!(told == status || is_killed, "{name}: {told} {text}");
            assert!(text.contains(part) || is_killed, "{name}: {text}");
        }
        let reach = "[typeof require, typeof process, typeof Deno, typeof fetch, typeof std, \
                     typeof os, typeof WebAssembly, await Promise.all([ctx.read('a'), ctx.write('a', 'b'), \
                     ctx.call('echo', {}), ctx.fetch('https://a.example/')].map(it => it.catch(err => err.code)))]";
        roles.load("reach", &module("reach", reach));
        let none = "undefined";
        let (_, reply) = roles.execute("reach", json!({}));
        assert_eq!(
            reply["result"],
            json!([none, none, none, none, none, none, none, vec!["permission_not_declared"; 4]]),
            "{reply}"
        );
        let pollute = "(Object.prototype.polluted = 1, JSON.stringify = () => 'x', {a: 1})";
        roles.load("pollute", &module("pollute", pollute));
        assert_eq!(roles.execute("pollute", json!({})).1["result"], json!({"a": 1}));
        roles.load("clean", &module("clean", "typeof ({}).polluted"));
        assert_eq!(roles.execute("clean", json!({})).1["result"], "undefined");
    }
}

#[test]
fn a_server_takes_up_what_another_process_approves_and_disables() {
    let scratch = Scratch::new();
    let roles = Roles::start(&scratch, &[]);
    assert_eq!(roles.propose("late", &module("late", "'v1'")).0, 200);
    let ran = scratch.run(["proposals", "approve", "late", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    wait_until(|| roles.execute("late", json!({})).1["result"] == "v1");
    // A client on another machine, which has no such tool, calls it by what the server says of it.
    let url = format!("http://{}", roles.server.address);
    let token = scratch.state().join("first_tokens/agent");
    let remote = ["--server", &url, "--token-file", token.to_str().unwrap()];
    let called = scratch.run([&remote[..], &["call", "plugins/late", "--json"]].concat());
    assert_eq!(called.json()["result"], "v1", "{}", called.stderr);
    assert_eq!(called.stderr, "");
    assert_eq!(scratch.run(["plugins", "disable", "late"]).code, 0);
    wait_until(|| roles.execute("late", json!({})).0 == 404);
    assert_eq!(scratch.run(["plugins", "enable", "late"]).code, 0);
    wait_until(|| roles.execute("late", json!({})).1["result"] == "v1");
}

#[test]
fn the_terminal_takes_a_tool_from_nothing_to_approved() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(["plugins", "new", "count"]).code, 0);
    let again = scratch.run(["plugins", "new", "count"]);
    assert!(again.code == 2 && again.stderr.contains("exists"), "{}", again.stderr);
    let tested = scratch.run(["plugins", "test", "count.mjs"]);
    assert!(tested.code == 0 && tested.stdout.contains("2 examples passed"), "{}", tested.stdout);
    let proposed = scratch.run(["plugins", "propose", "count.mjs", "--why", "words"]);
    assert_eq!(proposed.code, 0, "{}", proposed.stderr);
    let shown = scratch.run(["proposals", "show", "count"]).stdout;
    assert!(shown.contains("passed: counts words") && shown.contains("export async"), "{shown}");
    let unasked = scratch.run(["proposals", "approve", "count"]);
    assert!(unasked.code == 1 && unasked.stderr.contains("no terminal"), "{}", unasked.stderr);
    assert_eq!(scratch.call("plugins/count", r#"{"text":"a b"}"#).code, 5, "not loaded yet");
    assert_eq!(scratch.run(["proposals", "approve", "count", "--yes"]).code, 0);
    let called = scratch.call("plugins/count", r#"{"text":"a b"}"#);
    assert_eq!(called.json()["result"], json!({"words": 2}), "{}", called.stderr);
    let wrong = scratch.call("count", r#"{"text":1}"#);
    assert_eq!(wrong.code, 6, "{}", wrong.stdout);
    let listed = scratch.run(["plugins", "list"]).stdout;
    assert!(listed.contains("plugins/count") && listed.contains("on offer"), "{listed}");
}

#[test]
fn a_file_that_nobody_approved_waits_and_one_that_was_changed_does_not_run() {
    let scratch = Scratch::new();
    let folder = scratch.path("home/.config/toolcrib/tools");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("sneaky.mjs"), module("sneaky", "1")).unwrap();
    let roles = Roles::start(&scratch, &[]);
    let (status, reloaded) = roles.server.send(&roles.admin, "POST", "/api/tools/reload", "", "");
    assert_eq!(status, 200, "{reloaded}");
    assert_eq!(reloaded["waiting"][0]["name"], "sneaky", "{reloaded}");
    assert_eq!(roles.execute("sneaky", json!({})).0, 404);
    let write = json!({"name": "sneaky", "code": module("sneaky", "1")});
    let (status, refused) = roles.server.post(&roles.admin, "/api/tools/write", &write);
    assert_eq!((status, &refused["error"]), (403, &"approval_required".into()), "{refused}");
    roles.load("good", &module("good", "1"));
    std::fs::write(folder.join("good.mjs"), module("good", "2")).unwrap();
    let (_, reloaded) = roles.server.send(&roles.admin, "POST", "/api/tools/reload", "", "");
    assert_eq!(reloaded["waiting"].as_array().unwrap().len(), 2, "{reloaded}");
    assert_eq!(roles.execute("good", json!({})).1["result"], 1, "the approved version runs");
}

#[test]
fn without_approval_a_harmless_tool_is_written_and_one_with_permissions_is_not() {
    let scratch = Scratch::new();
    let mut command = scratch.command();
    command.env("TOOLS_APPROVAL_REQUIRED", "0");
    let log = std::fs::File::create(scratch.path("log")).unwrap();
    let server = RunningServer::over(&scratch, command, log.into());
    let (admin, agent) = (server.token("admin"), server.token("agent"));
    let code = module("free", "1");
    let write = json!({"name": "free", "code": code});
    let (status, written) = server.post(&admin, "/api/tools/write", &write);
    assert_eq!((status, &written["bytes"]), (200, &code.len().into()), "{written}");
    assert_eq!(server.execute(&agent, "free", json!({})).1["result"], 1);
    let asks = module("asks", "1") + "export const permissions = {read: ['.']};\n";
    let (status, refused) =
        server.post(&admin, "/api/tools/write", &json!({"name": "asks", "code": asks}));
    assert_eq!((status, &refused["error"]), (403, &"approval_required".into()), "{refused}");
}

#[test]
fn what_a_module_uses_is_what_it_declared_and_each_use_is_a_call_on_the_record() {
    let scratch = Scratch::new();
    scratch.put("logs/app.log", "one\ntwo\n");
    scratch.put("secret.txt", "no");
    std::os::unix::fs::symlink("../secret.txt", scratch.work().join("logs/link")).unwrap();
    let settings =
        ["-c", "plugins.write=out", "-c", "plugins.tools=forgekeeper/echo", "--mode", "permissive"];
    let roles = Roles::start(&scratch, &settings);
    let tried =
        "await ctx[args.use](...JSON.parse(args.text)).catch((e) => e.code + ': ' + e.message)";
    let code = module("uses", tried)
        .replace("properties: {", "properties: {use: {type: \"string\"}, ")
        + "export const permissions = {read: ['logs'], write: ['out'], tools: ['forgekeeper/echo']};\n";
    roles.load("uses", &code);
    let used = |kind: &str, args: Value| {
        let (status, reply) = roles.execute("uses", json!({"use": kind, "text": args.to_string()}));
        assert_eq!(status, 200, "{kind} {args}: {reply}");
        reply["result"].clone()
    };
    assert_eq!(used("read", json!(["logs/app.log"])), "one\ntwo\n");
    let long = "a line of a log that is long enough\n".repeat(1500);
    scratch.put("logs/long.log", &long);
    assert!(used("read", json!(["logs/long.log"])) == *long, "a long file comes whole");
    assert_eq!(used("call", json!(["forgekeeper/echo", {"text": "hi"}]))["result"]["text"], "hi");
    used("write", json!(["out/a.txt", "made"]));
    assert_eq!(scratch.text("out/a.txt"), "made");
    for (kind, args) in [
        ("read", json!(["secret.txt"])),
        ("read", json!(["logs/../secret.txt"])),
        ("read", json!(["logs/link"])),
        ("read", json!(["logs/$'..'/secret.txt"])),
        ("read", json!(["logs/$'link'"])),
        ("write", json!(["out/$'..'/pwned.txt", "x"])),
        ("write", json!(["logs/app.log", "x"])),
        ("call", json!(["clemini/bash", {"command": "id"}])),
    ] {
        let told = used(kind, args.clone()).to_string();
        assert!(told.contains("permission_not_declared"), "{kind} {args}: {told}");
    }
    assert!(used("read", json!(["logs/none"])).to_string().contains("not_found"));
    assert!(used("read", json!([7])).to_string().contains("bad_args"));
    let (_, made) = roles.server.get(&roles.admin, "/api/audit?tool=forgekeeper/echo");
    let call = made["calls"][0]["call"].as_str().unwrap().to_owned();
    let (_, story) = roles.server.get(&roles.admin, &format!("/api/audit/{call}"));
    assert_eq!(
        (&story["call"]["door"], &story["call"]["principal"]),
        (&"plugin".into(), &"agent".into()),
        "{story}"
    );
    assert!(story.to_string().contains("plugins/uses"), "{story}");
}

#[test]
fn an_agent_proposes_with_a_tool_and_mcp_clients_are_told_of_the_new_one() {
    let scratch = Scratch::new();
    let off = scratch.call("plugins/propose_tool", "{}");
    assert_eq!(off.code, 3, "without the setting it is not on offer: {}", off.stdout);
    let on = ["-c", "plugins.self_update=on"];
    let mut client = McpClient::start(&scratch, Protocol::Session, json!({}), &on);
    let names = |client: &mut McpClient| -> Vec<String> {
        let listed = client.request("tools/list", json!({}))["result"]["tools"].clone();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        listed.as_array().unwrap().iter().map(name).collect()
    };
    assert!(names(&mut client).contains(&"propose_tool".to_owned()));
    let refused = client.call("propose_tool", proposal("told", "export const name = ;"));
    assert!(
        refused["isError"] == true && refused.to_string().contains("told.mjs:1:21"),
        "{refused}"
    );
    let proposed =
        client.call("propose_tool", proposal("told", &module("told", "args.text + '!'")));
    assert!(proposed["isError"] == false && proposed.to_string().contains("prop_"), "{proposed}");
    assert!(!names(&mut client).contains(&"told".to_owned()));
    assert_eq!(scratch.run(["proposals", "approve", "told", "--yes"]).code, 0);
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    assert!(names(&mut client).contains(&"told".to_owned()));
    let called = client.call("told", json!({"text": "hi"}));
    assert!(called.to_string().contains("hi!"), "{called}");
}

#[test]
fn modules_that_call_modules_do_not_wait_for_each_other() {
    let scratch = Scratch::new();
    let settings =
        ["-c", "plugins.workers=2", "-c", "plugins.tools=plugins/inner", "--mode", "permissive"];
    let roles = Roles::start(&scratch, &settings);
    roles.load("inner", &module("inner", "1"));
    let busy = "[...Array(200000).keys()].length && (await ctx.call('plugins/inner', {})).result";
    let code = module("outer", busy) + "export const permissions = {tools: ['plugins/inner']};\n";
    roles.load("outer", &code);
    let replies: Vec<(u16, Value)> = std::thread::scope(|scope| {
        let calls: Vec<_> =
            (0..8).map(|_| scope.spawn(|| roles.execute("outer", json!({})))).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    for (status, reply) in replies {
        assert_eq!((status, &reply["result"]), (200, &1.into()), "{reply}");
    }
}

#[test]
fn proposals_with_endless_examples_take_no_worker_from_calls() {
    let scratch = Scratch::new();
    let roles = Roles::start(&scratch, &["-c", "plugins.workers=1"]);
    roles.load("quick", &module("quick", "1"));
    let endless = |name: &str| {
        module(name, "(() => { for (;;) {} })()")
            + "export const examples = Array(32).fill({about: 'never ends', args: {}});\n"
    };
    std::thread::scope(|scope| {
        let proposals: Vec<_> = ["slow_a", "slow_b"]
            .map(|name| scope.spawn(|| roles.propose(name, &endless(name))))
            .into();
        while !proposals.iter().all(ScopedJoinHandle::is_finished) {
            assert_eq!(roles.execute("quick", json!({})).1["result"], 1);
        }
        for proposal in proposals {
            let (status, reply) = proposal.join().unwrap();
            let told = reply.to_string();
            // The second one may find the examination busy.
            assert!(
                status == 200 && told.contains("took too long") || status == 503,
                "{status} {told}"
            );
        }
    });
}
