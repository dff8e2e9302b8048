//! The history of each call, put together from its lines.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use jiff::Timestamp;
use memchr::memmem;
use toolcrib_core::ToolName;
use toolcrib_core::command::{ChangedFiles, NetworkAccount};

use crate::record::entry::{RecordEntry, call_value, name_field};
use crate::record::event_kind::{Act, EventKind};
use crate::record::presence_file::DeadProcess;
use crate::record::reader::{LoadedSegment, RecordReader};
use crate::state::StateFolder;

/// Everything that the record has about one call, in the order in which it was written.
#[derive(Clone, Debug, Default)]
pub struct CallHistory {
    /// The lines of the call.
    pub entries: Vec<RecordEntry<'static>>,
    /// Whether the process that ran the call died, and no process has recorded that yet.
    pub is_dead: bool,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// It ran and succeeded.
    Ok,
    /// Its tool worked, and the command that it ran failed.
    CommandFailed,
    /// It ran and failed.
    Failed,
    /// It was not run: policy or a person refused it, nobody could be asked, or its arguments did not fit its tool.
    Refused,
    /// Its process died during the call.
    Unknown,
    /// It has not ended yet.
    Open,
}

impl CallOutcome {
    /// All outcomes.
    pub const ALL: [Self; 6] =
        [Self::Ok, Self::CommandFailed, Self::Failed, Self::Refused, Self::Unknown, Self::Open];

    /// Returns the spelling for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::CommandFailed => "command_failed",
            Self::Failed => "error",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Open => "open",
        }
    }
}

impl CallHistory {
    /// Returns the last entry of an event.
    pub fn last(&self, event: &EventKind) -> Option<&RecordEntry<'static>> {
        self.entries.iter().rev().find(|entry| entry.event == *event)
    }

    /// Returns the first entry.
    pub fn first(&self) -> Option<&RecordEntry<'static>> {
        self.entries.first()
    }

    /// Returns the files that were seen to have changed while the call ran, or since it was lost.
    pub fn changed_files(&self) -> Vec<ChangedFiles> {
        let recorded = self.entries.iter().filter_map(|entry| entry.end.changed_files.clone());
        let lost = self.last(&EventKind::Lost);
        let lost = lost.and_then(|entry| entry.detail.as_ref()?.get("touched").cloned());
        recorded.chain(lost.and_then(|value| serde_json::from_value(value).ok())).collect()
    }

    /// Returns what passed between the call's command and each host. A task has an entry of its own, with all of it.
    pub fn network(&self) -> NetworkAccount {
        let accounts = self.entries.iter().filter_map(|entry| entry.end.network.as_ref());
        NetworkAccount { hosts: accounts.flat_map(|account| account.hosts.clone()).collect() }
    }

    /// Returns the call id.
    pub fn id(&self) -> &str {
        self.first().map_or("", |entry| &entry.call.id)
    }

    /// Returns when the call was asked for.
    pub fn at(&self) -> Timestamp {
        self.first().map_or(Timestamp::UNIX_EPOCH, |entry| entry.at)
    }

    /// Returns the tool as `catalogue/name`.
    pub fn tool(&self) -> ToolName {
        self.first().map(RecordEntry::tool).unwrap_or_default()
    }

    /// Returns the outcome of the call.
    pub fn outcome(&self) -> CallOutcome {
        let is_lost = || self.is_dead || self.last(&EventKind::Lost).is_some();
        let Some(ended) = self.last(&EventKind::Ended) else {
            return if is_lost() { CallOutcome::Unknown } else { CallOutcome::Open };
        };
        let has_task = ended.end.has_task == Some(true);
        let task = self.last(&EventKind::TaskEnded);
        if has_task && is_lost() && task.is_none() {
            CallOutcome::Unknown
        } else if task.unwrap_or(ended).has_failed_command() {
            CallOutcome::CommandFailed
        } else if ended.end.error.is_none() {
            CallOutcome::Ok
        } else if ended.is_refusal() {
            CallOutcome::Refused
        } else {
            CallOutcome::Failed
        }
    }

    /// Marks the call if its process is among the dead ones.
    fn mark_dead(&mut self, dead: &HashSet<String>) {
        let process = self.last(&EventKind::Started).and_then(|it| it.start.process.as_deref());
        self.is_dead = process.is_some_and(|process| dead.contains(process));
    }

    fn seq(&self) -> u64 {
        self.first().map_or(0, |entry| entry.seq)
    }
}

/// Which calls are wanted. An empty filter takes all calls.
#[derive(Clone, Debug, Default)]
pub struct CallFilter {
    /// Asked for at this time or later.
    pub since: Option<Timestamp>,
    /// Asked for at this time or before.
    pub until: Option<Timestamp>,
    /// `catalogue/tool`, or `tool`.
    pub tool: Option<ToolName>,
    /// The principal or the client that asked, the conversation, the number of the user, or the person who answered.
    pub actor: Option<String>,
    /// The outcome.
    pub outcome: Option<CallOutcome>,
    /// Words in the arguments, the reply, the error, the rule or the paths, in upper or lower case.
    pub text: Option<String>,
    /// The call with this id, or the calls whose ids begin so.
    pub call: Option<String>,
}

