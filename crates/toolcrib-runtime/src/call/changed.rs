//! A call that a person changed before it ran. The changed call is a call of its own, decided and recorded like any
//! other; the caller gets its reply, and is told what was changed.

use serde_json::{Map, Value, json};
use toolcrib_core::{Call, CallId, Note};

use super::replacing_call::ReplacingCall;
use super::scope::CallScope;

/// The key under which a reply says what a person changed.
const CHANGED_KEY: &str = "changed_by_person";

impl CallScope {
    /// Remembers and records that a person changed this call.
    pub(crate) fn record_change(&self, by: &str, id: &CallId, args: &Value) {
        let replacing = ReplacingCall {
            by: by.to_owned(),
            sent: self.call.id.clone(),
            sent_args: self.call.args.clone(),
            call: Call { id: id.clone(), args: args.clone(), ..self.call.clone() },
        };
        if self.approval.changed.set(replacing).is_ok() {
            let words = format!("made as call {id}");
            self.note_change(&json!({"by": by, "words": words, "to": id.0}));
        }
    }

    /// Remembers and records that this call takes the place of one that was sent.
    pub(crate) fn record_origin(&self, replacing: &ReplacingCall) {
        let ReplacingCall { by, sent, sent_args, .. } = replacing;
        if self.approval.sent_args.set(sent_args.clone()).is_ok() {
            let words = format!("made of call {sent}");
            self.note_change(&json!({"by": by, "words": words, "from": sent.0}));
        }
    }

    fn note_change(&self, detail: &Value) {
        let note = Note {
            at: self.clock.now(),
            actor: "user",
            act: "approval",
            event: "changed",
            tool: Some(&self.tool),
            call: &self.call.id.0,
            detail: detail.clone(),
        };
        let _ = self.recorder.note(&note);
    }

    /// Returns the call that takes the place of this one, if a person changed it.
    pub(crate) fn replacement(&self) -> Option<ReplacingCall> {
        self.approval.changed.get().cloned()
    }
}

/// Adds to a reply which arguments a person changed, with their new values. An argument that they removed is null.
pub(crate) fn tell_changes(reply: &mut Value, scope: &CallScope) {
    let Some(sent) = scope.approval.sent_args.get() else { return };
    // All replies are objects but those of `hikai/search_code`, which have no place for it.
    if let Value::Object(reply) = reply {
        let changed = Value::Object(differences(sent, &scope.call.args));
        reply.insert(CHANGED_KEY.to_owned(), changed);
    }
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
