//! A tool for its author (typed) and for the runtime (erased).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned};
use serde_json::{Map, Value};

use crate::call::CallId;
use crate::calling_client::CallingClient;
use crate::cancel::Cancel;
use crate::capability::{Clock, Files, Tree};
use crate::checked_elsewhere::CheckedElsewhere;
use crate::command::Commands;
use crate::declaration::Declaration;
use crate::error::{ErrorKind, ToolError};
use crate::inner_calls::InnerCalls;
use crate::limits::Limits;
use crate::meter::Meter;
use crate::model::{Model, NoModel};
use crate::net::{Net, NoNet};
use crate::plan::Plan;
use crate::policy::Permit;
use crate::pull_requests::{NoPullRequests, PullRequests};
use crate::schema;
use crate::search::Search;
use crate::subagent::{NoSubagents, Subagents};
use crate::web_search::{NoWebSearch, WebSearch};

/// A tool, as its author writes it.
pub trait Tool: Send + Sync + 'static {
    /// The arguments that a caller sends. The JSON Schema is derived from this type.
    type Args: DeserializeOwned + JsonSchema + Send + 'static;

    /// The reply of the tool, before its catalogue gives it a form.
    type Reply: Serialize + JsonSchema + Send;

    /// Returns the tool as data.
    fn declaration(&self) -> &'static Declaration;

    /// Checks what the schema cannot express, without changing anything. Returns what the call would
    /// do, for policy and for the person who is asked.
    fn check(&self, ctx: &Ctx, args: &Self::Args) -> Result<Plan, ToolError> {
        let _ = (ctx, args);
        Ok(Plan::default())
    }

    /// Runs one call. The world is reached through `ctx` and nothing else.
    fn run(
        &self,
        ctx: &Ctx,
        args: Self::Args,
    ) -> impl Future<Output = Result<Self::Reply, ToolError>> + Send;

    /// Fails if the tool could not work now.
    fn health(&self, ctx: &Ctx) -> Result<(), ToolError> {
        let _ = ctx;
        Ok(())
    }

    /// Whether the tool makes calls of other tools.
    fn makes_calls(&self) -> bool {
        false
    }
}

/// The capabilities of one call.
#[derive(Clone)]
pub struct Ctx {
    /// The call.
    pub call: CallId,
    /// The files of its workspace.
    pub files: Arc<dyn Files>,
    /// Search in them.
    pub search: Arc<dyn Search>,
    /// Commands in them.
    pub commands: Arc<dyn Commands>,
    /// What lies outside the workspace.
    pub outside: Outside,
    /// The client that made the call.
    pub client: Arc<dyn CallingClient>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The cancellation token of the call.
    pub cancel: Cancel,
    /// The settings of tools.
    pub settings: Arc<ToolSettings>,
    /// What holds for the call.
    pub terms: CallTerms,
    /// The resources that the call has used.
    pub meter: Meter,
    /// Makes calls for the tool, if it is one that makes calls.
    pub calls: Option<Arc<dyn InnerCalls>>,
}

/// What a tool reaches outside the workspace.
#[derive(Clone)]
pub struct Outside {
    /// The connected repository, if one is.
    pub connection: Option<Connection>,
    /// Hosts.
    pub net: Arc<dyn Net>,
    /// A search engine.
    pub web_search: Arc<dyn WebSearch>,
    /// A language model.
    pub model: Arc<dyn Model>,
    /// Pull requests.
    pub pull_requests: Arc<dyn PullRequests>,
    /// Agents that do work for a tool.
    pub subagents: Arc<dyn Subagents>,
    /// Who reads what is fetched. Nothing is kept for others.
    pub reader: String,
}

impl Outside {
    /// Returns what a tool reaches where it reaches nothing.
    pub fn nothing() -> Self {
        Self {
            connection: None,
            net: Arc::new(NoNet),
            web_search: Arc::new(NoWebSearch),
            model: Arc::new(NoModel),
            pull_requests: Arc::new(NoPullRequests),
            subagents: Arc::new(NoSubagents),
            reader: String::new(),
        }
    }
}

/// What holds for one call.
#[derive(Clone, Copy, Debug)]
pub struct CallTerms {
    /// Its limits.
    pub limits: Limits,
    /// Whether its command is proven to only read.
    pub is_read_only: bool,
}

