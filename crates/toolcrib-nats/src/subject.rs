//! The subjects of requests: `{prefix}.tool.{toolId}.request` as in the contract, and the same below
//! `{prefix}.agent.{id}` for an agent that may publish only there.

use std::fmt;

use toolcrib_core::Principal;

/// The longest id of an agent.
const LONGEST_AGENT_ID: usize = 64;

/// The longest prefix.
const LONGEST_PREFIX: usize = 128;

/// What all subjects begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusPrefix(String);

/// Who asks for which tool, as a subject says it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RequestSubject<'a> {
    /// The id of the agent; nothing on the contract's own subjects, which agents share.
    pub(crate) agent: Option<&'a str>,
    /// The contract's `toolId`.
    pub(crate) tool: &'a str,
}

impl BusPrefix {
    /// Takes words of letters, digits, `-` and `_`, with dots between them, of at most 128 characters. Returns nothing for
    /// any other text.
    pub fn new(text: &str) -> Option<Self> {
        let is_plain = |word: &str| {
            !word.is_empty()
                && word.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it))
        };
        let is_prefix = text.len() <= LONGEST_PREFIX && text.split('.').all(is_plain);
        is_prefix.then(|| Self(text.to_owned()))
    }

    /// Returns the subjects to subscribe to.
    pub(crate) fn subscriptions(&self) -> [String; 2] {
        let prefix = &self.0;
        [format!("{prefix}.tool.*.request"), format!("{prefix}.agent.*.tool.*.request")]
    }

    /// Returns the contract's subject on which the runner of a tool listens.
    pub(crate) fn request_subject(&self, tool: &str) -> String {
        format!("{}.tool.{tool}.request", self.0)
    }

    /// Returns the name of the group that shares the requests.
    pub(crate) fn queue_group(&self) -> String {
        format!("{}-gateways", self.0.replace('.', "-"))
    }

    /// Parses the subject of a request.
    pub(crate) fn parse<'a>(&self, subject: &'a str) -> Option<RequestSubject<'a>> {
        let rest = subject.strip_prefix(self.0.as_str())?.strip_prefix('.')?;
        let words: Vec<&str> = rest.split('.').collect();
        let request = match words[..] {
            ["tool", tool, "request"] => RequestSubject { agent: None, tool },
            ["agent", id, "tool", tool, "request"] if is_agent_id(id) => {
                RequestSubject { agent: Some(id), tool }
            }
            _ => return None,
        };
        let is_named = !request.tool.is_empty() && !request.tool.contains(['*', '>']);
        is_named.then_some(request)
    }
}

impl fmt::Display for BusPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a word of a subject can be the id of an agent. Its inbox is `_INBOX_{id}`, see `inbox.rs`.
pub(crate) fn is_agent_id(id: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || b"-_".contains(&it);
    (1..=LONGEST_AGENT_ID).contains(&id.len()) && id.bytes().all(is_plain)
}

impl RequestSubject<'_> {
    /// Returns who makes the call.
    pub(crate) fn principal(&self) -> Principal {
        Principal::of_nats(self.agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_names_the_tool_and_perhaps_the_agent() {
        let prefix = BusPrefix::new("nachos").unwrap();
        let shared = RequestSubject { agent: None, tool: "calculator" };
        assert_eq!(prefix.parse("nachos.tool.calculator.request"), Some(shared));
        let own = RequestSubject { agent: Some("ci-7"), tool: "clemini/bash" };
        assert_eq!(prefix.parse("nachos.agent.ci-7.tool.clemini/bash.request"), Some(own));
        for subject in [
            "nachos.tool.calculator",
            "nachos.tool.calculator.request.more",
            "nachos.tool..request",
            "nachos.tool.*.request",
            "nachos.tool.>.request",
            "nachosx.tool.calculator.request",
            "other.tool.calculator.request",
            "nachos.agent..tool.calculator.request",
            "nachos.agent.Ci.tool.calculator.request",
            "nachos.agent.a b.tool.calculator.request",
            "nachos.agent.*.tool.calculator.request",
        ] {
            assert_eq!(prefix.parse(subject), None, "{subject}");
        }
    }

    #[test]
    fn a_prefix_is_plain_words() {
        for text in ["nachos", "acme.tools", "a-b_c.1"] {
            assert!(BusPrefix::new(text).is_some(), "{text}");
        }
        for text in ["", ".", "a.", ".a", "a..b", "a b", "a.*", ">", "$SYS", "\u{fc}", "a\n"] {
            assert!(BusPrefix::new(text).is_none(), "{text:?}");
        }
    }
}
