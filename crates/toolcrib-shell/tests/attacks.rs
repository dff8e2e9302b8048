//! Commands that try to get past rules for their first words. None of them does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use toolcrib_core::command_reading::ReadShell;
use toolcrib_core::policy::{Layer, Policy, Rule, Subject, rules_in};
use toolcrib_core::{Mode, Tier, Verdict};
use toolcrib_shell::BashReader;

/// Each would make a file `PWN`, or reach something, if it ran.
const ATTACKS: &[(&str, &str)] = &[
    ("S-001", "echo hi && touch PWN"),
    ("S-002", "echo hi;touch PWN"),
    ("S-003", "false || touch PWN"),
    ("S-004", "echo hi | tee PWN"),
    ("S-005", "echo a&touch PWN"),
    ("S-007", "echo hi\r\ntouch PWN"),
    ("S-012", "cat <(touch PWN)"),
    ("S-016", "echo(){ command touch PWN; }; echo hi"),
    ("S-017", "echo x > PWN"),
    ("S-019", "echo x &>PWN"),
    ("S-020", "echo x 3>PWN >&3"),
    ("S-021", "echo x 1<>PWN"),
    ("S-023", "bash <<< \"touch PWN\""),
    ("S-024", "FOO=1 touch PWN"),
    ("S-026", "env -S \"touch PWN\""),
    ("S-027", "command touch PWN"),
    ("S-029", "eval touch PWN"),
    ("S-032", "{touch,PWN}"),
    ("S-035", "to\"\"uch PWN"),
    ("S-038", "tou\\\nch PWN"),
    ("S-040", "a=touch; $a PWN"),
    ("S-043", "echo \"NWP hcuot\" | rev | sh"),
    ("S-044", "test -v 'x[$(touch PWN)]'"),
    ("S-045", "[[ 'x[$(touch PWN)]' -eq 0 ]]"),
    ("S-047", "declare 'x[$(touch PWN)]=1'"),
    ("S-050", "x='$(touch PWN)'; echo \"${x@P}\""),
    ("S-051", "declare -n r='x[$(touch PWN)]'; echo $r"),
    ("S-052", "mapfile -C 'touch PWN #' -c 1 a <<< x"),
    ("S-053", "trap 'touch PWN' EXIT"),
    ("S-054", "printf 'touch PWN' > e; BASH_ENV=e bash -c :"),
    ("S-055", "PATH=.:$PATH ls"),
    ("S-058", "export GIT_PAGER=\"touch PWN\""),
    (
        "S-062",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0=\"touch PWN;false\" git status",
    ),
    ("S-063", "GIT_EXTERNAL_DIFF=\"touch PWN;true\" git diff"),
    ("S-064", "git diff --output=PWN"),
    ("S-065", "git log -1 -p --output=PWN"),
    ("S-066", "git grep -O\"touch PWN;true\" a"),
    ("S-067", "git ls-remote --upload-pack=\"touch PWN;false\" ."),
    ("S-068", "git -c protocol.ext.allow=always ls-remote \"ext::sh -c touch% PWN\""),
    ("S-069", "git --exec-path=xp foo"),
    ("S-072", "find . -name f.txt -delete"),
    ("S-073", "find . -maxdepth 0 -fprintf PWN x"),
    ("S-075", "find . -{delete,print}"),
    ("S-077", "sed \"s/a/b/w PWN\" f.txt"),
    ("S-079", "echo \"touch PWN\" | sed \"s/x*/&/e\""),
    ("S-082", "awk 'BEGIN{print 1 > \"PWN\"}'"),
    ("S-083", "sort --compress-program=./pay.sh -S 1M big"),
    ("S-084", "sort --compress-prog ./pay.sh -S 1M big"),
    ("S-085", "sort -o PWN f.txt"),
    ("S-091", "rg --pre ./pay.sh x"),
    ("S-094", "LESSOPEN=\"|touch PWN;cat %s\" less f.txt"),
    ("S-096", "make -s --eval=\"$(printf 'x:\\n\\ttouch PWN')\" x"),
    ("S-098", "gdb -batch -ex \"shell touch PWN\""),
    ("S-100", "curl -s -K cfg"),
    ("S-101", "npm test"),
    ("S-102", "timeout 5 touch PWN"),
    ("S-103", "cd .. && touch w/PWN"),
    ("S-104", "echo hi #; echo\ntouch PWN"),
    ("S-105", "case x in x) touch PWN;; esac"),
    ("S-106", "for i in 1; do touch PWN; done"),
    ("S-107", "coproc touch PWN; sleep .2"),
    (
        "S-109",
        "true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && true && touch PWN",
    ),
    ("S-111", "\u{441}url http://x"),
    ("S-115", "echo hi &&& touch PWN"),
    ("S-117", "echo hi > /dev/tcp/127.0.0.1/80"),
];

/// A rule for every program that an attack begins with, as someone would write it who trusts it.
const TRUSTING: &str = r#"
[[rule]]
argv = [["[", "[[", "a=touch", "awk", "bash", "case", "cat", "cd", "command", "coproc", "curl", "declare", "echo", "env", "eval",
    "export", "false", "find", "for", "gdb", "less", "ls", "make", "mapfile", "printf", "rg", "sed", "sort", "test",
    "timeout", "trap", "true", "x", "{touch,PWN}", "git"]]
effect = "allow"

[[rule]]
id = "no-touch"
argv = ["touch"]
effect = "deny"
"#;

fn policy(text: &str) -> Policy {
    let rules: Vec<Rule> =
        rules_in(text, "test", Layer::Operator, Some(&BashReader::default())).unwrap().rules;
    Policy::new(Mode::Standard, rules)
}

