//! Tells the service manager, such as systemd, how the server stands. The messages are those of `sd_notify(3)`.

use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The service manager that started this process, if one did and wants to be told.
pub(super) struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// How long the server may say nothing before the manager takes it for dead.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// Reads from the environment where to tell what.
    pub(super) fn from_environment() -> Self {
        Self::new(&|name| std::env::var_os(name))
    }

    fn new(variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let socket = variable("NOTIFY_SOCKET").and_then(|path| connect(path.as_bytes()).ok());
        let number = |name: &str| variable(name)?.to_str()?.parse::<u64>().ok();
        // The variables may be meant for another process, which passed them on.
        let is_meant = number("WATCHDOG_PID").is_none_or(|id| id == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|time| is_meant && *time > 0);
        Self { socket, watchdog: watchdog.map(Duration::from_micros) }
    }

    /// Sends lines such as `READY=1`. A manager that does not listen is no reason to stop.
    pub(super) fn tell(&self, lines: &str) {
        if let Some((socket, address)) = &self.socket {
            let _ = socket.send_to_addr(lines.as_bytes(), address);
        }
    }

    /// Returns how often to say that the server lives: twice in the time that the manager waits.
    pub(super) fn watchdog_interval(&self) -> Option<Duration> {
        self.watchdog.filter(|_| self.socket.is_some()).map(|time| time / 2)
    }
}

/// Opens a socket to the manager's address. One that begins with `@` is not in the file system.
fn connect(path: &[u8]) -> io::Result<(UnixDatagram, SocketAddr)> {
    let address = match path.split_first() {
        Some((b'@', name)) => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(path))?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    Ok((socket, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manager(socket: Option<&str>, watchdog: &str, process: u32) -> ServiceManager {
        let process = process.to_string();
        ServiceManager::new(&|name| match name {
            "NOTIFY_SOCKET" => socket.map(Into::into),
            "WATCHDOG_USEC" => Some(watchdog.into()),
            "WATCHDOG_PID" => Some(process.as_str().into()),
            _ => None,
        })
    }

    #[test]
    fn a_manager_is_told_at_a_path_or_at_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let name = format!("toolcrib-test-{}", std::process::id());
        let at_name = SocketAddr::from_abstract_name(&name).unwrap();
        for (listener, address) in [
            (UnixDatagram::bind(&path).unwrap(), path.display().to_string()),
            (UnixDatagram::bind_addr(&at_name).unwrap(), format!("@{name}")),
        ] {
            let manager = manager(Some(&address), "3000000", std::process::id());
            assert_eq!(manager.watchdog_interval(), Some(Duration::from_millis(1500)));
            manager.tell("READY=1\nSTATUS=good");
            let mut bytes = [0; 100];
            let count = listener.recv(&mut bytes).unwrap();
            assert_eq!(&bytes[..count], b"READY=1\nSTATUS=good");
        }
    }

    #[test]
    fn without_a_manager_nothing_happens() {
        for (socket, watchdog, process) in [
            (None, "3000000", std::process::id()),
            (Some("/nothing/here"), "0", std::process::id()),
            (Some("/nothing/here"), "x", std::process::id()),
            (Some("/nothing/here"), "3000000", 1),
        ] {
            let manager = manager(socket, watchdog, process);
            assert_eq!(manager.watchdog_interval(), None);
            manager.tell("READY=1");
        }
    }
}
