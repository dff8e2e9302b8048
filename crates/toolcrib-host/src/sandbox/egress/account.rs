//! The network account of one sandbox: counts connections, bytes and refusals by host, and stops every connection
//! when the bytes that may pass are used up.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use toolcrib_core::command::{HostTraffic, NetworkAccount};

/// How many hosts are told apart. All others share one entry.
const MOST_HOSTS: usize = 64;

/// How many characters of a name are kept that may not be a host's: as many as a host can have.
const MOST_NAME_CHARS: usize = 253;

/// The entry of all hosts that are not told apart. No host can have this name.
const OTHERS: &str = "(others)";

/// The entry of requests that name no host in a way that can be understood.
pub(super) const NO_HOST: &str = "(invalid request)";

/// The entry of connections that were closed at once, because there were too many.
pub(super) const TOO_MANY: &str = "(too many connections)";

/// How long closing waits for connections to notice it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The network account of one sandbox.
pub(super) struct EgressAccount {
    hosts: Mutex<Vec<(String, Arc<HostCounts>)>>,
    others: Arc<HostCounts>,
    /// How many bytes may still pass, both ways together.
    left: AtomicU64,
    is_spent: AtomicBool,
    /// Wakes the supervisor of the command when the bytes are used up.
    supervisor: Waker,
    relays: Mutex<Relays>,
    changed: Condvar,
}

/// The connections that may pass bytes.
#[derive(Default)]
struct Relays {
    open: usize,
    is_closed: bool,
}

/// The counts of one host.
#[derive(Default)]
struct HostCounts {
    connections: AtomicU64,
    up: AtomicU64,
    down: AtomicU64,
    refused: AtomicU64,
}

impl HostCounts {
    fn traffic(&self, host: &str) -> HostTraffic {
        HostTraffic {
            host: host.to_owned(),
            connections: self.connections.load(Ordering::Acquire),
            bytes_up: self.up.load(Ordering::Acquire),
            bytes_down: self.down.load(Ordering::Acquire),
            refused: self.refused.load(Ordering::Acquire),
        }
    }
}

/// The direction in which bytes pass.
#[derive(Clone, Copy)]
pub(super) enum Direction {
    /// From the command to the host.
    Up,
    /// From the host to the command.
    Down,
}

