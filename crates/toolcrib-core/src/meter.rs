//! What a call uses: processor time and memory of its commands, what they changed, and what passed over the network.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cancel::HostCounter;
use crate::command::{ChangedFiles, End, HostTraffic, NetworkAccount, Usage};

/// Adds up the resources that a call uses.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<Readings>>);

#[derive(Debug, Default)]
struct Readings {
    usage: Usage,
    touched: ChangedFiles,
    network: NetworkAccount,
    command_end: Option<End>,
}

impl Meter {
    /// Adds the resources of one part of the call.
    pub fn add(&self, part: &Usage) {
        self.spent().usage.add(part);
    }

    /// Returns the resources used so far.
    pub fn total(&self) -> Usage {
        self.spent().usage
    }

    /// Sets the files that changed while its command ran.
    pub fn touch(&self, touched: ChangedFiles) {
        let mut spent = self.spent();
        let without_snapshot = spent.touched.without_snapshot;
        spent.touched = ChangedFiles { without_snapshot, ..touched };
    }

    /// Sets how many files have no snapshot from before its command.
    pub fn set_without_snapshot(&self, count: u64) {
        self.spent().touched.without_snapshot = count;
    }

    /// Returns the files that changed while its command ran, if any did.
    pub fn touched(&self) -> Option<ChangedFiles> {
        Some(self.spent().touched.clone()).filter(|touched| !touched.is_empty())
    }

    /// Sets what passed between its command and the network.
    pub fn set_network(&self, account: NetworkAccount) {
        self.spent().network = account;
    }

    /// Adds what passed between the call itself and a host.
    pub fn add_traffic(&self, traffic: HostTraffic) {
        let mut spent = self.spent();
        let hosts = &mut spent.network.hosts;
        match hosts.iter_mut().find(|known| known.host == traffic.host) {
            None => hosts.push(traffic),
            Some(known) => {
                known.connections += traffic.connections;
                known.bytes_up += traffic.bytes_up;
                known.bytes_down += traffic.bytes_down;
                known.refused += traffic.refused;
            }
        }
    }

    /// Returns what passed between its command and the network, if anything did.
    pub fn network(&self) -> Option<NetworkAccount> {
        Some(self.spent().network.clone()).filter(|account| !account.is_empty())
    }

    /// Returns what went over the network, and begins to count anew.
    pub fn take_network(&self) -> NetworkAccount {
        std::mem::take(&mut self.spent().network)
    }

    /// Sets how its command ended.
    pub fn set_command_end(&self, end: End) {
        self.spent().command_end = Some(end);
    }

    /// Returns how its command ended, if it ran one to its end.
    pub fn command_end(&self) -> Option<End> {
        self.spent().command_end
    }

    fn spent(&self) -> MutexGuard<'_, Readings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HostCounter for Meter {
    fn count_host(&self, host: &str, connections: u64, bytes_up: u64, bytes_down: u64) {
        let host = host.to_owned();
        self.add_traffic(HostTraffic { host, connections, bytes_up, bytes_down, refused: 0 });
    }
}
