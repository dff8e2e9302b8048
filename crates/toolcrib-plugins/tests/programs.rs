//! Programs as tools, in processes without a sandbox: what they answer, and what they should not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_core::command::{End, Usage};
use toolcrib_core::worker::{
    FolderAccess, StartedWorker, WorkerControl, WorkerEnd, WorkerProgram, WorkerRequest, Workers,
};
use toolcrib_core::{Cancel, ErrorKind, Limits, LoadedTool, ToolError};
use toolcrib_plugins::program_files::ProgramFiles;
use toolcrib_plugins::program_pool::{ProgramLimits, ProgramPlaces, ProgramPool, ProgramReach};
use toolcrib_plugins::program_run::ProgramResources;
use toolcrib_plugins::program_tool::{ProgramCall, ProgramTool};
use toolcrib_plugins::secret_values::SecretValues;

/// Starts programs as plain processes in their own folder, and keeps what was asked for.
#[derive(Default)]
struct PlainProcesses {
    requests: Mutex<Vec<WorkerRequest>>,
    controls: Mutex<Vec<Arc<PlainControl>>>,
}

struct PlainControl(Mutex<(Child, Option<WorkerEnd>)>);

impl PlainProcesses {
    fn started(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    fn alive(&self) -> usize {
        self.controls.lock().unwrap().iter().filter(|control| control.end().is_none()).count()
    }
}

impl Workers for PlainProcesses {
    fn start(&self, request: &WorkerRequest) -> Result<StartedWorker, ToolError> {
        self.requests.lock().unwrap().push(request.clone());
        let WorkerProgram::Command { words, directory } = &request.program else {
            return Err(ToolError::new(ErrorKind::Failed, "a program is a command"));
        };
        let folder = &request.folders[0];
        assert_eq!((directory.as_str(), folder.target.as_str()), ("/plugin", "/plugin"));
        assert_eq!(folder.access, FolderAccess::Copy);
        let program = words[0].replace("/plugin/", &format!("{}/", folder.source));
        let mut command = Command::new(program);
        command.args(&words[1..]).current_dir(&folder.source).env_clear();
        command.envs(request.environment.iter().map(|(name, value)| (name, value)));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let control = Arc::new(PlainControl(Mutex::new((child, None))));
        self.controls.lock().unwrap().push(Arc::clone(&control));
        Ok(StartedWorker { input: input.into(), output: output.into(), control })
    }
}

impl WorkerControl for PlainControl {
    fn kill(&self) {
        let mut guard = self.0.lock().unwrap();
        if guard.1.is_none() {
            guard.0.kill().unwrap();
            guard.0.wait().unwrap();
            guard.1 = Some(WorkerEnd { end: End::Killed, limit: None });
        }
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }

    fn printed(&self) -> String {
        "what it printed".to_owned()
    }

    fn end(&self) -> Option<WorkerEnd> {
        let mut guard = self.0.lock().unwrap();
        if guard.1.is_none()
            && let Some(status) = guard.0.try_wait().unwrap()
        {
            let end = status.code().map_or(End::Killed, End::Exited);
            guard.1 = Some(WorkerEnd { end, limit: None });
        }
        guard.1
    }
}

/// A program in a folder, and the pool that runs it.
struct ProgramBench {
    folder: TempDir,
    processes: Arc<PlainProcesses>,
    pool: Arc<ProgramPool>,
}

impl ProgramBench {
    fn new() -> Self {
        let processes = Arc::<PlainProcesses>::default();
        let limits = ProgramLimits {
            processes: 2,
            most_resources: ProgramResources { memory_bytes: 128 << 20, cpus: 2.0 },
            most_volume_bytes: 1 << 20,
            security_mode: "standard".to_owned(),
        };
        let secrets = [("KEY", "hunter2222"), ("OTHER", "unasked for")];
        let secrets = secrets.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let workers = Arc::clone(&processes) as Arc<dyn Workers>;
        let pool = ProgramPool::new(workers, limits, SecretValues::new(secrets));
        Self { folder: tempfile::tempdir().unwrap(), processes, pool }
    }

