//! Regressions: tells whether a tool got slower or fails more often than before, how large the difference is, and
//! whether it could be chance.
//!
//! A difference counts only if a significance test at one in a thousand rules out chance: Welch's t-test for the
//! mean; a two-proportion test of the share of calls beyond the old 95th percentile for the percentile; Fisher's exact
//! test, and at least three failures, for the error rate. With fewer than twenty calls on either side nothing counts.

use crate::figures::histogram::Histogram;

/// The fewest calls on either side of a comparison.
pub const FEWEST_COMPARED_CALLS: u64 = 20;

/// The fewest failures that are more than bad luck.
const FEWEST_FAILURES: u64 = 3;

/// The critical value: one in a thousand, on one side of a normal distribution.
const CRITICAL_Z: f64 = 3.09;

/// The calls of a span of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// How many calls ran.
    pub calls: u64,
    /// How many calls failed.
    pub errors: u64,
    /// The durations, in microseconds.
    pub latency: Histogram,
    /// The sum of all durations.
    pub sum_us: u64,
    /// The sum of the squares of all durations.
    pub squares: u128,
    /// The first hour, counted since 1970.
    pub start: i64,
    /// The last hour, counted since 1970.
    pub end: i64,
    /// The versions of the tool that were called.
    pub versions: Vec<String>,
}

impl Window {
    /// Adds a call that succeeded.
    pub fn add_success(&mut self, elapsed_us: u64) {
        self.add_call(elapsed_us);
    }

    /// Adds a call that failed.
    pub fn add_failure(&mut self, elapsed_us: u64) {
        self.errors += 1;
        self.add_call(elapsed_us);
    }

    fn add_call(&mut self, elapsed_us: u64) {
        self.calls += 1;
        self.latency.add(elapsed_us);
        self.sum_us += elapsed_us;
        self.squares += u128::from(elapsed_us) * u128::from(elapsed_us);
    }

    /// Returns the mean duration, in milliseconds.
    pub fn average_ms(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.sum_us as f64 / self.calls as f64 / 1e3 }
    }

    /// Returns the quantile of the durations, in milliseconds.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        self.latency.quantile(share) / 1e3
    }

    /// Returns the share of calls that failed.
    pub fn error_rate(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.errors as f64 / self.calls as f64 }
    }

    /// Returns the variance of the mean, in square microseconds.
    fn variance_of_mean(&self) -> f64 {
        let calls = self.calls as f64;
        let mean = self.sum_us as f64 / calls;
        let variance = (self.squares as f64 / calls - mean * mean).max(0.0) * calls / (calls - 1.0);
        variance / calls
    }
}

/// How bad a regression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RegressionSeverity {
    /// Worth knowing.
    Low,
    /// Worth looking at.
    Medium,
    /// Worth stopping.
    High,
}

impl RegressionSeverity {
    /// Returns the spelling for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Two windows, compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The calls before.
    pub baseline: Window,
    /// The calls now.
    pub current: Window,
    /// How bad the difference is; `None` if there is none, or if it could be chance.
    pub severity: Option<RegressionSeverity>,
    /// The differences that count, in words.
    pub because: Vec<String>,
}

impl Comparison {
    /// Returns whether there are enough calls on both sides to say anything.
    pub(crate) fn has_enough(&self) -> bool {
        self.baseline.calls >= FEWEST_COMPARED_CALLS && self.current.calls >= FEWEST_COMPARED_CALLS
    }
}

/// Returns the worst comparison; the first one if several are equally bad.
pub(crate) fn worst(all: Vec<Comparison>) -> Option<Comparison> {
    all.into_iter().rev().max_by_key(|it| it.severity)
}