/// A connected repository.
#[derive(Clone)]
pub struct Connection {
    /// The host that it is on, if it is not on this machine.
    pub host: Option<String>,
    /// Its files.
    pub files: Arc<dyn Tree>,
    /// Search in them.
    pub search: Arc<dyn Search>,
}

/// What the operator set for tools.
#[derive(Clone, Debug)]
pub struct ToolSettings {
    /// The time after which a search answers with what it has found.
    pub search_time: Duration,
    /// How many results a search counts: [`crate::search::Grep::count_limit`].
    pub search_count_limit: u64,
    /// The most bytes that a tool reads of a file, where its catalogue has such a setting.
    pub max_read_bytes: u64,
    /// The most bytes that a tool writes to a file, where its catalogue has such a setting.
    pub max_write_bytes: u64,
    /// The most lines in one reply, where the catalogue has such a setting.
    pub max_output_lines: usize,
    /// JSON Schemas of registered output types, by name.
    pub output_types: Map<String, Value>,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            search_time: Duration::from_secs(30),
            search_count_limit: 10_000,
            max_read_bytes: 64 << 10,
            max_write_bytes: 64 << 10,
            max_output_lines: 256,
            output_types: Map::new(),
        }
    }
}

/// A tool for the runtime: arguments are JSON, parsed once.
pub trait AnyTool: Send + Sync {
    /// Returns the tool as data.
    fn declaration(&self) -> &'static Declaration;

    /// Returns the JSON Schema of the arguments, without what a model does not need.
    fn schema(&self) -> Value;

    /// Returns the JSON Schema of the reply, before its catalogue gives it a form. Without one, it is null.
    fn reply_schema(&self) -> Value;

    /// Parses the arguments.
    fn parse(&'static self, args: &Value) -> Result<Box<dyn Prepared>, ToolError>;

    /// Fails if the tool could not work now.
    fn health(&self, ctx: &Ctx) -> Result<(), ToolError>;

    /// Whether the tool makes calls of other tools.
    fn makes_calls(&self) -> bool;
}

/// A call whose arguments were parsed.
pub trait Prepared: Send {
    /// Runs the tool's own checks.
    fn check(&self, ctx: &Ctx) -> Result<Plan, ToolError>;

    /// Whether the call runs on another machine.
    fn runs_elsewhere(&self) -> bool {
        false
    }

    /// Returns what another machine said in the last check, if the call runs there.
    fn checked_elsewhere(&self) -> Option<CheckedElsewhere> {
        None
    }

    /// Runs the call that `permit` was given for. A permit is good for one run.
    fn run(self: Box<Self>, permit: Permit, ctx: Ctx) -> ReplyFuture;
}

/// The reply of a running call.
pub type ReplyFuture = Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>>;

impl<T: Tool> AnyTool for T {
    fn declaration(&self) -> &'static Declaration {
        Tool::declaration(self)
    }

    fn schema(&self) -> Value {
        schema::of::<T::Args>()
    }

    fn reply_schema(&self) -> Value {
        schema::of_reply::<T::Reply>()
    }

    fn parse(&'static self, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        match T::Args::deserialize(args) {
            Ok(args) => Ok(Box::new(Parsed { tool: self, args })),
            // The type has the last word; the schema only explains better.
            Err(err) => Err(schema::explain(&AnyTool::schema(self), args, &err.to_string())),
        }
    }

    fn health(&self, ctx: &Ctx) -> Result<(), ToolError> {
        Tool::health(self, ctx)
    }

    fn makes_calls(&self) -> bool {
        Tool::makes_calls(self)
    }
}

struct Parsed<T: Tool> {
    tool: &'static T,
    args: T::Args,
}

impl<T: Tool> Prepared for Parsed<T> {
    fn check(&self, ctx: &Ctx) -> Result<Plan, ToolError> {
        self.tool.check(ctx, &self.args)
    }

    fn run(self: Box<Self>, _: Permit, ctx: Ctx) -> ReplyFuture {
        Box::pin(async move {
            let reply = self.tool.run(&ctx, self.args).await?;
            serde_json::to_value(reply).map_err(|err| {
                ToolError::new(ErrorKind::Bug, format!("the reply could not be written: {err}"))
            })
        })
    }
}