    fn write(&self, mode: &str, script: &str, secrets: &[&str]) -> PathBuf {
        let folder = self.folder.path().join("tool");
        fs::create_dir_all(&folder).unwrap();
        let manifest = json!({
            "name": "team-tool", "version": "1.0.0", "type": "tool", "description": "A tool.",
            "provides": {"tool": "tool"}, "command": ["./run", "word"], "mode": mode,
            "capabilities": {"network": {"egress": ["api.test"]}, "secrets": secrets},
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
            "output": {"type": "object"},
        });
        fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
        fs::write(folder.join("run"), script).unwrap();
        fs::set_permissions(folder.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    /// Makes a tool of a program with this script.
    fn tool(&self, mode: &str, script: &str) -> Arc<ProgramTool> {
        self.tool_with(mode, script, &[])
    }

    fn tool_with(&self, mode: &str, script: &str, secrets: &[&str]) -> Arc<ProgramTool> {
        let folder = self.write(mode, script, secrets);
        let manifest = ProgramFiles::read(&folder).unwrap().manifest().unwrap();
        let pool = Arc::clone(&self.pool);
        let volumes = self.folder.path().join("volumes");
        let places = ProgramPlaces { files: &folder, volumes: &volumes };
        ProgramTool::new("0123456789ab", &manifest, places, ProgramReach::Declared, pool).unwrap()
    }

    fn once(&self, body: &str) -> Arc<ProgramTool> {
        self.tool("once", &format!("#!/bin/bash\n{body}\n"))
    }

    /// Makes a tool that stays up. `body` answers `execute` in Python, where `tell` prints a line, `id` is the id of
    /// the request, and `count` says which call of the process it is.
    fn resident(&self, body: &str) -> Arc<ProgramTool> {
        let script = format!(
            "#!/usr/bin/env python3\nimport sys, json, time, os\ncount = 0\n\
             def tell(value):\n    print(json.dumps(value), flush=True)\n\
             for line in sys.stdin:\n    request = json.loads(line)\n    id, params = request['id'], request['params']\n\
             \x20   if request['method'] == 'initialize':\n        config = params\n        tell({{'id': id}})\n\
             \x20   elif request['method'] == 'validate':\n        bad = params.get('text') == 'bad'\n        \
             tell({{'id': id, 'result': {{'valid': not bad, 'errors': ['text is bad'] if bad else []}}}})\n\
             \x20   elif request['method'] == 'healthCheck':\n        tell({{'id': id, 'result': {{'healthy': count < 2, 'error': 'worn out'}}}})\n\
             \x20   else:\n        count += 1\n        text = params.get('text', '')\n        \
             good = {{'id': id, 'result': {{'success': True, 'result': {{'text': text, 'count': count}}}}}}\n        {body}\n"
        );
        self.tool("resident", &script)
    }
}

fn run(tool: &ProgramTool, args: Value) -> Result<Value, ToolError> {
    run_for(tool, args, 30_000)
}

fn run_for(tool: &ProgramTool, args: Value, deadline_ms: u64) -> Result<Value, ToolError> {
    let limits = Limits { deadline_ms, output_bytes: 10_000 };
    let call = ProgramCall { session: "s1", call: "c1" };
    tool.run(&args, call, limits, &Cancel::default())
}

#[test]
fn a_program_that_runs_once_reads_one_request_and_answers() {
    let bench = ProgramBench::new();
    let tool = bench.once(
        r#"read -r line; cat > /dev/null; printf '{"success": true, "result": {"request": %s, "word": "%s"}}' "$line" "$1""#,
    );
    let reply = run(&tool, json!({"text": "hi"})).unwrap();
    let request = json!({"text": "hi", "sessionId": "s1", "callId": "c1"});
    assert_eq!(reply, json!({"request": request, "word": "word"}));
    assert_eq!((bench.processes.alive(), bench.pool.running()), (0, 0));
    let asked = bench.processes.requests.lock().unwrap()[0].clone();
    assert_eq!(asked.hosts, ["api.test"]);
    assert_eq!((asked.limits.memory, asked.limits.cpus), (128 << 20, 1.0), "the maximum holds");
    let args = json!({"text": 1});
    assert_eq!(tool.parse(&args).err().unwrap().kind, ErrorKind::BadArgs, "and nothing is started");
    assert_eq!(bench.processes.started(), 1);
}

#[test]
fn every_bad_answer_of_a_program_that_runs_once_is_told_and_the_next_call_works() {
    let bench = ProgramBench::new();
    let good = r#"{"success": true, "result": {}}"#;
    let fails = [
        ("echo garbage".to_owned(), ErrorKind::Failed, "its answer is not JSON"),
        (format!("echo '{good}'; echo '{good}'"), ErrorKind::Failed, "answered more than once"),
        ("exit 3".to_owned(), ErrorKind::Failed, "exited with code 3, and gave no answer"),
        ("echo '{}'".to_owned(), ErrorKind::Failed, "no `success`"),
        ("echo '[1]'".to_owned(), ErrorKind::Failed, "no `success`"),
        (r#"echo '{"success": true}'"#.to_owned(), ErrorKind::Failed, "does not fit its `output`"),
        ("yes | head -c 200000".to_owned(), ErrorKind::OutputTooLarge, "longer than 10000 bytes"),
        ("exec sleep 60".to_owned(), ErrorKind::Timeout, "ran longer than 300 ms"),
        (
            r#"echo '{"success": false, "error": {"code": "NO_LUCK", "message": "no luck"}}'"#
                .to_owned(),
            ErrorKind::Failed,
            "tool: no luck",
        ),
    ];
    for (body, kind, words) in fails {
        let time = if kind == ErrorKind::Timeout { 300 } else { 30_000 };
        let err = run_for(&bench.once(&body), json!({}), time).unwrap_err();
        assert_eq!(err.kind, kind, "{body}: {err:?}");
        assert!(err.message.contains(words), "{body}: {}", err.message);
        assert_eq!((bench.processes.alive(), bench.pool.running()), (0, 0), "{body}");
    }
    let failed = run(&bench.once("exit 3"), json!({})).unwrap_err();
    assert_eq!(failed.context["stderr"], "what it printed");
    assert_eq!(run(&bench.once(&format!("echo '{good}'")), json!({})).unwrap(), json!({}));
}

#[test]
fn a_resident_program_stays_up_and_knows_its_configuration() {
    let bench = ProgramBench::new();
    let tool = bench.resident("good['result']['result']['config'] = config\n        tell(good)");
    for count in 1..=3 {
        let reply = run(&tool, json!({"text": "hi"})).unwrap();
        assert_eq!((&reply["text"], &reply["count"]), (&"hi".into(), &count.into()));
        let config = &reply["config"];
        assert_eq!((&config["config"], &config["secrets"]), (&json!({}), &json!({})));
        assert_eq!(config["securityMode"], "standard");
        assert_eq!(config["limits"]["maxMemory"], 128 << 20);
    }
    assert_eq!((bench.processes.started(), bench.pool.running()), (1, 1));
    let invalid = run(&tool, json!({"text": "bad"})).unwrap_err();
    assert_eq!((invalid.kind, invalid.message.as_str()), (ErrorKind::BadArgs, "tool: text is bad"));
    assert_eq!(bench.processes.started(), 1, "the process is as good as before");
    let unwell = tool.check_health(&Cancel::default()).unwrap_err();
    assert!(unwell.message.contains("worn out"), "{}", unwell.message);
    drop(tool);
    assert_eq!((bench.processes.alive(), bench.pool.running()), (0, 0), "it goes with its tool");
    let tool = bench.resident("tell(good)");
    assert!(tool.check_health(&Cancel::default()).is_ok());
    bench.pool.close();
    assert_eq!(bench.processes.alive(), 0);
    assert_eq!(run(&tool, json!({})).unwrap_err().kind, ErrorKind::Unavailable);
}

#[test]
fn every_bad_answer_of_a_resident_program_ends_it_and_the_next_call_works() {
    let fails = [
        ("print('garbage', flush=True)", ErrorKind::Failed, "not JSON"),
        ("tell({'id': 'other', 'result': good['result']})", ErrorKind::Failed, "another request"),
        ("tell(good['result'])", ErrorKind::Failed, "another request, or none"),
        ("sys.exit(4)", ErrorKind::Failed, "exited with code 4"),
        ("time.sleep(60)", ErrorKind::Timeout, "ran longer than"),
        ("print('x' * 200000, flush=True)", ErrorKind::OutputTooLarge, "longer than 10000"),
        ("tell({'id': id, 'error': {'message': 'broke'}})", ErrorKind::Failed, "failed: broke"),
        ("tell({'id': id, 'result': 1})", ErrorKind::Failed, "no `success`"),
    ];
    for (body, kind, words) in fails {
        let bench = ProgramBench::new();
        let body = format!(
            "if text == 'fail':\n            {body}\n        else:\n            tell(good)"
        );
        let tool = bench.resident(&body);
        run(&tool, json!({})).unwrap();
        let time = if kind == ErrorKind::Timeout { 500 } else { 30_000 };
        let err = run_for(&tool, json!({"text": "fail"}), time).unwrap_err();
        assert_eq!(err.kind, kind, "{body}: {err:?}");
        assert!(err.message.contains(words), "{body}: {}", err.message);
        assert!(run(&tool, json!({"text": "again"})).is_ok(), "{body}");
    }
}

#[test]
fn a_resident_program_that_says_more_than_it_was_asked_is_replaced() {
    let bench = ProgramBench::new();
    let tool = bench.resident("tell(good)\n        tell(good)");
    for _ in 0..5 {
        // Each process answers one call, and nobody gets the second answer.
        assert_eq!(run(&tool, json!({})).unwrap()["count"], 1);
    }
    assert_eq!(bench.processes.started(), 5);
    let dies = bench.resident("tell(good)\n        sys.exit(0)");
    for _ in 0..3 {
        assert_eq!(run(&dies, json!({})).unwrap()["count"], 1);
    }
}

#[test]
fn a_call_that_is_cancelled_ends_its_process_and_calls_wait_for_a_seat() {
    let bench = ProgramBench::new();
    let tool = bench.resident("time.sleep(60 if text == 'long' else 0)\n        tell(good)");
    let cancel = Cancel::default();
    let call = ProgramCall { session: "", call: "" };
    let long = json!({"text": "long"});
    std::thread::scope(|scope| {
        let running = scope.spawn(|| tool.run(&long, call, Limits::DEFAULT, &cancel));
        while bench.pool.running() == 0 {
            std::thread::yield_now();
        }
        cancel.cancel();
        assert_eq!(running.join().unwrap().unwrap_err().kind, ErrorKind::Cancelled);
    });
    assert_eq!((bench.processes.alive(), bench.pool.running()), (0, 0));
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..6).map(|_| scope.spawn(|| run(&tool, json!({})))).collect();
        for call in calls {
            assert!(call.join().unwrap().is_ok());
        }
    });
    assert!(bench.pool.running() <= 2, "no more than the pool may have");
}

#[test]
fn a_program_gets_the_secrets_that_it_names_and_nobody_reads_them_in_its_answers() {
    let bench = ProgramBench::new();
    let tells = r#"#!/bin/bash
        given=no; test "$KEY" = hunter''2222 && given=yes
        printf '{"success": true, "result": {"given": "%s", "other": "%s", "told": "it is %s"}}' $given "$OTHER" "$KEY""#;
    let told = json!({"given": "yes", "other": "", "told": "it is [secret KEY]"});
    assert_eq!(run(&bench.tool_with("once", tells, &["KEY"]), json!({})).unwrap(), told);
    // The control: without its name in the manifest, the value is not there.
    let told = json!({"given": "no", "other": "", "told": "it is "});
    assert_eq!(run(&bench.tool("once", tells), json!({})).unwrap(), told);
    let fails = r#"#!/bin/bash
        printf '{"success": false, "error": {"code": "X", "message": "bad key %s", "details": ["%s"]}}' "$KEY" "$KEY""#;
    let err = run(&bench.tool_with("once", fails, &["KEY"]), json!({})).unwrap_err();
    assert_eq!(err.message, "tool: bad key [secret KEY]");
    assert_eq!(err.context["details"], json!(["[secret KEY]"]));
    let started = bench.processes.started();
    let err = run(&bench.tool_with("once", tells, &["KEY", "ABSENT"]), json!({})).unwrap_err();
    assert_eq!(err.kind, ErrorKind::Unavailable);
    assert_eq!(err.message, "tool needs secrets that are not set: ABSENT");
    assert_eq!(bench.processes.started(), started, "nothing was started");
}
