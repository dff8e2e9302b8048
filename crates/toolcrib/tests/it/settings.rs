//! Settings through the binary: what `config show` prints, and what a wrong file leads to. Who may set what is in
//! `tests/engine/settings.rs`.

use crate::scratch::Scratch;

const USER: &str = "home/.config/toolcrib/config.toml";

#[test]
fn settings_are_shown_with_their_origin() {
    let scratch = Scratch::new();
    let mode = |words: &[&str]| {
        let all = words.iter().copied().chain(["config", "show", "--json"]);
        let mode = scratch.run(all).json()["mode"].clone();
        (mode["value"].as_str().unwrap().to_owned(), mode["origin"].as_str().unwrap().to_owned())
    };
    assert_eq!(mode(&[]), ("standard".to_owned(), "default".to_owned()));
    let flag = |name: &str| ("permissive".to_owned(), format!("flag {name}"));
    assert_eq!(mode(&["--mode", "permissive"]), flag("--mode"));
    assert_eq!(mode(&["-c", "mode=permissive"]), flag("-c"));
    let mut command = scratch.command();
    command.env("TOOLCRIB_MODE", "strict").args(["config", "show", "--origin"]);
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("mode")).unwrap();
    assert!(line.contains("strict") && line.contains("# environment TOOLCRIB_MODE"), "{line}");
}

#[test]
fn a_wrong_file_is_wrong_usage_and_a_loose_one_is_warned_of() {
    let scratch = Scratch::new();
    scratch.put_at(USER, "sandobx = true");
    let ran = scratch.run(["config", "show"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    assert!(ran.stderr.contains("no setting `sandobx`"), "{}", ran.stderr);
    scratch.put_at(USER, "");
    scratch.put(".toolcrib/config.toml", "mode = 'permissive'\n");
    let ran = scratch.run(["config", "show"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: `mode`"), "{}", ran.stderr);
}