/// Compares two windows.
pub fn compare(baseline: Window, current: Window) -> Comparison {
    let mut found: Vec<(RegressionSeverity, String)> = Vec::new();
    if baseline.calls >= FEWEST_COMPARED_CALLS && current.calls >= FEWEST_COMPARED_CALLS {
        let change = |was: f64, is: f64| if was > 0.0 { (is - was) / was } else { 0.0 };
        let (was, is) = (baseline.average_ms(), current.average_ms());
        if is_slower(&baseline, &current) {
            let severity = grade(change(was, is), [0.10, 0.25, 0.50]);
            found.extend(severity.map(|it| (it, format!("mean {was:.1} ms to {is:.1} ms"))));
        }
        let (was, is) = (baseline.quantile_ms(0.95), current.quantile_ms(0.95));
        if has_longer_tail(&baseline, &current) {
            let severity = grade(change(was, is), [0.25, 0.50, 1.00]);
            found.extend(
                severity.map(|it| (it, format!("95th percentile {was:.1} ms to {is:.1} ms"))),
            );
        }
        let (was, is) = (baseline.error_rate(), current.error_rate());
        if fails_more(&baseline, &current) {
            let severity = grade(is - was, [0.01, 0.02, 0.05]);
            let said = format!("failures {:.1} % to {:.1} %", was * 100.0, is * 100.0);
            found.extend(severity.map(|it| (it, said)));
        }
    }
    let severity = found.iter().map(|(severity, _)| *severity).max();
    let because = found.into_iter().map(|(_, why)| why).collect();
    Comparison { baseline, current, severity, because }
}

/// Returns the severity of a change, by the limits for low, medium and high.
fn grade(change: f64, limits: [f64; 3]) -> Option<RegressionSeverity> {
    let [low, medium, high] = limits;
    match change {
        it if it >= high => Some(RegressionSeverity::High),
        it if it >= medium => Some(RegressionSeverity::Medium),
        it if it >= low => Some(RegressionSeverity::Low),
        _ => None,
    }
}

/// Returns whether the mean got worse, by a one-sided Welch's t-test.
fn is_slower(baseline: &Window, current: &Window) -> bool {
    let (a, b) = (baseline.variance_of_mean(), current.variance_of_mean());
    let difference = (current.average_ms() - baseline.average_ms()) * 1e3;
    if a + b <= 0.0 {
        return difference > 0.0;
    }
    let freedom = (a + b).powi(2)
        / (a * a / (baseline.calls - 1) as f64 + b * b / (current.calls - 1) as f64);
    // Student's distribution has longer tails for fewer numbers.
    let limit = CRITICAL_Z + (CRITICAL_Z.powi(3) + CRITICAL_Z) / (4.0 * freedom);
    difference / (a + b).sqrt() > limit
}

/// Returns whether more calls lie beyond the old 95th percentile than chance explains.
fn has_longer_tail(baseline: &Window, current: &Window) -> bool {
    let limit = baseline.latency.quantile(0.95);
    let (n, m) = (baseline.calls as f64, current.calls as f64);
    // By definition, at least a twentieth of the old calls lie beyond their own 95th percentile.
    let was = (baseline.latency.count_above(limit) as f64).max(n * 0.05).max(1.0);
    let is = current.latency.count_above(limit) as f64;
    let pooled = (was + is) / (n + m);
    let spread = (pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m)).sqrt();
    is >= 5.0 && (is / m - was / n) / spread > CRITICAL_Z
}

/// Returns whether calls fail more often, by a one-sided Fisher's exact test.
fn fails_more(baseline: &Window, current: &Window) -> bool {
    let (a, b) = (current.errors, baseline.errors);
    if a < FEWEST_FAILURES || current.error_rate() <= baseline.error_rate() {
        return false;
    }
    let (n, m) = (current.calls, baseline.calls);
    let all = a + b;
    // The probability that this many of all failures, or more, fall on this side.
    let ways = |of: u64, some: u64| ln_factorial(of) - ln_factorial(some) - ln_factorial(of - some);
    let total = ways(n + m, all);
    let mut chance = 0.0;
    for here in a..=all.min(n) {
        if all - here > m {
            continue;
        }
        let term = (ways(n, here) + ways(m, all - here) - total).exp();
        chance += term;
        if chance > 1e-3 || here > a && term < chance * 1e-12 {
            break;
        }
    }
    chance <= 1e-3
}

