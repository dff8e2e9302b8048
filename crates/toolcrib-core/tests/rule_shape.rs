//! What is wrong with the shape of a rules file is named all at once, with what was probably meant.

use toolcrib_core::policy::{Layer, rules_in};

#[test]
fn every_unknown_field_is_named_with_what_was_meant() {
    let text = "[[rule]]\neffect = \"ask\"\npath = \"a\"\n\n[[rule]]\ntool = \"x\"\n\
                reason = \"b\"\nzzzzzz = 1\n";
    let err = rules_in(text, "r.toml", Layer::Operator, None).unwrap_err();
    let lines = err.lines();
    let expected = [
        "`r.toml`, line 3: a rule has no field `path`: did you mean `paths`?",
        "`r.toml`, line 7: a rule has no field `reason`: did you mean `because`?",
        "`r.toml`, line 8: a rule has no field `zzzzzz`: its fields are `id`",
        "`r.toml`, line 5: the rule has no `effect`: write",
    ];
    for (line, expected) in lines.lines().zip(expected) {
        assert!(line.starts_with(expected), "{lines}");
    }
    assert_eq!(lines.lines().count(), expected.len(), "{lines}");
    let err = rules_in("[[rules]]\neffect = 'ask'\n", "r.toml", Layer::Operator, None);
    let told = err.unwrap_err().to_string();
    assert!(told.contains("line 1: there is no field `rules`: a rules file has"), "{told}");
}

#[test]
fn a_value_of_another_type_is_told_with_the_one_that_is_wanted() {
    for (field, expected) in [
        (
            "argv = \"cargo test\"",
            "`argv` must be a list of words, not a value of type string: write argv = [\"cargo\", \"test\"]",
        ),
        (
            "covers = \"a b\"",
            "`covers` must be a list, not a value of type string: write covers = [\"a b\"]",
        ),
        ("paths = 1", "`paths` must be a string or a list of strings, not a value of type integer"),
        ("exact = \"yes\"", "`exact` must be true or false, not a value of type string"),
    ] {
        let text = format!("[[rule]]\neffect = \"ask\"\n{field}\n");
        let err = rules_in(&text, "r.toml", Layer::Operator, None).unwrap_err().lines();
        assert_eq!(err, format!("`r.toml`, line 3: {expected}"));
    }
}

#[test]
fn every_field_that_rules_have_is_known() {
    for field in [
        "id = 'a'",
        "tool = 'a'",
        "principal = 'a'",
        "role = 'a'",
        "door = 'a'",
        "argv = ['a']",
        "exact = true",
        "words = 'a'",
        "danger = 'fork_bomb'",
        "paths = 'a'",
        "writes = 'a'",
        "hosts = 'a.example'",
        "args = 'a'",
        "call = {}",
        "because = 'a'",
        "expires = '2030-01-01T00:00:00Z'",
        "confirm = true",
        "enabled = true",
        "covers = []",
        "spares = []",
    ] {
        for wrong in ["", "nope = 1\n"] {
            let text = format!("[[rule]]\neffect = 'ask'\n{field}\n{wrong}");
            let told = rules_in(&text, "r.toml", Layer::Operator, None);
            let told = told.err().map_or_else(String::new, |err| err.lines());
            let name = field.split(' ').next().unwrap();
            assert!(!told.contains(&format!("field `{name}`")), "{told}");
            assert_eq!(told.contains("no field `nope`"), !wrong.is_empty(), "the control: {told}");
        }
    }
}
