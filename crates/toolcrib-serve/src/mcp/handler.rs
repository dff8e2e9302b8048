//! What rmcp asks of a server: each method hands over to the file of its subject.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use toolcrib_core::{Caller, Door, SessionId};

use super::{Connection, McpServer};

/// What a model is told about all tools together.
const INSTRUCTIONS: &str = "\
These tools work in one workspace. Every call is checked against the operator's policy and recorded. \
Paths are relative to the workspace. \
If a call is refused, the reply says why and what to do instead; the same call again gets the same answer. \
If a call waits for approval, a person is asked; make the same call again later to get its outcome. \
Long output is cut, and the reply says how to read the rest.";

/// One connection to a client.
#[derive(Clone)]
pub(super) struct McpHandler {
    pub(super) server: Arc<McpServer>,
    pub(super) connection: Connection,
}

/// Who makes a call, and in which session.
pub(super) struct McpCaller {
    pub(super) caller: Arc<Caller>,
    pub(super) session: SessionId,
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
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

impl McpHandler {
    /// Returns who makes a request. What a client calls itself is recorded, and decides nothing.
    pub(super) fn caller(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<McpCaller, ErrorData> {
        let client = context.client_info().map(|client| client_name(&client));
        match &self.connection {
            Connection::Pipes { principal, session } => {
                let caller = Caller { principal: principal.clone(), door: Door::Mcp, client };
                Ok(McpCaller { caller: Arc::new(caller), session: session.clone() })
            }
            Connection::Http => {
                let parts = context.extensions.get::<axum::http::request::Parts>();
                let Some(known) = parts.and_then(|parts| parts.extensions.get::<Caller>()) else {
                    return Err(ErrorData::internal_error("the request has no caller", None));
                };
                let session = SessionId(format!("mcp-{}", known.principal.name));
                let client = client.or_else(|| known.client.clone());
                let caller = Caller { door: Door::Mcp, client, ..known.clone() };
                Ok(McpCaller { caller: Arc::new(caller), session })
            }
        }
    }
}

/// Whether a request is of the protocol in which a server asks by its reply and not by a request of its own.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Returns what a client calls itself, in a form that fits into the record.
fn client_name(client: &Implementation) -> String {
    const LONGEST: usize = 128;
    let text = format!("{}/{}", client.name, client.version);
    text.chars().filter(|it| !it.is_control()).take(LONGEST).collect()
}
