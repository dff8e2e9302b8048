//! Drafts of rules about one call, from the narrowest to the widest, for a person who writes a rule from it.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::tool_name::ToolName;

use super::rule::without_detours;

/// The most commands of a call that drafts are about.
const MOST_DRAFTED_COMMANDS: usize = 4;

/// The most paths in one draft.
const MOST_DRAFTED_PATHS: usize = 20;

/// The conditions of a rule that a call would match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleDraft {
    /// What a rule with these conditions would be about, in words.
    pub about: String,
    /// The conditions, as lines of a rules file.
    pub conditions: String,
}

/// What a call would do, as far as rules can be about it.
#[derive(Clone, Copy, Debug)]
pub struct DraftedCall<'a> {
    /// The tool.
    pub tool: &'a ToolName,
    /// The arguments.
    pub args: &'a Value,
    /// The words of each command that it would run.
    pub commands: &'a [Vec<String>],
    /// The paths that it would read.
    pub reads: &'a [String],
    /// The paths that it would write.
    pub writes: &'a [String],
    /// The workspace.
    pub root: &'a str,
}

impl DraftedCall<'_> {
    /// Returns the drafts of rules about the call, the most useful first.
    pub fn drafts(&self) -> Vec<RuleDraft> {
        let mut drafts = Vec::new();
        for words in self.commands.iter().take(MOST_DRAFTED_COMMANDS) {
            self.add_beginnings(words, &mut drafts);
        }
        if self.commands.is_empty() {
            self.add_paths("writes", self.writes, &mut drafts);
            self.add_paths("paths", self.reads, &mut drafts);
        }
        if let Ok(args) = toml::Value::try_from(self.args)
            && self.args.is_object()
        {
            let conditions = format!("{}call = {args}\n", self.tool_line());
            drafts.push(RuleDraft { about: "this exact call".to_owned(), conditions });
        }
        let about = format!("every call of {}", self.tool);
        drafts.push(RuleDraft { about, conditions: self.tool_line() });
        drafts
    }

    /// Adds the beginnings of a command that say what it does, and the whole of it.
    fn add_beginnings(&self, words: &[String], drafts: &mut Vec<RuleDraft>) {
        let is_plain = |word: &String| !word.is_empty() && !word.starts_with('-');
        let subcommand = words.get(1).is_some_and(is_plain);
        let lengths = [1 + usize::from(subcommand), 1, words.len()];
        for (at, length) in lengths.into_iter().enumerate() {
            if length > words.len() || length == 0 || lengths[..at].contains(&length) {
                continue;
            }
            let argv = quoted(&words[..length]);
            let shown = words[..length].join(" ");
            let (about, exact) = if length == words.len() && at == 2 {
                (format!("exactly the command `{shown}`"), "exact = true\n")
            } else {
                (format!("commands that begin with `{shown}`"), "")
            };
            let conditions = format!("{}argv = {argv}\n{exact}", self.tool_line());
            drafts.push(RuleDraft { about, conditions });
        }
    }

    /// Adds a draft about paths, and one about the folder of the first.
    fn add_paths(&self, key: &str, paths: &[String], drafts: &mut Vec<RuleDraft>) {
        let globs: Vec<String> =
            paths.iter().take(MOST_DRAFTED_PATHS).map(|it| self.glob(it)).collect();
        let Some(first) = globs.first() else { return };
        let verb = if key == "writes" { "write" } else { "read" };
        let mut add = |shown: &str, globs: &[String]| {
            let about = format!("calls that {verb} {shown}");
            let conditions = format!("{}{key} = {}\n", self.tool_line(), quoted(globs));
            drafts.push(RuleDraft { about, conditions });
        };
        add(&globs.join(", "), &globs);
        if let Some((folder, _)) = first.rsplit_once('/')
            && !folder.is_empty()
        {
            let below = format!("{folder}/**");
            add(&format!("below {folder}/"), &[below]);
        }
    }

    /// Returns the glob that matches one path, as a rules file spells it.
    fn glob(&self, path: &str) -> String {
        let straight = without_detours(path);
        let below = straight.strip_prefix(self.root).and_then(|rest| rest.strip_prefix('/'));
        globset::escape(below.unwrap_or(&straight))
    }

    fn tool_line(&self) -> String {
        format!("tool = {}\n", toml::Value::from(self.tool.as_str()))
    }
}

fn quoted(words: &[String]) -> String {
    toml::Value::from(words.to_vec()).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::{Layer, rules_in};

    #[track_caller]
    fn check(call: &DraftedCall<'_>, expected: &[&str]) {
        let drafts = call.drafts();
        let abouts: Vec<&str> = drafts.iter().map(|draft| draft.about.as_str()).collect();
        assert_eq!(abouts, expected);
        for RuleDraft { about, conditions } in &drafts {
            let rule = format!("[[rule]]\nid = \"new\"\n{conditions}effect = \"ask\"\n");
            let rules = rules_in(&rule, "draft", Layer::Operator, None);
            assert_eq!(rules.unwrap_or_else(|err| panic!("{about}: {err}\n{rule}")).rules.len(), 1);
        }
    }

    #[test]
    fn every_draft_is_a_rule_that_can_be_used() {
        let (bash, edit) = (ToolName::from("clemini/bash"), ToolName::from("clemini/edit"));
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let args = json!({"command": "cargo test --lib", "odd": "a\"b\n\u{7f}\u{202e}"});
        let call = DraftedCall {
            tool: &bash,
            args: &args,
            commands: &[words("cargo test --lib"), words("ls")],
            reads: &[],
            writes: &[],
            root: "/w",
        };
        check(
            &call,
            &[
                "commands that begin with `cargo test`",
                "commands that begin with `cargo`",
                "exactly the command `cargo test --lib`",
                "commands that begin with `ls`",
                "this exact call",
                "every call of clemini/bash",
            ],
        );
        // A null has no spelling in TOML.
        let args = json!({"file_path": "a", "odd": null});
        let writes = ["/w/docs/./[a].md".to_owned()];
        let call = DraftedCall { tool: &edit, args: &args, commands: &[], writes: &writes, ..call };
        check(
            &call,
            &[
                "calls that write docs/[[]a[]].md",
                "calls that write below docs/",
                "every call of clemini/edit",
            ],
        );
    }
}
