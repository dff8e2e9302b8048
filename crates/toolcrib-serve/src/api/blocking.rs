//! Work that blocks, on a thread that may block.

use axum::http::StatusCode;

use crate::reply::ApiError;

/// Does work on a thread that may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| {
        let message = "the server failed while it read its state; see its log";
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", message)
    })
}
