//! Makes the calls of the five contracts' examples, and compares the replies.

mod others;
mod search;
mod wink;

use serde_json::Value;

use crate::opened::Opened;
use crate::reply::assert_reply;

/// Calls a tool and compares those fields of the reply that `expect` has.
#[track_caller]
fn check(crib: &Opened, tool: &str, args: &Value, expect: &Value) {
    let got = crib.reply(tool, args);
    let what = format!("{tool} {args}");
    let shown: Value = match (expect, &got) {
        (Value::Object(fields), Value::Object(_)) => {
            fields.keys().map(|key| (key.clone(), got[key].clone())).collect()
        }
        _ => got,
    };
    assert_reply(shown, expect.clone(), &what);
}
