//! What rmcp asks of a server: each method hands over to the file of its subject.

use std::sync::atomic::Ordering;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::client_connection::McpHandler;
use super::{prompts, resources};

/// What a model is told about all tools together.
const INSTRUCTIONS: &str = "\
These tools work in one workspace. Every call is checked against the operator's policy and recorded. \
Paths are relative to the workspace. \
If a call is refused, the reply says why and what to do instead; the same call again gets the same answer. \
If a call waits for approval, a person is asked; make the same call again later to get its outcome. \
Long output is cut, and the reply says how to read the rest.";

/// The methods that have parameters.
const METHODS: [&str; 10] = [
    "completion/complete",
    "initialize",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_prompts()
            .enable_completions()
            .build();
        let mut info = ServerConfig::new(capabilities).with_instructions(INSTRUCTIONS);
        info.server_info = Implementation::new("toolcrib", env!("CARGO_PKG_VERSION"))
            .with_title("Toolcrib")
            .with_description(
                "Tools for agents: every call checked, decided, confined and recorded",
            );
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.server.list_tools(request.as_ref())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.list_outputs(&context).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Box::pin(self.read(&request.uri, &context)).await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(prompts::list())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request).map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.complete_argument(&request, &context).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // The SDK takes a known method whose parameters do not fit for one that it does not know.
        let method = request.method;
        if METHODS.contains(&method.as_str()) {
            let message = format!("the parameters of `{method}` do not fit the protocol");
            return Err(ErrorData::invalid_params(message, None));
        }
        let shown: String = method.chars().take(128).collect();
        let message = format!("no method `{shown}`");
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // A client may say so again and again.
        if !self.has_teller.swap(true, Ordering::Relaxed) {
            tokio::spawn(self.clone().tell_changes(context.peer));
        }
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(Self::told_changes())
    }

    async fn listen(&self, subscriber: SubscriptionContext) -> Result<(), ErrorData> {
        self.tell_subscriber(&subscriber).await;
        Ok(())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.server.find_tool(name).ok().map(|tool| tool.declared())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Kept out of the future of every request, which is moved around.
        Box::pin(self.make_call(request, context)).await
    }
}
