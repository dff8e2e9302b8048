//! `GET /api/events`: what happens, as server-sent events. A reader that was away goes on where it was, by the number
//! of the last line that it saw. A slow reader waits for itself alone.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, interval_at};
use toolcrib_core::Caller;

use super::access::{AccessRight, CallVisibility};
use super::approvals::waiting_count;
use super::blocking::blocking;
use super::context::Api;
use super::event_feed::EventReplay;
use super::fields::QueryFields;
use super::operation::Operation;
use super::recorded_event::RecordedEvent;
use super::stream_body::stream_body;
use crate::presented_token::PresentedToken;
use crate::reply::ApiError;

/// How often the health of the server is told. It also shows that the connection is alive.
const HEALTH_INTERVAL: Duration = Duration::from_secs(15);

/// The operation that tells what happens.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/events", "events", events)
            .about(AccessRight::Any, "Tells what happens, as server-sent events.")
            .query::<EventsQuery>()
            .replies_as("text/event-stream"),
    ]
}

/// Which events are told.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EventsQuery {
    /// Names of events, such as `call.ended`, or their first words, such as `approval`, separated by commas.
    events: Option<String>,
    /// The name of a tool.
    tool: Option<String>,
    /// A session.
    session: Option<String>,
    /// Goes on after this line of the record, like the header `Last-Event-ID`.
    after: Option<u64>,
    /// What is told of an event. It is `event` if it is not given.
    form: Option<EventForm>,
}

/// What is told of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EventForm {
    /// What happened, and to what.
    Event,
    /// The whole line of the record, for those who may read the record.
    Line,
}

/// The health of the server.
#[derive(Serialize)]
struct Health {
    running: usize,
    waiting: Option<u64>,
    /// The number of the last line of the record that this reader is past.
    last_seq: u64,
}

/// What one reader wants to hear.
struct Reader {
    query: EventsQuery,
    /// An agent hears of its own calls only.
    visibility: CallVisibility,
}

