//! What a call uses: processor time and memory, the files that its command changes, and what goes to and from hosts.

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
        let mut spent = self.spent();
        let hosts = &mut spent.network.hosts;
        match hosts.iter_mut().find(|known| known.host == host) {
            None => {
                let host = host.to_owned();
                hosts.push(HostTraffic { host, connections, bytes_up, bytes_down, refused: 0 });
            }
            Some(known) => {
                known.connections += connections;
                known.bytes_up += bytes_up;
                known.bytes_down += bytes_down;
            }
        }
    }
}
