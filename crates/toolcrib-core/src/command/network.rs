//! The network account of a command: what passed between the command and each host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::limit::show_bytes;
use crate::counted::counted;

/// What passed between a command and the network, by host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NetworkAccount {
    /// One entry for each host. A command that names very many hosts has a last entry for all others.
    pub hosts: Vec<HostTraffic>,
}

/// What passed between a command and one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostTraffic {
    /// The host, as the command named it. A text in parentheses stands for several hosts or for none.
    pub host: String,
    /// How many connections were made.
    pub connections: u64,
    /// Bytes that were sent to the host.
    pub bytes_up: u64,
    /// Bytes that were received from it.
    pub bytes_down: u64,
    /// How many requests were refused, or failed before a connection was made.
    pub refused: u64,
}

impl NetworkAccount {
    /// Whether the command did not try to reach anything.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Returns the sums over all hosts, without a name.
    pub fn total(&self) -> HostTraffic {
        let mut total = HostTraffic::default();
        for host in &self.hosts {
            total.add(host);
        }
        total
    }
}

impl HostTraffic {
    /// Adds the figures of another host to these.
    pub fn add(&mut self, other: &Self) {
        self.connections += other.connections;
        self.bytes_up = self.bytes_up.saturating_add(other.bytes_up);
        self.bytes_down = self.bytes_down.saturating_add(other.bytes_down);
        self.refused += other.refused;
    }

    /// Returns the figures in words.
    pub fn describe(&self) -> String {
        let mut parts = Vec::new();
        if self.connections > 0 {
            let (up, down) = (show_bytes(self.bytes_up), show_bytes(self.bytes_down));
            let connections = counted(self.connections, "connection");
            parts.push(format!("{connections}, {up} sent, {down} received"));
        }
        if self.refused > 0 {
            parts.push(format!("{} refused", self.refused));
        }
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_is_told_in_these_words() {
        let host = |connections, bytes_up, bytes_down, refused| HostTraffic {
            host: "a.example".to_owned(),
            connections,
            bytes_up,
            bytes_down,
            refused,
        };
        for (traffic, expect) in [
            (host(1, 10, 2048, 0), "1 connection, 10 bytes sent, 2 KiB received"),
            (host(2, 0, 0, 1), "2 connections, 0 bytes sent, 0 bytes received, 1 refused"),
            (host(0, 0, 0, 3), "3 refused"),
            (host(0, 0, 0, 0), ""),
        ] {
            assert_eq!(traffic.describe(), expect);
        }
        let both = NetworkAccount { hosts: vec![host(1, 10, 2048, 0), host(0, 0, 0, 3)] };
        let total = HostTraffic { host: String::new(), ..host(1, 10, 2048, 3) };
        assert_eq!(both.total(), total);
    }

    #[test]
    fn an_account_is_read_with_fields_missing_or_unknown() {
        let text = r#"[{"host":"a.example","refused":1,"later":true}]"#;
        let account: NetworkAccount = serde_json::from_str(text).unwrap();
        assert_eq!((account.hosts[0].refused, account.hosts[0].connections), (1, 0));
    }
}
