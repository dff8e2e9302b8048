//! A command's way to the network: the proxy, which starts when the command is ready for it.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::Waker;

use toolcrib_core::command::{Limit, Mechanism, Strike};
use toolcrib_core::host_access::HostGate;

use super::egress::{ClosedProxy, Egress, ProxyServer};

/// The command's way to the network, if it has one.
pub(super) struct NetworkLink {
    pub(super) egress: Arc<Egress>,
    /// Decides about hosts that no setting lists.
    gate: Option<Arc<dyn HostGate>>,
    /// The proxy, once the command is ready for it.
    proxy: Option<ProxyServer>,
    /// How many bytes may pass.
    most_bytes: u64,
    /// Wakes the supervisor when the proxy lets nothing more pass.
    pub(super) waker: Waker,
}

impl NetworkLink {
    pub(super) fn new(
        egress: Arc<Egress>,
        gate: Option<Arc<dyn HostGate>>,
        most_bytes: u64,
    ) -> Self {
        Self { egress, gate, proxy: None, most_bytes, waker: Waker::noop().clone() }
    }

    /// Starts the proxy on the listener of the sandbox.
    pub(super) fn serve(&mut self, listener: OwnedFd) {
        let (gate, waker) = (self.gate.take(), self.waker.clone());
        self.proxy = Some(self.egress.serve(listener, gate, self.most_bytes, waker));
    }

    /// Whether the command wanted to send or receive more than it may.
    pub(super) fn is_spent(&self) -> bool {
        self.proxy.as_ref().is_some_and(ProxyServer::is_spent)
    }

    /// Closes the proxy, and returns what it has to say.
    pub(super) fn close(&mut self) -> ClosedProxy {
        self.proxy.take().map(ProxyServer::close).unwrap_or_default()
    }

    /// Returns the strike of a command that wanted to send or receive more than it may. No more has passed.
    pub(super) fn strike(&self) -> Strike {
        let allowed = self.most_bytes;
        let by = Mechanism::Watchdog;
        Strike { limit: Limit::Network, allowed, used: Some(allowed), by }
    }
}