/// Returns the logarithm of a factorial, by Stirling's series.
fn ln_factorial(number: u64) -> f64 {
    if number < 2 {
        return 0.0;
    }
    let x = number as f64 + 1.0;
    let (half, turn) = (0.5, 2.0 * std::f64::consts::PI);
    (x - half) * x.ln() - x + half * turn.ln() + 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3))
        + 1.0 / (1260.0 * x.powi(5))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;
    use std::thread;

    use super::*;

    fn add(window: &mut Window, elapsed_us: u64, is_error: bool) {
        if is_error { window.add_failure(elapsed_us) } else { window.add_success(elapsed_us) }
    }

    /// Random numbers, the same in every run.
    struct Chance(u64);

    impl Chance {
        fn uniform(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// Returns a duration as calls have it: most near 10 ms, some much longer.
        fn time(&mut self, factor: f64) -> u64 {
            // Of many that are computed once: computing each anew takes seconds.
            static TIMES: LazyLock<Vec<f64>> = LazyLock::new(|| {
                let mut chance = Chance(0x2545_f491_4f6c_dd1d);
                (0..1 << 16).map(|_| chance.new_time()).collect()
            });
            self.uniform();
            let time = TIMES[(self.0 >> 48) as usize];
            crate::figures::histogram::round_up(time * factor)
        }

        fn new_time(&mut self) -> f64 {
            let (a, b) = (self.uniform().max(1e-12), self.uniform());
            let normal = (-2.0 * a.ln()).sqrt() * (2.0 * std::f64::consts::PI * b).cos();
            10_000.0 * (0.6 * normal).exp()
        }

        fn window(&mut self, calls: u64, factor: f64, failing: f64) -> Window {
            let mut window = Window::default();
            for _ in 0..calls {
                let is_error = self.uniform() < failing;
                add(&mut window, self.time(factor), is_error);
            }
            window
        }
    }

    /// Returns how many of `rounds` are found to be as bad as `least`, or worse.
    fn found(
        rounds: u64,
        least: RegressionSeverity,
        mut make: impl FnMut(&mut Chance) -> (Window, Window),
    ) -> u64 {
        let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
        let is_found = |comparison: Comparison| comparison.severity >= Some(least);
        (0..rounds)
            .filter(|_| {
                let (was, is) = make(&mut chance);
                is_found(compare(was, is))
            })
            .count() as u64
    }

    /// A kind of series: calls before and after, and how many of a thousand may be found.
    struct Series {
        about: &'static str,
        was: u64,
        is: u64,
        /// How much slower the series ends than it begins.
        factor: f64,
        is_step: bool,
        failing: f64,
        least: u64,
        most: u64,
    }

    impl Series {
        /// Counts the alarms in a thousand series, and compares them with the bounds and with what the page tells.
        fn check(&self, page: &str) {
            let alarms = found(1000, RegressionSeverity::Low, |chance| {
                let was = chance.window(self.was, 1.0, 0.02);
                if self.is_step {
                    return (was, chance.window(self.is, self.factor, self.failing));
                }
                let mut is = Window::default();
                for step in 0..self.is {
                    let share = step as f64 / self.is as f64;
                    let is_error = chance.uniform() < self.failing;
                    add(&mut is, chance.time(1.0 + (self.factor - 1.0) * share), is_error);
                }
                (was, is)
            });
            let Self { about, was, is, least, most, .. } = self;
            assert!((*least..=*most).contains(&alarms), "{about}, {was} and {is}: {alarms}");
            // Another machine's logarithms may differ in their last bit.
            let row = format!("| {about} | {was}, {is} | ");
            let told = page
                .split(&row)
                .nth(1)
                .and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
            let is_near = told.is_some_and(|told| told.abs_diff(alarms) <= 5);
            assert!(is_near, "docs/operations.md has no line\n{row}{alarms} of 1000 |");
        }
    }

    const SERIES: &[Series] = &[
        noise(20, 20),
        noise(50, 20),
        noise(500, 30),
        noise(2000, 200),
        noise(5000, 1200),
        step("twice as slow", 500, 50, 2.0, 0.02),
        step("30 % slower", 2000, 200, 1.3, 0.02),
        step("15 % slower", 5000, 1200, 1.15, 0.02),
        step("failures 2 % to 12 %", 2000, 200, 1.0, 0.12),
        step("failures 2 % to 5 %", 5000, 1200, 1.0, 0.05),
        Series { is_step: false, ..step("drifting to 60 % slower", 1000, 300, 1.6, 0.02) },
        Series {
            least: 0,
            most: 5,
            is_step: false,
            ..step("drifting to 2 % slower", 1000, 300, 1.02, 0.02)
        },
        Series { least: 0, most: 1000, ..step("twice as slow, few calls", 30, 20, 2.0, 0.02) },
    ];

    const fn noise(was: u64, is: u64) -> Series {
        Series { least: 0, most: 5, ..step("noise", was, is, 1.0, 0.02) }
    }

    const fn step(about: &'static str, was: u64, is: u64, factor: f64, failing: f64) -> Series {
        Series { about, was, is, factor, is_step: true, failing, least: 950, most: 1000 }
    }

    #[test]
    fn the_page_has_how_often_it_is_wrong() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");
        let page = std::fs::read_to_string(page).unwrap();
        thread::scope(|scope| {
            for series in SERIES {
                let page = &page;
                scope.spawn(move || series.check(page));
            }
        });
    }

    #[test]
    fn one_spike_or_one_failure_raises_nothing() {
        let alarms = found(300, RegressionSeverity::Low, |chance| {
            let was = chance.window(200, 1.0, 0.0);
            let mut is = chance.window(40, 1.0, 0.0);
            is.add_failure(30_000_000);
            (was, is)
        });
        assert!(alarms <= 2, "{alarms}");
    }

    #[test]
    fn few_calls_say_nothing() {
        let alarms = found(300, RegressionSeverity::Low, |chance| {
            (chance.window(19, 1.0, 0.0), chance.window(500, 5.0, 0.5))
        });
        assert_eq!(alarms, 0);
    }

    #[test]
    fn severity_is_as_the_notes_say() {
        let flat = |ms: u64, errors: u64| {
            let mut window = Window::default();
            for number in 0..1000 {
                add(&mut window, ms * 1000, number < errors);
            }
            window
        };
        let severity = |ms, errors| compare(flat(100, 0), flat(ms, errors)).severity;
        assert_eq!(severity(100, 0), None);
        assert_eq!(severity(109, 0), None);
        assert_eq!(severity(112, 0), Some(RegressionSeverity::Low));
        assert_eq!(severity(130, 0), Some(RegressionSeverity::Medium));
        assert_eq!(severity(151, 0), Some(RegressionSeverity::High));
        assert_eq!(severity(100, 9), None);
        assert_eq!(severity(100, 15), Some(RegressionSeverity::Low));
        assert_eq!(severity(100, 30), Some(RegressionSeverity::Medium));
        assert_eq!(severity(100, 60), Some(RegressionSeverity::High));
        assert_eq!(severity(50, 0), None, "faster is fine");
    }

    #[test]
    fn fishers_test_is_exact() {
        let rates = |a: u64, n: u64, b: u64, m: u64| {
            let window = |errors: u64, calls: u64| Window { calls, errors, ..Window::default() };
            fails_more(&window(b, m), &window(a, n))
        };
        // By hand: 5 of 20 against 0 of 20 is 0.0236, 9 of 20 against 0 of 20 is 0.0006.
        assert!(!rates(5, 20, 0, 20));
        assert!(rates(9, 20, 0, 20));
        assert!((ln_factorial(10) - 3_628_800_f64.ln()).abs() < 1e-9);
    }
}
