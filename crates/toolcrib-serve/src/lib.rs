//! The server of Toolcrib. A request passes these stages before a handler sees it: the bytes of its head, the checks
//! against browsers and forged requests, the token, the limits, the path. A handler gets a request with a verified
//! `Caller` and a body that is bounded in size and time.

mod activity;
mod api;
mod body;
mod config;
mod connection;
mod head_gate;
mod health;
mod http_client;
mod identity;
mod limits;
mod listener;
mod mcp;
mod oauth;
mod observation;
mod page;
mod page_session;
mod pipeline;
mod plugin_views;
mod presented_token;
mod query;
mod reply;
mod request_check;
mod server;
mod server_views;
mod session_life;
mod tls;
mod token_bucket;
mod viewer;

pub use api::{
    Api, ApiPorts, Backend, CONTRACT_CATALOGUE, ChangeWay, ChangedCall, ChangedCallList,
    ChangedValue, ChangesScope, ClientSnippet, CommandPlace, ConfigChanged, ConfigError,
    ConfigErrorKind, DifferenceLength, DifferenceLine, EditedSettings, EventFeed, FileDifference,
    FullError, FullOutcome, HealthState, LineKind, LiveConfig, LivePlugins, Measure, PlannedCall,
    PlannedEdit, PreviewedFile, RebuiltStats, RecordedOverview, RecordedSeries, ReplayedCall,
    ReportError, ReportKind, RestoredFile, RulesChanged, RulesReplay, RunningCalls, SettingsReport,
    SettingsState, SharedFlush, ShownChange, ShownSetting, ShownVersions, Statistics, TaskState,
    TaskSummary, TextDifference, ToolConfig, ToolConfigChange, ToolHealth, UndoPreview, UndoReport,
    Wanted, WantedChanges, WantedReplay, WorkerGroup, WorkerKind, WorseMeasure, has_bare_names,
    routes, session_of,
};
pub use body::JsonBody;
pub use config::{ConnectionBounds, ListenAddress, RequestBounds, RequestRate, ServerConfig};
pub use health::{FindLoss, Readiness};
pub use http_client::{ExchangeError, TargetError};
pub use listener::{BindError, BindErrorKind};
pub use mcp::{
    ApproverSource, ClientTrust, McpConfig, McpServer, PipedClient, StdioEnd, ToolListing,
    TrustedAnswers, mcp_routes, serve_stdio,
};
pub use oauth::{
    KeyLoadError, KeySetError, OAuthConfig, OAuthConfigError, PublishedKeys, ResourceServer,
};
pub use observation::{EndpointError, ObservedRecorder, Observer, OtlpEndpoint, SpanExporter};
pub use page_session::{LINK_SECONDS, PageSessions};
pub use pipeline::Served;
pub use plugin_views::{
    AnswerFields, AskedPermissions, ExampleFields, PendingFields, PluginDetailFields, PluginFields,
    ProposalFields, ReviewFields, VersionFields,
};
pub use presented_token::TokenBook;
pub use reply::{ApiError, RequestId};
pub use server::{Server, ServerEnd};
pub use server_views::ServerFields;
pub use tls::{Notice, TlsErrorKind, TlsFiles, TrustError, TrustedRoots, client_config};
