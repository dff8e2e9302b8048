//! `GET /api/audit/export`: the lines of the record, as they are.

use std::io::{self, Write};
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use toolcrib_ledger::{CallFilter, TokenHash, export_calls, export_lines};

use super::access::AccessRight;
use super::audit::AuditQuery;
use super::context::Api;
use super::fields::QueryFields;
use super::operation::Operation;
use super::stream_body::{BodyWriter, stream_body, stream_pieces};

const NDJSON: &str = "application/x-ndjson";

/// The operation that exports the record.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/audit/export", "export_audit", export)
            .about(AccessRight::Inspect, "Returns the lines of the record, one JSON object each.")
            .query::<AuditQuery>()
            .replies_as(NDJSON),
    ]
}

async fn export(
    State(api): State<Arc<Api>>,
    Extension(token): Extension<TokenHash>,
    QueryFields(query): QueryFields<AuditQuery>,
) -> Response {
    let filter = query.filter();
    let (sender, body) = stream_body();
    let (written, mut pieces) = stream_pieces();
    let watched = Arc::clone(&api);
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
            () = watched.wait_for_end_of_token(&token) => {}
            () = pass_on => {}
        }
    });
    tokio::task::spawn_blocking(move || {
        api.runtime.current().recorder.flush();
        let mut writer = BodyWriter::new(written);
        // An export that fails is cut: its last line says so.
        if let Err(err) = write(&api, &filter, &mut writer) {
            let message = serde_json::json!({"error": format!("the export is incomplete: {err}")});
            let _ = writeln!(writer, "{message}");
        }
        let _ = writer.flush();
    });
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(NDJSON));
    response
}

fn write(api: &Api, filter: &CallFilter, writer: &mut BodyWriter) -> io::Result<()> {
    if filter.is_only_time() {
        export_lines(&api.state, filter, |line| writer.write_all(line))
    } else {
        export_calls(&api.state, filter, |_, lines| {
            lines.iter().try_for_each(|line| writer.write_all(line))
        })
    }
}