fn verdict(policy: &Policy, command: &str) -> Verdict {
    let reading = BashReader::default().read(command);
    let subject = Subject {
        tool: &"clemini/bash".into(),
        tier: Tier::Restricted,
        canonical: "",
        root: "/project",
        reads: &[],
        writes: &reading.writes,
        only_edits_text: false,
        hosts: &[],
        reading: Some(&reading),
    };
    policy.decide(&subject, jiff::Timestamp::UNIX_EPOCH, &[]).verdict()
}

#[test]
fn no_attack_is_allowed_by_a_rule_for_its_first_word() {
    let policy = policy(TRUSTING);
    for (id, command) in ATTACKS {
        assert_ne!(verdict(&policy, command), Verdict::Allow, "{id}: {command}");
    }
    // The control: the rule allows what it is meant for, and denies what it is to deny.
    for command in ["echo hi", "git status && ls -la", "cat a | sort", "find . -name x", "rg x"] {
        assert_eq!(verdict(&policy, command), Verdict::Allow, "{command}");
    }
    assert_eq!(verdict(&policy, "touch x"), Verdict::Deny);
    let long = format!("echo {}", "A".repeat(1 << 20));
    assert_ne!(verdict(&policy, &long), Verdict::Allow);
}

#[test]
fn rules_match_words_and_not_text() {
    let check = |rule: &str, command: &str, expect: Verdict| {
        assert_eq!(verdict(&policy(rule), command), expect, "{command}");
    };
    let status = "[[rule]]\nargv = [\"git\", \"status\"]\neffect = \"allow\"\n";
    check(status, "git status", Verdict::Allow);
    check(status, "git  status   -s", Verdict::Allow);
    check(status, "git status; rm -rf x", Verdict::Ask);
    check(status, "rm -rf x\ngit status", Verdict::Ask);
    check(status, "git statusx", Verdict::Ask);
    check(status, "./git status", Verdict::Ask);
    check(status, "/usr/bin/git status", Verdict::Allow);
    check(status, "GIT status", Verdict::Ask);
    let test = "[[rule]]\nargv = [\"npm\", \"run\", \"test\"]\neffect = \"allow\"\n";
    check(test, "npm run test", Verdict::Allow);
    check(test, "npm run test:evil", Verdict::Ask);
    // A pattern on the text of a command allows nothing.
    let pattern = "[[rule]]\nargs = '.*git status.*'\neffect = \"allow\"\n";
    check(pattern, "git status; rm -rf x", Verdict::Ask);
    // The strictest rule wins, whatever the order, in the three-hundredth command as in the first.
    let both = format!("{status}[[rule]]\nargv = [\"rm\"]\neffect = \"deny\"\n");
    check(&both, "git status && rm x", Verdict::Deny);
    check(&both, &format!("{}rm x", "git status && ".repeat(300)), Verdict::Deny);
}

#[test]
fn a_wrong_file_is_refused_with_its_line() {
    let refused = |text: &str| {
        rules_in(text, "rules.toml", Layer::Operator, Some(&BashReader::default()))
            .unwrap_err()
            .to_string()
    };
    for (text, words) in [
        ("[[rule]]\neffect = \"alow\"\n", "`effect` must be"),
        ("\n\n[[rule]]\neffct = \"allow\"\n", "line 4"),
        ("[[rule]]\nargv = [\"git\"\n", "line"),
        ("[[rule]]\nargs = '.*'\neffect = \"allow\"\n", "matches everything"),
        ("[[rule]]\nargs = '(a{1000}){1000}'\neffect = \"ask\"\n", "cannot be used"),
        ("[[rule]]\nwords = 'rm.*'\neffect = \"allow\"\n", "a rule that allows cannot use `words`"),
        ("[[rule]]\nargv = []\neffect = \"allow\"\n", "`argv` is empty"),
        ("[[rule]]\npaths = ['a{']\neffect = \"allow\"\n", "`paths`"),
        ("[[rule]]\nexpires = 'soon'\neffect = \"allow\"\n", "`expires` must be a time"),
        ("[[rule]]\ndanger = 'x'\neffect = \"deny\"\n", "`danger` must be"),
        (
            "[[rule]]\nid = 'a'\nargv = ['git']\neffect = 'allow'\ncovers = ['git status', 'ls']\n",
            "does not cover its example `ls`",
        ),
        (
            "[[rule]]\nid = 'a'\nargv = ['git']\neffect = 'allow'\nspares = ['git status']\n",
            "does not spare its example `git status`",
        ),
        (
            "[[rule]]\nid = 'a'\neffect = 'ask'\n[[rule]]\nid = 'a'\neffect = 'ask'\n",
            "another rule already has the id `a`",
        ),
    ] {
        let said = refused(text);
        assert!(said.contains(words), "{text}: {said}");
        assert!(said.starts_with("`rules.toml`, line "), "{said}");
    }
    // A pattern that would take for ever in other engines is harmless here.
    let slow = "[[rule]]\nargs = '^(a+)+$'\neffect = \"deny\"\n";
    assert!(rules_in(slow, "x", Layer::Operator, None).is_ok());
    // A project's rule can tighten, but not loosen.
    let loose = "[[rule]]\nid = 'a'\nargv = ['ls']\neffect = 'allow'\n[[rule]]\nid = 'b'\neffect = 'deny'\n";
    let said = rules_in(loose, "x", Layer::Project, None).unwrap();
    assert_eq!(said.rules.len(), 1);
    assert!(said.warnings[0].contains("a project can only tighten"), "{:?}", said.warnings);
}