impl CallFilter {
    /// Returns whether the filter names nothing but a time.
    pub fn is_only_time(&self) -> bool {
        let names_calls = self.tool.is_some() || self.actor.is_some() || self.call.is_some();
        !names_calls && self.outcome.is_none() && self.text.is_none()
    }

    fn takes(&self, history: &CallHistory) -> bool {
        let is_tool = |wanted: &ToolName| {
            let tool = history.tool();
            tool == *wanted || *wanted == tool.last_part()
        };
        self.takes_time(history.at())
            && self.tool.as_ref().is_none_or(is_tool)
            && self.actor.as_ref().is_none_or(|actor| has_actor(history, actor))
            && self.outcome.is_none_or(|outcome| history.outcome() == outcome)
            && self.text.as_ref().is_none_or(|text| has_text(history, text))
            && self.call.as_ref().is_none_or(|call| history.id().starts_with(call))
    }

    fn takes_time(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at <= until)
    }

    /// Returns a text that every line of a wanted call contains.
    fn line_marker(&self) -> Option<String> {
        if let Some(call) = &self.call {
            // Without the quote after it, because it may be the beginning of an id.
            return Some(call_value(call).trim_end_matches('"').to_owned());
        }
        let tool = self.tool.as_ref()?;
        Some(name_field(tool.last_part()))
    }
}

fn has_actor(history: &CallHistory, actor: &str) -> bool {
    history.entries.iter().any(|entry| {
        entry.call.conversation == actor
            || entry.decision.by.as_deref() == Some(actor)
            || entry.answered_by() == Some(actor)
            || entry.call.caller.principal.as_deref() == Some(actor)
            || entry.call.caller.client.as_deref() == Some(actor)
            || entry.call.user.is_some_and(|user| {
                user.to_string() == actor.strip_prefix("user ").unwrap_or(actor)
            })
    })
}

fn has_text(history: &CallHistory, text: &str) -> bool {
    let text = text.to_lowercase();
    let contains = |field: &str| field.to_lowercase().contains(&text);
    history.entries.iter().any(|entry| {
        let fields = [
            &entry.preview.args,
            &entry.preview.result,
            &entry.end.message,
            &entry.decision.rule,
            &entry.end.error,
        ];
        let changed = entry.end.changed_files.iter().flat_map(ChangedFiles::named);
        fields.into_iter().flatten().any(|field| contains(field))
            || entry.start.places.iter().any(|place| contains(place))
            || changed.into_iter().any(|(_, path)| contains(path))
    })
}

