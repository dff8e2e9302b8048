//! The names of events and subjects in the record, each spelled in one place.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer};

/// Defines an enum whose variants have a fixed spelling on disk, and which keeps a spelling that it does not know.
macro_rules! spelled_enum {
    (
        $(#[$about:meta])* $name:ident
        $($(#[$doc:meta])* $variant:ident $spelling:literal,)*
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// A spelling that this version does not know.
            Other(String),
        }

        impl $name {
            /// Returns the spelling on disk.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $spelling,)*
                    Self::Other(other) => other,
                }
            }

            /// Returns the variant with this spelling on disk.
            pub fn parse(text: &str) -> Self {
                match text {
                    $($spelling => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::Other(String::new())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Spelling;
                impl de::Visitor<'_> for Spelling {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a string")
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        Ok($name::parse(text))
                    }
                }
                deserializer.deserialize_str(Spelling)
            }
        }
    };
}

spelled_enum! {
    /// What an entry of the record says happened.
    EventKind
    /// Someone asked for a call.
    Asked "asked",
    /// Policy, and perhaps a person, decided about a call.
    Decided "decided",
    /// A person was asked about a call.
    Waits "waits",
    /// The tool of a call was started.
    Started "started",
    /// A call ended.
    Ended "ended",
    /// A task that a call started ended.
    TaskEnded "task_ended",
    /// The process of a call died during the call.
    Lost "lost",
    /// The settings in force are not the ones of the line before.
    Settings "settings",
    /// A process died while it wrote a line.
    LineTorn "line_torn",
    /// The last segment is shorter than the head says.
    LinesMissing "lines_missing",
    /// Lines could not be written.
    LinesLost "lines_lost",
    /// There was no head, and the record was continued.
    EndNotKnown "end_not_known",
    /// The head was not signed by us, and the record was continued.
    EndNotSigned "end_not_signed",
    /// A segment was removed because it was too old, or a person removed a rule.
    Removed "removed",
    /// Figures of a tool were cleared.
    Cleared "cleared",
    /// A tool was put into quarantine.
    Quarantined "quarantined",
    /// A pending approval, or a proposed plugin, was answered with yes.
    Approved "approved",
    /// A pending approval was answered with no.
    Denied "denied",
    /// A person gave a grant.
    Given "given",
    /// A person revoked a grant, or a token.
    Revoked "revoked",
    /// A person added rules, or a token.
    Added "added",
    /// A person made a new secret for a token.
    Rotated "rotated",
    /// A person put back what was held.
    Released "released",
    /// A person deleted what was held.
    Discarded "discarded",
    /// Settings or rules changed, and hold from here on.
    Changed "changed",
    /// Settings or rules changed and have errors, and the old ones hold; or a proposed plugin was answered with no.
    Rejected "rejected",
    /// Someone proposed a plugin.
    Proposed "proposed",
    /// Nobody answered a proposed plugin in time.
    Expired "expired",
    /// A plugin was found in the tools folder, and runs from here on.
    Loaded "loaded",
    /// A person went back to an earlier version of a plugin.
    RolledBack "rolled_back",
    /// A person switched a plugin off.
    Disabled "disabled",
    /// A person switched a plugin on again.
    Enabled "enabled",
    /// A plugin was found in the tools folder that nobody has approved.
    Waiting "waiting",
    /// A mounted MCP server asked for something that no server gets.
    Refused "refused",
}

spelled_enum! {
    /// What an entry of the record is about.
    Act
    /// A call of a tool.
    ToolCall "tool_call",
    /// A token of the server.
    Token "token",
    /// The record itself.
    Record "record",
    /// The figures of tools.
    Statistics "statistics",
    /// A message that came over the bus.
    Bus "bus",
    /// An answer to a pending approval.
    Approval "approval",
    /// A grant.
    Grant "grant",
    /// The rules of policy.
    Rules "rules",
    /// The settings and rules of a process that runs.
    Settings "settings",
    /// Something that a command left behind and that is held.
    Held "held",
    /// A tool from another author.
    Plugin "plugin",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_parsed_from_its_own_spelling() {
        for event in [EventKind::Asked, EventKind::TaskEnded, EventKind::EndNotSigned] {
            assert_eq!(EventKind::parse(event.as_str()), event);
        }
        let later = EventKind::parse("from_a_later_version");
        assert_eq!(later, EventKind::Other("from_a_later_version".to_owned()));
        assert_eq!(later.as_str(), "from_a_later_version");
        let read: Vec<Act> = serde_json::from_str(r#"["tool_call","ot\u0068er"]"#).unwrap();
        assert_eq!(read, [Act::ToolCall, Act::Other("other".to_owned())]);
    }
}
