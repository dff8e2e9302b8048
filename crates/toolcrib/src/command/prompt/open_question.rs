//! A question while it is on the terminal: it holds the screen, and puts the terminal back when it is taken away.

use std::sync::{MutexGuard, mpsc};
use std::time::Duration;

use super::device::{Device, Waker};
use crate::terminal::{Cursor, hold_screen};

/// How long to wait for the terminal to be put back when a question is taken away.
const PUT_BACK_TIME: Duration = Duration::from_secs(1);

/// A question that is on the terminal.
pub(super) struct OpenQuestion {
    pub(super) waker: Waker,
    pub(super) is_over: mpsc::Receiver<()>,
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.waker.wake();
        let _ = self.is_over.recv_timeout(PUT_BACK_TIME);
    }
}

/// Takes the screen, and ends the line that a command has begun there: its text stands on no row of the question.
pub(super) fn take_screen(device: &Device) -> MutexGuard<'static, Cursor> {
    let mut screen = hold_screen();
    if std::mem::replace(&mut *screen, Cursor::AtStart) == Cursor::InLine {
        device.show("\n");
    }
    screen
}
