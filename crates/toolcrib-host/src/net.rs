//! The net for real: one request to one host, whose address is looked up, checked and dialled once. No proxy of the
//! environment is used.

mod bad_reply;
mod cache_terms;
mod cached_net;
mod content_coding;
mod dial;
mod exchange;
mod framing;
pub(crate) mod global_address;
mod host_turns;
mod http_date;
mod manners;

mod patience;
mod patient_stream;
mod reply_reader;
mod reply_store;
mod retry;
mod robots;
mod robots_rules;
mod target;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use toolcrib_core::net::{
    AllowedAddresses, FetchMethod, FetchReply, FetchRequest, Net, Politeness,
};
use toolcrib_core::{Cancel, ErrorKind, ToolError};

pub use cached_net::CachedNet;
pub use dial::TlsConfigSource;
pub use manners::NetManners;
pub use patience::Patience;

use crate::Resolver;
use dial::Dialer;
use exchange::{RawReply, RawRequest, check_headers};
use host_turns::HostTurns;
use retry::wait_before_retry;
use robots::RobotsCache;
use target::{AllowedPorts, FetchTarget};

/// How often a redirect is followed.
const MAX_REDIRECTS: usize = 5;

/// The headers of a caller that are sent to another origin, too. All others may carry credentials.
const PLAIN_HEADERS: [&str; 6] =
    ["accept", "accept-encoding", "accept-language", "content-type", "range", "user-agent"];

/// Fetches from hosts on the open internet.
pub struct NetClient {
    ports: Vec<u16>,
    dialer: Dialer,
    manners: NetManners,
    turns: HostTurns,
    robots: RobotsCache,
}

impl NetClient {
    /// Makes a client for these ports. `tls` is asked when the first host wants TLS.
    pub fn new(ports: Vec<u16>, tls: Box<TlsConfigSource>) -> Self {
        let resolve = |name: &str, port: u16| {
            std::net::ToSocketAddrs::to_socket_addrs(&(name, port)).map(Iterator::collect)
        };
        let dialer = Dialer { tls, resolve: Arc::new(resolve), local: Vec::new() };
        let (manners, turns, robots) = Default::default();
        Self { ports, dialer, manners, turns, robots }
    }

    /// Returns the client with these manners.
    pub fn with_manners(self, manners: NetManners) -> Self {
        Self { manners, ..self }
    }

    /// Returns the client with another resolver, and with local addresses that it may connect to. For tests on one
    /// machine: no setting leads here.
    pub fn with_resolver(self, resolve: Box<Resolver>, local: Vec<IpAddr>) -> Self {
        let dialer = Dialer { resolve: Arc::from(resolve), local, ..self.dialer };
        Self { dialer, ..self }
    }

