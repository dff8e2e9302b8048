//! What a running command uses, summed over every process below its first one.

use std::fs;

use rustix::process::Pid;
use toolcrib_inside::{field, transferred};

/// The sums of all processes of a command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    first: i32,
    pub(crate) processes: u64,
    pub(crate) memory: u64,
    pub(crate) cpu_us: u64,
    pub(crate) written: u64,
    pub(crate) read: u64,
}

impl Sample {
    /// Sums up `first` and every process below it, until there are more than `most`.
    pub(crate) fn take(first: Pid, most: u64) -> Self {
        let first = first.as_raw_nonzero().get();
        let mut sample = Self { first, ..Self::default() };
        walk(first, |pid| {
            sample.add(pid);
            sample.processes <= most
        });
        sample
    }

    /// Returns the memory of the same processes, with shared memory counted once. Costly.
    pub(crate) fn exact_memory(&self) -> u64 {
        let mut total = 0;
        walk(self.first, |pid| {
            total += proportional_memory(pid);
            true
        });
        total
    }

    fn add(&mut self, pid: i32) {
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return };
        // The name, in parentheses, can contain anything. After it come numbers only.
        let Some((_, fields)) = stat.rsplit_once(')') else { return };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let field = |number: usize| {
            fields.get(number - 3).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0)
        };
        self.processes += 1;
        let ticks = field(14) + field(15) + field(16) + field(17);
        self.cpu_us += ticks * 1_000_000 / ticks_per_second();
        self.memory += private_memory(pid);
        let (read, written) =
            transferred(&fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default());
        self.read += read;
        self.written += written;
    }
}

/// Calls `visit` for a process and every process below it, as long as `visit` returns true.
fn walk(first: i32, mut visit: impl FnMut(i32) -> bool) {
    let mut open = vec![first];
    while let Some(pid) = open.pop() {
        if !visit(pid) {
            return;
        }
        children(pid, &mut open);
    }
}

/// Returns the memory of a process with its share of shared memory. What the kernel does not tell counts in full.
fn proportional_memory(pid: i32) -> u64 {
    let Ok(rollup) = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else {
        return private_memory(pid);
    };
    let kib = |name: &str| field(&rollup, name);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let tables = field(&status, "VmPTE:");
    (kib("Pss_Anon:") + kib("Pss_Shmem:") + kib("SwapPss:") + tables) * 1024
}

/// Returns the memory of a process that is not backed by files, with shared memory in full.
fn private_memory(pid: i32) -> u64 {
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { return 0 };
    let kib = |name: &str| field(&status, name);
    (kib("RssAnon:") + kib("RssShmem:") + kib("VmSwap:") + kib("VmPTE:")) * 1024
}

fn children(pid: i32, open: &mut Vec<i32>) {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return };
    for thread in threads.flatten() {
        let Ok(list) = fs::read_to_string(thread.path().join("children")) else { continue };
        open.extend(list.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
}

fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}
