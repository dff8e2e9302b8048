//! The net that reaches a server on this machine. The API is reached because its address is the operator's, and the
//! host of archives because it is one of the open internet here.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use toolcrib_core::net::Net;
use toolcrib_host::NetClient;

/// Makes a net. Beside the operator's host, it reaches these ports of this machine.
pub(crate) fn github_net(ports: &[u16]) -> Arc<dyn Net> {
    let tls = || Err(std::io::Error::other("no test speaks TLS"));
    let resolve = |name: &str, port: u16| {
        std::net::ToSocketAddrs::to_socket_addrs(&(name, port)).map(Iterator::collect)
    };
    let local = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
    Arc::new(NetClient::new(ports.to_vec(), Box::new(tls)).with_resolver(Box::new(resolve), local))
}