    fn ports_for(&self, addresses: AllowedAddresses) -> AllowedPorts<'_> {
        match addresses {
            AllowedAddresses::OpenInternet => AllowedPorts::Only(&self.ports),
            AllowedAddresses::Operator => AllowedPorts::Every,
        }
    }

    /// Waits until the host may be asked.
    fn wait_for_turn(
        &self,
        politeness: Politeness,
        target: &FetchTarget,
        patience: &Patience,
    ) -> Result<(), ToolError> {
        match politeness {
            Politeness::Api => Ok(()),
            Politeness::Page => self.turns.wait(target.host(), self.manners.crawl_delay, patience),
        }
    }

    /// Fails if an agent that reads pages is not welcome at the target.
    fn check_robots(
        &self,
        request: &FetchRequest,
        target: &FetchTarget,
        patience: &Patience,
    ) -> Result<(), ToolError> {
        if request.politeness == Politeness::Api || !self.manners.robots {
            return Ok(());
        }
        let is_name = |name: &str| name.eq_ignore_ascii_case("user-agent");
        let named = request.headers.iter().find(|(name, _)| is_name(name));
        let user_agent = named.map_or(self.manners.user_agent.as_str(), |(_, value)| value);
        self.robots.check((target, request.addresses), user_agent, |robots| {
            let asked = FetchTarget::parse(&robots.url, self.ports_for(robots.addresses))?;
            self.wait_for_turn(request.politeness, &asked, patience)?;
            self.follow(robots, patience)
        })
    }

    /// Sends one request, again if that is safe and the host may answer then.
    fn send(
        &self,
        (raw, politeness): (&RawRequest<'_>, Politeness),
        patience: &Patience,
        retries: &mut u32,
    ) -> Result<RawReply, ToolError> {
        loop {
            self.wait_for_turn(politeness, raw.target, patience)?;
            let outcome = self.dialer.send(raw, patience);
            let wait = wait_before_retry(raw.method, *retries, &outcome);
            let then = wait.and_then(|wait| Instant::now().checked_add(wait));
            let Some(then) = then.filter(|then| patience.reaches(*then)) else {
                return outcome.map_err(|failed| match *retries {
                    0 => failed.error,
                    retries => failed.error.with("attempts", 1 + retries),
                });
            };
            patience.wait_until(then, raw.target.host())?;
            *retries += 1;
        }
    }

    /// Sends a request, and follows the redirects that lead no further than the request may.
    fn follow(&self, request: &FetchRequest, patience: &Patience) -> Result<FetchReply, ToolError> {
        let ports = self.ports_for(request.addresses);
        let mut target = FetchTarget::parse(&request.url, ports)?;
        check_headers(&request.headers)?;
        let mut headers = request.headers.clone();
        let (mut method, mut body) = (request.method, request.body.as_deref());
        let mut retries = 0;
        for _ in 0..=MAX_REDIRECTS {
            let raw = RawRequest {
                method,
                target: &target,
                headers: &headers,
                body,
                most_bytes: request.most_bytes,
                user_agent: &self.manners.user_agent,
                addresses: request.addresses,
            };
            self.check_robots(request, &target, patience)?;
            let reply = self.send((&raw, request.politeness), patience, &mut retries)?;
            let whole = |reply: RawReply, redirect| FetchReply {
                attempts: 1 + retries,
                ..reply.into_reply(&target, redirect)
            };
            let Some(location) = reply.location() else {
                return Ok(whole(reply, None));
            };
            let next = target
                .join(location, ports)
                .map_err(|err| err.with("redirected_from", target.as_str()))?;
            refuse_downgrade(&target, &next)?;
            if turns_to_get(&reply, method) {
                (method, body) = (FetchMethod::Get, None);
            }
            if !may_follow(&target, &next, request.addresses, body) {
                let redirect = Some(next.as_str().to_owned());
                return Ok(whole(reply, redirect));
            }
            if !next.has_origin_of(&target) {
                let is_plain =
                    |name: &str| PLAIN_HEADERS.iter().any(|it| it.eq_ignore_ascii_case(name));
                headers.retain(|(name, _)| is_plain(name));
            }
            target = next;
        }
        let message = format!("`{}` leads on more than {MAX_REDIRECTS} times", target.host());
        Err(ToolError::new(ErrorKind::Failed, message).with("reason", "too_many_redirects"))
    }
}

/// Whether a redirect is asked for without a body.
fn turns_to_get(reply: &RawReply, method: FetchMethod) -> bool {
    reply.status == 303 && method != FetchMethod::Head
        || (matches!(reply.status, 301 | 302) && method == FetchMethod::Post)
}

/// Whether a redirect is followed. If it leads to another host, whoever wants to go there must ask. A body may carry
/// credentials, so it goes to no other origin.
fn may_follow(
    from: &FetchTarget,
    to: &FetchTarget,
    addresses: AllowedAddresses,
    body: Option<&str>,
) -> bool {
    match addresses {
        AllowedAddresses::OpenInternet => {
            to.has_origin_of(from) || (to.host() == from.host() && body.is_none())
        }
        AllowedAddresses::Operator => to.has_origin_of(from),
    }
}

/// Fails if a redirect of a host leads from https to http.
fn refuse_downgrade(from: &FetchTarget, to: &FetchTarget) -> Result<(), ToolError> {
    if from.host() != to.host() || !from.is_tls() || to.is_tls() {
        return Ok(());
    }
    let message = format!("`{}` leads from https to http", from.host());
    Err(ToolError::new(ErrorKind::Refused, message)
        .with("reason", "downgrade")
        .hint("fetch the http URL itself, if that is wanted"))
}

impl Net for NetClient {
    fn fetch(&self, request: &FetchRequest, cancel: &Cancel) -> Result<FetchReply, ToolError> {
        let patience = Patience::new(request.time, cancel);
        self.follow(request, &patience)
    }
}
