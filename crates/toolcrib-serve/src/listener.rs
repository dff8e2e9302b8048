//! The sockets that a server listens on: a TCP address, which is of the loopback interface unless there is TLS, or a
//! Unix socket of its user.

use std::fmt;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net as unix;
use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::config::{ListenAddress, Scheme};
use crate::reply::ApiError;
use crate::tls::{TlsError, TlsErrorKind};

/// The mode of a Unix socket: only its user may connect.
const SOCKET_MODE: u32 = 0o600;

/// The permissions with which others could replace a socket in its folder.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Why a server cannot listen.
#[derive(Debug)]
pub struct BindError {
    /// What kind of error it is.
    pub kind: BindErrorKind,
    /// What went wrong.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

/// Kinds of errors when a server begins to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindErrorKind {
    /// The address can be reached from other machines, and there is no TLS.
    NotLoopback,
    /// Another process listens there.
    InUse,
    /// Something that is not a socket is at the path.
    NotASocket,
    /// Others could replace the socket.
    UnsafeFolder,
    /// The files of TLS cannot be used.
    Tls(TlsErrorKind),
    /// The system refused.
    Io,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

impl std::error::Error for BindError {}

impl From<TlsError> for BindError {
    fn from(err: TlsError) -> Self {
        let TlsError { kind, message, hint } = err;
        Self { kind: BindErrorKind::Tls(kind), message, hint }
    }
}

/// A socket that takes connections.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    /// The file is removed when the listener is dropped.
    Unix {
        listener: UnixListener,
        _file: SocketFile,
    },
}

/// A connection that was taken.
pub(crate) enum Accepted {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// The file of a Unix socket. It is removed with this, unless another server has replaced it.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl Listener {
    /// Says whether a server could listen there, as far as that shows without listening.
    pub(crate) fn check(address: &ListenAddress, scheme: Scheme) -> Result<(), BindError> {
        match address {
            ListenAddress::Tcp(address) => {
                check_tcp(*address, scheme)?;
                // Another port of the same machine: this one may be the server's own.
                let any_port = SocketAddr::new(address.ip(), 0);
                std::net::TcpListener::bind(any_port)
                    .map_err(|err| address_not_bound(*address, &err))?;
                Ok(())
            }
            ListenAddress::Unix(path) => check_unix(path),
        }
    }

    /// Begins to listen. Returns the address with its real port too.
    pub(crate) fn bind(
        address: &ListenAddress,
        scheme: Scheme,
    ) -> Result<(Self, ListenAddress), BindError> {
        match address {
            ListenAddress::Tcp(address) => {
                let (listener, address) = bind_tcp(*address, scheme)?;
                Ok((Self::Tcp(listener), ListenAddress::Tcp(address)))
            }
            ListenAddress::Unix(path) => {
                let (listener, file) = bind_unix(path)?;
                let listener = Self::Unix { listener, _file: file };
                Ok((listener, ListenAddress::Unix(path.clone())))
            }
        }
    }

    /// Takes the next connection.
    pub(crate) async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Accepted::Tcp(stream))
            }
            Self::Unix { listener, .. } => loop {
                let (stream, _) = listener.accept().await?;
                if is_own_user(&stream) {
                    return Ok(Accepted::Unix(stream));
                }
                let message = "this socket belongs to another user of this machine";
                let refusal = ApiError::new(StatusCode::FORBIDDEN, "other_user", message);
                let _whether_read = stream.try_write(&refusal.to_bytes());
            },
        }
    }
}

fn check_tcp(address: SocketAddr, scheme: Scheme) -> Result<(), BindError> {
    if scheme == Scheme::Https || address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    Err(BindError {
        kind: BindErrorKind::NotLoopback,
        message: format!(
            "`{address}` can be reached from other machines, and tokens would cross the network in clear text"
        ),
        hint: "set `serve.tls_certificate` and `serve.tls_key`, or listen on `127.0.0.1` or on a Unix socket"
            .to_owned(),
    })
}

