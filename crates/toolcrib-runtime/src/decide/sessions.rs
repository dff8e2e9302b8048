//! A value for each session, forgotten once the session has been idle for a day, so that nothing grows with the
//! number of sessions that a long-lived process has seen.

use std::collections::HashMap;
use std::time::Duration;

/// How long an idle session is remembered.
const IDLE_TIME: Duration = Duration::from_hours(24);

/// How many sessions may be added before idle ones are looked for again.
const SWEEP_EVERY: usize = 1024;

/// Values by session, on the clock that never goes back.
pub(crate) struct Sessions<T> {
    values: HashMap<String, (T, Duration)>,
    /// How many sessions there may be before the next sweep.
    sweep_at: usize,
}

impl<T> Default for Sessions<T> {
    fn default() -> Self {
        Self { values: HashMap::new(), sweep_at: SWEEP_EVERY }
    }
}

impl<T: Default> Sessions<T> {
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn get(&self, session: &str) -> Option<&T> {
        self.values.get(session).map(|(value, _)| value)
    }

    /// Returns the value of a session that is known, and counts this as a use.
    pub(crate) fn refresh(&mut self, session: &str, now: Duration) -> Option<&T> {
        let (value, used) = self.values.get_mut(session)?;
        *used = now;
        Some(value)
    }

    /// Returns the value of a session, new if the session is.
    pub(crate) fn entry(&mut self, session: &str, now: Duration) -> &mut T {
        if self.values.len() >= self.sweep_at {
            self.values.retain(|_, (_, used)| now.saturating_sub(*used) < IDLE_TIME);
            self.sweep_at = self.values.len() + SWEEP_EVERY;
        }
        let (value, used) = self.values.entry(session.to_owned()).or_default();
        *used = now;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_sessions_are_forgotten_and_busy_ones_are_not() {
        let mut sessions = Sessions::<u32>::default();
        let busy = |sessions: &mut Sessions<u32>, at: Duration| *sessions.entry("busy", at) += 1;
        busy(&mut sessions, Duration::ZERO);
        for number in 0..10 * SWEEP_EVERY {
            let at = IDLE_TIME / 1000 * number as u32;
            sessions.entry(&number.to_string(), at);
            busy(&mut sessions, at);
        }
        assert!(sessions.values.len() < 3 * SWEEP_EVERY, "{}", sessions.values.len());
        assert_eq!(sessions.get("busy"), Some(&(10 * SWEEP_EVERY as u32 + 1)));
        assert_eq!(sessions.get("0"), None);
    }
}
