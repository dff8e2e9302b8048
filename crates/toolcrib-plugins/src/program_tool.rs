//! A program as a tool: its arguments and its result are checked against the declared schemas, and a process in the
//! sandbox answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_core::calling_client::MessageLevel;
use toolcrib_core::tool::ReplyFuture;
use toolcrib_core::{
    Cancel, Ctx, Declared, ErrorKind, Limits, LoadedTool, Meter, Permit, Plan, Prepared, ToolError,
    ToolKind,
};

use crate::line_pipe::PipeWait;
use crate::live_program::ProgramFault;
use crate::manifest::Manifest;
use crate::plugin_declaration::PluginDeclaration;
use crate::plugin_error::PluginError;
use crate::program_failure::ProgramCallTerms;
use crate::program_pool::{ProgramPlaces, ProgramPool, ProgramReach, ProgramStart, TakenProgram};
use crate::program_run::ProgramMode;
use crate::schema_check::CheckedSchema;

/// The time after its deadline in which a program is killed.
const KILL_RESERVE: Duration = Duration::from_millis(400);

/// The most bytes of an answer beside its result.
const ENVELOPE_BYTES: usize = 64 << 10;

/// The time in which a program says whether it is well.
const HEALTH_TIME: Duration = Duration::from_secs(5);

/// A version of a program, as a tool.
pub struct ProgramTool {
    version: String,
    declaration: PluginDeclaration,
    parameters: CheckedSchema,
    output: Option<CheckedSchema>,
    start: Arc<ProgramStart>,
    pool: Arc<ProgramPool>,
}

/// What a program answered with, and what it printed to its standard error meanwhile.
struct ProgramReply {
    answer: Value,
    printed: String,
}

/// Who makes a call, as programs are told it.
#[derive(Clone, Copy, Debug)]
pub struct ProgramCall<'a> {
    /// The session of the call.
    pub session: &'a str,
    /// The call.
    pub call: &'a str,
}

impl ProgramTool {
    /// Makes a tool of a program. Nothing is started here.
    pub fn new(
        version: impl Into<String>,
        manifest: &Manifest,
        places: ProgramPlaces<'_>,
        reach: ProgramReach,
        pool: Arc<ProgramPool>,
    ) -> Result<Arc<Self>, PluginError> {
        let declaration = manifest.declaration.clone();
        let parameters = CheckedSchema::new(declaration.parameters.clone())?;
        let output = declaration.output.clone().map(CheckedSchema::new).transpose()?;
        let start = pool.start_of(manifest, places, reach);
        let version = version.into();
        Ok(Arc::new(Self { version, declaration, parameters, output, start, pool }))
    }

    /// Runs one call and checks its result. Blocks until the call is over.
    pub fn run(
        &self,
        args: &Value,
        call: ProgramCall<'_>,
        limits: Limits,
        cancel: &Cancel,
    ) -> Result<Value, ToolError> {
        self.reply(args, call, limits, cancel, &Meter::default()).map(|reply| reply.answer)
    }

    fn reply(
        &self,
        args: &Value,
        call: ProgramCall<'_>,
        limits: Limits,
        cancel: &Cancel,
        meter: &Meter,
    ) -> Result<ProgramReply, ToolError> {
        let secrets = self.start.secrets.as_ref().map_err(|names| self.missing(names))?;
        let time = Duration::from_millis(limits.deadline_ms);
        let facts = self.facts(time, limits.output_bytes);
        let wait = PipeWait { until: Instant::now() + time, cancel };
        let mut params = args.as_object().cloned().unwrap_or_default();
        params.insert("sessionId".to_owned(), call.session.into());
        params.insert("callId".to_owned(), call.call.into());
        let params = Value::Object(params);
        let reply = match self.start.mode {
            ProgramMode::Once => self.call_once(&params, wait, &facts, meter),
            ProgramMode::Resident => self.call_resident(&params, wait, &facts, meter),
        };
        let answered = reply
            .and_then(|ProgramReply { answer, printed }| Ok((result_of(answer, &facts)?, printed)));
        let (result, printed) = answered.map_err(|err| secrets.hide_in_error(err))?;
        let (result, printed) = (secrets.hide(result), secrets.hide_in(&printed));
        if result.to_string().len() > limits.output_bytes {
            return Err(facts.too_long());
        }
        if let Some(output) = &self.output {
            output.check_result(&result)?;
        }
        Ok(ProgramReply { answer: result, printed })
    }

