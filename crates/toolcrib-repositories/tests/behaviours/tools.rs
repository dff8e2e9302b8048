//! The tools of `hikai` over every kind of repository.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::canonical::Digest;
use toolcrib_core::catalogue::Failure;
use toolcrib_core::policy::{Mode, Permit, Policy, Subject};
use toolcrib_core::{AnyTool, Catalogue, ToolError, ToolName};

use crate::repository::{Repository, each_kind};
use crate::sample::Sample;
use crate::world::context;

fn hikai() -> &'static Catalogue {
    toolcrib_tools::CATALOGUES.iter().find(|it| it.name == "hikai").unwrap()
}

/// Returns a permit. Policy is not what these tests are about.
fn permit() -> Permit {
    let name: ToolName = "hikai/read_file".into();
    let subject = Subject {
        tool: &name,
        tier: toolcrib_core::Tier::Safe,
        canonical: "{}",
        root: "/",
        reads: &[],
        writes: &[],
        only_edits_text: false,
        hosts: &[],
        reading: None,
    };
    let policy = Policy::new(Mode::Permissive, Vec::new());
    let decision = policy.decide(&subject, jiff::Timestamp::UNIX_EPOCH, &[]);
    Permit::by_policy(&decision, Digest::of_bytes(b"")).unwrap()
}

/// Calls a tool, and returns its reply or its error in the form of the contract.
fn call(repository: &Repository, name: &str, args: &Value) -> Value {
    let catalogue = hikai();
    let tool: &'static dyn AnyTool =
        *catalogue.tools.iter().find(|tool| tool.declaration().name == name).unwrap();
    let ctx = context(&repository.folder, Some(repository.connect()));
    let made = || -> Result<Value, ToolError> {
        let prepared = tool.parse(args)?;
        prepared.check(&ctx)?;
        let mut reply = pin!(prepared.run(permit(), ctx.clone()));
        // These tools wait for nothing.
        match reply.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(reply) => reply,
            Poll::Pending => panic!("{name} waits"),
        }
    };
    match made() {
        Ok(reply) => (catalogue.reply)(name, reply, Duration::ZERO),
        Err(error) => {
            let failure = Failure { tool: name, args, error: &error, elapsed: Duration::ZERO };
            (catalogue.error_reply)(&failure)
        }
    }
}

#[test]
fn every_example_holds_over_every_kind() {
    for tool in hikai().tools {
        let declaration = tool.declaration();
        for example in declaration.examples {
            let mut sample = Sample::default().file(".placeholder", "");
            for (path, content) in example.files {
                sample = match path.strip_suffix('/') {
                    Some(directory) => sample.directory(directory),
                    None => sample.file(path, content),
                };
            }
            let args = serde_json::from_str(example.args).unwrap();
            let expect: Value = serde_json::from_str(example.reply).unwrap();
            each_kind(&sample, |repository| {
                let reply = call(repository, declaration.name, &args);
                let about = (repository.kind, declaration.name, example.about);
                if expect["error"].is_string() {
                    let error = reply["error"].as_str().unwrap_or_default();
                    assert_eq!(error, expect["error"], "{about:?}");
                } else {
                    assert_eq!(reply, expect, "{about:?}");
                }
            });
        }
    }
}

#[test]
fn names_that_are_no_text_go_from_a_listing_to_a_reading() {
    let sample = Sample::default().file(b"d\xff/f\xfe.txt", "content\n").file("plain", "x");
    each_kind(&sample, |repository| {
        let dirs = call(repository, "list_dirs", &json!({}));
        assert_eq!(
            dirs["dirs"],
            json!([{"path": "$'d\\xff'", "depth": 1}]),
            "{:?}",
            repository.kind
        );
        let directory = dirs["dirs"][0]["path"].as_str().unwrap();
        let files = call(repository, "list_files", &json!({"path": directory}));
        assert_eq!(files["files"][0]["size"], 8);
        let path = files["files"][0]["path"].as_str().unwrap();
        let read = call(repository, "read_file", &json!({"path": path}));
        assert_eq!(read["content"], "content\n", "{:?}", repository.kind);
        let found = call(repository, "search_code", &json!({"query": "CONTENT"}));
        assert_eq!(found, json!([{"path": path, "snippet": "content"}]));
    });
}

#[test]
fn a_long_file_is_cut_and_read_on() {
    let lines = (0..30_000).map(|number| format!("line {number}\n"));
    let text = lines.collect::<Vec<_>>().concat();
    let sample = Sample::default().file("long.txt", &text);
    each_kind(&sample, |repository| {
        let first = call(repository, "read_file", &json!({"path": "long.txt"}));
        assert_eq!(first["truncated"], true);
        assert_eq!(first["size"], text.len());
        let mut all = first["content"].as_str().unwrap().to_owned();
        let mut next = first["nextOffset"].clone();
        while next.is_number() {
            // The first reply can end in the middle of a line.
            all.truncate(all.rfind('\n').map_or(0, |end| end + 1));
            let more = call(repository, "read_file", &json!({"path": "long.txt", "offset": next}));
            all.push_str(more["content"].as_str().unwrap());
            next = more["nextOffset"].clone();
        }
        assert_eq!(all, text, "{:?}", repository.kind);
    });
}
