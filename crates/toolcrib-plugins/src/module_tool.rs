//! A module as a tool: its arguments and its result are checked against the declared schemas, and a worker runs it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib_core::calling_client::MessageLevel;
use toolcrib_core::tool::ReplyFuture;
use toolcrib_core::{
    Cancel, Ctx, Declared, Limits, LoadedTool, Meter, Permit, Plan, Prepared, ToolError, ToolKind,
};

use crate::host_uses::{HostUses, UseKind};
use crate::inner_uses::InnerUses;
use crate::live_worker::{ModuleCode, ModuleTask};
use crate::plugin_declaration::PluginDeclaration;
use crate::plugin_error::PluginError;
use crate::schema_check::CheckedSchema;
use crate::worker_line::{Console, ConsoleLevel};
use crate::worker_pool::{ModuleReply, TaskTime, WorkerPool};

/// The time after its deadline in which a module's worker is killed.
const KILL_RESERVE: Duration = Duration::from_millis(400);

/// A version of a module, as a tool.
pub struct ModuleTool {
    version: String,
    code: Arc<ModuleCode>,
    declaration: PluginDeclaration,
    parameters: CheckedSchema,
    output: Option<CheckedSchema>,
    pool: Arc<WorkerPool>,
}

impl ModuleTool {
    /// Makes a tool of a version that was described before. None of the module's code runs here.
    pub fn new(
        version: impl Into<String>,
        source: Arc<str>,
        declaration: PluginDeclaration,
        pool: Arc<WorkerPool>,
    ) -> Result<Arc<Self>, PluginError> {
        let parameters = CheckedSchema::new(declaration.parameters.clone())?;
        let output = declaration.output.clone().map(CheckedSchema::new).transpose()?;
        let code = Arc::new(ModuleCode { file: format!("{}.mjs", declaration.name), source });
        pool.join(&code);
        let version = version.into();
        Ok(Arc::new(Self { version, code, declaration, parameters, output, pool }))
    }

    /// Runs one call and checks its result. Blocks until the call is over.
    pub fn run(
        &self,
        args: &Value,
        limits: Limits,
        cancel: &Cancel,
        host: &dyn HostUses,
    ) -> Result<Value, ToolError> {
        self.reply(args, limits, cancel, host, &Meter::default()).map(|reply| reply.result)
    }

    fn reply(
        &self,
        args: &Value,
        limits: Limits,
        cancel: &Cancel,
        host: &dyn HostUses,
        meter: &Meter,
    ) -> Result<ModuleReply, ToolError> {
        let task = ModuleTask {
            args,
            result_bytes: limits.output_bytes,
            // Also those that it did not declare: a refusal says more than a function that is not there.
            uses: &UseKind::ALL,
            most_uses: self.pool.most_uses(),
            host,
        };
        let time = Duration::from_millis(limits.deadline_ms);
        let time = TaskTime { time, cancel, is_inner: host.is_inner(), meter };
        let reply = self.pool.call(&self.code, &task, time)?;
        if let Some(output) = &self.output {
            output.check_result(&reply.result)?;
        }
        Ok(reply)
    }
}

impl Drop for ModuleTool {
    fn drop(&mut self) {
        self.pool.leave(&self.code);
    }
}

impl LoadedTool for ModuleTool {
    fn kind(&self) -> ToolKind {
        ToolKind::Module
    }

    fn declaration(&self) -> Declared<'_> {
        let PluginDeclaration { name, description, tier, permissions, .. } = &self.declaration;
        Declared {
            name,
            summary: description,
            tier: *tier,
            effect: permissions.effect(),
            limits: Limits::DEFAULT,
        }
    }

    fn schema(&self) -> Value {
        self.parameters.value().clone()
    }

    fn reply_schema(&self) -> Value {
        self.output.as_ref().map_or(Value::Null, |output| output.value().clone())
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn parse(self: Arc<Self>, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        self.parameters.check_args(args)?;
        Ok(Box::new(PreparedModule { tool: self, args: args.clone() }))
    }

    fn reserve(&self) -> Duration {
        KILL_RESERVE
    }
}

/// A call of a module. It keeps its version, whatever is loaded meanwhile.
struct PreparedModule {
    tool: Arc<ModuleTool>,
    args: Value,
}

impl Prepared for PreparedModule {
    fn check(&self, _: &Ctx) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    fn run(self: Box<Self>, _: Permit, ctx: Ctx) -> ReplyFuture {
        Box::pin(async move {
            let uses = InnerUses::new(&self.tool.declaration.permissions, &ctx);
            let (limits, cancel) = (ctx.terms.limits, &ctx.cancel);
            let reply = self.tool.reply(&self.args, limits, cancel, &uses, &ctx.meter)?;
            drop(uses);
            tell_console(&ctx, &reply.console).await;
            Ok(reply.result)
        })
    }
}

/// Tells the client what the module printed. A client that does not want to know is no reason to fail.
async fn tell_console(ctx: &Ctx, console: &Console) {
    for (level, text) in &console.messages {
        let level = match level {
            ConsoleLevel::Debug => MessageLevel::Debug,
            ConsoleLevel::Log | ConsoleLevel::Info => MessageLevel::Info,
            ConsoleLevel::Warn => MessageLevel::Warning,
            ConsoleLevel::Error => MessageLevel::Error,
        };
        let _ = ctx.client.log(level, text.clone()).await;
    }
    if console.is_cut {
        let note = "the module printed more than is kept".to_owned();
        let _ = ctx.client.log(MessageLevel::Info, note).await;
    }
}
