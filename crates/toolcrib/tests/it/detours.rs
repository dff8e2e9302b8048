//! Ways around a rule, through the binary. The tables of such ways are in `tests/engine/`.

use crate::scratch::Scratch;

#[test]
fn a_way_around_a_rule_is_refused_as_the_straight_way_is() {
    let scratch = Scratch::new();
    let rules = "[[rule]]\npaths = [\"secrets/**\"]\neffect = \"deny\"\n";
    scratch.put_at("home/.config/toolcrib/rules.toml", rules);
    scratch.put("secrets/key", "k");
    scratch.put("docs/a", "a");
    for (command, expect) in
        [("cat docs/a", "allow"), ("cat secrets/key", "deny"), ("cd secrets && cat key", "deny")]
    {
        let command = format!("command={command}");
        let got = scratch.run(["policy", "explain", "clemini/bash", &command, "--json"]);
        assert_eq!(got.json()["decision"], expect, "{command}");
    }
    let got = scratch.run(["call", "clemini/read_file", "file_path=secrets/key"]);
    assert_eq!(got.code, 3, "{}", got.stdout);
}

#[test]
fn an_agents_word_does_for_what_it_confirms_and_no_more() {
    let scratch = Scratch::new();
    let confirmed = |command: &str| {
        let args = format!(r#"{{"command": "{command}", "confirmed": true}}"#);
        scratch.run(["-c", "policy.confirm=model", "call", "clemini/bash", &args, "--json"]).code
    };
    scratch.put("old", "");
    assert_eq!(confirmed("ls; rm old"), 0, "the control: the rest needs nobody");
    assert_eq!(confirmed("install -d new; rm -f nothing"), 4);
    for command in [
        "find . -exec ./evil x ';' -name zz -delete",
        "git push --force --receive-pack=./evil . HEAD",
        "sudo ./evil",
        "dd if=old of=new",
    ] {
        assert_eq!(confirmed(command), 4, "{command}");
    }
    let rule = "[[rule]]\ntool = \"bash\"\neffect = \"ask\"\nconfirm = true\n";
    scratch.put(".toolcrib/rules.toml", rule);
    assert_eq!(confirmed("install -d new"), 4);
    assert!(!scratch.work().join("new").exists());
}
