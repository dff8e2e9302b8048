//! What the newest part of the record says about rules and callers: which rules decided, and who made calls.

use std::collections::{BTreeMap, HashMap};
use std::io;

use jiff::Timestamp;
use memchr::memmem::Finder;
use toolcrib_core::ToolName;

use crate::record::entry::{RecordEntry, event_field};
use crate::record::event_kind::EventKind;
use crate::record::reader::{LoadedSegment, RecordReader};
use crate::state::StateFolder;

/// How many bytes of the record are read at most, so that nobody waits long for a large record.
const MOST_READ_BYTES: usize = 64 << 20;

/// The most callers that are told apart.
const MOST_CALLERS: usize = 1000;

/// Which rules decided and who made calls, in the newest part of the record.
#[derive(Clone, Debug)]
pub struct RecentUse {
    /// When the part that was read begins: as wanted, or later if the record is large.
    pub since: Timestamp,
    /// The rules that decided, by their ids.
    pub rules: BTreeMap<String, RuleUse>,
    /// Who made calls, the latest first.
    pub callers: Vec<RecentCaller>,
}

/// How often a rule decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleUse {
    /// How many calls it decided.
    pub count: u64,
    /// When it last did.
    pub last_at: Timestamp,
    /// The call that it decided then.
    pub last_call: String,
}

/// Somebody who made calls through one door, with one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentCaller {
    /// The name of the principal; nothing for the user at a terminal.
    pub principal: Option<String>,
    /// The role of the principal.
    pub role: Option<String>,
    /// The door.
    pub door: Option<String>,
    /// What the client calls itself.
    pub client: Option<String>,
    /// How many calls.
    pub calls: u64,
    /// When the first of them was asked for.
    pub first_at: Timestamp,
    /// When the last of them was asked for.
    pub last_at: Timestamp,
    /// The id of the last call.
    pub last_call: String,
    /// The tool of the last call.
    pub last_tool: ToolName,
}

/// Who made a call, through which door, with which client.
type CallerKey = [Option<String>; 4];

/// Reads the newest part of the record, from `since` on.
pub fn recent_use(state: &StateFolder, since: Timestamp) -> io::Result<RecentUse> {
    let mut found = UseCounts::default();
    let (mut read_bytes, mut begins) = (0, since);
    for segment in RecordReader::open(state)?.between(Some(since), None).load_all().rev() {
        let segment = segment?;
        if read_bytes > 0 && read_bytes + segment.bytes.len() > MOST_READ_BYTES {
            begins = found.earliest.unwrap_or(since);
            break;
        }
        read_bytes += segment.bytes.len();
        found.add(&segment, since);
    }
    let mut callers: Vec<RecentCaller> = found.callers.into_values().collect();
    callers.sort_by_key(|caller| std::cmp::Reverse(caller.last_at));
    Ok(RecentUse { since: begins, rules: found.rules, callers })
}

/// Returns the id in what a decision says of its rule: "rule `ID`", or "rule `ID`: why".
fn rule_id(decided: &str) -> Option<&str> {
    let rest = decided.strip_prefix("rule `")?;
    rest.split_once("`: ").map(|(id, _)| id).or_else(|| rest.strip_suffix('`'))
}

/// What was counted so far.
#[derive(Default)]
struct UseCounts {
    rules: BTreeMap<String, RuleUse>,
    callers: HashMap<CallerKey, RecentCaller>,
    earliest: Option<Timestamp>,
}

impl UseCounts {
    fn add(&mut self, segment: &LoadedSegment, since: Timestamp) {
        let fields = [&EventKind::Asked, &EventKind::Decided].map(event_field);
        let finders = [0, 1].map(|at| Finder::new(fields[at].as_bytes()));
        // To check a signature costs more than to find a text, and few lines have one of these.
        let pieces =
            segment.pieces().filter(|piece| finders.iter().any(|it| it.find(piece).is_some()));
        for piece in pieces.filter(|piece| segment.is_signed(piece)) {
            let Some(entry) = RecordEntry::parse(piece) else { continue };
            if entry.at < since {
                continue;
            }
            self.earliest = Some(self.earliest.map_or(entry.at, |it| it.min(entry.at)));
            match entry.event {
                EventKind::Asked => self.add_caller(&entry),
                EventKind::Decided => self.add_rule(&entry),
                _ => {}
            }
        }
    }

    fn add_rule(&mut self, entry: &RecordEntry<'_>) {
        let Some(rule) = entry.decision.rule.as_deref().and_then(rule_id) else { return };
        let (last_at, last_call) = (entry.at, entry.call.id.to_string());
        match self.rules.get_mut(rule) {
            None => {
                self.rules.insert(rule.to_owned(), RuleUse { count: 1, last_at, last_call });
            }
            Some(found) => {
                found.count += 1;
                if last_at >= found.last_at {
                    (found.last_at, found.last_call) = (last_at, last_call);
                }
            }
        }
    }

    fn add_caller(&mut self, entry: &RecordEntry<'_>) {
        let caller = &entry.call.caller;
        let owned = |field: &Option<std::borrow::Cow<'_, str>>| field.as_deref().map(str::to_owned);
        let key = [&caller.principal, &caller.role, &caller.door, &caller.client].map(owned);
        if self.callers.len() >= MOST_CALLERS && !self.callers.contains_key(&key) {
            return;
        }
        let [principal, role, door, client] = key.clone();
        let found = self.callers.entry(key).or_insert_with(|| RecentCaller {
            principal,
            role,
            door,
            client,
            calls: 0,
            first_at: entry.at,
            last_at: Timestamp::MIN,
            last_call: String::new(),
            last_tool: ToolName::default(),
        });
        found.calls += 1;
        found.first_at = found.first_at.min(entry.at);
        if entry.at >= found.last_at {
            found.last_at = entry.at;
            found.last_call = entry.call.id.to_string();
            found.last_tool = entry.tool();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_rule_is_found_whatever_its_reason_says() {
        for (decided, id) in [
            ("rule `no-push`: pushes are for people", Some("no-push")),
            ("rule `no-push`", Some("no-push")),
            ("rule `a b`: see `c`: d`", Some("a b")),
            ("grant `01M`: ada answered \"always\"", None),
            ("tier 2 in mode standard", None),
        ] {
            assert_eq!(rule_id(decided), id, "{decided}");
        }
    }
}
