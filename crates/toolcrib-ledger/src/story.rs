//! Calls put together again from their lines.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use jiff::Timestamp;
use memchr::memmem;

use toolcrib_core::command::ChangedFiles;

use crate::lines::{Entry, Page, Record};
use crate::live::Dead;
use crate::state::State;

/// All that the record has of one call, in the order it was written in.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// Its lines.
    pub entries: Vec<Entry>,
    /// Whether the process that ran it is gone, which nobody has put on the record yet.
    pub is_dead: bool,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It ran and succeeded.
    Ok,
    /// It ran and failed.
    Failed,
    /// It was not run: policy or a person refused it, nobody could be asked, or it did not fit its tool.
    Refused,
    /// Its process died at it.
    Unknown,
    /// It has not ended yet.
    Open,
}

impl Fate {
    /// All of them, by their words.
    pub const ALL: [Self; 5] = [Self::Ok, Self::Failed, Self::Refused, Self::Unknown, Self::Open];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "error",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Open => "open",
        }
    }
}

/// Whether a call ended before its tool was entered: the same ones that statistics count as refused.
fn is_refusal(error: &str) -> bool {
    crate::fold::is_refusal(error)
}

impl Story {
    /// The last line of a kind.
    pub fn moment(&self, event: &str) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| entry.event == event)
    }

    /// Its first line.
    pub fn first(&self) -> Option<&Entry> {
        self.entries.first()
    }

    /// The call.
    pub fn id(&self) -> &str {
        self.first().map_or("", |entry| &entry.trace_id)
    }

    /// When it was asked for.
    pub fn at(&self) -> Timestamp {
        self.first().map_or(Timestamp::UNIX_EPOCH, |entry| entry.ts)
    }

    /// The tool, `catalogue/name`.
    pub fn tool(&self) -> String {
        self.first().map(Entry::tool).unwrap_or_default()
    }

    /// What came of it.
    pub fn fate(&self) -> Fate {
        let Some(ended) = self.moment("ended") else {
            let is_lost = self.is_dead || self.moment("lost").is_some();
            return if is_lost { Fate::Unknown } else { Fate::Open };
        };
        let is_lost = ended.task == Some(true)
            && (self.is_dead || self.moment("lost").is_some())
            && self.moment("task_ended").is_none();
        match ended.error.as_deref() {
            _ if is_lost => Fate::Unknown,
            None => Fate::Ok,
            Some(error) if is_refusal(error) => Fate::Refused,
            Some(_) => Fate::Failed,
        }
    }

    /// Takes note of it if its process is among those that are gone.
    fn look_for(&mut self, dead: &HashSet<String>) {
        let process = self.moment("started").and_then(|entry| entry.process.as_ref());
        self.is_dead = process.is_some_and(|process| dead.contains(process));
    }

    fn seq(&self) -> u64 {
        self.first().map_or(0, |entry| entry.seq)
    }
}

/// Which calls are wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Asked for at this moment or later.
    pub since: Option<Timestamp>,
    /// Asked for at this moment or before.
    pub until: Option<Timestamp>,
    /// `catalogue/tool`, or `tool`.
    pub tool: Option<String>,
    /// The conversation, the user's number, or who answered.
    pub actor: Option<String>,
    /// What came of it.
    pub fate: Option<Fate>,
    /// Words of its arguments, its reply, its error or its rule, in any case.
    pub text: Option<String>,
    /// This call and no other.
    pub call: Option<String>,
}

impl Wanted {
    /// Whether nothing but a time is wanted.
    pub fn is_only_of_time(&self) -> bool {
        let is_about_calls = self.tool.is_some() || self.actor.is_some() || self.call.is_some();
        !is_about_calls && self.fate.is_none() && self.text.is_none()
    }

    fn takes(&self, story: &Story) -> bool {
        let at = story.at();
        let is_tool = |wanted: &String| {
            let tool = story.tool();
            tool == *wanted || tool.rsplit('/').next() == Some(wanted)
        };
        self.since.is_none_or(|since| at >= since)
            && self.until.is_none_or(|until| at <= until)
            && self.tool.as_ref().is_none_or(is_tool)
            && self.actor.as_ref().is_none_or(|actor| has_actor(story, actor))
            && self.fate.is_none_or(|fate| story.fate() == fate)
            && self.text.as_ref().is_none_or(|text| has_text(story, text))
            && self.call.as_ref().is_none_or(|call| story.id() == call)
    }

