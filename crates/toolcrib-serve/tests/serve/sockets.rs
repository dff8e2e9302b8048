//! Which addresses a server listens on.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;

use toolcrib_serve::{BindErrorKind, ListenAddress, Server, ServerConfig};

use crate::client::Client;
use crate::rig::{AGENT, Rig, bearer};

fn bind_error(address: ListenAddress) -> Option<BindErrorKind> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let notice = std::sync::Arc::new(|_: &str| {});
        Server::bind(ServerConfig::new(address), notice).err().map(|err| err.kind)
    })
}

fn tcp(text: &str) -> ListenAddress {
    ListenAddress::Tcp(text.parse().unwrap())
}

fn unix(path: &Path) -> ListenAddress {
    ListenAddress::Unix(path.to_owned())
}

#[test]
fn only_loopback_addresses_are_listened_on() {
    for address in ["127.0.0.1:0", "127.0.0.2:0"] {
        assert_eq!(bind_error(tcp(address)), None, "{address}");
    }
    // A machine may be without IPv6, and then the system refuses.
    for address in ["[::1]:0", "[::ffff:127.0.0.1]:0"] {
        assert_ne!(bind_error(tcp(address)), Some(BindErrorKind::NotLoopback), "{address}");
    }
    for address in [
        "0.0.0.0:0",
        "[::]:0",
        "192.0.2.1:0",
        "10.0.0.1:0",
        "[2001:db8::1]:0",
        "[::ffff:0.0.0.0]:0",
    ] {
        assert_eq!(bind_error(tcp(address)), Some(BindErrorKind::NotLoopback), "{address}");
    }
    let rig = Rig::new();
    assert_eq!(bind_error(tcp(&rig.tcp().to_string())), Some(BindErrorKind::InUse));
}

#[test]
fn h_049_a_unix_socket_is_for_its_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.sock");
    let rig = Rig::start(ServerConfig::new(unix(&path)));
    let file = fs::symlink_metadata(rig.socket()).unwrap();
    assert!(file.file_type().is_socket());
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let ask = |headers: &str| {
        Client::unix(&path).send(format!("GET /echo HTTP/1.1\r\n{headers}\r\n")).reply()
    };
    let token = bearer(AGENT);
    for host in ["localhost", "anything.example", ""] {
        ask(&format!("Host: {host}\r\n{token}")).is_ok();
    }
    // The token is still needed, and pages have no business here.
    ask("Host: localhost\r\n").is_error(401, "unauthorized");
    ask(&token).is_error(400, "bad_request");
    ask(&format!("Host: a\r\nHost: b\r\n{token}")).is_error(400, "bad_request");
    ask(&format!("Host: localhost\r\nOrigin: http://localhost\r\n{token}"))
        .is_error(403, "origin_not_allowed");
    rig.end();
    assert!(!path.exists(), "the socket is removed");
}

#[test]
fn the_socket_of_a_dead_server_is_replaced_and_that_of_a_live_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.sock");
    // A listener that is dropped leaves its file behind, as a killed server does.
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let rig = Rig::start(ServerConfig::new(unix(&path)));
    let request = format!("GET /echo HTTP/1.1\r\nHost: localhost\r\n{}\r\n", bearer(AGENT));
    Client::unix(&path).send(&request).reply().is_ok();
    assert_eq!(bind_error(unix(&path)), Some(BindErrorKind::InUse));
    Client::unix(&path).send(&request).reply().is_ok();
    // The file of another server is left alone.
    fs::rename(&path, folder.path().join("moved.sock")).unwrap();
    fs::write(&path, "of somebody else").unwrap();
    rig.end();
    assert!(path.exists());
}

#[test]
fn what_is_no_socket_or_could_be_replaced_by_others_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.sock");
    fs::write(&path, "precious").unwrap();
    assert_eq!(bind_error(unix(&path)), Some(BindErrorKind::NotASocket));
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    assert_eq!(bind_error(unix(&folder.path().join("missing/api.sock"))), Some(BindErrorKind::Io));
    assert_eq!(bind_error(unix(&folder.path().join("x".repeat(200)))), Some(BindErrorKind::Io));
    let shared = folder.path().join("shared");
    fs::create_dir(&shared).unwrap();
    let try_mode = |mode: u32| {
        fs::set_permissions(&shared, fs::Permissions::from_mode(mode)).unwrap();
        bind_error(unix(&shared.join("api.sock")))
    };
    assert_eq!(try_mode(0o777), Some(BindErrorKind::UnsafeFolder));
    assert_eq!(try_mode(0o770), Some(BindErrorKind::UnsafeFolder));
    assert_eq!(try_mode(0o755), None);
    assert_eq!(try_mode(0o700), None);
}
