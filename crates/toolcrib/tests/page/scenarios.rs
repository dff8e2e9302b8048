//! What people do on the page, each in a browser of its own.

use crate::browser::play;
use crate::running_server::RunningServer;
use crate::scratch::Scratch;

/// Lets a script use the page of a server that has just started.
#[track_caller]
fn scenario(script: &str) {
    scenario_with(&[], script);
}

#[track_caller]
fn scenario_with(environment: &[(&str, &str)], script: &str) {
    let scratch = Scratch::new();
    scratch.put("notes.txt", "one two three\n");
    scratch.put("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n");
    let server = RunningServer::start(&scratch);
    play(&server, &scratch, environment, script);
}

#[test]
fn log_in_and_out() {
    scenario(include_str!("log_in.js"));
}

#[test]
fn approve_decline_and_always() {
    scenario(include_str!("answer.js"));
}

#[test]
fn approve_decline_and_always_by_keyboard() {
    scenario_with(&[("KEYBOARD", "1")], include_str!("answer.js"));
}

#[test]
fn rules_from_a_call_to_the_file_and_back() {
    scenario(include_str!("rules.js"));
}

#[test]
fn settings_are_shown_as_a_difference_before_they_are_saved() {
    scenario(include_str!("settings.js"));
}

#[test]
fn clients_are_connected_as_by_the_command_line() {
    let scratch = Scratch::new();
    scratch.put("notes.txt", "one two three\n");
    let server = RunningServer::start(&scratch);
    let mut snippets = serde_json::Map::new();
    for client in
        ["claude-code", "codex", "vscode", "cursor", "gemini-cli", "opencode", "goose", "zed"]
    {
        let work = scratch.work().display().to_string();
        let printed = |scope| {
            scratch.run(["mcp", "install", client, "--scope", scope, "-C", &work, "--print"])
        };
        let user = printed("user");
        assert_eq!(user.code, 0, "{}", user.stderr);
        let mut scopes = serde_json::json!({"user": user.stdout});
        // Goose has no file in projects.
        let project = printed("project");
        if project.code == 0 {
            scopes["project"] = project.stdout.into();
        }
        snippets.insert(client.to_owned(), scopes);
    }
    let snippets = serde_json::Value::from(snippets).to_string();
    play(&server, &scratch, &[("SNIPPETS", &snippets)], include_str!("connect.js"));
}

#[test]
fn a_question_shows_what_an_agent_wrote_as_text_and_all_of_it() {
    scenario(include_str!("answer_hostile.js"));
}

#[test]
fn commands_and_questions_that_came_over_mcp_are_answered() {
    scenario(include_str!("answer_command.js"));
}

#[test]
fn a_host_that_a_running_command_wants_is_answered_on_the_page() {
    scenario(include_str!("answer_host.js"));
}

#[test]
fn approve_reject_and_roll_back_a_proposal() {
    scenario(include_str!("proposal.js"));
}

#[test]
fn approve_reject_and_roll_back_a_proposal_by_keyboard() {
    scenario_with(&[("KEYBOARD", "1")], include_str!("proposal.js"));
}

#[test]
fn a_server_of_an_imported_file_is_accepted() {
    scenario(include_str!("accept_server.js"));
}

#[test]
fn tail_stories_undo_verify_and_export() {
    scenario(include_str!("audit.js"));
}

#[test]
fn tail_stories_undo_verify_and_export_by_keyboard() {
    scenario_with(&[("KEYBOARD", "1")], include_str!("audit.js"));
}

#[test]
fn a_session_and_the_undo_of_all_of_it() {
    scenario(include_str!("sessions.js"));
}

#[test]
fn a_session_and_the_undo_of_all_of_it_by_keyboard() {
    scenario_with(&[("KEYBOARD", "1")], include_str!("sessions.js"));
}

#[test]
fn a_tail_stays_short_and_finds_a_server_that_starts_again() {
    let scratch = Scratch::new();
    scratch.put("notes.txt", "one two three\n");
    let server = RunningServer::start(&scratch);
    let path = |path: std::path::PathBuf| path.display().to_string();
    let pid = server.child.id().to_string();
    let (state, home) = (path(scratch.state()), path(scratch.path("home")));
    let environment = [
        ("SERVER_PID", pid.as_str()),
        ("STATE", &state),
        ("SERVER_HOME", &home),
        ("TOOLCRIB", env!("CARGO_BIN_EXE_toolcrib")),
    ];
    play(&server, &scratch, &environment, include_str!("audit_bounds.js"));
}

#[test]
fn see_how_all_tools_do() {
    scenario(include_str!("overview.js"));
}

#[test]
fn see_how_one_tool_does_and_try_it() {
    scenario(include_str!("tool.js"));
}
