//! The outcome of a command.

use std::time::Duration;

use jiff::Timestamp;

use crate::command::changed_files::ChangedFiles;
use crate::command::end::End;
use crate::command::limit::Strike;
use crate::command::network::NetworkAccount;
use crate::command::output::Printed;
use crate::command::task::Task;
use crate::command::usage::Usage;

/// The outcome of a command.
#[derive(Clone, Debug)]
pub enum Ran {
    /// The command is over.
    Over(Box<Finished>),
    /// The command's time is up, and it goes on as a task.
    Kept(Box<Task>),
}

/// A command that is over.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How the command ended.
    pub end: End,
    /// The output on stdout.
    pub stdout: Printed,
    /// The output on stderr.
    pub stderr: Printed,
    /// The limit that the command ran into, if it ran into one.
    pub strike: Option<Strike>,
    /// What else a reader should know, each in a sentence.
    pub notes: Vec<String>,
    /// The resources that the command used.
    pub usage: Usage,
    /// How long the command took.
    pub elapsed: Duration,
    /// The files that changed while the command ran.
    pub touched: ChangedFiles,
    /// What passed between the command and the network.
    pub network: NetworkAccount,
}

impl Finished {
    /// Returns the exit code as shells report it: 128 plus the signal's number for a death by signal.
    pub fn exit_code(&self) -> i32 {
        self.end.exit_code()
    }
}

/// A command that ran before.
#[derive(Clone, Debug)]
pub struct LastCommand {
    /// The id of the command's call.
    pub id: String,
    /// The command's text.
    pub text: String,
    /// The command's outcome.
    pub finished: Finished,
    /// When the command was started.
    pub at: Timestamp,
}
