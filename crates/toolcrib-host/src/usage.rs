//! What a thread uses, by the same measures as for the processes of a command: processor time, memory, and the
//! bytes that pass through system calls.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

use toolcrib_core::Usage;

use toolcrib_inside::{thread_times, transferred};

thread_local! {
    static ACCOUNT: RefCell<Account> = RefCell::new(Account::open());
}

/// The figures of a thread.
struct Account {
    /// The file with the kernel's figures, held open so that reading it is cheap.
    io: Option<File>,
    /// How many bytes were read from that file: they are not the call's own.
    own_reads: u64,
    /// What helper threads used.
    helpers: Usage,
}

impl Account {
    fn open() -> Self {
        let io = File::open("/proc/thread-self/io").ok();
        Self { io, own_reads: 0, helpers: Usage::default() }
    }

    fn total(&mut self) -> Usage {
        let mut text = [0; 512];
        let got = self.io.as_ref().and_then(|io| io.read_at(&mut text, 0).ok()).unwrap_or(0);
        let (read, written_bytes) =
            transferred(std::str::from_utf8(&text[..got]).unwrap_or_default());
        let (cpu_us, peak_memory) = thread_times();
        let read_bytes = read.saturating_sub(self.own_reads);
        self.own_reads += got as u64;
        let mut all = Usage { cpu_us, peak_memory, read_bytes, written_bytes, ..Usage::default() };
        all.add(&self.helpers);
        all
    }
}

/// Returns what this thread and its helper threads have used so far. Memory is that of the whole process.
pub(crate) fn of_thread() -> Usage {
    ACCOUNT.with_borrow_mut(Account::total)
}

/// Adds what helper threads used to the figures of this thread.
pub(crate) fn add(part: &Usage) {
    ACCOUNT.with_borrow_mut(|account| account.helpers.add(part));
}
