//! `completion/complete`: what the argument of a prompt or a resource could be.

use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::client_connection::ClientConnection;

/// The argument that has values to choose from: the id of a call.
const CALL_ARGUMENT: &str = "call";

impl ClientConnection {
    /// Returns the ids of the caller's commands that begin as the argument does, newest first. Other arguments are free
    /// text.
    pub(super) async fn complete_argument(
        &self,
        request: &CompleteRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let mut values = Vec::new();
        if request.argument.name == CALL_ARGUMENT {
            let who = self.caller(context)?;
            let tasks = self.server.api.visible_tasks(&who.caller).await.unwrap_or_default();
            let begun = request.argument.value.to_uppercase();
            values
                .extend(tasks.into_iter().map(|task| task.id).filter(|id| id.starts_with(&begun)));
        }
        let total = values.len() as u32;
        values.truncate(CompletionInfo::MAX_VALUES);
        let has_more = total as usize > values.len();
        let completion = CompletionInfo::with_pagination(values, Some(total), has_more);
        let completion = completion.map_err(|err| ErrorData::internal_error(err, None))?;
        Ok(CompleteResult::new(completion))
    }
}
