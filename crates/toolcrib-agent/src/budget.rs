//! What one loop may spend.

use std::time::{Duration, Instant};

/// The limits of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopLimits {
    /// The most turns.
    pub turns: u64,
    /// The most tokens of all turns together.
    pub tokens: u64,
}

/// How many turns before the last one a model is told to come to an end.
const WARNED_TURNS: u64 = 3;

/// What a loop may spend, and what it has spent.
#[derive(Clone, Debug)]
pub(crate) struct LoopBudget {
    limits: LoopLimits,
    until: Instant,
    turns: u64,
    tokens: u64,
}

/// Why a loop may not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetExceeded {
    Turns(u64),
    Tokens(u64),
    Time,
}

impl LoopBudget {
    pub(crate) fn new(limits: LoopLimits, time: Duration) -> Self {
        let now = Instant::now();
        let until = now.checked_add(time).unwrap_or(now + Duration::from_hours(24));
        Self { limits, until, turns: 0, tokens: 0 }
    }

    /// Fails if another turn would be beyond the budget.
    pub(crate) fn check(&self) -> Result<(), BudgetExceeded> {
        if self.turns >= self.limits.turns {
            return Err(BudgetExceeded::Turns(self.limits.turns));
        }
        self.check_turn()
    }

    /// Fails if the turn under way is beyond the budget.
    pub(crate) fn check_turn(&self) -> Result<(), BudgetExceeded> {
        if self.tokens >= self.limits.tokens {
            return Err(BudgetExceeded::Tokens(self.limits.tokens));
        }
        if self.left().is_zero() { Err(BudgetExceeded::Time) } else { Ok(()) }
    }

    /// Counts a turn.
    pub(crate) fn add_turn(&mut self, tokens: u64) {
        self.turns += 1;
        self.tokens = self.tokens.saturating_add(tokens);
    }

    /// Returns the time that is left.
    pub(crate) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Returns what a model is told shortly before the last turn.
    pub(crate) fn warning(&self) -> Option<String> {
        let left = self.limits.turns.saturating_sub(self.turns);
        match left {
            1 => Some(
                "This is your last turn. Make no more calls: report what is done and what is not."
                    .to_owned(),
            ),
            2..=WARNED_TURNS => Some(format!("{left} turns are left. Come to an end, and report.")),
            _ => None,
        }
    }
}

impl BudgetExceeded {
    /// Returns a sentence about it, with the next step.
    pub(crate) fn sentence(self) -> String {
        match self {
            Self::Turns(most) => format!(
                "the subagent was not done within `agent.max_turns` ({most}); give it less to do at a time, or raise the limit"
            ),
            Self::Tokens(most) => format!(
                "the subagent was not done within `agent.max_tokens` ({most}); give it less to do at a time, or raise the limit"
            ),
            Self::Time => {
                "the time of the subagent was up, and it was not done; give it less to do at a time"
                    .to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(turns: u64, tokens: u64, time: Duration) -> LoopBudget {
        LoopBudget::new(LoopLimits { turns, tokens }, time)
    }

    #[test]
    fn each_limit_ends_the_loop() {
        let hour = Duration::from_hours(1);
        let mut turns = budget(2, 100, hour);
        assert_eq!(turns.check(), Ok(()));
        turns.add_turn(1);
        turns.add_turn(1);
        assert_eq!((turns.check(), turns.check_turn()), (Err(BudgetExceeded::Turns(2)), Ok(())));
        let mut tokens = budget(9, 100, hour);
        tokens.add_turn(99);
        assert_eq!(tokens.check(), Ok(()));
        tokens.add_turn(1);
        assert_eq!(
            (tokens.check(), tokens.check_turn()),
            (Err(BudgetExceeded::Tokens(100)), Err(BudgetExceeded::Tokens(100)))
        );
        assert_eq!(budget(9, 100, Duration::ZERO).check(), Err(BudgetExceeded::Time));
    }

    #[test]
    fn the_end_is_announced() {
        let mut budget = budget(5, 100, Duration::from_hours(1));
        let mut told = Vec::new();
        for _ in 0..5 {
            told.push(budget.warning().is_some());
            budget.add_turn(1);
        }
        assert_eq!(told, [false, false, true, true, true]);
        assert_eq!(budget.warning(), None, "there is no turn left in which it could be read");
    }
}
