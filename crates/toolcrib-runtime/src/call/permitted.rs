//! Stage four: the call may run. Its permit is used up by running it.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::Handle;
use toolcrib_core::pin::{PinChange, PinChangeKind, list_changes, pin_changes};
use toolcrib_core::policy::{DeniedPaths, PathAccess};
use toolcrib_core::search::Search;
use toolcrib_core::tool::{Connection, ReplyFuture};
use toolcrib_core::{
    CallTerms, Ctx, Durability, Effect, ErrorKind, Moment, Outside, Permit, Prepared, ToolError,
};

use super::denied_search::DeniedSearch;
use super::host_questions::HostQuestions;
use super::question_maker::{AskedState, pinned_digest, pins_of};
use super::scope::CallScope;
use crate::decide::affected_files::AffectedFiles;
use crate::decide::proposal::Proposal;

/// A call that may run.
pub(crate) struct Permitted {
    pub(crate) scope: Arc<CallScope>,
    pub(crate) prepared: Box<dyn Prepared>,
    pub(crate) proposal: Proposal,
    pub(crate) permit: Permit,
    /// The rules that asked about the call.
    pub(crate) answered: Vec<String>,
}

impl Permitted {
    /// Fails if what someone was asked about is not what would run now.
    pub(crate) fn check_unchanged(&self, asked: &AskedState) -> Result<(), ToolError> {
        let Self { scope, prepared, proposal, .. } = self;
        if prepared.checked_elsewhere().is_some() {
            // The machine that has the files compares them with what was asked about.
            return Ok(());
        }
        let places = proposal.edited_paths()?;
        let now = pins_of(scope, proposal).pinned;
        if pinned_digest(scope, proposal, &places, &now) == asked.digest {
            return Ok(());
        }
        let denied = scope.judge.denied_paths(&scope.tool, proposal, &scope.ctx);
        let root = proposal.paths.root();
        let changes = pin_changes(&asked.pinned, &now).into_iter();
        let changes = changes.map(|change| without_denied(change, &root, denied.as_ref()));
        let what = list_changes(changes);
        let what = what.unwrap_or_else(|| "it would do something else now".to_owned());
        let message = format!(
            "`{}` was not run: something changed while a person was asked: {what}",
            scope.tool
        );
        Err(ToolError::new(ErrorKind::Changed, message)
            .hint("check the change, and repeat the call"))
    }

    /// Runs the tool on this thread, and measures what it uses.
    pub(crate) fn run_here(self, handle: &Handle) -> Result<Value, ToolError> {
        let scope = Arc::clone(&self.scope);
        let may_reach = || !scope.ctx.commands.reachable_hosts().is_empty();
        if !self.proposal.plan.hosts.is_empty() || (scope.effect() == Effect::Write && may_reach())
        {
            scope.judge.mark_tainted(&scope.call.session.0, &scope.ctx);
        }
        let Started { work, has_snapshots } = self.start()?;
        // Measured from here on: what the record took is not the tool's.
        let before = scope.clock.used();
        let reply = handle.block_on(work);
        scope.ctx.meter.add(&scope.clock.used().since(&before));
        // The snapshots of a command that goes on as a task are resolved when the task ends.
        if has_snapshots && !scope.ctx.commands.is_under_way(&scope.call.id.0) {
            scope.ctx.files.resolve_snapshots();
        }
        reply
    }

    /// Enters the tool: takes snapshots of the files that its command may change, records that it started, and
    /// returns the work.
    pub(crate) fn start(self) -> Result<Started, ToolError> {
        let Self { scope, prepared, proposal, permit, answered } = self;
        if !permit.covers(scope.digest) {
            let message = format!("`{}` is not the call that was permitted", scope.tool);
            return Err(ToolError::new(ErrorKind::Refused, message));
        }
        let ctx = &scope.ctx;
        let denied = scope.judge.denied_paths(&scope.tool, &proposal, ctx);
        let affected = AffectedFiles::of(&proposal, ctx, denied.as_ref());
        let has_snapshots = affected.as_ref().is_some_and(|affected| !affected.files.is_empty());
        if let Some(affected) = &affected {
            let missing = ctx.files.take_snapshots(&affected.files, affected.known);
            ctx.meter.set_without_snapshot(missing + u64::from(affected.is_cut));
        }
        if let Some(gate) = HostQuestions::of(&scope, &proposal) {
            ctx.commands.ask_about_hosts(Arc::new(gate));
        }
        record_started(&scope, &proposal).inspect_err(|_| {
            // The tool does not run, so its snapshots are not needed.
            if has_snapshots {
                ctx.files.resolve_snapshots();
            }
        })?;
        let terms = CallTerms { is_read_only: affected.is_none(), ..ctx.terms };
        let ctx = Ctx { terms, ..ctx.clone() };
        if proposal.plan.command.is_some() {
            let masked = scope.judge.masked_paths(&scope.tool, &proposal, &ctx, &answered);
            if let Some(masked) = masked {
                ctx.commands.deny(masked);
            }
        }
        let ctx = restricted(&proposal, denied, ctx);
        Ok(Started { work: prepared.run(permit, ctx), has_snapshots })
    }
}

/// Leaves out which file in a folder changed if policy denies it: an agent must not learn its name.
fn without_denied(change: PinChange, root: &str, denied: Option<&DeniedPaths>) -> PinChange {
    let is_denied = |inside: &String| {
        let path = Path::new(root).join(&change.path).join(inside);
        denied.is_some_and(|denied| denied.rule(&path, PathAccess::Read).is_some())
    };
    if change.inside.as_ref().is_some_and(is_denied) {
        return PinChange { inside: None, kind: PinChangeKind::Content, ..change };
    }
    change
}

/// Returns a context that holds the tool to what was decided about paths.
fn restricted(proposal: &Proposal, denied: Option<DeniedPaths>, ctx: Ctx) -> Ctx {
    if !proposal.decided_paths.is_empty() {
        ctx.files.hold(proposal.decided_paths.clone());
    }
    let Some(denied) = denied else { return ctx };
    ctx.files.deny(denied.clone());
    let narrowed = |search: Arc<dyn Search>| -> Arc<dyn Search> {
        Arc::new(DeniedSearch::new(search, denied.clone()))
    };
    let connection = ctx.outside.connection.map(|connection| {
        connection.files.deny(denied.clone());
        Connection { search: narrowed(connection.search), ..connection }
    });
    let outside = Outside { connection, ..ctx.outside };
    Ctx { search: narrowed(ctx.search), outside, ..ctx }
}

/// A tool that was entered.
pub(crate) struct Started {
    pub(crate) work: ReplyFuture,
    has_snapshots: bool,
}

/// Records that the tool begins: for one that changes something, so that no power cut can take it back.
fn record_started(scope: &CallScope, proposal: &Proposal) -> Result<(), ToolError> {
    let absolute = |path: &str| proposal.paths.absolute(path).ok();
    let command = proposal.plan.command.as_ref();
    let edits = proposal.plan.edits.iter();
    let places: Vec<String> = edits.filter_map(|edit| absolute(&edit.path)).collect();
    let directory = command.and_then(|_| absolute(proposal.start_directory()));
    let terms = command.map(|_| scope.ctx.commands.terms());
    let (directory, terms) = (directory.as_deref(), terms.as_deref());
    let durability = match scope.effect() {
        Effect::Write => Durability::Synced,
        // It has told nobody anything before it ends; if that takes long, it is written meanwhile.
        Effect::Read | Effect::Compute | Effect::None => Durability::Buffered,
    };
    scope.record(Moment::Started { places: &places, directory, terms }, durability)
}
