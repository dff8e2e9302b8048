//! Compares replies where times and what cannot be known beforehand are left out.

use serde_json::Value;

/// Asserts that `got` is `expect`, where times are left out and `"*"` stands for anything.
#[track_caller]
pub(crate) fn assert_reply(mut got: Value, mut expect: Value, what: &str) {
    level(&mut got, &expect);
    level(&mut expect, &Value::Null);
    assert_eq!(got, expect, "{what}\n got    {got}\n expect {expect}");
}

/// Sets times to 0, and values that are not to be compared to `"*"`.
fn level(value: &mut Value, expect: &Value) {
    if expect.as_str() == Some("*") {
        *value = Value::from("*");
        return;
    }
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                if ["execution_time_ms", "duration", "elapsed_ms"].contains(&key.as_str()) {
                    assert!(value.is_u64(), "{key} is {value}");
                    *value = Value::from(0);
                } else {
                    level(value, &expect[key.as_str()]);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                level(item, &expect[index]);
            }
        }
        _ => {}
    }
}
