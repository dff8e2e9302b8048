//! One connection from its first byte to its end. It is any stream of bytes, so TLS can stand in front of it.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::http::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use crate::activity::{Activity, Overdue, RequestMark};
use crate::config::ConnectionBounds;
use crate::head_gate::{HeadGate, Leftover};
use crate::pipeline::Pipeline;
use crate::reply::ApiError;
use crate::tls::{Handshake, Tls};

/// How long the server waits for a client to read its last reply.
const LINGER_TIME: Duration = Duration::from_secs(2);

/// How much the server reads of what a client sends after its last reply.
const MOST_LINGER_BYTES: u64 = 64 << 20;

/// The least buffer that hyper accepts.
const LEAST_BUFFER: usize = 8 << 10;

/// Why a connection ended.
enum ConnectionEnd {
    /// The client left, or the last reply was sent.
    Served,
    /// The connection made room for another.
    Evicted,
    /// The client took too long.
    Overdue(Overdue),
}

/// Serves one connection until it ends.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    pipeline: Arc<Pipeline>,
    bounds: &ConnectionBounds,
    activity: &Arc<Activity>,
    mut stopping: watch::Receiver<()>,
) {
    let gate = HeadGate::new(stream, Arc::clone(activity), bounds.head_bytes);
    let service = service_fn(|request| {
        let (pipeline, mark) = (Arc::clone(&pipeline), RequestMark::new(Arc::clone(activity)));
        async move { pipeline.answer(request, mark).await }
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // The gate keeps the times. hyper's own timer is for what the gate has let pass, which is whole.
        .header_read_timeout(bounds.idle_time + bounds.head_time)
        .max_buf_size(bounds.head_bytes.max(LEAST_BUFFER))
        .serve_connection(TokioIo::new(gate), service);
    let mut evicted = pin!(activity.evicted());
    let mut stopped = pin!(stopping.changed());
    let mut is_stopping = false;
    let mut deadline = Deadline(Box::pin(sleep_until(Instant::now() + bounds.idle_time)));
    let end = poll_fn(|cx| {
        if evicted.as_mut().poll(cx).is_ready() {
            return Poll::Ready(ConnectionEnd::Evicted);
        }
        if !is_stopping && stopped.as_mut().poll(cx).is_ready() {
            is_stopping = true;
            Pin::new(&mut connection).graceful_shutdown();
        }
        if Pin::new(&mut connection).poll(cx).is_ready() {
            return Poll::Ready(ConnectionEnd::Served);
        }
        deadline.poll_overdue(cx, activity, bounds).map(ConnectionEnd::Overdue)
    })
    .await;
    let leftover = connection.into_parts().io.into_inner().into_leftover();
    activity.closing();
    tokio::select! {
        () = close(leftover, end) => {}
        () = activity.evicted() => {}
    }
}

/// Makes the TLS handshake, and serves the connection.
pub(crate) async fn serve_tls(
    stream: TcpStream,
    tls: &Tls,
    pipeline: Arc<Pipeline>,
    bounds: &ConnectionBounds,
    activity: &Arc<Activity>,
    mut stopping: watch::Receiver<()>,
) {
    let handshake = tokio::select! {
        handshake = tls.accept(stream, bounds.head_time) => handshake,
        () = activity.evicted() => return,
        _ = stopping.changed() => return,
    };
    match handshake {
        Handshake::Done(stream) => serve(*stream, pipeline, bounds, activity, stopping).await,
        Handshake::PlainHttp(stream) => {
            let leftover = Leftover { stream, refusal: Some(tls_required()), has_unread: true };
            activity.closing();
            tokio::select! {
                () = close(leftover, ConnectionEnd::Served) => {}
                () = activity.evicted() => {}
            }
        }
        Handshake::Failed => {}
    }
}

/// The time at which a connection has waited long enough. What it waits for changes with each request, so the timer
/// is only moved when it would ring too late.
struct Deadline(Pin<Box<Sleep>>);

impl Deadline {
    fn poll_overdue(
        &mut self,
        cx: &mut Context<'_>,
        activity: &Activity,
        bounds: &ConnectionBounds,
    ) -> Poll<Overdue> {
        loop {
            let Some((at, overdue)) = activity.due(bounds) else { return Poll::Pending };
            let at = Instant::from_std(at);
            if self.0.deadline() > at || self.0.is_elapsed() {
                self.0.as_mut().reset(at);
            }
            ready!(self.0.as_mut().poll(cx));
            if self.0.deadline() >= at {
                return Poll::Ready(overdue);
            }
        }
    }
}

/// Writes what is left to say, and ends the stream so that the client gets to read it.
async fn close<S: AsyncRead + AsyncWrite + Unpin>(leftover: Leftover<S>, end: ConnectionEnd) {
    let Leftover { mut stream, refusal, has_unread } = leftover;
    let (refusal, has_unread) = match end {
        ConnectionEnd::Served => (refusal, has_unread),
        ConnectionEnd::Overdue(Overdue::Head) => (Some(head_timeout()), true),
        ConnectionEnd::Overdue(Overdue::Idle | Overdue::Stalled) | ConnectionEnd::Evicted => {
            tracing::debug!("closed a connection that was idle, slow or in the way");
            return;
        }
    };
    let ending = async {
        if let Some(refusal) = &refusal {
            let (status, error) = (refusal.status().as_u16(), refusal.code());
            tracing::info!(status, error, "refused a request whose head cannot be accepted");
            stream.write_all(&refusal.to_bytes()).await?;
        }
        stream.shutdown().await?;
        if has_unread {
            // To close a socket with unread bytes makes the kernel reset the connection, and the client loses the
            // reply.
            tokio::io::copy(&mut (&mut stream).take(MOST_LINGER_BYTES), &mut tokio::io::sink())
                .await?;
        }
        Ok::<_, std::io::Error>(())
    };
    let _client_is_gone = timeout(LINGER_TIME, ending).await;
}

// The client gets a reply that it understands, instead of an alert of TLS.
fn tls_required() -> ApiError {
    let message = "this port speaks TLS; begin the address with `https://`";
    ApiError::new(StatusCode::BAD_REQUEST, "tls_required", message)
}

fn head_timeout() -> ApiError {
    let message = "the head of the request did not arrive in time; send it at once";
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "head_timeout", message)
}
