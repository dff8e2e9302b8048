//! The distance between requests to one host.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use toolcrib_core::{ErrorKind, ToolError};

use super::patience::Patience;

/// The most hosts that are remembered. Those whose turn is over are forgotten first.
const MOST_KNOWN_HOSTS: usize = 1024;

/// When each host can be asked next.
#[derive(Default)]
pub(super) struct HostTurns {
    next: Mutex<HashMap<String, Instant>>,
}

impl HostTurns {
    /// Waits for the host's next turn, and takes it. Turns are handed out in order, so that many who wait do not all go
    /// at once.
    pub(super) fn wait(
        &self,
        host: &str,
        distance: Duration,
        patience: &Patience,
    ) -> Result<(), ToolError> {
        if distance.is_zero() {
            return Ok(());
        }
        let turn = self.take_turn(host, distance, patience)?;
        patience.wait_until(turn, host)
    }

    fn take_turn(
        &self,
        host: &str,
        distance: Duration,
        patience: &Patience,
    ) -> Result<Instant, ToolError> {
        let now = Instant::now();
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if next.len() >= MOST_KNOWN_HOSTS {
            next.retain(|_, turn| *turn > now);
        }
        let turn = next.get(host).map_or(now, |turn| (*turn).max(now));
        if !patience.reaches(turn) {
            let wait = turn.saturating_duration_since(now).as_millis();
            let message = format!(
                "`{host}` was asked too often: its next turn is in {wait} ms, after the deadline"
            );
            return Err(ToolError::new(ErrorKind::Timeout, message).with("reason", "crawl_delay").hint(
                "try again later; the setting `web.crawl_delay_ms` is the distance between requests",
            ));
        }
        next.insert(host.to_owned(), turn + distance);
        Ok(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::Cancel;

    #[test]
    fn each_turn_of_a_host_is_later_than_the_one_before() {
        let (hosts, cancel) = (HostTurns::default(), Cancel::default());
        let distance = Duration::from_secs(10);
        let patience = Patience::new(Duration::from_secs(25), &cancel);
        let turn = || hosts.take_turn("a.example", distance, &patience);
        let turns = [turn().unwrap(), turn().unwrap(), turn().unwrap()];
        assert!(turns[1] - turns[0] >= distance && turns[2] - turns[1] >= distance);
        assert_eq!(turn().unwrap_err().context["reason"], "crawl_delay");
        assert!(hosts.take_turn("b.example", distance, &patience).unwrap() < turns[1]);
        cancel.cancel();
        let err = hosts.wait(
            "a.example",
            Duration::from_millis(1),
            &Patience::new(distance * 99, &cancel),
        );
        assert_eq!(err.unwrap_err().kind, ErrorKind::Cancelled);
    }
}