    /// A text that every line of a wanted call has.
    fn sign(&self) -> Option<String> {
        if let Some(call) = &self.call {
            return Some(format!("\"trace_id\":\"{call}\""));
        }
        let tool = self.tool.as_ref()?;
        let name = tool.rsplit('/').next().unwrap_or(tool);
        Some(format!("\"name\":{}", serde_json::Value::from(name)))
    }
}

fn has_actor(story: &Story, actor: &str) -> bool {
    story.entries.iter().any(|entry| {
        entry.conv_id == actor
            || entry.by.as_deref() == Some(actor)
            || entry.answered_by() == Some(actor)
            || entry.user.is_some_and(|user| {
                user.to_string() == actor.strip_prefix("user ").unwrap_or(actor)
            })
    })
}

fn has_text(story: &Story, text: &str) -> bool {
    let text = text.to_lowercase();
    let has = |field: &Option<String>| {
        field.as_ref().is_some_and(|field| field.to_lowercase().contains(&text))
    };
    story.entries.iter().any(|entry| {
        has(&entry.args_preview)
            || has(&entry.result_preview)
            || has(&entry.message)
            || has(&entry.rule)
            || has(&entry.error)
            || entry.places.iter().any(|place| place.to_lowercase().contains(&text))
            || entry
                .touched
                .iter()
                .flat_map(ChangedFiles::named)
                .any(|(_, path)| path.to_lowercase().contains(&text))
    })
}

/// Finds calls, the newest first, at most `most` of them.
pub fn find_calls(state: &State, wanted: &Wanted, most: usize) -> io::Result<Vec<Story>> {
    let mut found = Vec::new();
    let dead = dead(state)?;
    let mut open: HashMap<String, Story> = HashMap::new();
    for page in Record::open(state)?.between(wanted.since, wanted.until).pages().rev() {
        gather(&page?, wanted, &mut open);
        let mut whole: Vec<Story> = Vec::new();
        open.retain(|_, story| {
            let is_whole = story.first().is_some_and(|entry| entry.event == "asked");
            if is_whole {
                whole.push(std::mem::take(story));
            }
            !is_whole
        });
        if let Some(until) = wanted.until {
            let open = whole.iter_mut().filter(|story| story.fate() == Fate::Open);
            follow(state, until, open.collect())?;
        }
        for story in &mut whole {
            story.look_for(&dead);
        }
        whole.retain(|story| wanted.takes(story));
        whole.sort_by_key(|story| std::cmp::Reverse(story.seq()));
        found.extend(whole);
        if found.len() >= most {
            break;
        }
    }
    found.truncate(most);
    Ok(found)
}

/// The processes that are gone and whose calls nobody has seen to yet.
fn dead(state: &State) -> io::Result<HashSet<String>> {
    Ok(Dead::find(state)?.into_iter().map(|process| process.name.clone()).collect())
}

