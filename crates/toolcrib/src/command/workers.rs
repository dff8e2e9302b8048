//! `toolcrib workers`: lists the workers that a NATS server knows.

use serde_json::json;
use toolcrib_nats::KnownWorker;

use super::bus_settings::bus_server;
use super::event_loop::block_on;
use super::layout::fit_all;
use super::setup::read_config;
use crate::cli::{Global, WorkersArgs};
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;
use crate::settings::table;
use crate::terminal::{Format, Terminal, print_json, print_lines, width};

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &WorkersArgs,
) -> Result<Exit, CliError> {
    let config = read_config(global, terminal)?;
    let Some(server) = bus_server(&config.settings, args.nats.as_deref())? else {
        let message = "no NATS server is named";
        let hint =
            format!("write --nats nats://HOST:PORT, or set `{}`", table::NATS_URL.setting.name);
        return Err(CliError::usage(message).hint(hint));
    };
    let workers = block_on(server.workers())?.map_err(|err| {
        let message = format!("the NATS server does not answer: {err}");
        CliError::new(CliErrorKind::Server, message)
    })?;
    match Format::from(args.json) {
        Format::Json => {
            print_json(&json!(workers).to_string());
        }
        Format::Text if workers.is_empty() => {
            print_lines(&["No worker answers. `toolcrib worker` starts one. Your user of the NATS server must be allowed to publish `$SRV.>`.".to_owned()]);
        }
        Format::Text => print_lines(&fit_all(&lines(&workers), width())),
    }
    Ok(Exit::Done)
}

/// Returns a line for each worker, in columns.
fn lines(workers: &[KnownWorker]) -> Vec<String> {
    let heads = ["WORKSPACE", "WORKER", "RUNNING", "CALLS", "LABELS", "TOOLS"].map(str::to_owned);
    let or = |text: &str, none: &str| if text.is_empty() { none } else { text }.to_owned();
    let rows = workers.iter().map(|it| {
        [
            it.workspace.clone(),
            it.worker.clone(),
            format!("{} of {}", it.running, it.most_running),
            it.calls.to_string(),
            or(&it.labels, "-"),
            or(&it.tools, "all"),
        ]
    });
    let rows: Vec<[String; 6]> = std::iter::once(heads).chain(rows).collect();
    let widths: Vec<usize> = (0..6)
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default())
        .collect();
    let line = |row: &[String; 6]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
