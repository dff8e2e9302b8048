//! What rules and grants say about a host that a command wants to reach and that no setting lists.

use toolcrib_core::host_access::{HostRequest, HostVerdict};
use toolcrib_core::policy::grant::{Covers, Grant, GrantError, Wish};
use toolcrib_core::{Ctx, ToolName};

use super::judge::Judge;

/// Which command wants to reach a host, and where.
pub(crate) struct HostPlace<'a> {
    pub(crate) tool: &'a ToolName,
    pub(crate) session: &'a str,
    /// The workspace.
    pub(crate) root: &'a str,
}

impl Judge {
    /// Returns the hosts that people granted to commands here.
    pub(crate) fn granted_hosts(&self, place: &HostPlace<'_>, ctx: &Ctx) -> Vec<HostRequest> {
        let host = |grant: Grant| match grant.covers {
            Covers::Host(host) => Some(host),
            Covers::Call { .. } | Covers::Argv(_) | Covers::Path(_) | Covers::Edits(_) => None,
        };
        self.grants_here(place, ctx).into_iter().filter_map(host).collect()
    }

    /// Returns what rules and grants say about a host, if they say something. A rule that denies the host comes first.
    pub(crate) fn known_host(
        &self,
        place: &HostPlace<'_>,
        request: &HostRequest,
        ctx: &Ctx,
    ) -> Option<HostVerdict> {
        let now = ctx.clock.now();
        if let Some(rule) = self.policy().denies_host(place.tool, &request.host, now) {
            return Some(HostVerdict::Refused(format!("rule `{rule}` denies the host")));
        }
        let grants = self.grants_here(place, ctx);
        let is_it = |grant: &&Grant| matches!(&grant.covers, Covers::Host(host) if host == request);
        let grant = grants.iter().find(is_it)?;
        self.grants().used(&grant.id, now);
        Some(HostVerdict::Allowed)
    }

    /// Stores a grant for a host.
    pub(crate) fn grant_host(
        &self,
        id: String,
        by: &str,
        wish: &Wish,
        tool: &ToolName,
        ctx: &Ctx,
    ) -> Result<(), GrantError> {
        let grant = wish.granted(id, tool, by, ctx.clock.now());
        self.grants().add(grant.for_caller(self.caller()))
    }

    fn grants_here(&self, place: &HostPlace<'_>, ctx: &Ctx) -> Vec<Grant> {
        let now = ctx.clock.now();
        // Grants that cannot be read grant nothing.
        let mut grants = self.grants().current().unwrap_or_default();
        let holds = |grant: &Grant| grant.holds(now, place.session, place.root);
        grants.retain(|grant| grant.is_for(self.caller()) && holds(grant));
        grants
    }
}