/// Tells each call with its lines as they are, in the order the calls ended in; what comes after that is told alone.
/// Holds no more than the calls that are under way.
pub fn tell_calls(
    state: &State,
    wanted: &Wanted,
    mut tell: impl FnMut(&Story, &[&[u8]]) -> io::Result<()>,
) -> io::Result<()> {
    let mut open: BTreeMap<String, (Story, Vec<u8>)> = BTreeMap::new();
    let mut told: HashSet<String> = HashSet::new();
    let mut tell_one = |story: &Story, text: &[u8]| {
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        tell(story, &lines)
    };
    let record = Record::open(state)?.between(wanted.since, None);
    for segment in record.segments() {
        // Of files from then on, only what became of calls from before is wanted.
        let is_over = wanted.until.is_some_and(|until| !record.can_have(*segment, until));
        if is_over && open.is_empty() {
            continue;
        }
        let Some(page) = record.readable(*segment)? else { continue };
        for (entry, line) in calls_in(&page, wanted) {
            let call = entry.trace_id.clone();
            if told.contains(&call) {
                tell_one(&Story { entries: vec![entry], is_dead: false }, line)?;
                continue;
            }
            let is_end = matches!(entry.event.as_str(), "ended" | "lost");
            if entry.event == "asked" && !is_over {
                open.insert(call.clone(), Default::default());
            }
            let Some((story, text)) = open.get_mut(&call) else { continue };
            story.entries.push(entry);
            text.extend_from_slice(line);
            if is_end
                && let Some((story, text)) = open.remove(&call)
                && wanted.takes(&story)
            {
                tell_one(&story, &text)?;
                told.insert(call);
            }
        }
    }
    let dead = dead(state)?;
    for (story, _) in open.values_mut() {
        story.look_for(&dead);
    }
    for (story, text) in open.values().filter(|(story, _)| wanted.takes(story)) {
        tell_one(story, text)?;
    }
    Ok(())
}

/// Tells every line of a time as it is, in the order of the record.
pub fn tell_lines(
    state: &State,
    wanted: &Wanted,
    mut tell: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let record = Record::open(state)?.between(wanted.since, wanted.until);
    for page in record.pages() {
        let page = page?;
        for line in page.pieces().filter(|piece| page.is_ours(piece)) {
            let at = Entry::parse(line.strip_suffix(b"\n").unwrap_or(line)).map(|entry| entry.ts);
            let is_in = |at: Timestamp| {
                wanted.since.is_none_or(|since| at >= since)
                    && wanted.until.is_none_or(|until| at <= until)
            };
            if at.is_none_or(is_in) {
                tell(line)?;
            }
        }
    }
    Ok(())
}

/// Looks for what came of calls in the files after `until`, until all of them have ended.
fn follow(state: &State, until: Timestamp, mut stories: Vec<&mut Story>) -> io::Result<()> {
    let record = Record::open(state)?;
    for segment in record.segments().iter().filter(|it| !record.can_have(**it, until)) {
        if stories.is_empty() {
            break;
        }
        let Some(page) = record.readable(*segment)? else { continue };
        for story in &mut stories {
            let sign = format!("\"trace_id\":\"{}\"", story.id());
            for at in memmem::find_iter(&page.bytes, &sign) {
                let start = memchr::memrchr(b'\n', &page.bytes[..at]).map_or(0, |it| it + 1);
                let end = memchr::memchr(b'\n', &page.bytes[at..]).map_or(0, |it| at + it + 1);
                let piece = page.bytes.get(start..end).filter(|piece| page.is_ours(piece));
                story.entries.extend(piece.and_then(Entry::parse));
            }
        }
        stories.retain(|story| story.fate() == Fate::Open);
    }
    Ok(())
}

/// The lines of a page that can be of a wanted call.
fn calls_in<'a>(page: &'a Page, wanted: &Wanted) -> impl Iterator<Item = (Entry, &'a [u8])> {
    let finder = wanted.sign().map(|sign| memmem::Finder::new(sign.as_bytes()).into_owned());
    let is_near = move |line: &&[u8]| finder.as_ref().is_none_or(|it| it.find(line).is_some());
    let lines = page.pieces().filter(is_near).filter(|piece| page.is_ours(piece));
    let entries = lines.filter_map(|line| Some((Entry::parse(line)?, line)));
    entries.filter(|(entry, _)| {
        matches!(entry.act.as_str(), "tool_call" | "approval") && !entry.trace_id.is_empty()
    })
}

/// Puts the lines of a page before those that are there already.
fn gather(page: &Page, wanted: &Wanted, open: &mut HashMap<String, Story>) {
    let mut fresh: HashMap<String, Vec<Entry>> = HashMap::new();
    for (entry, _) in calls_in(page, wanted) {
        fresh.entry(entry.trace_id.clone()).or_default().push(entry);
    }
    for (call, mut entries) in fresh {
        let story = open.entry(call).or_default();
        entries.append(&mut story.entries);
        story.entries = entries;
    }
}
