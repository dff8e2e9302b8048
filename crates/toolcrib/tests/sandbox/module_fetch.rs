//! `ctx.fetch` of a module: it reaches the hosts that it declared and the operator allows.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib::wiring::{Crib, OpenOptions, call_at_terminal, session, user_at_terminal};
use toolcrib_core::{Cancel, Outcome};
use toolcrib_plugins::plugin_source::PluginSource;
use toolcrib_plugins::propose::NewTool;
use toolcrib_runtime::AlwaysYes;

use crate::scratch::Scratch;
use crate::test_host::TestHost;

/// Opens with a net for which every name leads to the test's host.
fn open(scratch: &Scratch, host: &TestHost, settings: &[&str]) -> Crib {
    let environment = [("HOME", scratch.path("home")), ("TOOLCRIB_STATE", scratch.state())];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.into_os_string()));
    let options = OpenOptions {
        workspace: Some(scratch.work()),
        environment: Some(environment.into()),
        assignments: settings.iter().map(|it| (*it).to_owned()).collect(),
        net: Some(Arc::new(host.client())),
        worker_program: Some(env!("CARGO_BIN_EXE_toolcrib").into()),
        ..OpenOptions::default()
    };
    Crib::open(&options).unwrap_or_else(|err| panic!("{err}"))
}

fn call(crib: &Crib, args: Value) -> Outcome {
    let runtime = crib.runtime(Arc::new(AlwaysYes("--yes".to_owned()))).unwrap();
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let call = call_at_terminal(session(), "plugins/fetching", args);
    events.block_on(runtime.call(call, Cancel::default()))
}

#[test]
fn a_module_fetches_from_the_hosts_that_it_declared() {
    let host = TestHost::saying("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let scratch = Scratch::new();
    let settings = &["forgekeeper.http_fetch=on", "plugins.hosts=host.test"];
    let crib = open(&scratch, &host, settings);
    let code = "export const name = 'fetching';\nexport const description = 'Fetches';\n\
        export const parameters = {type: 'object', properties: {url: {type: 'string'}}};\n\
        export const permissions = {hosts: ['host.test']};\n\
        export async function execute(args, ctx) {\n\
        const got = await ctx.fetch(args.url, {headers: {'X-Mine': 'yes'}});\n\
        return {status: got.status, body: got.body};\n}\n";
    let lifecycle = crib.plugins().lifecycle(&crib.settings);
    let new = NewTool {
        name: "fetching".to_owned(),
        description: String::new(),
        source: PluginSource::of_module(code).unwrap(),
        reasoning: String::new(),
    };
    let by = user_at_terminal();
    lifecycle.propose(new, &by).unwrap();
    lifecycle.approve("fetching", None, &by.principal).unwrap();
    drop(crib);
    let crib = open(&scratch, &host, settings);
    let call = |url: &str| call(&crib, json!({"url": url}));
    let fetched = call(&host.url("/x"));
    assert_eq!(
        fetched.reply["result"],
        json!({"status": 200, "body": "hello"}),
        "{}",
        fetched.text
    );
    assert!(host.asked()[0].contains("X-Mine: yes"));
    let other = format!("http://other.test:{}/", host.port());
    let refused = call(&other);
    assert!(refused.text.contains("did not declare"), "{}", refused.text);
    assert!(call("nonsense").text.contains("whole URL"));
    assert_eq!(host.asked().len(), 1);
    drop(crib);
    // Under settings that do not allow the host any more, the tool is not there.
    let crib = open(&scratch, &host, &["forgekeeper.http_fetch=on"]);
    let error = self::call(&crib, json!({"url": host.url("/x")})).error.unwrap();
    assert_eq!(error.kind.as_str(), "no_tool");
}