    fn call_once(
        &self,
        params: &Value,
        wait: PipeWait<'_>,
        facts: &ProgramCallTerms<'_>,
        meter: &Meter,
    ) -> Result<ProgramReply, ToolError> {
        let mut taken = self.pool.take(&self.start, wait.until, wait.cancel)?;
        let most_bytes = facts.result_bytes + ENVELOPE_BYTES;
        let answer = taken.process.ask_once(params, wait, most_bytes);
        let printed = taken.process.end_and_printed();
        meter.add(&taken.process.newly_used());
        match answer {
            Ok(answer) => Ok(ProgramReply { answer, printed }),
            Err(fault) => Err(facts.error_of(&fault, &printed)),
        }
    }

    fn call_resident(
        &self,
        params: &Value,
        wait: PipeWait<'_>,
        facts: &ProgramCallTerms<'_>,
        meter: &Meter,
    ) -> Result<ProgramReply, ToolError> {
        let mut taken = self.pool.take(&self.start, wait.until, wait.cancel)?;
        let is_used = taken.process.is_used();
        let mut validated = self.prepare(&mut taken, "validate", params, wait);
        // A process that went away or misbehaved after its last call has done nothing for this one.
        let is_stale = matches!(
            validated,
            Err(ProgramFault::Ended(_) | ProgramFault::Misbehaved(_) | ProgramFault::TooLong)
        );
        if is_used && is_stale {
            drop(taken);
            taken = self.pool.take(&self.start, wait.until, wait.cancel)?;
            validated = self.prepare(&mut taken, "validate", params, wait);
        }
        let asked = validated.and_then(|valid| {
            if let Some(errors) = invalid_because(&valid)? {
                return Ok(Err(errors));
            }
            let most_bytes = facts.result_bytes + ENVELOPE_BYTES;
            taken.process.ask("execute", params, wait, most_bytes).map(Ok)
        });
        meter.add(&taken.process.newly_used());
        match asked {
            Ok(answer) => {
                let printed = taken.process.newly_printed();
                self.pool.give_back(&self.start, taken);
                let answer = answer.map_err(|errors| {
                    let message = format!("{}: {}", facts.name, errors.join(", "));
                    ToolError::new(ErrorKind::BadArgs, message).with("errors", errors)
                })?;
                Ok(ProgramReply { answer, printed })
            }
            Err(fault) => Err(facts.error_of(&fault, &taken.process.printed())),
        }
    }

    /// Asks a process that stays up, which is told its configuration before its first request.
    fn prepare(
        &self,
        taken: &mut TakenProgram<'_>,
        method: &str,
        params: &Value,
        wait: PipeWait<'_>,
    ) -> Result<Value, ProgramFault> {
        let process = &mut taken.process;
        if !process.is_used() {
            let mut config = self.start.config.clone();
            let left = wait.until.saturating_duration_since(Instant::now());
            config["limits"]["timeout"] = json!(left.as_millis() as u64);
            process.ask("initialize", &config, wait, ENVELOPE_BYTES)?;
        }
        process.ask(method, params, wait, ENVELOPE_BYTES)
    }

    /// Returns the error of a call whose program needs secrets that have no value.
    fn missing(&self, names: &[String]) -> ToolError {
        let name = &self.declaration.name;
        let message = format!("{name} needs secrets that are not set: {}", names.join(", "));
        ToolError::new(ErrorKind::Unavailable, message)
            .with("reason", "secret_not_set")
            .hint("set them in the environment of Toolcrib, and start it again")
    }

    fn facts(&self, time: Duration, result_bytes: usize) -> ProgramCallTerms<'_> {
        ProgramCallTerms { name: &self.declaration.name, time, result_bytes }
    }
}

