//! Many numbers in little room: how many lie in each of a row of bins, each two per cent wider than the one
//! before. Sketches of parts can be put together, and what they tell is within one per cent.

use std::collections::BTreeMap;

/// How much wider each bin is than the one before.
const GROWTH: f64 = 1.02;

/// How many numbers lie where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    bins: BTreeMap<u16, u64>,
}

fn bin(value: u64) -> u16 {
    if value == 0 {
        return 0;
    }
    // One for zero, one for one; then by size.
    u16::try_from(whole((value as f64).ln() / GROWTH.ln())).unwrap_or(u16::MAX - 1) + 1
}

/// The whole number that is not below this one.
#[expect(clippy::cast_sign_loss, reason = "what is below zero is zero")]
pub(crate) fn whole(number: f64) -> u64 {
    number.max(0.0).ceil() as u64
}

/// The number that stands for a bin: in its middle.
fn middle(bin: u16) -> f64 {
    match bin {
        0 => 0.0,
        1 => 1.0,
        bin => 2.0 * GROWTH.powi(i32::from(bin) - 1) / (1.0 + GROWTH),
    }
}

impl Sketch {
    /// Adds a number.
    pub fn add(&mut self, value: u64) {
        *self.bins.entry(bin(value)).or_default() += 1;
    }

    /// Adds all that another has.
    pub fn merge(&mut self, other: &Self) {
        for (bin, count) in &other.bins {
            *self.bins.entry(*bin).or_default() += count;
        }
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.bins.values().sum()
    }

    /// The number that this share of all are at most; zero if there are none.
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = whole(share * self.count() as f64).max(1);
        let mut seen = 0;
        for (bin, count) in &self.bins {
            seen += count;
            if seen >= rank {
                return middle(*bin);
            }
        }
        0.0
    }

    /// The same as a whole number.
    pub fn at_most(&self, share: f64) -> u64 {
        whole(self.quantile(share).floor())
    }

    /// How many numbers lie in bins above that of `value`.
    pub fn above(&self, value: f64) -> u64 {
        let limit = bin(whole(value.round()));
        self.bins.range(limit.saturating_add(1)..).map(|(_, count)| count).sum()
    }

    /// Writes it down.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut last = 0;
        for (bin, count) in &self.bins {
            write_number(&mut bytes, u64::from(bin - last));
            write_number(&mut bytes, *count);
            last = *bin;
        }
        bytes
    }

    /// Reads what [`Self::to_bytes`] wrote; nothing if it did not.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let (mut sketch, mut last) = (Self::default(), 0_u16);
        while !bytes.is_empty() {
            let step = u16::try_from(read_number(&mut bytes)?).ok()?;
            last = last.checked_add(step)?;
            sketch.bins.insert(last, read_number(&mut bytes)?);
        }
        Some(sketch)
    }
}

fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
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

    /// Numbers that look like times: most small, some large.
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
    fn what_it_tells_is_within_one_per_cent() {
        for seed in 1..20 {
            let mut exact = numbers(seed, 2000);
            let mut sketch = Sketch::default();
            for number in &exact {
                sketch.add(*number);
            }
            exact.sort_unstable();
            for share in [0.01, 0.5, 0.9, 0.95, 0.99, 1.0] {
                let rank = usize::try_from(whole(share * exact.len() as f64)).unwrap();
                let (expect, got) = (exact[rank - 1] as f64, sketch.quantile(share));
                assert!((got - expect).abs() <= expect * 0.0101 + 0.5, "{share}: {got} {expect}");
            }
        }
    }

    #[test]
    fn parts_put_together_are_the_whole() {
        for seed in 1..20 {
            let all = numbers(seed, 500);
            let sketch = |numbers: &[u64]| {
                let mut sketch = Sketch::default();
                for number in numbers {
                    sketch.add(*number);
                }
                sketch
            };
            let mut parts = sketch(&all[..123]);
            parts.merge(&sketch(&all[123..]));
            assert_eq!(parts, sketch(&all));
            assert_eq!(Sketch::from_bytes(&parts.to_bytes()), Some(parts));
        }
        assert_eq!(Sketch::from_bytes(&[0x80]), None);
        assert_eq!(Sketch::from_bytes(&[0xff; 30]), None);
        assert_eq!(Sketch::default().at_most(0.5), 0);
    }
}
