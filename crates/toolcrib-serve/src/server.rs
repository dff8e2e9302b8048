//! A server from its first connection to its last: the accept loop, and how it stops.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::activity::OpenConnections;
use crate::config::{ConnectionBounds, ListenAddress, ServerConfig};
use crate::connection;
use crate::listener::{Accepted, BindError, Listener};
use crate::observation::Observer;
use crate::pipeline::{Pipeline, Served};
use crate::tls::{Notice, Tls};

/// How long the accept loop rests if the system has no descriptor for a connection.
const REST_TIME: Duration = Duration::from_millis(50);

/// A server that listens. Connections wait until it runs.
pub struct Server {
    config: ServerConfig,
    listener: Listener,
    tls: Option<Tls>,
    address: ListenAddress,
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerEnd {
    /// How many requests were running when the server was told to stop, and ended in time.
    pub finished: usize,
    /// How many requests did not end in time, and were cut.
    pub cut: usize,
}

impl Server {
    /// Says whether a server could begin with this, as far as that shows without listening.
    pub fn check(config: &ServerConfig) -> Result<(), BindError> {
        config.tls.as_ref().map_or(Ok(()), Tls::check)?;
        Listener::check(&config.address, config.scheme())
    }

    /// Begins to listen. Must be called within a runtime. `notice` is told what the operator should know about TLS,
    /// now and later.
    pub fn bind(config: ServerConfig, notice: Notice) -> Result<Self, BindError> {
        let tls = match &config.tls {
            Some(files) => Some(Tls::open(files.clone(), notice)?),
            None => None,
        };
        let (listener, address) = Listener::bind(&config.address, config.scheme())?;
        Ok(Self { config, listener, tls, address })
    }

    /// Returns the address, with the port that was chosen if none was given.
    pub fn address(&self) -> &ListenAddress {
        &self.address
    }

    /// Returns the address as clients write it.
    pub fn url(&self) -> String {
        self.address.url(self.config.scheme())
    }

    /// Returns the address at which a browser opens the page. A browser cannot open a Unix socket.
    pub fn page_url(&self) -> Option<String> {
        let ListenAddress::Tcp(address) = &self.address else { return None };
        // A certificate is for a name, and no client connects to the address that stands for all of them.
        let host = match self.config.host_names.first() {
            Some(name) if self.tls.is_some() => name.clone(),
            _ if address.ip().is_unspecified() => format!("localhost:{}", address.port()),
            _ => address.to_string(),
        };
        Some(format!("{}://{host}", self.config.scheme().as_str()))
    }

    /// Serves until `stop` is ready. Then the server takes no more connections, closes those without a request, and
    /// waits a bounded time for those with one.
    pub async fn run(self, served: Served, stop: impl Future<Output = ()>) -> ServerEnd {
        let Self { config, listener, tls, address } = self;
        let (readiness, observer) = (served.readiness.clone(), served.observer.clone());
        let keys = served.oauth.clone();
        let keys = keys.map(|it| tokio::spawn(async move { it.keep_keys_fresh().await }));
        let pipeline = Pipeline::new(&config, &address, served);
        let mut connections = ServedConnections {
            pipeline: Arc::new(pipeline),
            tls: tls.map(Arc::new),
            bounds: Arc::new(config.connections),
            open: Arc::default(),
            observer,
            tasks: JoinSet::new(),
            stopping: watch::Sender::new(()),
        };
        connections.accept_until(&listener, stop).await;
        readiness.set_stopping();
        drop(listener);
        let end = connections.stop(config.stop_within).await;
        if let Some(keys) = keys {
            keys.abort();
        }
        end
    }
}

/// The connections of a running server.
struct ServedConnections {
    pipeline: Arc<Pipeline>,
    tls: Option<Arc<Tls>>,
    bounds: Arc<ConnectionBounds>,
    open: Arc<OpenConnections>,
    observer: Observer,
    tasks: JoinSet<()>,
    stopping: watch::Sender<()>,
}

impl ServedConnections {
    async fn accept_until(&mut self, listener: &Listener, stop: impl Future<Output = ()>) {
        let room = Arc::new(Semaphore::new(self.bounds.most_open.max(1)));
        let mut stop = pin!(stop);
        loop {
            let next = tokio::select! {
                biased;
                () = &mut stop => return,
                next = self.next(listener, &room) => next,
            };
            match next {
                Ok((accepted, permit)) => self.start(accepted, permit),
                Err(err) if is_about_one_connection(&err) => {}
                Err(err) => {
                    tracing::warn!(error = %err, "cannot take a connection");
                    self.open.evict_longest_idle();
                    tokio::select! {
                        () = &mut stop => return,
                        () = sleep(REST_TIME) => {}
                    }
                }
            }
            while self.tasks.try_join_next().is_some() {}
        }
    }

    /// Takes a connection, and waits until there is room for it. Connections without a request make room.
    async fn next(
        &self,
        listener: &Listener,
        room: &Arc<Semaphore>,
    ) -> io::Result<(Accepted, OwnedSemaphorePermit)> {
        let accepted = listener.accept().await?;
        if let Ok(permit) = Arc::clone(room).try_acquire_owned() {
            return Ok((accepted, permit));
        }
        let freed = Arc::clone(room).acquire_owned();
        let mut freed = pin!(freed);
        let permit = tokio::select! {
            biased;
            permit = &mut freed => permit,
            // The connection that made room is closed in a moment.
            () = self.open.make_room() => freed.await,
        };
        Ok((accepted, permit.map_err(io::Error::other)?))
    }

    fn start(&mut self, accepted: Accepted, permit: OwnedSemaphorePermit) {
        let (pipeline, bounds) = (Arc::clone(&self.pipeline), Arc::clone(&self.bounds));
        let (connection, stopping) = (self.open.add(), self.stopping.subscribe());
        let counted = self.observer.connection();
        let tls = self.tls.clone();
        self.tasks.spawn(async move {
            let (_permit, _counted) = (permit, counted);
            let activity = &connection.activity;
            match (accepted, tls) {
                (Accepted::Tcp(stream), Some(tls)) => {
                    connection::serve_tls(stream, &tls, pipeline, &bounds, activity, stopping)
                        .await;
                }
                (Accepted::Tcp(stream), None) => {
                    connection::serve(stream, pipeline, &bounds, activity, stopping).await;
                }
                (Accepted::Unix(stream), _) => {
                    connection::serve(stream, pipeline, &bounds, activity, stopping).await;
                }
            }
        });
    }

    async fn stop(mut self, within: Duration) -> ServerEnd {
        let running = self.open.running_requests();
        self.stopping.send_replace(());
        let all_ended = async { while self.tasks.join_next().await.is_some() {} };
        let cut = match timeout(within, all_ended).await {
            Ok(()) => 0,
            Err(_) => self.open.running_requests(),
        };
        self.tasks.shutdown().await;
        ServerEnd { finished: running.saturating_sub(cut), cut }
    }
}

/// Whether an error concerns only the connection that was taken, so that the next can be taken at once.
fn is_about_one_connection(err: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, NotConnected};
    matches!(err.kind(), ConnectionAborted | ConnectionReset | Interrupted | NotConnected)
}