impl Reader {
    fn wants(&self, event: &RecordedEvent) -> bool {
        let EventsQuery { events, tool, session, .. } = &self.query;
        let is_named = |name: &str| {
            let rest = event.event.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let has_name = events.as_ref().is_none_or(|names| names.split(',').any(is_named));
        let has_tool = tool.as_ref().is_none_or(|tool| {
            event.tool.as_ref().is_some_and(|it| *it == **tool || it.last_part() == tool)
        });
        let has_session = session.is_none() || event.session == *session;
        has_name && has_tool && has_session && self.visibility.includes(event.owner.as_ref())
    }

    /// Returns an event in the form that the reader wants.
    fn frame_of(&self, event: &RecordedEvent) -> Bytes {
        match self.query.form.unwrap_or(EventForm::Event) {
            EventForm::Event => frame(Some(event.seq), &event.event, event),
            EventForm::Line => frame_of_text(Some(event.seq), &event.event, &event.line),
        }
    }

    fn wants_health(&self) -> bool {
        let EventsQuery { events, .. } = &self.query;
        events.as_ref().is_none_or(|names| names.split(',').any(|name| name == "health"))
    }
}

async fn events(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    Extension(token): Extension<PresentedToken>,
    headers: HeaderMap,
    QueryFields(query): QueryFields<EventsQuery>,
) -> Result<Response, ApiError> {
    let after = last_event(&headers)?.or(query.after);
    if query.form == Some(EventForm::Line) {
        AccessRight::Inspect.check(&caller)?;
    }
    let reader = Arc::new(Reader { query, visibility: CallVisibility::of(&caller) });
    let feed = Arc::clone(&api.events);
    let subscribed = blocking(move || feed.subscribe()).await?;
    let (live, last) = subscribed.map_err(|err| {
        let message = format!("the record cannot be read: {err}");
        ApiError::unavailable(message)
    })?;
    let from = after.map_or(Start::Now(last), Start::After);
    let (sender, body) = stream_body();
    tokio::spawn(async move {
        let stopped = Arc::clone(&api.events);
        tokio::select! {
            () = stopped.wait_for_stop() => {}
            () = token.wait_for_end() => {}
            _ = tell(&api, &reader, from, live, sender) => {}
        }
    });
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

/// Reads `Last-Event-ID`.
fn last_event(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    let Some(given) = headers.get("last-event-id") else { return Ok(None) };
    let number = given.to_str().ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| {
        let message = "`Last-Event-ID` must be the `id` of an event, which is a number";
        ApiError::new(StatusCode::BAD_REQUEST, "invalid_header", message)
    })
}

/// Where a reader begins.
#[derive(Clone, Copy)]
enum Start {
    /// With what happens from now on, after this last line of the record.
    Now(u64),
    /// After the last line that it saw.
    After(u64),
}

/// Tells a reader what happened since its start, and then what happens. Returns when the reader is gone.
async fn tell(
    api: &Arc<Api>,
    reader: &Arc<Reader>,
    from: Start,
    mut live: broadcast::Receiver<Arc<RecordedEvent>>,
    sender: mpsc::Sender<Bytes>,
) -> Option<()> {
    sender.send(Bytes::from_static(b"retry: 2000\n\n")).await.ok()?;
    let mut health = interval_at(Instant::now(), HEALTH_INTERVAL);
    let mut last_seq = match from {
        Start::Now(last) => last,
        Start::After(after) => replay(api, reader, after, &sender).await?,
    };
    loop {
        tokio::select! {
            () = sender.closed() => return None,
            _ = health.tick(), if reader.wants_health() => {
                tell_health(api, reader, last_seq, &sender).await?;
            }
            next = live.recv() => match next {
                Ok(event) if event.seq <= last_seq => {}
                Ok(event) => {
                    last_seq = event.seq;
                    if reader.wants(&event) {
                        sender.send(reader.frame_of(&event)).await.ok()?;
                    }
                }
                // The reader was too slow: it reads what it missed from the record.
                Err(RecvError::Lagged(_)) => {
                    last_seq = replay(api, reader, last_seq, &sender).await?;
                }
                Err(RecvError::Closed) => return None,
            },
        }
    }
}

/// Tells a reader what the record has after a line. Returns the number of the last line.
async fn replay(
    api: &Arc<Api>,
    reader: &Arc<Reader>,
    after: u64,
    sender: &mpsc::Sender<Bytes>,
) -> Option<u64> {
    let recorder = Arc::clone(&api.runtime.current().recorder);
    blocking(move || recorder.flush()).await.ok()?;
    let mut replay = EventReplay::after(after);
    while !replay.is_whole {
        let wanted = Arc::clone(reader);
        // A record that cannot be read ends the stream: the reader comes again with the last line that it saw.
        let step = api.events.replay(replay, move |event| wanted.wants(event)).await.ok()?;
        for event in &step.1 {
            sender.send(reader.frame_of(event)).await.ok()?;
        }
        replay = step.0;
    }
    Some(replay.last_seq)
}

/// Tells a reader how the server does. An agent is told only that the connection lives.
async fn tell_health(
    api: &Arc<Api>,
    reader: &Reader,
    last_seq: u64,
    sender: &mpsc::Sender<Bytes>,
) -> Option<()> {
    let part = match reader.visibility {
        CallVisibility::Own(_) => Bytes::from_static(b": alive\n\n"),
        CallVisibility::Everybody => {
            let shared = Arc::clone(api);
            let waiting = blocking(move || waiting_count(&shared)).await.ok()?;
            frame(None, "health", &Health { running: api.running.count(), waiting, last_seq })
        }
    };
    sender.send(part).await.ok()
}

fn frame(id: Option<u64>, event: &str, data: &impl Serialize) -> Bytes {
    frame_of_text(id, event, &serde_json::to_string(data).unwrap_or_default())
}

fn frame_of_text(id: Option<u64>, event: &str, data: &str) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    Bytes::from(format!("{id}event: {event}\ndata: {data}\n\n"))
}
