//! Families of metrics, and their text in the OpenMetrics format.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The value of a label. A label with an empty value is left out.
pub(super) type LabelValue = Cow<'static, str>;

/// The name of a family of metrics, and what it says. `labels` tell its metrics apart.
#[derive(Clone, Copy)]
pub(super) struct FamilyHead<const N: usize> {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) labels: [&'static str; N],
}

/// Numbers that only grow.
pub(super) struct CounterFamily<const N: usize> {
    head: FamilyHead<N>,
    counts: Mutex<BTreeMap<[LabelValue; N], u64>>,
}

impl<const N: usize> CounterFamily<N> {
    pub(super) fn new(head: FamilyHead<N>) -> Self {
        Self { head, counts: Mutex::default() }
    }

    /// Adds one to the counter with these values of its labels.
    pub(super) fn add_one(&self, values: [LabelValue; N]) {
        *lock(&self.counts).entry(values).or_default() += 1;
    }

    pub(super) fn write(&self, text: &mut MetricText) {
        let FamilyHead { name, help, labels } = self.head;
        text.begin(name, "counter", help);
        for (values, count) in &*lock(&self.counts) {
            text.sample(name, "_total", &labels, values, "", count);
        }
    }
}

/// How long things took, in seconds.
pub(super) struct DurationFamily<const N: usize> {
    head: FamilyHead<N>,
    /// The upper bounds of the buckets, in seconds.
    bounds: &'static [f64],
    histograms: Mutex<BTreeMap<[LabelValue; N], DurationHistogram>>,
}

struct DurationHistogram {
    /// How many durations are in each bucket. The last bucket has no bound.
    buckets: Vec<u64>,
    sum: Duration,
}

impl<const N: usize> DurationFamily<N> {
    pub(super) fn new(head: FamilyHead<N>, bounds: &'static [f64]) -> Self {
        Self { head, bounds, histograms: Mutex::default() }
    }

    /// Adds a duration to the histogram with these values of its labels.
    pub(super) fn observe(&self, values: [LabelValue; N], duration: Duration) {
        let seconds = duration.as_secs_f64();
        let place = self.bounds.partition_point(|bound| *bound < seconds);
        let mut histograms = lock(&self.histograms);
        let histogram = histograms.entry(values).or_insert_with(|| DurationHistogram {
            buckets: vec![0; self.bounds.len() + 1],
            sum: Duration::ZERO,
        });
        histogram.buckets[place] += 1;
        histogram.sum += duration;
    }

    pub(super) fn write(&self, text: &mut MetricText) {
        let FamilyHead { name, help, labels } = self.head;
        text.begin(name, "histogram", help);
        for (values, histogram) in &*lock(&self.histograms) {
            let mut count = 0;
            let bounds = self.bounds.iter().map(|bound| format!("le=\"{bound:?}\""));
            let bounds = bounds.chain(["le=\"+Inf\"".to_owned()]);
            for (bound, more) in bounds.zip(&histogram.buckets) {
                count += more;
                text.sample(name, "_bucket", &labels, values, &bound, count);
            }
            text.sample(name, "_count", &labels, values, "", count);
            text.sample(name, "_sum", &labels, values, "", histogram.sum.as_secs_f64());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The text of metrics.
#[derive(Default)]
pub(super) struct MetricText(String);

impl MetricText {
    fn begin(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        for unit in ["seconds", "bytes"] {
            if name.strip_suffix(unit).is_some_and(|rest| rest.ends_with('_')) {
                let _ = writeln!(self.0, "# UNIT {name} {unit}");
            }
        }
        let _ = writeln!(self.0, "# HELP {name} {help}");
    }

    /// Writes one line. `more` is a label that is written already.
    fn sample(
        &mut self,
        name: &str,
        suffix: &str,
        labels: &[&str],
        values: &[LabelValue],
        more: &str,
        number: impl std::fmt::Display,
    ) {
        let pairs = labels.iter().zip(values).filter(|(_, value)| !value.is_empty());
        let mut all: Vec<String> =
            pairs.map(|(label, value)| format!("{label}=\"{}\"", escape(value))).collect();
        if !more.is_empty() {
            all.push(more.to_owned());
        }
        let labels = if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) };
        let _ = writeln!(self.0, "{name}{suffix}{labels} {number}");
    }

    /// Writes a number that can grow and shrink, if it is known.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.begin(name, "gauge", help);
            self.sample(name, "", &[], &[], "", value);
        }
    }

    /// Writes a counter without labels.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.begin(name, "counter", help);
        self.sample(name, "_total", &[], &[], "", value);
    }

    /// Writes a fact that does not change.
    pub(super) fn info(&mut self, name: &str, help: &str, label: &str, value: &'static str) {
        self.begin(name, "info", help);
        self.sample(name, "_info", &[label], &[value.into()], "", 1);
    }

    /// Ends the text.
    pub(super) fn finish(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_written_as_openmetrics() {
        let head = FamilyHead { name: "a_calls", help: "Calls.", labels: ["tool", "error"] };
        let calls = CounterFamily::new(head);
        calls.add_one(["x".into(), "".into()]);
        calls.add_one(["x".into(), "".into()]);
        calls.add_one(["q\"\\\n".into(), "bad".into()]);
        let head = FamilyHead { name: "a_seconds", help: "Times.", labels: ["tool"] };
        let times = DurationFamily::new(head, &[0.5, 1.0]);
        for milliseconds in [500, 501, 1500] {
            times.observe(["x".into()], Duration::from_millis(milliseconds));
        }
        let mut text = MetricText::default();
        calls.write(&mut text);
        times.write(&mut text);
        text.gauge("a_open", "Open.", Some(3));
        text.gauge("a_unknown", "Not known.", None::<u64>);
        let expected = r#"# TYPE a_calls counter
# HELP a_calls Calls.
a_calls_total{tool="q\"\\\n",error="bad"} 1
a_calls_total{tool="x"} 2
# TYPE a_seconds histogram
# UNIT a_seconds seconds
# HELP a_seconds Times.
a_seconds_bucket{tool="x",le="0.5"} 1
a_seconds_bucket{tool="x",le="1.0"} 2
a_seconds_bucket{tool="x",le="+Inf"} 3
a_seconds_count{tool="x"} 3
a_seconds_sum{tool="x"} 2.501
# TYPE a_open gauge
# HELP a_open Open.
a_open 3
# EOF
"#;
        assert_eq!(text.finish(), expected);
    }
}
