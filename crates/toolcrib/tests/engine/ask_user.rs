//! The question to a person, through the engine. A client of the test stands for the person.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::calling_client::{
    Answers, CallingClient, ClientFuture, ClientQuestion, DetachNeed, MessageLevel, NoClient,
    ProgressReport,
};
use toolcrib_runtime::{Nobody, Runtime};

use crate::opened::{Reply, Scratch};

/// A person who answers every form in this way.
struct PersonAtClient(Value);

impl CallingClient for PersonAtClient {
    fn ask(&self, questions: BTreeMap<String, ClientQuestion>) -> ClientFuture<'_, Answers> {
        let answer = |(name, question): (String, ClientQuestion)| {
            assert!(matches!(question, ClientQuestion::Form { .. }));
            (name, self.0.clone())
        };
        let answers = questions.into_iter().map(answer).collect();
        Box::pin(async { Ok(answers) })
    }

    fn detach(&self, need: DetachNeed) -> ClientFuture<'_, ()> {
        NoClient.detach(need)
    }

    fn can_answer(&self, question: &ClientQuestion) -> bool {
        matches!(question, ClientQuestion::Form { .. })
    }

    fn report_progress(&self, progress: ProgressReport) -> ClientFuture<'_, ()> {
        NoClient.report_progress(progress)
    }

    fn log(&self, level: MessageLevel, message: String) -> ClientFuture<'_, ()> {
        NoClient.log(level, message)
    }
}

fn ask_person(args: Value, answer: Value) -> Reply {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let runtime = crib.crib.runtime(Arc::new(Nobody)).unwrap();
    let runtime = Runtime { client: Arc::new(PersonAtClient(answer)), ..runtime };
    crib.call_in(&runtime, "clemini/ask_user", args)
}

#[test]
fn a_person_answers_as_the_contract_has_it() {
    let typed = |text: &str| json!({"action": "accept", "content": {"answer": text}});
    for (args, answer, expect) in [
        (json!({"question": "What testing framework do you prefer?"}), "pytest", "pytest"),
        (
            json!({"question": "Which database should we use?", "options": ["PostgreSQL", "MySQL", "SQLite"]}),
            "1",
            "PostgreSQL",
        ),
        (
            json!({"question": "Should I proceed with the refactoring?", "options": ["Yes", "No"]}),
            "Yes",
            "Yes",
        ),
        (json!({"question": "Which port?", "options": ["3000", "8080"]}), "9000", "9000"),
    ] {
        assert_eq!(ask_person(args, typed(answer)).json(), &json!({"answer": expect}));
    }
    let question = json!({"question": "Which port?"});
    for (answer, code) in [
        (json!({"action": "decline"}), "BLOCKED"),
        (json!({"action": "cancel"}), "IO_ERROR"),
        (json!({"action": "accept", "content": {}}), "IO_ERROR"),
    ] {
        let reply = ask_person(question.clone(), answer);
        assert_eq!(reply.json()["error_code"], code, "{}", reply.text());
    }
    let many: Vec<String> = (0..21).map(|number| number.to_string()).collect();
    for args in [
        json!({"question": "  "}),
        json!({"question": "x".repeat(10_001)}),
        json!({"question": "x", "options": many}),
        json!({"question": "x", "options": ["a", ""]}),
        json!({"question": "x", "options": "a"}),
        json!({}),
    ] {
        let reply = ask_person(args, typed("a"));
        assert_eq!(reply.json()["error_code"], "INVALID_ARGUMENT", "{}", reply.text());
    }
}
