//! `toolcrib search`: shows, rebuilds and removes the search index of the workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use toolcrib_core::SearchableTree;
use toolcrib_search::{Engine, IndexOptions, IndexStatus, Phase};

use super::setup::{open, read_config};
use crate::cli::{Global, SearchArgs, SearchCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::{Settings, table};
use crate::terminal::{Terminal, complain, print_json, print_lines};
use crate::wiring::index_options;

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &SearchArgs,
) -> Result<Exit, CliError> {
    match args.command {
        SearchCommand::Status { json } => {
            let plans = read_config(global, terminal)?;
            let state = plans.state?;
            let facts = Facts::gather(&plans.settings, &state, plans.root.path());
            if json {
                print_json(&facts.json().to_string());
            } else {
                print_lines(&facts.lines());
            }
            Ok(Exit::Done)
        }
        SearchCommand::Off => {
            let plans = read_config(global, terminal)?;
            let folder = toolcrib_search::index_folder(&plans.state?, plans.root.path());
            toolcrib_search::delete_index(&folder)
                .and_then(|()| toolcrib_search::disable_index(&folder))
                .map_err(|err| unwritable(&folder, &err))?;
            let root = plans.root.path().display();
            print_lines(&[format!(
                "Removed the search index of {root}. `toolcrib search rebuild` makes a new one. Running \
                 processes keep theirs until they end."
            )]);
            Ok(Exit::Done)
        }
        SearchCommand::Rebuild => rebuild(global, terminal),
    }
}

fn rebuild(global: &Global, terminal: Terminal) -> Result<Exit, CliError> {
    let crib = open(global, terminal)?;
    let root = crib.workspace().search_roots().into_iter().next();
    let root = root.ok_or_else(|| CliError::usage("there is no workspace to index"))?;
    let folder = toolcrib_search::index_folder(crib.state.folder(), root.path());
    let Some(options) = index_options(&crib.settings, folder.clone()) else {
        return Err(CliError::usage(
            "the setting `search.index` is `off`, so no index is built; set it to `on`",
        ));
    };
    let options = IndexOptions { ignores_saved: true, ..options };
    let start = Instant::now();
    let engine = Engine::with(vec![(Arc::new(root) as Arc<dyn SearchableTree>, Some(options))]);
    engine.start();
    let status = watch(&engine, terminal);
    if let Phase::Off(why) = &status.phase {
        terminal.fail(
            &format!("the index cannot be built: {why}"),
            Some("searches work without it, but each one scans all files"),
        );
        return Ok(Exit::Failed);
    }
    drop(engine);
    if let Some(why) = &status.saving.error {
        let folder = folder.display();
        terminal.fail(
            &format!("the index was built, but cannot be written to `{folder}`: {why}"),
            Some("free some disk space, or set TOOLCRIB_STATE to another folder"),
        );
        return Ok(Exit::Failed);
    }
    toolcrib_search::enable_index(&folder).map_err(|err| unwritable(&folder, &err))?;
    let saved = match status.saving.saved_bytes {
        0 => "not saved, because so few files are quick to read again".to_owned(),
        bytes => format!("{} on disk", size(bytes)),
    };
    let note = if status.has_postings {
        ""
    } else {
        " (over the memory limit: each search opens every file)"
    };
    print_lines(&[format!(
        "Indexed {} files in {:.1} s: {} of postings{note}, {saved}",
        grouped(status.counts.files as u64),
        start.elapsed().as_secs_f64(),
        size(status.memory.postings as u64),
    )]);
    Ok(Exit::Done)
}

fn unwritable(folder: &Path, err: &std::io::Error) -> CliError {
    let folder = folder.display();
    CliError::usage(format!(
        "`{folder}` cannot be written: {err}; set TOOLCRIB_STATE to a folder that you can write to"
    ))
}

