//! The door on NATS, and the workers behind it. A client written for the nachos contract asks for a tool on its subject, in its envelope; the call
//! takes the path of every call, and the reply goes to the client's inbox.

mod bus_tool;
mod connection;
mod envelope;
mod gateway;
mod gateway_key;
mod inbox;
mod offers;
mod placement;
mod random_id;
mod recent_requests;
mod refusal;
mod refused_messages;
mod reply_box;
mod runner_line;
mod server_config;
mod subject;
mod tool_result;
mod worker;
mod worker_calls;
mod worker_engine;
mod worker_list;
mod worker_messages;
mod worker_place;
mod worker_subject;

pub use bus_tool::BusTool;
pub use connection::BusServer;
pub use gateway::{BusEnd, BusGateway, BusOptions};
pub use gateway_key::{GatewayKey, TrustedGateway};
pub use placement::{Placement, is_bus_name};
pub use runner_line::RunnerLine;
pub use server_config::{BusPlan, BusServerConfig, BusUser, PlannedWorker};
pub use subject::BusPrefix;
pub use worker::{BusWorker, WorkerOptions};
pub use worker_engine::WorkerHost;
pub use worker_list::KnownWorker;
pub use worker_place::WorkerDispatcher;
