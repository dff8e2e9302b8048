//! One policy on several machines: its text makes the same policy elsewhere, and a decision that it made there counts
//! here. The files of a call can be on another machine than the people who are asked about it.

use serde::{Deserialize, Serialize};

use crate::command_reading::ReadShell;

use super::decision::{Confirmation, Decision, Verdict};
use super::file::rules_in;
use super::later_rules::later_rules;
use super::policy_text::{PolicyText, RulesText};
use super::rule::{Layer, Rule};
use super::rules::Policy;
use super::rules_error::RulesError;

/// A decision as one machine tells it another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedElsewhere {
    /// The digest of the policy that decided.
    policy: String,
    verdict: Verdict,
    confirmation: Confirmation,
    rule: String,
    because: String,
    audited: Vec<String>,
    asking: Vec<String>,
}

impl DecidedElsewhere {
    /// Returns what is to happen.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }
}

impl Decision {
    /// Returns this decision as it is told to the machine that has the policy's text. Nothing if the policy has none.
    pub fn told(&self, policy: &Policy) -> Option<DecidedElsewhere> {
        let (_, digest) = policy.text()?;
        Some(DecidedElsewhere {
            policy: digest.to_owned(),
            verdict: self.verdict,
            confirmation: self.confirmation,
            rule: self.rule.clone(),
            because: self.because.clone(),
            audited: self.audited.clone(),
            asking: self.asking.clone(),
        })
    }
}

impl Policy {
    /// Builds a policy of its text. `project` are the rules of the project whose files it is about: they only tighten.
    pub fn of_text(
        written: &PolicyText,
        project: Vec<Rule>,
        shell: &dyn ReadShell,
    ) -> Result<Self, RulesError> {
        let mut rules: Vec<Rule> = later_rules().collect();
        for RulesText { file, layer, text } in &written.files {
            // The shipped rules were tried when they were made.
            let shell = (*layer != Layer::Shipped).then_some(shell);
            rules.extend(rules_in(text, file, *layer, shell)?.rules);
        }
        rules.retain(|rule| !written.without.contains(&rule.id));
        rules.extend(project.into_iter().filter(|rule| rule.layer == Layer::Project));
        Ok(Self::new(written.mode, rules).with_text(written.clone()))
    }

    /// Takes a decision that another machine made by this policy. Returns nothing if it made it by another one.
    pub fn accept(&self, told: &DecidedElsewhere) -> Option<Decision> {
        let (_, digest) = self.text()?;
        (digest == told.policy).then(|| Decision {
            verdict: told.verdict,
            confirmation: told.confirmation,
            rule: told.rule.clone(),
            because: told.because.clone(),
            source: None,
            grant: None,
            reading: None,
            audited: told.audited.clone(),
            asking: told.asking.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_reading::Reading;
    use crate::policy::{Mode, Subject};
    use crate::{Tier, ToolName};

    struct Unread;

    impl ReadShell for Unread {
        fn read(&self, _: &str) -> Reading {
            Reading::unread("nothing is read here")
        }
    }

    fn text(rules: &str) -> PolicyText {
        let (file, layer, text) = ("rules.toml".to_owned(), Layer::Operator, rules.to_owned());
        let files = vec![RulesText { file, layer, text }];
        PolicyText { mode: Mode::Standard, files, without: Vec::new() }
    }

    #[test]
    fn the_text_of_a_policy_makes_the_same_policy_elsewhere() {
        let sent = text("[[rule]]\nid = \"no\"\ntool = \"read_file\"\neffect = \"deny\"\n");
        let sent = serde_json::to_string(&sent).unwrap();
        let received: PolicyText = serde_json::from_str(&sent).unwrap();
        let policy = Policy::of_text(&received, Vec::new(), &Unread).unwrap();
        let tool = ToolName::from("clemini/read_file");
        let subject = Subject {
            tool: &tool,
            tier: Tier::Safe,
            canonical: "{}",
            root: "/w",
            reads: &[],
            writes: &[],
            only_edits_text: false,
            hosts: &[],
            reading: None,
        };
        let decision = policy.decide(&subject, jiff::Timestamp::UNIX_EPOCH, &[]);
        assert_eq!(decision.verdict(), Verdict::Deny);
        let told = decision.told(&policy).unwrap();
        assert_eq!(policy.accept(&told).unwrap().verdict(), Verdict::Deny);
        let other = Policy::of_text(&text(""), Vec::new(), &Unread).unwrap();
        assert!(other.accept(&told).is_none(), "another policy made it");
        let plain = Policy::new(Mode::Standard, Vec::new());
        assert!(decision.told(&plain).is_none() && plain.accept(&told).is_none());
    }

    #[test]
    fn a_wrong_rule_is_no_policy() {
        assert!(Policy::of_text(&text("[[rule]]\nid = 1\n"), Vec::new(), &Unread).is_err());
    }
}
