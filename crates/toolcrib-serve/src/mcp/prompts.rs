//! Prompts: common jobs, which a person picks in the client.

use std::collections::BTreeMap;

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequiredResult,
    ListPromptsResult, Prompt, PromptArgument, PromptMessage,
};
use serde_json::{Value, json};
use toolcrib_core::calling_client::Answers;
use toolcrib_core::material::{PromptField, PromptQuestion, PromptTemplate};
use toolcrib_core::nearest::{either, nearest};

use super::client_question::input_requests;
use super::server::McpServer;

/// The longest value of an argument.
const LONGEST_VALUE: usize = 4096;

/// The prompts that come with Toolcrib.
static PROMPTS: [PromptTemplate; 3] = [
    PromptTemplate {
        name: "fix_test",
        title: "Make a failing test pass",
        about: "Run a test command, find the cause of what fails, mend it, and run it again.",
        arguments: &[PromptField {
            name: "command",
            about: "The command that runs the tests, such as `make test`",
            usual: None,
        }],
        question: None,
        messages: |values, _| {
            let command = &values["command"];
            user_text(format!(
                "Run `{command}` and read all of its output. For the first failure, find the cause in the code before \
                 you change anything, and say what it is in one sentence. Mend the cause, not the test, unless the test \
                 is wrong. Run the command again. Go on until it passes. At the end, list the files that you changed."
            ))
        },
    },
    PromptTemplate {
        name: "review_changes",
        title: "Review the changes in the workspace",
        about: "Read what changed since the last commit, and look for mistakes.",
        arguments: &[PromptField {
            name: "range",
            about: "What to compare, as `git diff` takes it",
            usual: Some("HEAD"),
        }],
        question: None,
        messages: |values, _| {
            let range = &values["range"];
            user_text(format!(
                "Run `git diff {range}` and read all of it. Look for mistakes: wrong logic, cases that are not handled, \
                 names that mislead, tests that cannot fail. Read the code around a change before you judge it. List \
                 what you found, the worst first, each with its file and line, and what to do about it. Change nothing."
            ))
        },
    },
    PromptTemplate {
        name: "explain_refusal",
        title: "Explain why a call was refused",
        about: "Read the record of a call, and say what decided it and what could be done.",
        arguments: &[PromptField { name: "call", about: "The id of the call", usual: None }],
        question: None,
        messages: |values, _| {
            let call = &values["call"];
            user_text(format!(
                "Read the resource `toolcrib://calls/{call}`. Say in plain words what the call wanted to do, which rule \
                 decided about it and why, and what the person could do if they want such calls to run: the exact \
                 `toolcrib` command, and what else it would allow. Do not make the call again."
            ))
        },
    },
];

impl McpServer {
    /// Returns all prompts.
    pub(super) fn list_prompts(&self) -> ListPromptsResult {
        let mut result =
            ListPromptsResult::with_all_items(self.prompts().into_iter().map(declared).collect());
        result.ttl_ms = Some(3_600_000);
        result.cache_scope = Some(CacheScope::Public);
        result
    }

    /// Returns a prompt with its arguments filled in.
    pub(super) fn get_prompt(
        &self,
        request: &GetPromptRequestParams,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompts = self.prompts();
        let Some(prompt) = prompts.iter().find(|prompt| prompt.name == request.name) else {
            let near = nearest(&request.name, prompts.iter().map(|prompt| prompt.name), 3);
            let hint = if near.is_empty() {
                "prompts/list has all names".to_owned()
            } else {
                format!("did you mean {}?", either(&near))
            };
            let shown: String = request.name.chars().take(128).collect();
            return Err(ErrorData::invalid_params(format!("no prompt `{shown}`; {hint}"), None));
        };
        let values = filled_in(prompt, request)?;
        let given = request.input_responses.clone().unwrap_or_default();
        let answers: Answers = given.into_iter().filter(|(_, answer)| answer.is_object()).collect();
        if let Some(PromptQuestion { name, question }) = &prompt.question
            && !answers.contains_key(*name)
        {
            let questions = BTreeMap::from([((*name).to_owned(), question())]);
            return Ok(InputRequiredResult::from_input_requests(input_requests(questions)?).into());
        }
        let messages = (prompt.messages)(&values, &answers);
        let messages: Vec<PromptMessage> = serde_json::from_value(messages).map_err(|err| {
            let message = format!("the messages of the prompt do not fit the protocol: {err}");
            ErrorData::internal_error(message, None)
        })?;
        Ok(GetPromptResult::new(messages).with_description(prompt.about).into())
    }

    /// Returns the prompts that come with Toolcrib, and those of the catalogues on offer.
    fn prompts(&self) -> Vec<&'static PromptTemplate> {
        let of_catalogues = self.catalogues().into_iter().flat_map(|it| it.material.prompts);
        PROMPTS.iter().chain(of_catalogues).collect()
    }
}

/// Returns the arguments of a prompt, as they were sent or as they usually are.
fn filled_in(
    prompt: &PromptTemplate,
    request: &GetPromptRequestParams,
) -> Result<BTreeMap<&'static str, String>, ErrorData> {
    let given = |name: &str| request.arguments.as_ref()?.get(name)?.as_str();
    let values = prompt.arguments.iter().map(|field| {
        let PromptField { name, usual, .. } = *field;
        let value = given(name).or(usual).ok_or_else(|| {
            let message = format!("the prompt `{}` needs the argument `{name}`", prompt.name);
            ErrorData::invalid_params(message, None)
        })?;
        if value.len() > LONGEST_VALUE {
            let message = format!("the argument is longer than {LONGEST_VALUE} bytes; shorten it");
            return Err(ErrorData::invalid_params(message, None));
        }
        Ok((name, value.to_owned()))
    });
    values.collect()
}

fn declared(prompt: &PromptTemplate) -> Prompt {
    let arguments = prompt.arguments.iter().map(|field| {
        PromptArgument::new(field.name)
            .with_description(field.about)
            .with_required(field.usual.is_none())
    });
    let arguments = Some(arguments.collect::<Vec<_>>()).filter(|it| !it.is_empty());
    Prompt::new(prompt.name, Some(prompt.about), arguments).with_title(prompt.title)
}

fn user_text(text: String) -> Value {
    json!([{"role": "user", "content": {"type": "text", "text": text}}])
}
