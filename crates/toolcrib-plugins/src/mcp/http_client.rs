//! Requests to an MCP server that speaks HTTP, for the SDK's transport. It is our own because the SDK's needs another HTTP
//! library and another provider of cryptography.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use hyper::http::request::Builder;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use rustls::pki_types::ServerName;
use sse_stream::SseStream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use toolcrib_core::ToolError;

use super::bounded_body::BoundedEvents;

/// How long a connection may take to be made.
const OPEN_TIME: Duration = Duration::from_secs(12);

/// The largest reply, or event of one, in bytes.
const MAX_MESSAGE_BYTES: usize = 8 << 20;

/// The largest reply that says why a request failed, in bytes.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Returns the configuration of TLS. It is asked for before the first connection, because it reads many files.
pub type TlsSource = Arc<dyn Fn() -> Result<Arc<rustls::ClientConfig>, ToolError> + Send + Sync>;

/// Makes the requests to one server.
#[derive(Clone)]
pub(crate) struct HttpServerClient(Arc<HttpServer>);

struct HttpServer {
    uri: Uri,
    tls: TlsSource,
    /// A connection whose last reply was read whole.
    idle: Mutex<Option<SendRequest<Full<Bytes>>>>,
}

trait HttpStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> HttpStream for T {}

/// Why a request got no reply.
#[derive(Debug)]
pub(crate) enum HttpFault {
    /// The address cannot be asked.
    Address(String),
    /// The connection could not be made.
    Connect(io::Error),
    /// Without TLS, others could read what is sent.
    Readable,
    /// TLS cannot be used.
    Tls(String),
    /// The exchange failed.
    Exchange(Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Display for HttpFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(why) => write!(f, "the address cannot be used: {why}"),
            Self::Connect(err) => write!(f, "no connection: {err}"),
            Self::Readable => f.write_str(
                "it is on another machine, and without `https` anyone on the way could read what is sent; nothing was sent",
            ),
            Self::Tls(why) => f.write_str(why),
            Self::Exchange(err) => write!(f, "the exchange failed: {err}"),
        }
    }
}

impl std::error::Error for HttpFault {}

type RequestFault = StreamableHttpError<HttpFault>;

