//! What a thread uses, by the same counts as a command's processes: processor time, memory, and the bytes
//! that go through calls to the kernel.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

use toolcrib_core::Usage;

use toolcrib_inside::{thread_times, transferred};

thread_local! {
    static ACCOUNT: RefCell<Account> = RefCell::new(Account::open());
}

/// A thread's counts.
struct Account {
    /// The kernel's, held open: asking is cheap then.
    io: Option<File>,
    /// Bytes of those that were read for asking.
    asked: u64,
    /// What helpers used.
    helpers: Usage,
}

impl Account {
    fn open() -> Self {
        let io = File::open("/proc/thread-self/io").ok();
        Self { io, asked: 0, helpers: Usage::default() }
    }

    fn total(&mut self) -> Usage {
        let mut text = [0; 512];
        let got = self.io.as_ref().and_then(|io| io.read_at(&mut text, 0).ok()).unwrap_or(0);
        let (read, written_bytes) =
            transferred(std::str::from_utf8(&text[..got]).unwrap_or_default());
        let (cpu_us, peak_memory) = thread_times();
        let read_bytes = read.saturating_sub(self.asked);
        self.asked += got as u64;
        let mut all = Usage { cpu_us, peak_memory, read_bytes, written_bytes, ..Usage::default() };
        all.add(&self.helpers);
        all
    }
}

/// What this thread and its helpers have used so far; memory is that of the whole process.
pub(crate) fn of_thread() -> Usage {
    ACCOUNT.with_borrow_mut(Account::total)
}

/// Counts what helpers of this thread used as used by it.
pub(crate) fn add(part: &Usage) {
    ACCOUNT.with_borrow_mut(|account| account.helpers.add(part));
}
