//! A token bucket: so many at once, and so many a second in the long run.

use std::time::{Duration, Instant};

use crate::config::RequestRate;

/// A bucket that fills with time. The clock is the caller's, so that a test needs none.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    rate: RequestRate,
    /// How many tokens there were at `counted_at`.
    tokens: f64,
    counted_at: Instant,
}

impl TokenBucket {
    /// Returns a full bucket.
    pub(crate) fn full(rate: RequestRate, now: Instant) -> Self {
        Self { rate, tokens: f64::from(rate.burst), counted_at: now }
    }

    /// Takes a token, or returns how long it takes until there is one.
    pub(crate) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let per_second = f64::from(self.rate.per_second);
        let passed = now.saturating_duration_since(self.counted_at).as_secs_f64();
        self.tokens = (self.tokens + passed * per_second).min(f64::from(self.rate.burst));
        self.counted_at = self.counted_at.max(now);
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        let missing = (1.0 - self.tokens) / per_second;
        // A rate of zero never fills the bucket: the client hears of a day.
        Err(Duration::from_secs_f64(missing.min(86_400.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_allows_a_burst_and_then_the_rate() {
        let start = Instant::now();
        let mut bucket = TokenBucket::full(RequestRate { per_second: 2, burst: 3 }, start);
        for _ in 0..3 {
            assert_eq!(bucket.take(start), Ok(()));
        }
        assert_eq!(bucket.take(start), Err(Duration::from_millis(500)));
        let later = start + Duration::from_millis(500);
        assert_eq!(bucket.take(later), Ok(()));
        assert!(bucket.take(later).is_err());
        // A long pause fills the bucket up to the burst and no further.
        let much_later = start + Duration::from_hours(1);
        assert_eq!((0..9).filter(|_| bucket.take(much_later).is_ok()).count(), 3);
        // A clock that seems to go back gives nothing away.
        assert!(bucket.take(start).is_err());
    }

    #[test]
    fn a_bucket_without_a_rate_stays_empty() {
        let start = Instant::now();
        let mut bucket = TokenBucket::full(RequestRate { per_second: 0, burst: 1 }, start);
        assert_eq!(bucket.take(start), Ok(()));
        assert_eq!(bucket.take(start + Duration::from_secs(9)), Err(Duration::from_hours(24)));
    }
}