fn exchange(err: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> HttpFault {
    HttpFault::Exchange(err.into())
}

impl HttpServerClient {
    pub(crate) fn new(url: &str, tls: TlsSource) -> Result<Self, HttpFault> {
        let uri: Uri = url.parse().map_err(|err| HttpFault::Address(format!("{err}")))?;
        if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
            let why = "it must have a host, and no name or password".to_owned();
            return Err(HttpFault::Address(why));
        }
        Ok(Self(Arc::new(HttpServer { uri, tls, idle: Mutex::default() })))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, HttpFault> {
        let stream = tokio::time::timeout(OPEN_TIME, self.open()).await;
        let stream =
            stream.unwrap_or_else(|_| Err(HttpFault::Connect(io::ErrorKind::TimedOut.into())))?;
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(exchange)?;
        // Its error is that of the request.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    async fn open(&self) -> Result<Box<dyn HttpStream>, HttpFault> {
        let uri = &self.0.uri;
        let host = uri.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
        let is_tls = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let found: Vec<SocketAddr> =
            lookup_host((host, port)).await.map_err(HttpFault::Connect)?.collect();
        // Looked up once: the addresses that were checked are those that are connected to.
        if !is_tls && !found.iter().all(|it| it.ip().to_canonical().is_loopback()) {
            return Err(HttpFault::Readable);
        }
        let stream = TcpStream::connect(&found[..]).await.map_err(HttpFault::Connect)?;
        let _ = stream.set_nodelay(true);
        if !is_tls {
            return Ok(Box::new(stream));
        }
        let config = (self.0.tls)().map_err(|err| HttpFault::Tls(err.message))?;
        let name =
            ServerName::try_from(host.to_owned()).map_err(|err| HttpFault::Tls(err.to_string()))?;
        let stream = TlsConnector::from(config).connect(name, stream).await;
        Ok(Box::new(stream.map_err(HttpFault::Connect)?))
    }

    /// Sends a request, over a connection that is there or a new one.
    async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, SendRequest<Full<Bytes>>), HttpFault> {
        let idle = self.0.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut sender) = idle
            && sender.ready().await.is_ok()
        {
            match sender.try_send_request(request).await {
                Ok(response) => return Ok((response, sender)),
                Err(mut err) => match err.take_message() {
                    // The server closed it meanwhile, and has seen nothing of the request.
                    Some(unsent) => request = unsent,
                    None => return Err(exchange(err.into_error())),
                },
            }
        }
        let mut sender = self.connect().await?;
        let response = sender.send_request(request).await.map_err(exchange)?;
        Ok((response, sender))
    }

    /// Reads a whole reply, and keeps the connection for the next request.
    async fn read(
        &self,
        response: Response<Incoming>,
        sender: SendRequest<Full<Bytes>>,
        most: usize,
    ) -> Result<Bytes, HttpFault> {
        let body = Limited::new(response.into_body(), most).collect().await.map_err(exchange)?;
        *self.0.idle.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        Ok(body.to_bytes())
    }

    fn request(
        &self,
        method: Method,
        session: Option<&str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Builder {
        let path = self.0.uri.path_and_query().map_or("/", |path| path.as_str());
        let host = self.0.uri.authority().map_or("", |authority| authority.as_str());
        let types = format!("{EVENT_STREAM_MIME_TYPE}, {JSON_MIME_TYPE}");
        let mut builder = Request::builder().method(method).uri(path);
        builder = builder.header(HOST, host).header(ACCEPT, types);
        if let Some(token) = token {
            builder = builder.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(session) = session {
            builder = builder.header(HEADER_SESSION_ID, session);
        }
        headers.into_iter().fold(builder, |builder, (name, value)| builder.header(name, value))
    }
}

impl StreamableHttpClient for HttpServerClient {
    type Error = HttpFault;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, RequestFault> {
        let body = serde_json::to_vec(&message)?;
        let request = self.request(Method::POST, session.as_deref(), token, headers);
        let request = request.header(CONTENT_TYPE, JSON_MIME_TYPE).body(Full::from(body));
        let request = request.map_err(|err| RequestFault::Client(exchange(err)))?;
        let (response, sender) = self.send(request).await.map_err(RequestFault::Client)?;
        let status = response.status();
        require_permitted(&response)?;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            self.read(response, sender, MAX_ERROR_BYTES).await.map_err(RequestFault::Client)?;
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(RequestFault::SessionExpired);
        }
        if !status.is_success() {
            let body =
                self.read(response, sender, MAX_ERROR_BYTES).await.map_err(RequestFault::Client)?;
            let text = String::from_utf8_lossy(&body);
            let refused = refused_discovery(&message, session.as_deref(), status, &text);
            let told =
                || RequestFault::UnexpectedServerResponse(format!("HTTP {status}: {text}").into());
            return refused.ok_or_else(told);
        }
        let header = |name: &str| {
            response.headers().get(name).and_then(|it| it.to_str().ok()).map(str::to_owned)
        };
        let (kind, session) = (header("content-type"), header(HEADER_SESSION_ID));
        match kind.as_deref() {
            Some(kind) if kind.starts_with(EVENT_STREAM_MIME_TYPE) => {
                Ok(StreamableHttpPostResponse::Sse(events(response), session))
            }
            Some(kind) if kind.starts_with(JSON_MIME_TYPE) => {
                let body = self
                    .read(response, sender, MAX_MESSAGE_BYTES)
                    .await
                    .map_err(RequestFault::Client)?;
                let parsed: Result<ServerJsonRpcMessage, _> = serde_json::from_slice(&body);
                let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
                match parsed {
                    Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
                    Err(_) if !is_request => Ok(StreamableHttpPostResponse::Accepted),
                    Err(err) => Err(err.into()),
                }
            }
            _ => Err(RequestFault::UnexpectedContentType(kind)),
        }
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), RequestFault> {
        let request = self.request(Method::DELETE, Some(&session), token, headers);
        let request =
            request.body(Full::default()).map_err(|err| RequestFault::Client(exchange(err)))?;
        let (response, _) = self.send(request).await.map_err(RequestFault::Client)?;
        let status = response.status();
        if status.is_success() || status == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(());
        }
        Err(RequestFault::UnexpectedServerResponse(format!("HTTP {status}").into()))
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxedSseResponse, RequestFault> {
        let mut request = self.request(Method::GET, session.as_deref(), token, headers);
        if let Some(last) = last_event {
            request = request.header(HEADER_LAST_EVENT_ID, last);
        }
        let request =
            request.body(Full::default()).map_err(|err| RequestFault::Client(exchange(err)))?;
        let (response, _) = self.send(request).await.map_err(RequestFault::Client)?;
        require_permitted(&response)?;
        let status = response.status();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(RequestFault::ServerDoesNotSupportSse);
        }
        if !status.is_success() {
            return Err(RequestFault::UnexpectedServerResponse(format!("HTTP {status}").into()));
        }
        Ok(events(response))
    }
}

/// Says why a request failed, without the names of the SDK's types.
pub(crate) fn fault_words(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref::<RequestFault>() {
        Some(RequestFault::Client(fault)) => fault.to_string(),
        Some(RequestFault::AuthRequired(asked)) => {
            format!(
                "it accepts no request without a right token ({})",
                asked.www_authenticate_header
            )
        }
        _ => error.to_string(),
    }
}

/// Reads a reply as events, none of which is too large.
fn events(response: Response<Incoming>) -> BoxedSseResponse {
    Box::pin(SseStream::new(BoundedEvents::new(response.into_body(), MAX_MESSAGE_BYTES)))
}

fn require_permitted(response: &Response<Incoming>) -> Result<(), RequestFault> {
    if response.status() != StatusCode::UNAUTHORIZED {
        return Ok(());
    }
    let asked = response.headers().get(WWW_AUTHENTICATE);
    let asked = asked.and_then(|value| value.to_str().ok()).unwrap_or_default();
    Err(RequestFault::AuthRequired(AuthRequiredError::new(asked.to_owned())))
}

/// Makes the answer of an earlier version of the protocol to `server/discover` one that the SDK understands: such a
/// server refuses the request as HTTP, before it looks at the message.
fn refused_discovery(
    message: &ClientJsonRpcMessage,
    session: Option<&str>,
    status: StatusCode,
    text: &str,
) -> Option<StreamableHttpPostResponse> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    let is_discovery = matches!(request.request, ClientRequest::DiscoverRequest(_));
    let is_refusal = status.is_client_error() && status != StatusCode::FORBIDDEN;
    if !is_discovery || !is_refusal || session.is_some() {
        return None;
    }
    let error = match serde_json::from_str(text) {
        Ok(ServerJsonRpcMessage::Error(error)) => error.error,
        _ => ErrorData::invalid_request(format!("HTTP {status}"), None),
    };
    let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
    Some(StreamableHttpPostResponse::Json(answer, None))
}
