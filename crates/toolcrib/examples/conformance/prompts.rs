//! The prompts that the suite expects.

use serde_json::{Value, json};
use toolcrib_core::material::{PromptField, PromptQuestion, PromptTemplate};

use crate::content_tools::PICTURE;
use crate::fixture::text_block;
use crate::input_tools::{field, form};

pub(crate) static PROMPTS: [PromptTemplate; 5] = [
    PromptTemplate {
        name: "test_simple_prompt",
        title: "A simple prompt",
        about: "A prompt without arguments",
        arguments: &[],
        question: None,
        messages: |_, _| messages([text_block("This is a simple prompt for testing.")]),
    },
    PromptTemplate {
        name: "test_prompt_with_arguments",
        title: "A prompt with arguments",
        about: "A prompt that is filled in",
        arguments: &[
            PromptField { name: "arg1", about: "The first argument", usual: None },
            PromptField { name: "arg2", about: "The second argument", usual: Some("") },
        ],
        question: None,
        messages: |values, _| {
            let (one, two) = (&values["arg1"], &values["arg2"]);
            messages([text_block(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))])
        },
    },
    PromptTemplate {
        name: "test_prompt_with_embedded_resource",
        title: "A prompt with a resource",
        about: "A prompt that brings a resource",
        arguments: &[PromptField {
            name: "resourceUri",
            about: "The address of the resource",
            usual: Some("test://example-resource"),
        }],
        question: None,
        messages: |values, _| {
            let uri = &values["resourceUri"];
            let resource = json!({"uri": uri, "mimeType": "text/plain", "text": "Its content."});
            messages([
                json!({"type": "resource", "resource": resource}),
                text_block("Please read the resource above."),
            ])
        },
    },
    PromptTemplate {
        name: "test_prompt_with_image",
        title: "A prompt with a picture",
        about: "A prompt that brings a picture",
        arguments: &[],
        question: None,
        messages: |_, _| {
            messages([
                json!({"type": "image", "data": PICTURE, "mimeType": "image/png"}),
                text_block("Please look at the picture above."),
            ])
        },
    },
    PromptTemplate {
        name: "test_input_required_result_prompt",
        title: "A prompt that asks",
        about: "A prompt that asks the person before",
        arguments: &[],
        question: Some(PromptQuestion {
            name: "user_context",
            question: || form("What is it about?", "context", "string"),
        }),
        messages: |_, answers| {
            let context = field(&answers["user_context"], "context");
            messages([text_block(&format!("Prompt about: {context}"))])
        },
    },
];

fn messages<const COUNT: usize>(blocks: [Value; COUNT]) -> Value {
    blocks.into_iter().map(|block| json!({"role": "user", "content": block})).collect()
}