/// Waits until the index is ready, and shows its progress.
fn watch(engine: &Engine, terminal: Terminal) -> IndexStatus {
    let mut shown = Instant::now();
    loop {
        let Some((_, status)) = engine.statuses().pop() else { return IndexStatus::default() };
        if matches!(status.phase, Phase::Ready | Phase::Off(_)) && !status.saving.is_saving {
            return status;
        }
        if !terminal.is_quiet && shown.elapsed() > Duration::from_secs(1) {
            shown = Instant::now();
            let progress = status.progress;
            let done = progress.done.min(progress.to_do);
            complain(&match status.phase {
                Phase::Reading => format!(
                    "reading files: {} of {}",
                    grouped(done as u64),
                    grouped(progress.to_do as u64)
                ),
                Phase::Ready => "writing the index to disk".to_owned(),
                _ => "listing directories".to_owned(),
            });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What is known of an index outside of the processes that use it.
pub(super) struct Facts {
    root: PathBuf,
    /// Why there is no index, if it is switched off.
    off: Option<&'static str>,
    memory_limit: u64,
    saved: Option<toolcrib_search::SavedIndex>,
    live: Vec<toolcrib_search::PublishedStatus>,
    max_watches: Option<u64>,
}

impl Facts {
    pub(super) fn gather(settings: &Settings, state: &Path, root: &Path) -> Self {
        let folder = toolcrib_search::index_folder(state, root);
        let off = if settings.get(table::SEARCH_INDEX) {
            toolcrib_search::is_index_disabled(&folder).then_some("by `toolcrib search off`")
        } else {
            Some("by the setting `search.index`")
        };
        let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
        Self {
            root: root.to_owned(),
            off,
            memory_limit: settings.get(table::SEARCH_MEMORY_BYTES),
            saved: toolcrib_search::saved_index(&folder),
            live: toolcrib_search::published_statuses(&folder),
            max_watches: limit.ok().and_then(|limit| limit.trim().parse().ok()),
        }
    }

    pub(super) fn json(&self) -> Value {
        let age = |saved: &toolcrib_search::SavedIndex| age(saved.written).as_secs();
        json!({
            "workspace": self.root.display().to_string(),
            "index": if self.off.is_some() { "off" } else { "on" },
            "off": self.off,
            "memory_ceiling_bytes": self.memory_limit,
            "kept": self.saved.as_ref().map(|it| json!({"bytes": it.bytes, "age_s": age(it)})),
            "live": self.live.iter().map(|it| json!({
                "pid": it.pid, "phase": it.phase, "reason": it.reason, "files": it.files,
                "directories": it.directories, "memory_bytes": it.memory,
                "postings_bytes": it.postings, "words_bytes": it.words, "texts_bytes": it.texts,
            })).collect::<Vec<_>>(),
            "max_user_watches": self.max_watches,
        })
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("workspace  {}", self.root.display()),
            match self.off {
                Some(why) => format!("index      off, {why}; every search scans all files"),
                None => {
                    "index      on, in processes that serve many calls; a single call scans all files"
                        .to_owned()
                }
            },
            match &self.saved {
                Some(saved) => format!(
                    "on disk    {}, written {} ago",
                    size(saved.bytes),
                    span(age(saved.written))
                ),
                None => "on disk    nothing".to_owned(),
            },
        ];
        if self.live.is_empty() {
            lines.push("in memory  no process uses the index now".to_owned());
        }
        lines.extend(self.live.iter().map(|live| {
            if live.phase == "off" {
                return format!(
                    "in memory  process {}: no index, because {}",
                    live.pid, live.reason
                );
            }
            format!(
                "in memory  process {}: {}, {} files, {} ({} postings, {} words, {} texts)",
                live.pid,
                live.phase,
                grouped(live.files),
                size(live.memory),
                size(live.postings),
                size(live.words),
                size(live.texts),
            )
        }));
        lines.push(format!(
            "limit      {} of memory (search.memory_bytes)",
            size(self.memory_limit)
        ));
        let watched = self.live.iter().map(|live| live.directories).sum();
        let limit = self.max_watches.map_or_else(String::new, |limit| {
            format!(" of at most {} (fs.inotify.max_user_watches)", grouped(limit))
        });
        lines.push(format!(
            "freshness  file events are applied before each answer; {} directories watched{limit}",
            grouped(watched)
        ));
        lines
    }
}

/// Returns how long ago a time is.
fn age(time: SystemTime) -> Duration {
    time.elapsed().unwrap_or_default()
}

/// Formats a duration in its largest unit.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7199 => format!("{} min", seconds / 60),
        seconds @ 7200..=172_799 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// Formats a size in bytes.
fn size(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} B"),
        10_000..=999_999 => format!("{} kB", bytes / 1000),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Formats a number with a comma between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_readable() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(12), "12");
        assert_eq!(size(26_688_475), "26.7 MB");
        assert_eq!(size(10_000), "10 kB");
        assert_eq!(span(Duration::from_mins(3)), "3 min");
    }
}
