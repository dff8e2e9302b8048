//! Prompts: common jobs, which a person picks in the client.

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument,
    PromptMessage, Role,
};
use toolcrib_core::nearest::{either, nearest};

/// The longest value of an argument.
const LONGEST_VALUE: usize = 4096;

/// A prompt as data. `{}` in its text stands for its argument.
struct PromptRow {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// The name of its argument, what it is, and what stands for it if it is not given.
    argument: Option<(&'static str, &'static str, Option<&'static str>)>,
    text: &'static str,
}

const PROMPTS: &[PromptRow] = &[
    PromptRow {
        name: "fix_test",
        title: "Make a failing test pass",
        about: "Run a test command, find the cause of what fails, mend it, and run it again.",
        argument: Some(("command", "The command that runs the tests, such as `make test`", None)),
        text: "Run `{}` and read all of its output. For the first failure, find the cause in the code before you \
               change anything, and say what it is in one sentence. Mend the cause, not the test, unless the test is \
               wrong. Run the command again. Go on until it passes. At the end, list the files that you changed.",
    },
    PromptRow {
        name: "review_changes",
        title: "Review the changes in the workspace",
        about: "Read what changed since the last commit, and look for mistakes.",
        argument: Some(("range", "What to compare, as `git diff` takes it", Some("HEAD"))),
        text: "Run `git diff {}` and read all of it. Look for mistakes: wrong logic, cases that are not handled, names \
               that mislead, tests that cannot fail. Read the code around a change before you judge it. List what you \
               found, the worst first, each with its file and line, and what to do about it. Change nothing.",
    },
    PromptRow {
        name: "explain_refusal",
        title: "Explain why a call was refused",
        about: "Read the record of a call, and say what decided it and what could be done.",
        argument: Some(("call", "The id of the call", None)),
        text: "Read the resource `toolcrib://calls/{}`. Say in plain words what the call wanted to do, which rule \
               decided about it and why, and what the person could do if they want such calls to run: the exact \
               `toolcrib` command, and what else it would allow. Do not make the call again.",
    },
];

/// Returns all prompts.
pub(super) fn list() -> ListPromptsResult {
    let mut result =
        ListPromptsResult::with_all_items(PROMPTS.iter().map(PromptRow::declared).collect());
    result.ttl_ms = Some(3_600_000);
    result.cache_scope = Some(CacheScope::Public);
    result
}

/// Returns a prompt with its argument filled in.
pub(super) fn get(request: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let Some(row) = PROMPTS.iter().find(|row| row.name == request.name) else {
        let near = nearest(&request.name, PROMPTS.iter().map(|row| row.name), 3);
        let hint = if near.is_empty() {
            "prompts/list has all names".to_owned()
        } else {
            format!("did you mean {}?", either(&near))
        };
        let shown: String = request.name.chars().take(128).collect();
        return Err(ErrorData::invalid_params(format!("no prompt `{shown}`; {hint}"), None));
    };
    let given = |name: &str| request.arguments.as_ref()?.get(name)?.as_str();
    let value = match row.argument {
        None => "",
        Some((name, _, usual)) => given(name).or(usual).ok_or_else(|| {
            let message = format!("the prompt `{}` needs the argument `{name}`", row.name);
            ErrorData::invalid_params(message, None)
        })?,
    };
    if value.len() > LONGEST_VALUE {
        let message = format!("the argument is longer than {LONGEST_VALUE} bytes; shorten it");
        return Err(ErrorData::invalid_params(message, None));
    }
    let message = PromptMessage::new_text(Role::User, row.text.replace("{}", value));
    Ok(GetPromptResult::new(vec![message]).with_description(row.about))
}

impl PromptRow {
    fn declared(&self) -> Prompt {
        let arguments = self.argument.map(|(name, about, usual)| {
            let argument = PromptArgument::new(name).with_description(about);
            vec![argument.with_required(usual.is_none())]
        });
        Prompt::new(self.name, Some(self.about), arguments).with_title(self.title)
    }
}
