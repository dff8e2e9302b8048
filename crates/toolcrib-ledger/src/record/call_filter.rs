//! Which calls of the record are wanted.

use jiff::Timestamp;
use toolcrib_core::command::ChangedFiles;
use toolcrib_core::{Door, ToolName};

use crate::record::entry::{call_value, conversation_field, name_field};
use crate::record::event_kind::EventKind;
use crate::record::history::{CallHistory, CallOutcome};

/// Which calls are wanted. An empty filter takes all calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// The session, which is the conversation if the caller named one.
    pub session: Option<String>,
    /// Who asked.
    pub caller: CallerFilter,
    /// What was decided.
    pub decision: Option<RecordedDecision>,
    /// Calls that changed files.
    pub changed_files: bool,
    /// Calls that began before this line of the record.
    pub before: Option<u64>,
}

/// Which callers are wanted. An empty filter takes all callers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallerFilter {
    /// The name of the principal.
    pub principal: Option<String>,
    /// The door.
    pub door: Option<Door>,
}

impl CallerFilter {
    fn takes(&self, history: &CallHistory) -> bool {
        self.principal.as_ref().is_none_or(|principal| is_of_principal(history, principal))
            && self.door.is_none_or(|door| door_of(history) == door)
    }
}

/// What was decided about a call, as calls are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedDecision {
    /// It was allowed.
    Allow,
    /// A person was asked, whatever they said.
    Ask,
    /// It was refused or declined.
    Deny,
}

impl RecordedDecision {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// Returns the spelling for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    fn is_of(self, history: &CallHistory) -> bool {
        let decided = history.last(&EventKind::Decided);
        let verdict = decided.and_then(|entry| entry.decision.verdict.as_deref());
        match self {
            Self::Ask => history.asked_person(),
            Self::Allow | Self::Deny => verdict == Some(self.as_str()),
        }
    }
}

impl CallFilter {
    /// Returns whether the filter names nothing but a time.
    pub fn is_only_time(&self) -> bool {
        let Self { since, until, .. } = *self;
        *self == Self { since, until, ..Self::default() }
    }

    pub(crate) fn takes(&self, history: &CallHistory) -> bool {
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
            && self.before.is_none_or(|line| history.seq() < line)
            && self.session.as_ref().is_none_or(|session| is_of_session(history, session))
            && self.caller.takes(history)
            && self.decision.is_none_or(|decision| decision.is_of(history))
            && (!self.changed_files || history.has_changes())
    }

    pub(crate) fn takes_time(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at <= until)
    }

    /// Returns a text that every line of a wanted call contains, except perhaps those about its approval.
    pub(crate) fn line_marker(&self) -> Option<String> {
        if let Some(call) = &self.call {
            // Without the quote after it, because it may be the beginning of an id.
            return Some(call_value(call).trim_end_matches('"').to_owned());
        }
        if let Some(session) = &self.session {
            return Some(conversation_field(session));
        }
        let tool = self.tool.as_ref()?;
        Some(name_field(tool.last_part()))
    }
}

fn is_of_session(history: &CallHistory, session: &str) -> bool {
    history.first().is_some_and(|entry| entry.call.conversation == session)
}

fn is_of_principal(history: &CallHistory, principal: &str) -> bool {
    history.first().is_some_and(|entry| entry.call.caller.principal.as_deref() == Some(principal))
}

/// Returns the door of a call. Only calls through other doors than the terminal name theirs.
fn door_of(history: &CallHistory) -> Door {
    let named = history.first().and_then(|entry| entry.call.caller.door.as_deref());
    named.and_then(Door::parse).unwrap_or(Door::Terminal)
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
