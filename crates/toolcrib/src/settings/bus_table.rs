//! The settings of the bus: the gateway, and the workers behind it.

use super::general_table::GENERAL;
use super::rows::settings_table;
use super::setting::{Setting, SettingKey, count, names, text};

settings_table! {
    BUS from GENERAL.len();

    /// The NATS server over which calls come, too: `nats://HOST:PORT`, or `tls://HOST:PORT` with TLS. Empty for none.
    NATS_URL: String = text("nats.url", "").at_start();

    /// The file with the credentials for that server, as `nsc` writes it. Only its owner may read it.
    NATS_CREDENTIALS: String = text("nats.credentials", "").at_start();

    /// What the subjects of calls over NATS begin with: `{prefix}.tool.{toolId}.request`.
    NATS_PREFIX: String = text("nats.prefix", "nachos").at_start();

    /// Which tools run on workers: `TOOLS=WORKSPACE`, or `TOOLS=WORKSPACE@LABEL` for those workers only that have the
    /// label. `TOOLS` is a catalogue or the full name of a tool, which counts before its catalogue.
    NATS_PLACES: Vec<String> = names("nats.places", &[]).at_start();

    /// The name of the workspace that `toolcrib worker` serves, by which gateways place calls.
    WORKER_WORKSPACE: String = text("worker.workspace", "").at_start();

    /// What else gateways can place calls by, such as `gpu`.
    WORKER_LABELS: Vec<String> = names("worker.labels", &[]).at_start();

    /// The catalogues and tools that the worker serves, each a `catalogue` or a `catalogue/tool`; empty for all.
    WORKER_TOOLS: Vec<String> = names("worker.tools", &[]).at_start();

    /// The public keys of the gateways whose calls a worker runs. `toolcrib nats key` prints that of a gateway.
    WORKER_GATEWAYS: Vec<String> = names("worker.gateways", &[]).at_start();

    /// The name of the worker. Empty for one that is made of the name of the machine.
    WORKER_NAME: String = text("worker.name", "").at_start();

    /// How many calls a worker runs at once.
    WORKER_MOST_RUNNING: u64 = count("worker.most_running", 64, (1, 10_000)).at_start();
}
