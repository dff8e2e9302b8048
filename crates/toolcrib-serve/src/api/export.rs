//! `GET /api/audit/export` and `export.csv`: the lines of the record as they are, or a row for each call.

use std::io::{self, Write};
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::schema::Within;
use toolcrib_ledger::{CallFilter, export_calls, export_csv, export_lines, newest_lines};

use super::access::AccessRight;
use super::audit::AuditQuery;
use super::context::Api;
use super::fields::QueryFields;
use super::operation::Operation;
use super::stream_body::{BodyWriter, stream_body, stream_pieces};

const NDJSON: &str = "application/x-ndjson";

const CSV: &str = "text/csv";
use crate::presented_token::PresentedToken;

/// How many of the newest lines are returned, unless it is said.
const USUAL_LINES: u64 = 20;

/// The operations that export the record.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/audit/export", "export_audit", export)
            .about(AccessRight::Inspect, "Returns the lines of the record, one JSON object each.")
            .query::<AuditQuery>()
            .replies_as(NDJSON),
        Operation::get("/api/audit/export.csv", "export_audit_as_csv", export_as_csv)
            .about(AccessRight::Inspect, "Returns the calls of the record as CSV, one row each.")
            .query::<AuditQuery>()
            .replies_as(CSV),
        Operation::get("/api/audit/tail", "tail_audit", tail)
            .about(
                AccessRight::Inspect,
                "Returns the newest lines of the record, one JSON object each.",
            )
            .query::<TailQuery>()
            .replies_as(NDJSON),
    ]
}

/// How much of the record is returned.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TailQuery {
    /// The most lines to return. It is 20 if it is not given.
    lines: Option<Within<1, 10_000>>,
}

async fn export(
    State(api): State<Arc<Api>>,
    Extension(token): Extension<PresentedToken>,
    QueryFields(query): QueryFields<AuditQuery>,
) -> Response {
    let filter = query.filter();
    stream(api, token, NDJSON, move |api, writer| {
        // An export that fails is cut: its last line says so.
        if let Err(err) = write_lines(api, &filter, writer) {
            let message = json!({"error": format!("the export is incomplete: {err}")});
            let _ = writeln!(writer, "{message}");
        }
    })
}

async fn export_as_csv(
    State(api): State<Arc<Api>>,
    Extension(token): Extension<PresentedToken>,
    QueryFields(query): QueryFields<AuditQuery>,
) -> Response {
    let filter = query.filter();
    stream(api, token, CSV, move |api, writer| {
        // A row begins with a quotation mark, so this is none.
        if let Err(err) = export_csv(&api.state, &filter, writer) {
            let _ = writeln!(writer, "error: the export is incomplete: {err}");
        }
    })
}

async fn tail(
    State(api): State<Arc<Api>>,
    Extension(token): Extension<PresentedToken>,
    QueryFields(query): QueryFields<TailQuery>,
) -> Response {
    let count = query.lines.map_or(USUAL_LINES, Within::get) as usize;
    stream(api, token, NDJSON, move |api, writer| match newest_lines(&api.state, count) {
        Ok(lines) => {
            let _ = lines.iter().try_for_each(|line| writeln!(writer, "{}", line.to_json()));
        }
        Err(err) => {
            let message = json!({"error": format!("the record cannot be read: {err}")});
            let _ = writeln!(writer, "{message}");
        }
    })
}

/// Returns a reply whose body `write` writes, on a thread of its own, with all that was recorded so far.
fn stream(
    api: Arc<Api>,
    token: PresentedToken,
    media_type: &'static str,
    write: impl FnOnce(&Api, &mut BodyWriter) + Send + 'static,
) -> Response {
    let (sender, body) = stream_body();
    let (written, mut pieces) = stream_pieces();
    // A token that counts no more gets no more of it.
    tokio::spawn(async move {
        let pass_on = async {
            while let Some(piece) = pieces.recv().await {
                if sender.send(piece).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = token.wait_for_end() => {}
            () = pass_on => {}
        }
    });
    tokio::task::spawn_blocking(move || {
        api.runtime.current().recorder.flush();
        let mut writer = BodyWriter::new(written);
        write(&api, &mut writer);
        let _ = writer.flush();
    });
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn write_lines(api: &Api, filter: &CallFilter, writer: &mut BodyWriter) -> io::Result<()> {
    if filter.is_only_time() {
        export_lines(&api.state, filter, |line| writer.write_all(line))
    } else {
        export_calls(&api.state, filter, |_, lines| {
            lines.iter().try_for_each(|line| writer.write_all(line))
        })
    }
}
