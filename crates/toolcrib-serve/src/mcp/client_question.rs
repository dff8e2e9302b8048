//! What a tool asks its client, in the form of the protocol.

use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, CreateMessageRequest, CreateMessageRequestParams, ElicitRequest,
    ElicitRequestParams, InputRequest, InputRequests, ListRootsRequest, SamplingMessage,
    ServerRequest,
};
use std::collections::BTreeMap;
use toolcrib_core::calling_client::ClientQuestion;
use toolcrib_core::{ErrorKind, ToolError};

/// Returns the questions as a reply has them.
pub(super) fn input_requests(
    questions: BTreeMap<String, ClientQuestion>,
) -> Result<InputRequests, ErrorData> {
    let requests = questions.into_iter().map(|(name, question)| {
        let request = input_request(question)
            .map_err(|err| ErrorData::internal_error(err.to_string(), None))?;
        Ok((name, request))
    });
    requests.collect()
}

/// Returns a question as a request of the server.
pub(super) fn client_request(question: ClientQuestion) -> Result<ServerRequest, ToolError> {
    Ok(match input_request(question)? {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        _ => {
            return Err(ToolError::new(ErrorKind::Bug, "the SDK has a question that is not known"));
        }
    })
}

fn input_request(question: ClientQuestion) -> Result<InputRequest, ToolError> {
    Ok(match question {
        ClientQuestion::Form { message, schema } => {
            let requested_schema = serde_json::from_value(schema).map_err(|err| {
                let message = format!("the form of the tool does not fit the protocol: {err}");
                ToolError::new(ErrorKind::Bug, message)
            })?;
            InputRequest::Elicitation(ElicitRequest::new(
                ElicitRequestParams::FormElicitationParams {
                    meta: None,
                    message,
                    requested_schema,
                },
            ))
        }
        ClientQuestion::Model { prompt, most_tokens } => {
            let messages = vec![SamplingMessage::user_text(prompt)];
            let params = CreateMessageRequestParams::new(messages, most_tokens);
            InputRequest::CreateMessage(CreateMessageRequest::new(params))
        }
        ClientQuestion::Roots => InputRequest::ListRoots(ListRootsRequest::default()),
    })
}

/// Returns what a client must be able to do to answer a question: for programs and in words.
pub(super) fn needed_capability(question: &ClientQuestion) -> (ClientCapabilities, &'static str) {
    let builder = ClientCapabilities::builder();
    match question {
        ClientQuestion::Form { .. } => (builder.enable_elicitation().build(), "show forms"),
        ClientQuestion::Model { .. } => (builder.enable_sampling().build(), "ask its model"),
        ClientQuestion::Roots => (builder.enable_roots().build(), "tell its folders"),
    }
}

/// Whether a client shows forms to a person. One that does not say which kind of question it shows means forms.
pub(super) fn shows_forms(can: &ClientCapabilities) -> bool {
    can.elicitation.as_ref().is_some_and(|it| it.form.is_some() || it.url.is_none())
}
