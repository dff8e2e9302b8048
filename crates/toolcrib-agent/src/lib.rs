//! The agent loop: it asks a model, makes the calls that the model wants, adds the replies, and begins again, until the
//! model wants no more calls, or the budget is spent. Every call takes the path of all calls.

mod agent_loop;
mod budget;
mod chat_completions;
mod conversation;
mod endpoint;
mod loop_tools;
mod subagents;

pub use budget::LoopLimits;
pub use chat_completions::ChatCompletions;
pub use endpoint::{AgentModel, ModelPlace, TurnRequest};
pub use subagents::{CallerSubagents, ProcessLifetime, SubagentOwner, SubagentPool};
