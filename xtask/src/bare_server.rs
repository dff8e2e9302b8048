//! A bare axum server, to compare ours with: it reads a body, and replies with the bytes of a file.

#![expect(clippy::print_stdout, reason = "it says where it listens")]

use std::error::Error;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;

/// Serves until the process is ended.
pub fn run() -> Result<(), Box<dyn Error>> {
    let file = std::env::args_os().nth(2).ok_or("name the file to reply with")?;
    let reply = Bytes::from(std::fs::read(file)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(reply))
}

async fn serve(reply: Bytes) -> Result<(), Box<dyn Error>> {
    let answer = move |body: Bytes| async move {
        // The body is read, as a handler that echoes would.
        drop(body);
        ([(CONTENT_TYPE, "application/json")], reply)
    };
    let routes = Router::new().route("/api/tools/execute/{tool}", post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("Listening on http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(routes.clone());
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
