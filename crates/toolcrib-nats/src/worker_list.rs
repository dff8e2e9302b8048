//! The workers that there are, as they tell everybody who asks on the bus.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout_at};

use crate::connection::BusServer;
use crate::worker::SERVICE_NAME;

/// How long workers may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(1);

/// A worker, as it tells about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KnownWorker {
    /// Its name.
    pub worker: String,
    /// Its workspace.
    pub workspace: String,
    /// Its labels, with commas between them.
    pub labels: String,
    /// Its tools, with commas between them; empty for all.
    pub tools: String,
    /// The version of its program.
    pub version: String,
    /// How many calls it runs now.
    pub running: u64,
    /// How many it runs at most.
    pub most_running: u64,
    /// How many calls it was given.
    pub calls: u64,
}

/// What a service of NATS says about itself; only what is needed here.
#[derive(Deserialize)]
struct ServiceInfo {
    id: String,
    version: String,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct ServiceStats {
    id: String,
    #[serde(default)]
    endpoints: Vec<EndpointStats>,
}

#[derive(Deserialize)]
struct EndpointStats {
    name: String,
    num_requests: u64,
    data: Option<WorkerData>,
}

#[derive(Default, Deserialize)]
struct WorkerData {
    running: u64,
    most_running: u64,
}

impl BusServer {
    /// Asks which workers there are.
    pub async fn workers(&self) -> io::Result<Vec<KnownWorker>> {
        let client = self.connect_now("toolcrib workers").await?;
        let infos: Vec<ServiceInfo> = ask_all(&client, "INFO").await?;
        let stats: Vec<ServiceStats> = ask_all(&client, "STATS").await?;
        let mut workers: Vec<KnownWorker> = infos
            .into_iter()
            .map(|info| {
                let own = stats.iter().find(|it| it.id == info.id);
                worker(info, own.map_or(&[], |it| &it.endpoints))
            })
            .collect();
        workers.sort_by(|one, other| {
            (&one.workspace, &one.worker).cmp(&(&other.workspace, &other.worker))
        });
        Ok(workers)
    }
}

fn worker(info: ServiceInfo, endpoints: &[EndpointStats]) -> KnownWorker {
    let ServiceInfo { version, mut metadata, .. } = info;
    let mut said = |name: &str| metadata.remove(name).unwrap_or_default();
    let data = endpoints.iter().find_map(|endpoint| endpoint.data.as_ref());
    let runs = |it: &&EndpointStats| it.name == "run" || it.name.starts_with("compute");
    KnownWorker {
        worker: said("worker"),
        workspace: said("workspace"),
        labels: said("labels"),
        tools: said("tools"),
        version,
        running: data.map_or(0, |it| it.running),
        most_running: data.map_or(0, |it| it.most_running),
        calls: endpoints.iter().filter(runs).map(|it| it.num_requests).sum(),
    }
}

/// Asks every worker, and waits for those that answer in time.
async fn ask_all<T: serde::de::DeserializeOwned>(
    client: &async_nats::Client,
    verb: &str,
) -> io::Result<Vec<T>> {
    let inbox = client.new_inbox();
    let mut replies = client.subscribe(inbox.clone()).await.map_err(io::Error::other)?;
    let subject = format!("$SRV.{verb}.{SERVICE_NAME}");
    client.publish_with_reply(subject, inbox, Bytes::new()).await.map_err(io::Error::other)?;
    let until = Instant::now() + ANSWER_TIME;
    let mut all = Vec::new();
    while let Ok(Some(reply)) = timeout_at(until, replies.next()).await {
        // The NATS server says that nobody listens.
        if reply.status.is_some() {
            break;
        }
        all.extend(serde_json::from_slice(&reply.payload));
    }
    Ok(all)
}
