//! The settings of the bus: the gateway, and the workers behind it.

use super::general_table::GENERAL;
use super::rows::settings_table;
use super::setting::{Setting, SettingKey, count, names, text};

settings_table! {
    BUS from GENERAL.len();

    /// The NATS server, from which gateways take calls and to which workers connect: `nats://HOST:PORT`, or
    /// `tls://HOST:PORT` with TLS. Empty for none.
    NATS_URL: String = text("nats.url", "").at_start();

    /// The file with which to log in to that server: the seed of a key, as `toolcrib nats init` writes it, or credentials
    /// of `nsc`. Only its owner may read it.
    NATS_CREDENTIALS: String = text("nats.credentials", "").at_start();

    /// What every subject begins with, as in `{prefix}.tool.{toolId}.request`. A gateway and its workers need the same.
    NATS_PREFIX: String = text("nats.prefix", "nachos").at_start();

    /// Which tools run on workers: `TOOLS=WORKSPACE`, or `TOOLS=WORKSPACE@LABEL` for those workers only that have the
    /// label. `TOOLS` is a catalogue or the full name of a tool. The entry of a tool wins over that of its catalogue.
    NATS_PLACES: Vec<String> = names("nats.places", &[]).at_start();

    /// The manifests of tools whose runners listen behind the NATS server, as the nachos contract has them: paths of JSON
    /// files that nobody else can write. The tools are in the catalogue `bus`.
    NATS_TOOLS: Vec<String> = names("nats.tools", &[]).at_start();

    /// What the subjects of those runners begin with. It must differ from `nats.prefix`: a request that a runner gets has to
    /// come from the gateway.
    NATS_TOOLS_PREFIX: String = text("nats.tools_prefix", "nachos").at_start();

    /// The name of the workspace that `toolcrib worker` serves, by which gateways place calls.
    WORKER_WORKSPACE: String = text("worker.workspace", "").at_start();

    /// The labels of a worker, such as `gpu`. `nats.places` can ask for one.
    WORKER_LABELS: Vec<String> = names("worker.labels", &[]).at_start();

    /// The catalogues and tools that the worker serves, each a `catalogue` or a `catalogue/tool`; empty for all.
    WORKER_TOOLS: Vec<String> = names("worker.tools", &[]).at_start();

    /// The public keys of the gateways whose calls a worker runs. `toolcrib nats key` prints that of a gateway.
    WORKER_GATEWAYS: Vec<String> = names("worker.gateways", &[]).at_start();

    /// The name of a worker, by which it is listed. If empty: the name of the machine and four random characters.
    WORKER_NAME: String = text("worker.name", "").at_start();

    /// How many calls a worker runs at once.
    WORKER_MOST_RUNNING: u64 = count("worker.most_running", 64, (1, 10_000)).at_start();
}
