//! Whether nobody waits for a document any more: readers ask now and then, and stop early.

use std::cell::Cell;

/// How many steps a reader makes between two questions. A step is small, such as a token or an operator.
const STEPS_BETWEEN: u32 = 256;

/// Asks whether to stop, not at every step. After the answer yes, every step stops.
pub(crate) struct StopCheck<'a> {
    is_stopped: &'a dyn Fn() -> bool,
    steps_left: Cell<u32>,
    has_stopped: Cell<bool>,
}

impl<'a> StopCheck<'a> {
    pub(crate) fn new(is_stopped: &'a dyn Fn() -> bool) -> Self {
        Self { is_stopped, steps_left: Cell::new(0), has_stopped: Cell::new(false) }
    }

    /// Makes a small step; returns whether to stop.
    pub(crate) fn step(&self) -> bool {
        match self.steps_left.get() {
            0 => self.big_step(),
            left => {
                self.steps_left.set(left - 1);
                self.has_stopped.get()
            }
        }
    }

    /// Makes a step that takes long, such as a stream or a page; returns whether to stop.
    pub(crate) fn big_step(&self) -> bool {
        self.steps_left.set(STEPS_BETWEEN);
        let has_stopped = self.has_stopped.get() || (self.is_stopped)();
        self.has_stopped.set(has_stopped);
        has_stopped
    }

    /// Whether a reader was told to stop, so that what it has read is not the whole.
    pub(crate) fn has_stopped(&self) -> bool {
        self.has_stopped.get()
    }
}

#[cfg(test)]
impl StopCheck<'static> {
    /// Returns a check that never stops.
    pub(crate) fn never() -> Self {
        Self::new(&|| false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_asked_for_now_and_then_and_holds() {
        let asked = Cell::new(0);
        let is_stopped = || {
            asked.set(asked.get() + 1);
            asked.get() == 3
        };
        let stop = StopCheck::new(&is_stopped);
        let steps = (0..10_000).take_while(|_| !stop.step()).count();
        assert_eq!((steps, asked.get()), (2 * (STEPS_BETWEEN as usize + 1), 3));
        assert!(stop.has_stopped() && stop.step() && stop.big_step());
        assert_eq!(asked.get(), 3);
    }
}
