//! Puts before policy what a call would do, as its tool says it.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::command::Shell;
use toolcrib_core::policy::{Policy, Subject};
use toolcrib_core::reading::{ReadShell, Reading};
use toolcrib_core::{Ctx, Decision, Plan, Tier, canonical};

use crate::confirm::Confirmations;

/// Decides about calls.
pub struct Judge {
    policy: Arc<Policy>,
    shell: Arc<dyn ReadShell>,
    pub(crate) confirmations: Confirmations,
}

/// Which tool is called, and how.
pub(crate) struct Asked<'a> {
    pub(crate) tool: &'a str,
    pub(crate) tier: Tier,
    pub(crate) args: &'a Value,
    /// The names of its arguments, in the order they are declared in.
    pub(crate) keys: &'a [String],
}

impl Judge {
    /// Puts a policy and who reads commands for it together.
    pub fn new(policy: Arc<Policy>, shell: Arc<dyn ReadShell>) -> Self {
        Self { policy, shell, confirmations: Confirmations::default() }
    }

    /// Decides about a call that would do what `plan` says.
    pub(crate) fn decide(&self, asked: &Asked<'_>, plan: &Plan, ctx: &Ctx) -> Decision {
        let mut reading = plan.command.as_ref().map(|command| match command.shell {
            Shell::Bash | Shell::Own => self.shell.read(&command.text),
            Shell::PowerShell | Shell::Program(_) => Reading::unread("this shell's language"),
        });
        // Where a rule looks at paths, it looks at the real ones.
        let has_paths = self.policy.looks_at_paths();
        let place = |path: &String| ctx.files.place(path).unwrap_or_else(|_| path.clone());
        let places = |paths: Vec<&String>| -> Vec<String> {
            let paths = paths.into_iter().filter(|_| has_paths);
            paths.map(place).collect()
        };
        let root = if has_paths { place(&".".to_owned()) } else { String::new() };
        let reads = places(plan.reads.iter().collect());
        let mut writes = places(plan.edits.iter().map(|edit| &edit.path).collect());
        if let (Some(reading), Some(command)) = (&mut reading, &plan.command) {
            let from = command.directory.as_deref().unwrap_or(".");
            place_redirects(reading, from, ctx);
            writes.extend(reading.writes.iter().cloned());
        }
        let canonical = canonical::in_order(asked.args, asked.keys.iter().map(String::as_str));
        let subject = Subject {
            tool: asked.tool,
            tier: asked.tier,
            canonical: &canonical,
            root: &root,
            reads: &reads,
            writes: &writes,
            hosts: &[],
            reading: reading.as_ref(),
        };
        self.policy.decide(&subject, ctx.clock.now())
    }
}

/// Puts real places in the place of what redirections are spelt as. One that is outside proves nothing.
fn place_redirects(reading: &mut Reading, from: &str, ctx: &Ctx) {
    let place = |path: &str| {
        let spelt = if path.starts_with('/') { path.to_owned() } else { format!("{from}/{path}") };
        ctx.files.place(&spelt)
    };
    if let Ok(proven) = &mut reading.proven {
        let mut outside = None;
        for path in &mut proven.writes {
            match place(path) {
                Ok(real) => *path = real,
                Err(_) => outside = Some(path.clone()),
            }
        }
        if let Some(path) = outside {
            reading.proven = Err(format!("it writes `{path}`, which is not in the workspace"));
        }
    }
    let real: Vec<String> = reading.writes.iter().filter_map(|path| place(path).ok()).collect();
    reading.writes.extend(real);
}
