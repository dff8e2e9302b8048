//! The inbox of a gateway: replies of workers, each to the request that it was asked for.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use async_nats::{Client, HeaderMap, Message};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::oneshot;

use crate::random_id::random_id;

/// What the inbox of every gateway begins with. No agent has it: their ids are in lowercase.
pub(crate) const GATEWAY_INBOX: &str = "_INBOX_GATEWAY.";

/// The requests that wait for a reply, by the last word of their inbox.
type PendingReplies = Arc<Mutex<HashMap<String, oneshot::Sender<Message>>>>;

/// Sends requests and takes their replies. A reply that nobody waits for is dropped: it came too late, or twice.
pub(crate) struct ReplyBox {
    client: Client,
    inbox: String,
    waiting: PendingReplies,
}

/// A request that waits for its reply. Once it is dropped, a reply to it is dropped, too.
pub(crate) struct AskedReply {
    waiting: PendingReplies,
    name: String,
    reply: oneshot::Receiver<Message>,
}

impl ReplyBox {
    /// Subscribes to an inbox of its own.
    pub(crate) async fn open(client: Client) -> io::Result<Self> {
        let inbox = format!("{GATEWAY_INBOX}{}.", random_id()?);
        let mut messages = client.subscribe(format!("{inbox}*")).await.map_err(io::Error::other)?;
        let waiting = PendingReplies::default();
        let (known, own) = (Arc::clone(&waiting), inbox.len());
        tokio::spawn(async move {
            while let Some(message) = messages.next().await {
                let name = message.subject.as_str().get(own..).unwrap_or_default();
                let asked = lock(&known).remove(name);
                if let Some(asked) = asked {
                    let _ = asked.send(message);
                }
            }
        });
        Ok(Self { client, inbox, waiting })
    }

    /// Sends a request with the headers that `sign` makes for its subject, its reply and its body.
    pub(crate) async fn send(
        &self,
        subject: String,
        body: Bytes,
        sign: impl FnOnce(&str, &str, &[u8]) -> HeaderMap,
    ) -> io::Result<AskedReply> {
        let name = random_id()?;
        let inbox = format!("{}{name}", self.inbox);
        let headers = sign(&subject, &inbox, &body);
        let (asked, reply) = oneshot::channel();
        lock(&self.waiting).insert(name.clone(), asked);
        let waits = AskedReply { waiting: Arc::clone(&self.waiting), name, reply };
        let sent = self.client.publish_with_reply_and_headers(subject, inbox, headers, body).await;
        sent.map(|()| waits).map_err(io::Error::other)
    }
}

impl AskedReply {
    /// Waits for the reply. Nothing comes if the connection ended for good.
    pub(crate) async fn message(&mut self) -> Option<Message> {
        (&mut self.reply).await.ok()
    }
}

impl Drop for AskedReply {
    fn drop(&mut self) {
        lock(&self.waiting).remove(&self.name);
    }
}

fn lock<T>(waiting: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
