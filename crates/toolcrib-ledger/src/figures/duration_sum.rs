//! The durations of many calls added up, to read quantiles from. It is as large as all bins, so it is used again.

use crate::figures::histogram::{middle_of, round_up};

/// More bins than there are.
const BINS: usize = 2300;

/// How many durations lie in which bin.
pub(crate) struct DurationSum {
    bins: Vec<u64>,
    count: u64,
}

impl Default for DurationSum {
    fn default() -> Self {
        Self { bins: vec![0; BINS], count: 0 }
    }
}

impl DurationSum {
    /// Adds durations of one bin.
    pub(crate) fn add(&mut self, bin: u16, count: u64) {
        // What is longer than any call counts as the longest.
        let last = self.bins.len() - 1;
        self.bins[usize::from(bin).min(last)] += count;
        self.count += count;
    }

    /// Returns the quantile in milliseconds: the duration that this share of all did not exceed. Nothing if there are
    /// none.
    pub(crate) fn quantile_ms(&self, share: f64) -> Option<f64> {
        let rank = round_up(share * self.count as f64).max(1);
        let mut seen = 0;
        let bin = self.bins.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        bin.and_then(|bin| u16::try_from(bin).ok())
            .map(|bin| (middle_of(bin)).round() / 1e3)
            .filter(|_| self.count > 0)
    }

    /// Takes everything out.
    pub(crate) fn clear(&mut self) {
        if self.count > 0 {
            self.bins.fill(0);
            self.count = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::histogram::{Histogram, bin_of};

    #[test]
    fn quantiles_are_those_of_a_histogram() {
        let (mut sum, mut histogram) = (DurationSum::default(), Histogram::default());
        assert_eq!(sum.quantile_ms(0.5), None);
        for number in (0..64).map(|shift| u64::MAX >> shift).chain([0, 1, 1, 700, 90_000]) {
            sum.add(bin_of(number), 1);
            histogram.add(number);
        }
        for share in [0.0, 0.1, 0.5, 0.95, 1.0] {
            let expect = histogram.quantile(share).round() / 1e3;
            assert_eq!(sum.quantile_ms(share), Some(expect), "{share}");
        }
        sum.clear();
        assert_eq!(sum.quantile_ms(0.5), None);
    }
}
