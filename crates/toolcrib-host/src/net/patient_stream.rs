//! A connection that waits no longer than until its deadline, and notices within moments that it is not wanted any
//! more.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use super::patience::{POLL_INTERVAL, Patience};

/// A connection with a deadline.
pub(super) struct PatientStream {
    stream: TcpStream,
    patience: Patience,
}

impl PatientStream {
    pub(super) fn new(stream: TcpStream, patience: Patience) -> io::Result<Self> {
        stream.set_read_timeout(Some(POLL_INTERVAL))?;
        stream.set_write_timeout(Some(POLL_INTERVAL))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, patience })
    }

    fn patiently<T>(
        &mut self,
        mut work: impl FnMut(&mut TcpStream) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            if self.patience.is_over() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match work(&mut self.stream) {
                Err(err)
                    if matches!(
                        err.kind(),
                        io::ErrorKind::WouldBlock
                            | io::ErrorKind::TimedOut
                            | io::ErrorKind::Interrupted
                    ) => {}
                done => return done,
            }
        }
    }
}

impl Read for PatientStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.patiently(|stream| stream.read(bytes))
    }
}

impl Write for PatientStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.patiently(|stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
