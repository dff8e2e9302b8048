//! A histogram: how many numbers lie in each bin, each bin two per cent wider than the one before. Histograms of
//! parts can be merged, and their quantiles are within one per cent.

use std::collections::BTreeMap;

/// How much wider each bin is than the one before.
const BIN_GROWTH: f64 = 1.02;

/// How many numbers lie in which bin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    bins: BTreeMap<u16, u64>,
}

/// Returns the bin that a number lies in.
pub(crate) fn bin_of(value: u64) -> u16 {
    if value == 0 {
        return 0;
    }
    // Bin 0 is for zero and bin 1 for one; the others go by size.
    u16::try_from(round_up((value as f64).ln() / BIN_GROWTH.ln())).unwrap_or(u16::MAX - 1) + 1
}

/// Returns the smallest whole number that is not below `number`.
#[expect(clippy::cast_sign_loss, reason = "what is below zero is zero")]
pub(crate) fn round_up(number: f64) -> u64 {
    number.max(0.0).ceil() as u64
}

/// Returns the number that stands for a bin, in its middle.
pub(crate) fn middle_of(bin: u16) -> f64 {
    match bin {
        0 => 0.0,
        1 => 1.0,
        bin => 2.0 * BIN_GROWTH.powi(i32::from(bin) - 1) / (1.0 + BIN_GROWTH),
    }
}

impl Histogram {
    /// Adds a number.
    pub fn add(&mut self, value: u64) {
        self.add_to_bin(bin_of(value));
    }

    /// Adds a number whose bin is known.
    pub(crate) fn add_to_bin(&mut self, bin: u16) {
        *self.bins.entry(bin).or_default() += 1;
    }

    /// Adds all numbers of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (bin, count) in &other.bins {
            *self.bins.entry(*bin).or_default() += count;
        }
    }

    /// Returns how many numbers there are.
    pub fn count(&self) -> u64 {
        self.bins.values().sum()
    }

    /// Returns the quantile: the number that this share of all numbers does not exceed. Zero if there are none.
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = round_up(share * self.count() as f64).max(1);
        let mut seen = 0;
        for (bin, count) in &self.bins {
            seen += count;
            if seen >= rank {
                return middle_of(*bin);
            }
        }
        0.0
    }

    /// Returns the quantile, rounded down to a whole number.
    pub fn whole_quantile(&self, share: f64) -> u64 {
        round_up(self.quantile(share).floor())
    }

    /// Returns how many numbers lie in bins above that of `value`.
    pub fn count_above(&self, value: f64) -> u64 {
        let limit = bin_of(round_up(value.round()));
        self.bins.range(limit.saturating_add(1)..).map(|(_, count)| count).sum()
    }

    /// Encodes the histogram.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut last = 0;
        for (bin, count) in &self.bins {
            write_varint(&mut bytes, u64::from(bin - last));
            write_varint(&mut bytes, *count);
            last = *bin;
        }
        bytes
    }

    /// Decodes what [`Self::to_bytes`] wrote; `None` for anything else.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let (mut histogram, mut last) = (Self::default(), 0_u16);
        while !bytes.is_empty() {
            let step = u16::try_from(read_varint(&mut bytes)?).ok()?;
            last = last.checked_add(step)?;
            histogram.bins.insert(last, read_varint(&mut bytes)?);
        }
        Some(histogram)
    }
}

pub(crate) fn write_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub(crate) fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns numbers that look like durations: most small, some large.
    fn numbers(seed: u64, count: usize) -> Vec<u64> {
        let mut state = seed;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        (0..count).map(|_| next() >> (next() % 62)).collect()
    }

    #[test]
    fn quantiles_are_within_one_per_cent() {
        for seed in 1..20 {
            let mut exact = numbers(seed, 2000);
            let mut histogram = Histogram::default();
            for number in &exact {
                histogram.add(*number);
            }
            exact.sort_unstable();
            for share in [0.01, 0.5, 0.9, 0.95, 0.99, 1.0] {
                let rank = usize::try_from(round_up(share * exact.len() as f64)).unwrap();
                let (expect, got) = (exact[rank - 1] as f64, histogram.quantile(share));
                assert!((got - expect).abs() <= expect * 0.0101 + 0.5, "{share}: {got} {expect}");
            }
        }
    }

    #[test]
    fn merged_parts_are_the_whole() {
        for seed in 1..20 {
            let all = numbers(seed, 500);
            let histogram = |numbers: &[u64]| {
                let mut histogram = Histogram::default();
                for number in numbers {
                    histogram.add(*number);
                }
                histogram
            };
            let mut parts = histogram(&all[..123]);
            parts.merge(&histogram(&all[123..]));
            assert_eq!(parts, histogram(&all));
            assert_eq!(Histogram::from_bytes(&parts.to_bytes()), Some(parts));
        }
        assert_eq!(Histogram::from_bytes(&[0x80]), None);
        assert_eq!(Histogram::from_bytes(&[0xff; 30]), None);
        assert_eq!(Histogram::default().whole_quantile(0.5), 0);
    }
}
