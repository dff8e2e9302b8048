//! A rule is shown as it is written: its own lines, and nothing of its neighbours.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use toolcrib_core::policy::{Layer, rules_in};

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let rules = rules_in(text, "rules.toml", Layer::Operator, None).unwrap().rules;
    let texts: Vec<&str> = rules.iter().map(|rule| rule.text.as_str()).collect();
    assert_eq!(texts, expected);
    for rule in &rules {
        let line = text.lines().nth(rule.source.line - 1).unwrap();
        assert!(rule.text.starts_with(line) || line.contains(&rule.text), "{}", rule.text);
    }
}

#[test]
fn a_rule_has_its_own_lines_and_no_others() {
    let (first, second, third) = (
        "[[rule]]\nid = \"a\" # first\neffect = \"ask\"",
        "[[rule]]\neffect = \"deny\"\nbecause = \"\"\"\n[[rule]]\n\"\"\"",
        "[[rule]]\nid = \"é\"\neffect = \"ask\"\n# within\nhosts = \"example.com\"",
    );
    let text =
        format!("# mine\n\n{first}\n\n# about the second\n\n{second}\n{third}\n\n# the end\n");
    check(&text, &[first, second, third]);
    check(first, &[first]);
    check("", &[]);
}

#[test]
fn rules_of_one_line_have_only_their_own_part() {
    let (one, two) = ("{ id = \"a\", effect = \"ask\" }", "{ id = \"b\", effect = \"deny\" }");
    let rules = rules_in(&format!("rule = [{one}, {two}]\n"), "f", Layer::Operator, None);
    let rules = rules.unwrap().rules;
    assert_eq!([rules[0].text.as_str(), rules[1].text.as_str()], [one, two]);
}
