//! The part of the command line that looks at the record.

use clap::{Args, Subcommand, ValueEnum};

/// Look at the record.
#[derive(Args)]
#[command(after_help = "\
  toolcrib audit search --tool clemini/bash --since 2h --outcome error
  toolcrib audit show 01M7FEQ426FFZH392JP3N0SSSH
  toolcrib audit tail -f
  toolcrib audit export --format csv --since 2026-11-01 > calls.csv")]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Subcommand)]
pub(crate) enum AuditCommand {
    /// Show the newest lines of the record
    Tail {
        /// Go on as lines are written
        #[arg(long, short = 'f')]
        follow: bool,
        /// How many lines
        #[arg(long, short = 'n', default_value = "20")]
        lines: usize,
        /// Print the lines as they are written, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell the whole story of a call: who asked, what was decided, what it did
    Show {
        /// The call
        call: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Find calls, the newest first
    Search {
        #[command(flatten)]
        which: Which,
        /// How many to show at most
        #[arg(long, short = 'n', default_value = "50", value_parser = at_least_one)]
        limit: usize,
        /// Print as JSON, a line for each call
        #[arg(long)]
        json: bool,
    },
    /// Write the record out for other programs
    Export {
        #[command(flatten)]
        which: Which,
        /// The form: every line as it is, or a row for each call
        #[arg(long, value_name = "FORM", default_value = "ndjson")]
        format: ExportFormat,
        /// The same as `--format ndjson`
        #[arg(long, conflicts_with = "format")]
        json: bool,
    },
    /// Find out whether a line was changed, removed or moved since it was written
    Verify {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("that would find nothing; write 1 or more".to_owned()),
        Ok(count) => Ok(count),
        Err(_) => Err("it is no number".to_owned()),
    }
}

/// Which calls.
#[derive(Args)]
pub(crate) struct Which {
    /// Asked for since then: 15m, 2h, 3d, or a date such as 2026-11-04T12:00 (UTC)
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Asked for until then
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Of this tool: `catalogue/tool`, or `tool`
    #[arg(long)]
    pub(crate) tool: Option<String>,
    /// Of this conversation or user, or answered by this person
    #[arg(long, value_name = "WHO")]
    pub(crate) actor: Option<String>,
    /// That ended like this
    #[arg(long, value_name = "OUTCOME", value_parser = ["ok", "error", "refused", "unknown", "open"])]
    pub(crate) outcome: Option<String>,
    /// With these words in arguments, reply, error, rule or paths
    #[arg(long, value_name = "WORDS")]
    pub(crate) text: Option<String>,
}

/// Forms of an export.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Every line of the calls, as JSON
    Ndjson,
    /// A row for each call
    Csv,
}

/// The health of tools.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
  toolcrib stats                        how every tool does
  toolcrib stats errors wink/read_file  how one fails
  toolcrib stats regression             which got slower or fail more
  toolcrib stats clear regression wink/read_file
                                        take what is now for the baseline"
)]
pub(crate) struct StatsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<StatsCommand>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum StatsCommand {
    /// Show how tools fail: how often, how, the last time
    Errors(StatsOf),
    /// Show which tools got slower or fail more than they did
    Regression(StatsOf),
    /// Show what tools use: processor, memory, disk
    Resources(StatsOf),
    /// Begin to count anew; for `regression`, take what is now for the baseline
    Clear {
        /// What
        #[arg(value_parser = ["errors", "regression", "resources"])]
        what: String,
        /// Of which tool
        tool: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Throw the statistics away and fold the record again
    Rebuild {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Which figures.
#[derive(Args)]
pub(crate) struct StatsOf {
    /// Of one tool; of all without it
    pub(crate) tool: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
