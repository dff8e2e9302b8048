//! The subcommands that read the record: `audit` and `stats`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use toolcrib_ledger::TimeWindow;

/// Arguments of `audit`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  toolcrib audit search --tool clemini/bash --since 2h --outcome error
  toolcrib audit show 01M7FEQ426
  toolcrib audit show --last
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
        /// Keep printing lines as they are written
        #[arg(long, short = 'f')]
        follow: bool,
        /// How many lines to show
        #[arg(long, short = 'n', default_value = "20")]
        lines: usize,
        /// Print the lines as JSON, as they are in the record
        #[arg(long)]
        json: bool,
    },
    /// Show everything about a call: who asked, what was decided, what it did
    #[command(
        override_usage = "toolcrib audit show <CALL> [--json]\n       toolcrib audit show --last [--json]"
    )]
    Show {
        /// The call, by its id or the beginning of it
        #[arg(required_unless_present = "last", conflicts_with = "last")]
        call: Option<String>,
        /// Show the newest call of this workspace
        #[arg(long)]
        last: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Find calls, newest first
    Search {
        #[command(flatten)]
        filter: CallFilterArgs,
        /// How many calls to show at most
        #[arg(long, short = 'n', default_value = "50", value_parser = at_least_one)]
        limit: usize,
        /// Print as JSON, one line per call
        #[arg(long)]
        json: bool,
    },
    /// Export the record for other programs
    Export {
        #[command(flatten)]
        filter: CallFilterArgs,
        /// The format: every line of the record, or one row per call
        #[arg(long, value_name = "FORM", default_value = "ndjson")]
        format: ExportFormat,
        /// Same as `--format ndjson`
        #[arg(long, conflicts_with = "format")]
        json: bool,
    },
    /// Verify that no line was changed, removed or moved since it was written
    Verify {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

fn at_least_one(text: &str) -> Result<usize, &'static str> {
    match text.parse() {
        Ok(0) => Err("write 1 or more"),
        Ok(count) => Ok(count),
        Err(_) => Err("write a whole number"),
    }
}

/// Which calls of the record to take.
#[derive(Args)]
pub(crate) struct CallFilterArgs {
    /// Calls since this time: 15m, 2h, 3d, 1w, today, yesterday, or a date such as 2026-11-04T12:00 (UTC)
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Calls until this time
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Calls of this tool: `catalogue/tool`, or `tool`
    #[arg(long)]
    pub(crate) tool: Option<String>,
    /// Calls of this conversation or user, or calls that this person answered
    #[arg(long, value_name = "WHO")]
    pub(crate) actor: Option<String>,
    /// Calls with this outcome
    #[arg(long, value_name = "OUTCOME", value_parser = ["ok", "command_failed", "error", "refused", "unknown", "open"])]
    pub(crate) outcome: Option<String>,
    /// Calls with this text in arguments, reply, error, rule or paths
    #[arg(long, value_name = "WORDS")]
    pub(crate) text: Option<String>,
    /// Calls of this session, which is the conversation if the caller named one
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// Calls through this door
    #[arg(long, value_parser = ["terminal", "http", "mcp", "plugin", "agent"])]
    pub(crate) door: Option<String>,
    /// Calls that were decided so; `ask` takes those about which a person was asked
    #[arg(long, value_parser = ["allow", "ask", "deny"])]
    pub(crate) decision: Option<String>,
    /// Calls that changed files
    #[arg(long)]
    pub(crate) changed: bool,
}

/// The formats of an export.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Every line of the record, as JSON
    Ndjson,
    /// One row per call
    Csv,
}

/// Arguments of `stats`.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  toolcrib stats                        an overview of every tool
  toolcrib stats --window 24h           how they did in the last 24 hours
  toolcrib stats errors wink/read_file  the failures of one tool
  toolcrib stats regression             the tools that got slower or fail more
  toolcrib stats clear regression wink/read_file
                                        make the recent calls the new baseline"
)]
pub(crate) struct StatsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<StatsCommand>,
    /// Show how the tools did in a window of time that ends now, and what was their last error
    #[arg(long, value_name = "TIME", value_parser = time_window())]
    pub(crate) window: Option<TimeWindow>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads a window of time.
fn time_window() -> impl TypedValueParser<Value = TimeWindow> {
    let names = TimeWindow::ALL.map(TimeWindow::as_str);
    PossibleValuesParser::new(names).map(|name| {
        let window = TimeWindow::ALL.into_iter().find(|it| it.as_str() == name);
        window.unwrap_or_default()
    })
}

#[derive(Subcommand)]
pub(crate) enum StatsCommand {
    /// Show how tools fail: how often, with which errors, and when they last did
    Errors(StatsOf),
    /// Show which tools got slower or fail more than before
    Regression(StatsOf),
    /// Show what tools use: processor, memory, disk
    Resources(StatsOf),
    /// Start counting again; for `regression`, make the recent calls the new baseline
    Clear {
        /// Which statistics to clear
        #[arg(value_parser = ["errors", "regression", "resources"])]
        what: String,
        /// The tool
        tool: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Discard the statistics and compute them again from the record
    Rebuild {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of the subcommands of `stats`.
#[derive(Args)]
pub(crate) struct StatsOf {
    /// The tool (default: all tools)
    pub(crate) tool: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
