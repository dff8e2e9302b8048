//! A call that a person changed before it ran. The changed call is a call of its own, decided and recorded like any
//! other; the caller gets its reply, and is told what was changed.

use serde_json::{Map, Value, json};
use toolcrib_core::json_text::json_text;
use toolcrib_core::{Call, CallId, Note, Outcome};

use super::scope::CallScope;

/// The key under which a reply says what a person changed.
const CHANGED_KEY: &str = "changed_by_person";

/// What a person wants in place of a call.
pub(crate) struct ReplacedCall {
    /// The arguments that the caller sent.
    pub(crate) sent: Value,
    /// The call to make.
    pub(crate) call: Call,
}

impl CallScope {
    /// Remembers, and records with both calls, that a person changed this one.
    pub(crate) fn change(&self, by: &str, id: &CallId, args: &Value) {
        let call = Call { id: id.clone(), args: args.clone(), ..self.call.clone() };
        if self.approval.changed.set(call).is_err() {
            return;
        }
        let from = &self.call.id;
        for (call, detail) in
            [(from, json!({"by": by, "to": id.0})), (id, json!({"by": by, "from": from.0}))]
        {
            let note = Note {
                at: self.clock.now(),
                actor: "user",
                act: "call",
                event: "changed",
                tool: Some(&self.tool),
                call: &call.0,
                detail,
            };
            let _ = self.recorder.note(&note);
        }
    }

    /// Returns the call that takes the place of this one, if a person changed it.
    pub(crate) fn replacement(&self) -> Option<ReplacedCall> {
        let call = self.approval.changed.get()?.clone();
        Some(ReplacedCall { sent: self.call.args.clone(), call })
    }
}

/// Adds to a reply which arguments a person changed, with their new values. An argument that they removed is null.
pub(crate) fn with_changes(mut outcome: Outcome, sent: &Value, made: &Value) -> Outcome {
    let Value::Object(reply) = &mut outcome.reply else { return outcome };
    reply.insert(CHANGED_KEY.to_owned(), Value::Object(differences(sent, made)));
    outcome.text = json_text(&outcome.reply);
    outcome
}

fn differences(sent: &Value, made: &Value) -> Map<String, Value> {
    let none = Map::new();
    let (sent, made) = (sent.as_object().unwrap_or(&none), made.as_object().unwrap_or(&none));
    let removed = sent.keys().filter(|key| !made.contains_key(*key));
    let changed = made.iter().filter(|(key, value)| sent.get(*key) != Some(*value));
    let changed = changed.map(|(key, value)| (key.clone(), value.clone()));
    changed.chain(removed.map(|key| (key.clone(), Value::Null))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_what_was_changed_added_and_removed() {
        let sent = json!({"same": 1, "changed": "a", "removed": true});
        let made = json!({"same": 1, "changed": "b", "added": [2]});
        let told = Value::Object(differences(&sent, &made));
        assert_eq!(told, json!({"changed": "b", "added": [2], "removed": null}));
        assert!(differences(&sent, &sent).is_empty());
    }
}
