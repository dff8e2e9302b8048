//! Takes one rule out of the text of a rules file, and leaves comments, order and all else as they are.

use serde::Deserialize;
use toml::{Spanned, Table, Value};
use toolcrib_core::escape;

/// Why a rule cannot be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemovalFault {
    /// The file has no such rule.
    NotFound,
    /// The rule is not written as `[[rule]]` with lines of its own.
    Unusual,
}

/// A rules file without a rule.
#[derive(Debug)]
pub(super) struct RemovedRule {
    /// The rest of the file.
    pub(super) text: String,
    /// The id of the rule.
    pub(super) id: String,
    /// The lines that were taken out.
    pub(super) taken: String,
}

#[derive(Deserialize)]
struct RuleTables {
    #[serde(default)]
    rule: Vec<Spanned<Value>>,
}

/// Takes out the rule that `wanted` names: by its id, or by its line as `rules list` shows it.
pub(super) fn without_rule(text: &str, wanted: &str) -> Result<RemovedRule, RemovalFault> {
    let RuleTables { rule } = toml::from_str(text).map_err(|_| RemovalFault::Unusual)?;
    let line_of = |at: usize| text[..at].matches('\n').count();
    let places: Vec<usize> = rule.iter().map(|it| line_of(it.span().start)).collect();
    let line = wanted.strip_prefix("line ").unwrap_or(wanted).parse::<usize>().ok();
    let has_id = |it: &Spanned<Value>| {
        let id = it.get_ref().get("id").and_then(Value::as_str);
        id.is_some_and(|id| id == wanted || escape::line(id) == wanted)
    };
    let by_line = || places.iter().position(|place| Some(place + 1) == line);
    let at = rule.iter().position(has_id).or_else(by_line).ok_or(RemovalFault::NotFound)?;
    let id = rule[at].get_ref().get("id").and_then(Value::as_str);
    let id = id.map_or_else(|| format!("line {}", places[at] + 1), str::to_owned);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let end = places.get(at + 1).map_or(lines.len(), |next| own_end(&lines[..*next]));
    let (before, rest) = lines.split_at(places[at].min(end));
    let (taken, after) = rest.split_at(end - before.len());
    let edited = before.concat() + &after.concat();
    // The edit is made by lines, and TOML is more than lines: what it did is checked.
    let expected = expected(text, at).ok_or(RemovalFault::Unusual)?;
    match edited.parse::<Table>() {
        Ok(left) if left == expected => Ok(RemovedRule { text: edited, id, taken: taken.concat() }),
        _ => Err(RemovalFault::Unusual),
    }
}

/// Returns where the rule at the end of these lines ends. The comment that the last lines are belongs to the next rule.
fn own_end(lines: &[&str]) -> usize {
    let comments = lines.iter().rev().take_while(|line| line.trim_start().starts_with('#')).count();
    lines.len() - comments
}

/// Returns what the file is without the rule with this number.
fn expected(text: &str, at: usize) -> Option<Table> {
    let mut table: Table = text.parse().ok()?;
    let rules = table.get_mut("rule")?.as_array_mut()?;
    rules.remove(at);
    if rules.is_empty() {
        table.remove("rule");
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# mine\n\n[[rule]]\nid = \"a\" # first\neffect = \"ask\"\n\n# about the second\n\
                        [[rule]]\neffect = \"deny\"\nbecause = \"\"\"\n[[rule]]\n\"\"\"\n\n[[rule]]\nid = \"c\"\n\
                        effect = \"ask\"\n# the end\n";

    #[track_caller]
    fn check(wanted: &str, gone: &str) {
        let removed = without_rule(TEXT, wanted).unwrap();
        assert_eq!(removed.taken, gone, "{wanted}");
        assert_eq!(removed.text, TEXT.replacen(gone, "", 1), "{wanted}");
    }

    #[test]
    fn a_rule_is_taken_out_with_its_own_lines_only() {
        check("a", "[[rule]]\nid = \"a\" # first\neffect = \"ask\"\n\n");
        let second = "[[rule]]\neffect = \"deny\"\nbecause = \"\"\"\n[[rule]]\n\"\"\"\n\n";
        check("line 8", second);
        check("8", second);
        check("c", "[[rule]]\nid = \"c\"\neffect = \"ask\"\n# the end\n");
        assert_eq!(without_rule("[[rule]]\neffect = \"ask\"", "1").unwrap().text, "");
    }

    #[test]
    fn what_is_not_there_or_written_otherwise_is_left_alone() {
        for wanted in ["b", "line 2", "11", "", "0"] {
            assert_eq!(without_rule(TEXT, wanted).unwrap_err(), RemovalFault::NotFound, "{wanted}");
        }
        let inline =
            "rule = [{ id = \"a\", effect = \"ask\" }, { id = \"b\", effect = \"ask\" }]\n";
        assert_eq!(without_rule(inline, "a").unwrap_err(), RemovalFault::Unusual);
        assert_eq!(without_rule("[[rule", "a").unwrap_err(), RemovalFault::Unusual);
    }
}
