//! Answers the uses of `ctx` by calls of other tools. What the module did not declare is refused before any call; what it
//! declared is decided and recorded like every other call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use toolcrib_core::{Ctx, ErrorKind, Files, HeldPath, InnerCalls, Outcome, escape};
use url::Url;

use crate::host_uses::{HostUses, UseError, UseKind};
use crate::permissions::Permissions;

/// The tools that read, write and fetch for a module. Their contract is the one that modules come from.
const READ_TOOL: &str = "forgekeeper/read_file";
const WRITE_TOOL: &str = "forgekeeper/write_file";
const FETCH_TOOL: &str = "forgekeeper/http_fetch";

/// The most bytes of what `ctx.fetch` returns, if the module does not say.
const FETCHED_BYTES: usize = 512 << 10;

/// How many calls the uses of one call make at most. One `ctx.read` of a long file makes several.
const MAX_CALLS: usize = 1000;

/// Answers the uses of one call.
pub(crate) struct InnerUses<'a> {
    permissions: &'a Permissions,
    files: Arc<dyn Files>,
    calls: Option<Arc<dyn InnerCalls>>,
    waited: Mutex<Duration>,
    made: AtomicUsize,
}

impl<'a> InnerUses<'a> {
    /// Answers with what the call of `ctx` may use.
    pub(crate) fn new(permissions: &'a Permissions, ctx: &Ctx) -> Self {
        let (files, calls) = (Arc::clone(&ctx.files), ctx.calls.clone());
        Self { permissions, files, calls, waited: Mutex::default(), made: AtomicUsize::new(0) }
    }

    /// Makes a call. A call that fails rejects the module's promise.
    fn call(
        &self,
        tool: &str,
        args: Value,
        held_path: Option<HeldPath>,
    ) -> Result<Value, UseError> {
        let Some(calls) = &self.calls else {
            let message = "a tool that another tool called can use nothing of `ctx`";
            return Err(refused("use_unavailable", message));
        };
        if self.made.fetch_add(1, Ordering::Relaxed) >= MAX_CALLS {
            let message = format!("the call has used `ctx` {MAX_CALLS} times, which is the most");
            return Err(refused("use_budget_spent", &message));
        }
        let start = Instant::now();
        let Outcome { reply, error, elapsed, .. } = calls.call(tool.into(), args, held_path);
        // The time of a call leaves out how long a person took to answer.
        let waited = start.elapsed().saturating_sub(elapsed);
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner) += waited;
        match error {
            None => Ok(reply),
            Some(error) => Err(refused(error.kind.as_str(), &error.message)),
        }
    }

    fn fetch(&self, url: &str, options: Option<&Value>) -> Result<Value, UseError> {
        // The tool reads the URL with the same parser, and follows no redirect to another host.
        let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let Some(host) = host else {
            return Err(refused("bad_args", "`url` of `ctx.fetch` must be a whole URL"));
        };
        if !self.permissions.may_reach(&host) {
            let host = escape::line(&host);
            let message = format!("the module did not declare that it would reach `{host}`");
            return Err(refused("permission_not_declared", &message));
        }
        let mut args = match options {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(options)) => options.clone(),
            Some(_) => {
                return Err(refused("bad_args", "the options of `ctx.fetch` must be an object"));
            }
        };
        args.insert("url".to_owned(), url.into());
        args.entry("max_bytes").or_insert(FETCHED_BYTES.into());
        let reply = self.call(FETCH_TOOL, Value::Object(args), None).map_err(|err| {
            if err.code == ErrorKind::NotOffered.as_str() {
                let message = "`ctx.fetch` needs the setting `forgekeeper.http_fetch`";
                return refused("use_unavailable", message);
            }
            err
        })?;
        Ok(reply["result"].clone())
    }

    fn read(&self, path: &str) -> Result<Value, UseError> {
        let held = self.checked_path(UseKind::Read, path)?;
        let mut text = String::new();
        let mut offset = None;
        loop {
            let mut args = Map::new();
            args.insert("path".to_owned(), held.path.as_str().into());
            if let Some(offset) = offset {
                args.insert("offset".to_owned(), offset);
            }
            let reply = self.call(READ_TOOL, Value::Object(args), Some(held.clone()))?;
            text.push_str(reply["result"]["content"].as_str().unwrap_or_default());
            match reply["result"].get("next_offset") {
                Some(next) => offset = Some(next.clone()),
                None => return Ok(text.into()),
            }
        }
    }

    /// Refuses a path that the module did not declare. A link counts as where it leads. What is returned has no links any
    /// more, and is held: if a folder is swapped for a link meanwhile, the call fails.
    fn checked_path(&self, kind: UseKind, path: &str) -> Result<HeldPath, UseError> {
        let may = |path: &str| match kind {
            UseKind::Read => self.permissions.may_read(path),
            UseKind::Write => self.permissions.may_write(path),
            UseKind::Call | UseKind::Fetch => false,
        };
        let (root, target) = (self.files.resolve("."), self.files.resolve(path));
        let below = target.path.strip_prefix(&root.path).map(|rest| rest.trim_start_matches('/'));
        if let Some(below) = below.filter(|below| may(path) && target.is_inside && may(below)) {
            return Ok(HeldPath { path: below.to_owned(), leads_to: target.path.clone() });
        }
        let (kind, path) = (kind.as_str(), escape::line(path));
        let message = format!("the module did not declare that it would {kind} `{path}`");
        Err(refused("permission_not_declared", &message))
    }
}

impl HostUses for InnerUses<'_> {
    fn answer(&self, kind: UseKind, args: &Value) -> Result<Value, UseError> {
        let text = |at: usize, name: &str| {
            let wrong = || {
                let message = format!("`{name}` of `ctx.{}` must be a text", kind.as_str());
                refused("bad_args", &message)
            };
            args.get(at).and_then(Value::as_str).ok_or_else(wrong)
        };
        match kind {
            UseKind::Read => self.read(text(0, "path")?),
            UseKind::Write => {
                let (path, content) = (text(0, "path")?, text(1, "text")?);
                let held = self.checked_path(kind, path)?;
                let args = json!({"path": held.path, "content": content});
                let reply = self.call(WRITE_TOOL, args, Some(held))?;
                Ok(reply["result"].clone())
            }
            UseKind::Call => {
                let tool = text(0, "tool")?;
                if !self.permissions.may_call(tool) {
                    let tool = escape::line(tool);
                    let message = format!("the module did not declare that it would call `{tool}`");
                    return Err(refused("permission_not_declared", &message));
                }
                self.call(tool, args.get(1).cloned().unwrap_or_else(|| json!({})), None)
            }
            UseKind::Fetch => self.fetch(text(0, "url")?, args.get(1)),
        }
    }

    fn is_inner(&self) -> bool {
        self.calls.is_none()
    }

    fn waited(&self) -> Duration {
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(code: &str, message: &str) -> UseError {
    UseError { code: code.to_owned(), message: message.to_owned() }
}