/// Finds calls, newest first, at most `limit` of them.
pub fn find_calls(
    state: &StateFolder,
    filter: &CallFilter,
    limit: usize,
) -> io::Result<Vec<CallHistory>> {
    let mut found = Vec::new();
    let dead = dead_processes(state)?;
    // Calls whose first line was not read yet.
    let mut open: HashMap<String, CallHistory> = HashMap::new();
    for segment in RecordReader::open(state)?.between(filter.since, filter.until).load_all().rev() {
        prepend_lines(&segment?, filter, &mut open);
        let mut whole: Vec<CallHistory> = Vec::new();
        open.retain(|_, history| {
            let is_whole = history.first().is_some_and(|entry| entry.event == EventKind::Asked);
            if is_whole {
                whole.push(std::mem::take(history));
            }
            !is_whole
        });
        if let Some(until) = filter.until {
            let open = whole.iter_mut().filter(|it| it.outcome() == CallOutcome::Open);
            add_later_lines(state, until, open.collect())?;
        }
        for history in &mut whole {
            history.mark_dead(&dead);
        }
        whole.retain(|history| filter.takes(history));
        whole.sort_by_key(|history| std::cmp::Reverse(history.seq()));
        found.extend(whole);
        if found.len() >= limit {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// Returns the names of the processes that died and whose calls were not recovered yet.
fn dead_processes(state: &StateFolder) -> io::Result<HashSet<String>> {
    Ok(DeadProcess::find(state)?.into_iter().map(|process| process.name.clone()).collect())
}

/// Passes each wanted call with its lines to `export`, in the order in which the calls ended. A line that comes
/// after the end of its call is passed alone. Holds no more than the calls in progress in memory.
pub fn export_calls(
    state: &StateFolder,
    filter: &CallFilter,
    mut export: impl FnMut(&CallHistory, &[&[u8]]) -> io::Result<()>,
) -> io::Result<()> {
    let mut open: BTreeMap<String, (CallHistory, Vec<u8>)> = BTreeMap::new();
    let mut exported: HashSet<String> = HashSet::new();
    let mut export_one = |history: &CallHistory, text: &[u8]| {
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        export(history, &lines)
    };
    let record = RecordReader::open(state)?.between(filter.since, None);
    for segment in record.segments() {
        // Segments from after the wanted time are read only for the ends of calls from before.
        let is_after = filter.until.is_some_and(|until| !record.can_contain(*segment, until));
        if is_after && open.is_empty() {
            continue;
        }
        let Some(loaded) = record.load_if_readable(*segment)? else { continue };
        for (entry, line) in call_lines(&loaded, filter) {
            let call = entry.call.id.to_string();
            if exported.contains(&call) {
                let entries = vec![entry.into_owned()];
                export_one(&CallHistory { entries, is_dead: false }, line)?;
                continue;
            }
            let is_end = matches!(entry.event, EventKind::Ended | EventKind::Lost);
            if entry.event == EventKind::Asked && !is_after {
                open.insert(call.clone(), Default::default());
            }
            let Some((history, text)) = open.get_mut(&call) else { continue };
            history.entries.push(entry.into_owned());
            text.extend_from_slice(line);
            if is_end
                && let Some((history, text)) = open.remove(&call)
                && filter.takes(&history)
            {
                export_one(&history, &text)?;
                exported.insert(call);
            }
        }
    }
    let dead = dead_processes(state)?;
    for (history, _) in open.values_mut() {
        history.mark_dead(&dead);
    }
    for (history, text) in open.values().filter(|(history, _)| filter.takes(history)) {
        export_one(history, text)?;
    }
    Ok(())
}

/// Passes every line of the wanted time to `export`, in the order of the record.
pub fn export_lines(
    state: &StateFolder,
    filter: &CallFilter,
    mut export: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let record = RecordReader::open(state)?.between(filter.since, filter.until);
    for segment in record.load_all() {
        let segment = segment?;
        for line in segment.pieces().filter(|piece| segment.is_signed(piece)) {
            let entry = RecordEntry::parse(line.strip_suffix(b"\n").unwrap_or(line));
            if entry.is_none_or(|entry| filter.takes_time(entry.at)) {
                export(line)?;
            }
        }
    }
    Ok(())
}

/// Adds the lines of calls from the segments after `until`, until all of the calls have ended.
fn add_later_lines(
    state: &StateFolder,
    until: Timestamp,
    mut histories: Vec<&mut CallHistory>,
) -> io::Result<()> {
    let record = RecordReader::open(state)?;
    for segment in record.segments().iter().filter(|it| !record.can_contain(**it, until)) {
        if histories.is_empty() {
            break;
        }
        let Some(loaded) = record.load_if_readable(*segment)? else { continue };
        for history in &mut histories {
            let marker = call_value(history.id());
            for at in memmem::find_iter(&loaded.bytes, &marker) {
                let start = memchr::memrchr(b'\n', &loaded.bytes[..at]).map_or(0, |it| it + 1);
                let end = memchr::memchr(b'\n', &loaded.bytes[at..]).map_or(0, |it| at + it + 1);
                let piece = loaded.bytes.get(start..end).filter(|piece| loaded.is_signed(piece));
                let entry = piece.and_then(RecordEntry::parse);
                history.entries.extend(entry.map(RecordEntry::into_owned));
            }
        }
        histories.retain(|history| history.outcome() == CallOutcome::Open);
    }
    Ok(())
}

/// Returns the lines of a segment that can belong to a wanted call.
fn call_lines<'a>(
    segment: &'a LoadedSegment,
    filter: &CallFilter,
) -> impl Iterator<Item = (RecordEntry<'a>, &'a [u8])> {
    let finder = filter.line_marker().map(|it| memmem::Finder::new(it.as_bytes()).into_owned());
    let has_marker = move |line: &&[u8]| finder.as_ref().is_none_or(|it| it.find(line).is_some());
    let lines = segment.pieces().filter(has_marker).filter(|piece| segment.is_signed(piece));
    let entries = lines.filter_map(|line| Some((RecordEntry::parse(line)?, line)));
    entries.filter(|(entry, _)| {
        matches!(entry.act, Act::ToolCall | Act::Approval) && !entry.call.id.is_empty()
    })
}

/// Puts the lines of a segment before those that were read from later segments.
fn prepend_lines(
    segment: &LoadedSegment,
    filter: &CallFilter,
    open: &mut HashMap<String, CallHistory>,
) {
    let mut earlier: HashMap<String, Vec<RecordEntry<'static>>> = HashMap::new();
    for (entry, _) in call_lines(segment, filter) {
        earlier.entry(entry.call.id.to_string()).or_default().push(entry.into_owned());
    }
    for (call, mut entries) in earlier {
        let history = open.entry(call).or_default();
        entries.append(&mut history.entries);
        history.entries = entries;
    }
}