impl Drop for ProgramTool {
    fn drop(&mut self) {
        self.pool.forget(&self.start);
    }
}

impl LoadedTool for ProgramTool {
    fn kind(&self) -> ToolKind {
        ToolKind::Program
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
        Ok(Box::new(PreparedProgram { tool: self, args: args.clone() }))
    }

    fn health(&self, ctx: &Ctx) -> Result<(), ToolError> {
        self.check_health(&ctx.cancel)
    }

    fn reserve(&self) -> Duration {
        KILL_RESERVE
    }
}

impl ProgramTool {
    /// Asks a program that stays up whether it is well. One that runs once per call is well while it can be started.
    pub fn check_health(&self, cancel: &Cancel) -> Result<(), ToolError> {
        if self.start.mode == ProgramMode::Once {
            return Ok(());
        }
        self.start.secrets.as_ref().map_err(|names| self.missing(names))?;
        let facts = self.facts(HEALTH_TIME, ENVELOPE_BYTES);
        let wait = PipeWait { until: Instant::now() + HEALTH_TIME, cancel };
        let mut taken = self.pool.take(&self.start, wait.until, cancel)?;
        match self.prepare(&mut taken, "healthCheck", &json!({}), wait) {
            Ok(health) => {
                self.pool.give_back(&self.start, taken);
                if health["healthy"] == false {
                    let why = health["error"].as_str().unwrap_or("it does not say why");
                    let why = toolcrib_core::escape::line(why);
                    let message = format!("{} is not well: {why}", facts.name);
                    return Err(ToolError::new(ErrorKind::Unavailable, message));
                }
                Ok(())
            }
            Err(fault) => Err(facts.error_of(&fault, &taken.process.printed())),
        }
    }
}

/// A call of a program. It keeps its version, whatever is loaded meanwhile.
struct PreparedProgram {
    tool: Arc<ProgramTool>,
    args: Value,
}

impl Prepared for PreparedProgram {
    fn check(&self, _: &Ctx) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    fn run(self: Box<Self>, _: Permit, ctx: Ctx) -> ReplyFuture {
        Box::pin(async move {
            let session = ctx.calls.as_ref().map_or("", |calls| calls.session().0.as_str());
            let call = ProgramCall { session, call: &ctx.call.0 };
            let ProgramReply { answer, printed } =
                self.tool.reply(&self.args, call, ctx.terms.limits, &ctx.cancel, &ctx.meter)?;
            // A client that does not want to know is no reason to fail.
            if !printed.trim().is_empty() {
                let _ = ctx.client.log(MessageLevel::Info, printed.trim_end().to_owned()).await;
            }
            Ok(answer)
        })
    }
}

/// Returns why the arguments are not valid, by a program's answer. A program that says nothing has no objection.
fn invalid_because(answer: &Value) -> Result<Option<Vec<String>>, ProgramFault> {
    match (answer, &answer["valid"]) {
        (Value::Null, _) | (_, Value::Bool(true)) => Ok(None),
        (_, Value::Bool(false)) => {
            let errors = answer["errors"].as_array().into_iter().flatten();
            let errors: Vec<String> = errors.filter_map(Value::as_str).map(str::to_owned).collect();
            let unsaid = || vec!["the arguments are not valid".to_owned()];
            Ok(Some(if errors.is_empty() { unsaid() } else { errors }))
        }
        _ => {
            let what = "its answer to `validate` has no `valid`".to_owned();
            Err(ProgramFault::Misbehaved(what))
        }
    }
}

/// Returns the result that a program answered with.
fn result_of(mut answer: Value, facts: &ProgramCallTerms<'_>) -> Result<Value, ToolError> {
    match answer["success"] {
        Value::Bool(true) => Ok(answer["result"].take()),
        Value::Bool(false) => Err(facts.error_of_answer(&answer["error"])),
        _ => {
            let what = "its answer has no `success` that is true or false".to_owned();
            Err(facts.error_of(&ProgramFault::Misbehaved(what), ""))
        }
    }
}
