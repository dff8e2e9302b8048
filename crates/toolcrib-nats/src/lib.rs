//! The door on NATS. A client written for the nachos contract asks for a tool on its subject, in its envelope; the call
//! takes the path of every call, and the reply goes to the client's inbox.

mod envelope;
mod gateway;
mod inbox;
mod recent_requests;
mod refusal;
mod refused_messages;
mod subject;
mod tool_result;

pub use gateway::{BusEnd, BusGateway, BusOptions};
pub use subject::BusPrefix;