fn bind_tcp(address: SocketAddr, scheme: Scheme) -> Result<(TcpListener, SocketAddr), BindError> {
    check_tcp(address, scheme)?;
    let failed = |err: io::Error| match err.kind() {
        io::ErrorKind::AddrInUse => in_use(&address.to_string()),
        _ => address_not_bound(address, &err),
    };
    let listener = std::net::TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let listener = TcpListener::from_std(listener).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

fn address_not_bound(address: SocketAddr, err: &io::Error) -> BindError {
    BindError {
        kind: BindErrorKind::Io,
        message: format!("cannot listen on `{address}`: {err}"),
        hint: "choose another address or port".to_owned(),
    }
}

fn in_use(address: &str) -> BindError {
    BindError {
        kind: BindErrorKind::InUse,
        message: format!("another process listens on `{address}`"),
        hint: "stop it, or choose another address".to_owned(),
    }
}

fn bind_unix(path: &Path) -> Result<(UnixListener, SocketFile), BindError> {
    let failed = |err: io::Error| not_bound(path, &err);
    check_unix(path)?;
    check_no_listener(path)?;
    // Bound under another name, so that nobody finds the socket before its mode is set.
    let unfinished = unfinished(path);
    let _leftover_of_a_crash = fs::remove_file(&unfinished);
    let listener = unix::UnixListener::bind(&unfinished).map_err(failed)?;
    let finish = || {
        fs::set_permissions(&unfinished, fs::Permissions::from_mode(SOCKET_MODE))?;
        listener.set_nonblocking(true)?;
        let inode = fs::symlink_metadata(&unfinished)?.ino();
        fs::rename(&unfinished, path)?;
        Ok(SocketFile { path: path.to_owned(), inode })
    };
    let file = finish().map_err(|err| {
        let _nothing_to_keep = fs::remove_file(&unfinished);
        failed(err)
    })?;
    Ok((UnixListener::from_std(listener).map_err(failed)?, file))
}

fn not_bound(path: &Path, err: &io::Error) -> BindError {
    BindError {
        kind: BindErrorKind::Io,
        message: format!("cannot listen on `{}`: {err}", path.display()),
        hint: "choose a short path in a folder of yours".to_owned(),
    }
}

/// Returns the name of a socket until its mode is set.
fn unfinished(path: &Path) -> PathBuf {
    path.with_extension(format!("{}", std::process::id()))
}

/// Refuses a path at which no socket of ours can be. The socket of a server is not in the way.
fn check_unix(path: &Path) -> Result<(), BindError> {
    unix::SocketAddr::from_pathname(unfinished(path)).map_err(|err| not_bound(path, &err))?;
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mode = fs::metadata(folder).map_err(|err| not_bound(path, &err))?.mode();
    if mode & WRITABLE_BY_OTHERS != 0 {
        let folder = folder.display();
        return Err(BindError {
            kind: BindErrorKind::UnsafeFolder,
            message: format!("other users can write to `{folder}` and replace the socket"),
            hint: format!("choose another folder, or run `chmod go-w {folder}`"),
        });
    }
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => Err(BindError {
            kind: BindErrorKind::NotASocket,
            message: format!("`{}` exists and is not a socket", path.display()),
            hint: "choose another path, or move the file away".to_owned(),
        }),
        Err(err) if err.kind() != io::ErrorKind::NotFound => Err(not_bound(path, &err)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Refuses a path where a server listens. The socket of one that has died is not in the way, because the new one
/// replaces it.
fn check_no_listener(path: &Path) -> Result<(), BindError> {
    match unix::UnixStream::connect(path) {
        Ok(_) => Err(in_use(&path.display().to_string())),
        Err(err) => match err.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Ok(()),
            _ => Err(not_bound(path, &err)),
        },
    }
}

/// Whether a client of a Unix socket is the server's own user, or root.
fn is_own_user(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0)
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_own = fs::symlink_metadata(&self.path).is_ok_and(|it| it.ino() == self.inode);
        if is_own {
            let _already_gone = fs::remove_file(&self.path);
        }
    }
}
