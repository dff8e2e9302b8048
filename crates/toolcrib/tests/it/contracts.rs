//! Makes the calls of the five contracts' examples through the binary, and compares the replies.

mod others;
mod search;
mod wink;

use serde_json::Value;

use crate::scratch::{Scratch, assert_reply};

/// Calls a tool and compares those fields of the reply that `expect` has.
#[track_caller]
fn check(scratch: &Scratch, tool: &str, args: &Value, expect: &Value) {
    let got = scratch.call(tool, &args.to_string()).json();
    let what = format!("{tool} {args}");
    let shown: Value = match (expect, &got) {
        (Value::Object(fields), Value::Object(_)) => {
            fields.keys().map(|key| (key.clone(), got[key].clone())).collect()
        }
        _ => got.clone(),
    };
    assert_reply(shown, expect.clone(), &what);
}
