//! `--server` with tools that others bring: proposed, read, approved and rolled back from another machine.

use crate::remote::{remote, same};
use crate::running_server::RunningServer;
use crate::scratch::Scratch;

/// Returns a module that replies with `result`.
fn module(name: &str, result: &str) -> String {
    format!(
        "export const name = '{name}';\nexport const description = 'A tool of a test';\n\
         export const parameters = {{type: 'object'}};\n\
         export const permissions = {{read: ['logs']}};\n\
         export const examples = [{{about: 'works', args: {{}}, reply: {result}}}];\n\
         export async function execute() {{ return {result}; }}\n"
    )
}

#[test]
fn tools_are_proposed_approved_and_rolled_back_and_print_the_same() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let run = |role: &str, words: &[&str]| remote(&scratch, &server, role, words);
    let file = scratch.work().join("shout.mjs").display().to_string();
    let propose = |result: &str| {
        scratch.put("shout.mjs", module("shout", result));
        let made = run("agent", &["plugins", "propose", &file, "--why", "I \u{1b}[31mshout"]);
        assert_eq!(made.code, 0, "{} {}", made.stdout, made.stderr);
        assert!(made.stdout.starts_with("ok      works\nProposed: shout "), "{}", made.stdout);
    };
    propose("1");
    same(&scratch, &server, &["proposals", "list"]);
    same(&scratch, &server, &["proposals", "list", "--json"]);
    let shown = same(&scratch, &server, &["proposals", "show", "shout"]);
    assert!(shown.stdout.contains("Asks for     read logs"), "{}", shown.stdout);
    assert!(!shown.stdout.contains('\u{1b}'), "{:?}", shown.stdout);
    same(&scratch, &server, &["proposals", "show", "shout", "--json"]);
    let unread = run("approver", &["proposals", "approve", "shout"]);
    assert_eq!(unread.code, 1, "{}", unread.stdout);
    assert!(unread.stderr.contains("nobody has read"), "{}", unread.stderr);
    let hash = shown.stdout.rsplit("--hash ").next().unwrap()[..12].to_owned();
    let wrong = run("approver", &["proposals", "approve", "shout", "--hash", "0123456789ab"]);
    assert!(wrong.stderr.contains("is version"), "{}", wrong.stderr);
    let own = run("agent", &["proposals", "approve", "shout", "--hash", &hash]);
    assert!(own.stderr.contains("role"), "{}", own.stderr);
    let loaded = run("approver", &["proposals", "approve", "shout", "--hash", &hash]);
    assert!(loaded.stdout.starts_with("Loaded: plugins/shout "), "{}", loaded.stdout);
    propose("2");
    let rejected = run("approver", &["proposals", "reject", "shout", "no", "need"]);
    assert_eq!(rejected.stdout, "Rejected: shout\n");
    propose("3");
    let shown = run("approver", &["proposals", "show", "shout"]).stdout;
    let hash = shown.rsplit("--hash ").next().unwrap()[..12].to_owned();
    assert_eq!(run("approver", &["proposals", "approve", "shout", "--hash", &hash]).code, 0);
    same(&scratch, &server, &["proposals", "list", "--all"]);
    let listed = same(&scratch, &server, &["plugins", "list"]).stdout;
    assert!(listed.contains("plugins/shout") && listed.contains("on offer"), "{listed}");
    same(&scratch, &server, &["plugins", "show", "shout"]);
    let back = run("admin", &["plugins", "rollback", "shout"]);
    assert!(back.stdout.starts_with("Rolled back: shout is version "), "{}", back.stdout);
    assert_eq!(run("admin", &["plugins", "disable", "shout"]).stdout, "Disabled: shout\n");
    assert_eq!(run("admin", &["plugins", "enable", "shout"]).stdout, "Enabled: shout\n");
    assert_eq!(run("admin", &["plugins", "reload"]).code, 0);
    assert_eq!(run("admin", &["plugins", "servers"]).code, 2);
    assert_eq!(run("admin", &["plugins", "show", "absent"]).code, 1);
}
