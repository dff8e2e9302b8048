//! The work that reading one command may cost. It is counted in steps and never in time, so that a busy machine
//! reads exactly what an idle one reads.

use std::cell::Cell;

/// The most steps that reading one command may cost. A step is about a tenth of a microsecond, so that the worst text
/// of 64 KB costs a few tenths of a second; an ordinary command costs a few hundred steps.
pub(crate) const MOST_STEPS: usize = 2_000_000;

/// How many bytes can be copied or compared for the price of one step.
const BYTES_PER_STEP: usize = 32;

/// The steps that are left. Once there are none, there never are again.
pub(crate) struct Budget {
    left: Cell<usize>,
}

impl Budget {
    /// Returns a budget of this many steps.
    pub(crate) fn new(steps: usize) -> Self {
        Self { left: Cell::new(steps) }
    }

    /// Takes steps from the budget; returns whether some are left.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(steps));
        !self.is_spent()
    }

    /// Takes what copying or comparing this many bytes costs; returns whether some steps are left.
    pub(crate) fn spend_bytes(&self, bytes: usize) -> bool {
        self.spend(bytes / BYTES_PER_STEP + 1)
    }

    /// Whether no steps are left.
    pub(crate) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// The steps that are left.
    #[cfg(test)]
    pub(crate) fn left(&self) -> usize {
        self.left.get()
    }
}