impl EgressAccount {
    /// Creates an account of which `most_bytes` may pass, both ways together.
    pub(super) fn new(most_bytes: u64, supervisor: Waker) -> Self {
        Self {
            hosts: Mutex::default(),
            others: Arc::default(),
            left: AtomicU64::new(most_bytes),
            is_spent: AtomicBool::new(false),
            supervisor,
            relays: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Counts a request that was refused.
    pub(super) fn refuse(&self, host: &str) {
        let name = name_of(host);
        let mut hosts = self.hosts();
        if let Some((_, counts)) = hosts.iter().find(|(known, _)| *known == name) {
            counts.refused.fetch_add(1, Ordering::AcqRel);
        } else if hosts.len() < MOST_HOSTS {
            let counts = HostCounts { refused: AtomicU64::new(1), ..HostCounts::default() };
            hosts.push((name, Arc::new(counts)));
        } else {
            self.others.refused.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Counts a connection, and returns what counts its bytes. Returns `None` if the account is closed.
    pub(super) fn connect(self: &Arc<Self>, host: &str) -> Option<ConnectionMeter> {
        let mut relays = self.relays();
        if relays.is_closed {
            return None;
        }
        relays.open += 1;
        drop(relays);
        let counts = self.reached(host);
        Some(ConnectionMeter { account: Arc::clone(self), counts })
    }

    /// Counts a connection to a host, and returns the host's counts. A host that is reached takes the place of one that was only refused, so
    /// that a command cannot hide it behind many others.
    fn reached(&self, host: &str) -> Arc<HostCounts> {
        let name = name_of(host);
        let mut hosts = self.hosts();
        let was_reached = |counts: &HostCounts| counts.connections.load(Ordering::Acquire) > 0;
        let known = hosts.iter().position(|(known, _)| *known == name);
        let counts = match known {
            Some(place) => Arc::clone(&hosts[place].1),
            None if hosts.len() < MOST_HOSTS => {
                let counts = Arc::<HostCounts>::default();
                hosts.push((name, Arc::clone(&counts)));
                counts
            }
            None => match hosts.iter().rposition(|(_, counts)| !was_reached(counts)) {
                Some(place) => {
                    let counts = Arc::<HostCounts>::default();
                    let gone = std::mem::replace(&mut hosts[place], (name, Arc::clone(&counts))).1;
                    let refused = gone.refused.load(Ordering::Acquire);
                    self.others.refused.fetch_add(refused, Ordering::AcqRel);
                    counts
                }
                None => Arc::clone(&self.others),
            },
        };
        // Still under the lock, so that nobody takes it for a host that was only refused.
        counts.connections.fetch_add(1, Ordering::AcqRel);
        counts
    }

    /// Returns whether the bytes that may pass are used up, and more were about to pass.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Acquire)
    }

    /// Closes the account: no connection begins any more, and those that wait for bytes go on to their end.
    pub(super) fn close(&self) {
        self.relays().is_closed = true;
        self.changed.notify_all();
    }

    /// Waits until no connection can pass bytes any more. The account must be closed, and its connections too.
    pub(super) fn wait_until_idle(&self) {
        let until = Instant::now() + CLOSE_TIMEOUT;
        let mut relays = self.relays();
        while relays.open > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(relays, left);
            relays = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the account as it stands.
    pub(super) fn total(&self) -> NetworkAccount {
        let mut hosts: Vec<HostTraffic> =
            self.hosts().iter().map(|(host, counts)| counts.traffic(host)).collect();
        let others = self.others.traffic(OTHERS);
        if others.connections > 0 || others.refused > 0 {
            hosts.push(others);
        }
        NetworkAccount { hosts }
    }

    /// Takes up to `count` bytes of what may still pass, and returns how many it took.
    fn take(&self, count: u64) -> u64 {
        let mut taken = 0;
        let _ = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
            taken = count.min(left);
            Some(left - taken)
        });
        if taken < count {
            self.is_spent.store(true, Ordering::Release);
            self.supervisor.wake_by_ref();
        }
        taken
    }

    /// Waits until the account is closed.
    fn wait_until_closed(&self) {
        let mut relays = self.relays();
        while !relays.is_closed {
            relays = self.changed.wait(relays).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn hosts(&self) -> MutexGuard<'_, Vec<(String, Arc<HostCounts>)>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn relays(&self) -> MutexGuard<'_, Relays> {
        self.relays.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts the bytes of one connection while it is open.
pub(super) struct ConnectionMeter {
    account: Arc<EgressAccount>,
    counts: Arc<HostCounts>,
}

impl ConnectionMeter {
    /// Sends bytes that may pass, and counts them before. When no more may pass, the connection stands still until
    /// the command is ended: a command that sees it closed could end by itself as if nothing had happened.
    pub(super) fn send(
        &self,
        direction: Direction,
        to: &mut TcpStream,
        bytes: &[u8],
    ) -> io::Result<()> {
        let taken = self.account.take(bytes.len() as u64);
        let counts = match direction {
            Direction::Up => &self.counts.up,
            Direction::Down => &self.counts.down,
        };
        counts.fetch_add(taken, Ordering::AcqRel);
        to.write_all(&bytes[..taken as usize])?;
        if (taken as usize) < bytes.len() {
            self.account.wait_until_closed();
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        Ok(())
    }
}

impl Drop for ConnectionMeter {
    fn drop(&mut self) {
        let mut relays = self.account.relays();
        relays.open = relays.open.saturating_sub(1);
        drop(relays);
        self.account.changed.notify_all();
    }
}

/// Returns the name under which a host is counted. Names of hosts do not differ by case.
fn name_of(host: &str) -> String {
    host.chars().take(MOST_NAME_CHARS).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(most_bytes: u64) -> Arc<EgressAccount> {
        Arc::new(EgressAccount::new(most_bytes, Waker::noop().clone()))
    }

    #[test]
    fn many_refused_hosts_do_not_hide_one_that_is_reached() {
        let account = account(0);
        for number in 0..MOST_HOSTS * 2 {
            account.refuse(&format!("host{number}.example"));
        }
        assert_eq!(account.total().hosts.len(), MOST_HOSTS + 1);
        let meters: Vec<_> = (0..2).map(|_| account.connect("Reached.example").unwrap()).collect();
        let total = account.total();
        assert_eq!(total.hosts.len(), MOST_HOSTS + 1);
        let reached = total.hosts.iter().find(|it| it.host == "reached.example").unwrap();
        assert_eq!((reached.connections, reached.refused), (2, 0));
        assert_eq!(total.total().refused, MOST_HOSTS as u64 * 2, "none is lost");
        drop(meters);
    }

    #[test]
    fn hosts_that_are_reached_keep_their_entries() {
        let account = account(0);
        let meters: Vec<_> = (0..MOST_HOSTS + 5)
            .map(|number| account.connect(&format!("host{number}.example")).unwrap())
            .collect();
        let total = account.total();
        let others = total.hosts.last().unwrap();
        assert_eq!((others.host.as_str(), others.connections), (OTHERS, 5));
        drop(meters);
        account.close();
        account.wait_until_idle();
        assert!(account.connect("late.example").is_none());
    }

    #[test]
    fn no_more_bytes_pass_than_may() {
        let account = account(10);
        assert_eq!((account.take(6), account.take(4)), (6, 4));
        assert!(!account.is_spent(), "all of it has passed, and nothing more was to");
        assert_eq!(account.take(1), 0);
        assert!(account.is_spent());
    }
}
