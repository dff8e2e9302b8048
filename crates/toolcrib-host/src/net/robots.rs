//! The robots.txt of each host that pages are read of: fetched once, remembered for an hour, obeyed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use toolcrib_core::net::{AllowedAddresses, FetchReply, FetchRequest};
use toolcrib_core::{ErrorKind, ToolError, escape};

use super::robots_rules::RobotsRules;
use super::target::FetchTarget;

/// The most bytes of a robots.txt. The rest does not count.
const MOST_ROBOTS_BYTES: usize = 500 << 10;

/// How many redirects to other hosts a robots.txt may have. After more, it counts as none.
const MOST_OTHER_HOSTS: usize = 5;

/// How long a robots.txt is remembered, and how long that there was none to be had.
const ROBOTS_TIME: Duration = Duration::from_hours(1);
const UNAVAILABLE_TIME: Duration = Duration::from_mins(1);

/// The most hosts whose robots.txt is remembered.
const MOST_ROBOTS_HOSTS: usize = 256;

/// What is known of the robots.txt of a host.
#[derive(Clone)]
enum KnownRobots {
    Rules(Arc<RobotsRules>),
    /// The host could not say. The text says why.
    Unavailable(Arc<str>),
}

/// An origin, and who named it.
type RobotsKey = (String, AllowedAddresses);

/// What is remembered of robots.txt files.
#[derive(Default)]
pub(super) struct RobotsCache {
    known: Mutex<HashMap<RobotsKey, (Instant, KnownRobots)>>,
}

impl RobotsCache {
    /// Fails if the host's robots.txt denies the target to who calls himself `user_agent`. `fetch` fetches the file.
    pub(super) fn check(
        &self,
        (target, addresses): (&FetchTarget, AllowedAddresses),
        user_agent: &str,
        fetch: impl Fn(&FetchRequest) -> Result<FetchReply, ToolError>,
    ) -> Result<(), ToolError> {
        let key = (target.origin(), addresses);
        let known = if let Some(known) = self.find(&key) {
            known
        } else {
            let known = ask(&key, fetch)?;
            self.keep(key, known.clone());
            known
        };
        let host = target.host();
        let hint = "fetch another page; with the setting `web.robots` = \"off\", robots.txt is not asked for";
        match known {
            KnownRobots::Unavailable(why) => {
                let message = format!("`{host}` cannot say whether its pages may be read: {why}");
                Err(ToolError::new(ErrorKind::Refused, message)
                    .with("reason", "robots_unavailable")
                    .hint(hint))
            }
            KnownRobots::Rules(rules) => {
                let Some(line) = rules.denial(user_agent, target.path_and_query()) else {
                    return Ok(());
                };
                let text: String = line.text.chars().take(200).collect();
                let message = format!(
                    "the robots.txt of `{host}` denies this page to programs: line {}, `{}`",
                    line.number,
                    escape::line(&text)
                );
                Err(ToolError::new(ErrorKind::Refused, message)
                    .with("reason", "robots")
                    .with("line", line.number)
                    .hint(hint))
            }
        }
    }

    fn find(&self, key: &RobotsKey) -> Option<KnownRobots> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).filter(|(until, _)| *until > Instant::now()).map(|(_, known)| known.clone())
    }

    fn keep(&self, key: RobotsKey, robots: KnownRobots) {
        let now = Instant::now();
        let time = match robots {
            KnownRobots::Rules(_) => ROBOTS_TIME,
            KnownRobots::Unavailable(_) => UNAVAILABLE_TIME,
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_ROBOTS_HOSTS {
            known.retain(|_, (until, _)| *until > now);
        }
        if known.len() >= MOST_ROBOTS_HOSTS {
            let oldest = known.iter().min_by_key(|(_, (until, _))| *until);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                known.remove(&oldest);
            }
        }
        known.insert(key, (now + time, robots));
    }
}

/// Asks a host for its robots.txt, which may be at another host. Fails if the host cannot be reached at all, with the error that
/// the page would have.
fn ask(
    (origin, addresses): &RobotsKey,
    fetch: impl Fn(&FetchRequest) -> Result<FetchReply, ToolError>,
) -> Result<KnownRobots, ToolError> {
    let mut request = FetchRequest {
        addresses: *addresses,
        most_bytes: MOST_ROBOTS_BYTES,
        ..FetchRequest::get(format!("{origin}/robots.txt"))
    };
    let mut hosts_left = MOST_OTHER_HOSTS;
    let reply = loop {
        let is_elsewhere = hosts_left < MOST_OTHER_HOSTS;
        let reply = match fetch(&request) {
            Ok(reply) => reply,
            Err(err) if is_elsewhere => return unavailable_elsewhere(err),
            Err(err) => return unavailable(err),
        };
        // The operator vouches for the host of a setting, and for no other one.
        let next = reply.redirect.clone().filter(|_| *addresses == AllowedAddresses::OpenInternet);
        let Some(next) = next else { break reply };
        if hosts_left == 0 {
            return Ok(KnownRobots::Rules(Arc::default()));
        }
        if request.url.starts_with("https:") && !next.starts_with("https:") {
            let why = "its robots.txt leads from https to http";
            return Ok(KnownRobots::Unavailable(why.into()));
        }
        hosts_left -= 1;
        request.url = next;
    };
    Ok(match reply.status {
        200..300 => KnownRobots::Rules(Arc::new(RobotsRules::parse(whole_lines(&reply)))),
        429 | 500.. => {
            let why = format!("its robots.txt was answered with status {}", reply.status);
            KnownRobots::Unavailable(why.into())
        }
        // There is none.
        _ => KnownRobots::Rules(Arc::default()),
    })
}

/// Returns the lines of a file that were read whole. Half a line can deny more than the whole one.
fn whole_lines(reply: &FetchReply) -> &[u8] {
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let end = reply.body.iter().rposition(is_end).filter(|_| reply.is_cut);
    &reply.body[..end.unwrap_or(reply.body.len())]
}

/// Returns what follows for the pages of a host whose robots.txt is at another host, and could not be fetched there. That host
/// is not the one of the page, so the error is none of the page.
fn unavailable_elsewhere(err: ToolError) -> Result<KnownRobots, ToolError> {
    if err.kind == ErrorKind::Cancelled || reason_of(&err) == Some("deadline") {
        return Err(err);
    }
    let other = |err: ToolError| {
        let why = format!("its robots.txt leads to another host: {}", err.message);
        KnownRobots::Unavailable(why.into())
    };
    Ok(unavailable(err).unwrap_or_else(other))
}

/// Returns what follows for the pages of a host whose robots.txt could not be fetched.
fn unavailable(err: ToolError) -> Result<KnownRobots, ToolError> {
    match reason_of(&err) {
        Some("bad_answer" | "compression_bomb") => {
            Ok(KnownRobots::Unavailable(err.message.as_str().into()))
        }
        // Redirects that do not end, or lead to nowhere, lead to no file.
        Some("too_many_redirects") => Ok(KnownRobots::Rules(Arc::default())),
        _ if err.context.contains_key("redirected_from") => Ok(KnownRobots::Rules(Arc::default())),
        _ => Err(err),
    }
}

fn reason_of(err: &ToolError) -> Option<&str> {
    err.context.get("reason").and_then(serde_json::Value::as_str)
}
