//! Schemathesis makes thousands of requests from the specification, and checks every reply against it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::running_server::RunningServer;
use crate::scratch::Scratch;

/// What schemathesis cannot know: a body that fits the schema can still be refused by the tool or the setting it is for,
/// or hold numbers that JSON does not keep exactly.
const SETTINGS: &str = r#"
[[operations]]
include-path-regex = "^/api/(tools/execute/|tools/config|tools/propose|tools/write|settings|rules)"
[operations.checks]
positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 408, 409, 413, 422, 429]
"#;

/// Returns the folder that `make test` installs schemathesis into.
fn schemathesis() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_toolcrib"));
    let target = program.parent().and_then(Path::parent).unwrap();
    target.join("tools/schemathesis")
}

#[track_caller]
fn check(server: &RunningServer<'_>, folder: &Path, token: Option<&str>) {
    let installed = schemathesis();
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", &installed).current_dir(folder);
    command.args(["-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run"]);
    command.args(["openapi.json", "--url", &format!("http://{}", server.address)]);
    // Events do not end, and what doctor finds takes seconds.
    command.args(["--exclude-path-regex", "^/api/(events|doctor)$"]);
    command.args(["--max-examples", "10", "--seed", "7", "--no-color"]);
    if let Some(token) = token {
        command.args(["--header", &format!("Authorization: Bearer {token}")]);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let summary = said.rfind("SUMMARY").map_or(&*said, |at| &said[at..]);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(summary.contains(" passed") && !summary.contains("error"), "{summary}");
}

#[test]
fn every_reply_is_as_the_specification_says_with_and_without_a_token() {
    let scratch = Scratch::new();
    scratch.put("README.md", "# Hello\n");
    let server = RunningServer::start(&scratch);
    let (admin, agent) = (server.token("admin"), server.token("agent"));
    let (_, specification) = server.get(&admin, "/api/openapi.json");
    let folder = scratch.work().parent().unwrap().join("schemathesis");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("openapi.json"), specification.to_string()).unwrap();
    std::fs::write(folder.join("schemathesis.toml"), SETTINGS).unwrap();
    for token in [Some(&*admin), Some(&*agent), None] {
        check(&server, &folder, token);
    }
}
