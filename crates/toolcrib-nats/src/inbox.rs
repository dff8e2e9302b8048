//! Inboxes: the subjects to which replies may go. The NATS server does not check the reply subject of a request. Without
//! this check, an agent could make the gateway publish to another agent's inbox, or to any subject that the gateway may use.

/// What the inbox of everybody who shares the contract's own subjects begins with.
const SHARED_INBOX: &str = "_INBOX.";

/// The longest subject for a reply.
const LONGEST_INBOX: usize = 256;

/// Returns what the inbox of an agent begins with.
pub(crate) fn inbox_of(agent: &str) -> String {
    format!("_INBOX_{agent}.")
}

/// Whether a reply may go to a subject, for an agent with an id or for those who share the contract's own subjects.
pub(crate) fn is_own_inbox(reply: &str, agent: Option<&str>) -> bool {
    let rest = match agent {
        None => reply.strip_prefix(SHARED_INBOX),
        Some(id) => reply.strip_prefix(inbox_of(id).as_str()),
    };
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-_.".contains(&it);
    let is_whole =
        |rest: &str| rest.bytes().all(is_plain) && rest.split('.').all(|it| !it.is_empty());
    reply.len() <= LONGEST_INBOX && rest.is_some_and(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_goes_only_to_the_inbox_of_who_asked() {
        for (reply, agent) in [
            ("_INBOX.abc.1", None),
            ("_INBOX.Wq3-x_", None),
            ("_INBOX_ci.abc.1", Some("ci")),
            ("_INBOX_ci-7.x", Some("ci-7")),
        ] {
            assert!(is_own_inbox(reply, agent), "{reply}");
        }
        for (reply, agent) in [
            ("_INBOX_other.abc", Some("ci")),
            ("_INBOX_ci2.abc", Some("ci")),
            ("_INBOX.abc", Some("ci")),
            ("_INBOX_ci.abc", None),
            ("_INBOX_ci", Some("ci")),
            ("_INBOX_ci.", Some("ci")),
            ("_INBOX..", None),
            ("_INBOX.a b", None),
            ("_INBOX.>", None),
            ("_INBOX.*", None),
            ("nachos.tool.filesystem.request", None),
            ("$JS.API.STREAM.DELETE.x", None),
            ("", None),
            (&format!("_INBOX.{}", "a".repeat(300)), None),
        ] {
            assert!(!is_own_inbox(reply, agent), "{reply}");
        }
    }
}
