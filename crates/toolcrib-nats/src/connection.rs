//! The connection to the NATS server: whom it is to, how it logs in, and what is logged about it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event};

/// How many messages of a subscription wait to be taken. What comes beyond is dropped.
const MOST_WAITING_MESSAGES: usize = 256;

/// What the seed of a user's key begins with.
const USER_SEED: &str = "SU";

/// The NATS server, and how to log in to it.
#[derive(Clone, Debug)]
pub struct BusServer {
    /// The URL: `nats://HOST:PORT`, or `tls://HOST:PORT`.
    pub url: String,
    /// A file with the seed of a key, as `toolcrib nats init` writes it, or with credentials of `nsc`.
    pub credentials: Option<PathBuf>,
}

impl BusServer {
    /// Begins to connect, as `name`. A server that is not there yet is waited for.
    pub(crate) async fn connect(&self, name: &str) -> io::Result<Client> {
        let connect = self.options()?.name(name).retry_on_initial_connect();
        connect.connect(without_user(&self.url).0).await.map_err(io::Error::other)
    }

    /// Connects to a server that must be there.
    pub(crate) async fn connect_now(&self, name: &str) -> io::Result<Client> {
        let connect = self.options()?.name(name);
        connect.connect(without_user(&self.url).0).await.map_err(io::Error::other)
    }

    fn options(&self) -> io::Result<ConnectOptions> {
        let connect = match &self.credentials {
            None => ConnectOptions::new(),
            Some(path) => {
                let mode = std::fs::metadata(path)
                    .map_err(|err| {
                        io::Error::new(err.kind(), format!("`{}`: {err}", path.display()))
                    })?
                    .mode();
                if mode & 0o077 != 0 {
                    let path = path.display();
                    let message = format!(
                        "other users can read the credentials in `{path}`; make it private: chmod 600 {path}"
                    );
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
                }
                let text = std::fs::read_to_string(path)?;
                match text.trim() {
                    seed if seed.starts_with(USER_SEED) => {
                        ConnectOptions::with_nkey(seed.to_owned())
                    }
                    _ => ConnectOptions::with_credentials(&text)?,
                }
            }
        };
        let connect = match without_user(&self.url).1 {
            Some((user, password)) => connect.user_and_password(user, password),
            None => connect,
        };
        let last = LastLogged::default();
        Ok(connect
            .require_tls(self.url.starts_with("tls://"))
            .subscription_capacity(MOST_WAITING_MESSAGES)
            .connection_timeout(Duration::from_secs(5))
            .event_callback(move |event| {
                let last = Arc::clone(&last);
                async move { log(&event, &last) }
            }))
    }
}

/// Splits a URL into the URL without its user, and the user and the password. The client of NATS takes them from no URL.
fn without_user(url: &str) -> (String, Option<(String, String)>) {
    let split = url.split_once("://").and_then(|(scheme, rest)| {
        let (user, host) = rest.rsplit_once('@')?;
        Some((scheme, user, host))
    });
    let Some((scheme, user, host)) = split else { return (url.to_owned(), None) };
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    (format!("{scheme}://{host}"), Some((user.to_owned(), password.to_owned())))
}

/// What was last logged about the connection. A server that is down is tried many times, and fails each time alike.
type LastLogged = Arc<Mutex<String>>;

fn log(event: &Event, last: &LastLogged) {
    let text = event.to_string();
    if std::mem::replace(&mut *last.lock().unwrap_or_else(PoisonError::into_inner), text.clone())
        == text
    {
        return;
    }
    match event {
        Event::Connected => tracing::info!("connected to the NATS server"),
        Event::Disconnected => tracing::warn!("the NATS server is down; trying again"),
        // We ended it.
        Event::Closed | Event::Draining => {}
        Event::ClientError(err) => {
            tracing::warn!("the NATS server cannot be reached; trying again: {err}");
        }
        _ => tracing::warn!("the connection to the NATS server: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_and_a_password_are_taken_out_of_a_url() {
        let of = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        for (url, address, user) in [
            ("nats://a:4222", "nats://a:4222", None),
            ("nats://gw:p@ss:w@a:4222", "nats://a:4222", of("gw", "p@ss:w")),
            ("tls://gw@a", "tls://a", of("gw", "")),
        ] {
            assert_eq!(without_user(url), (address.to_owned(), user), "{url}");
        }
    }
}
