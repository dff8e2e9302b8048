//! Settings through the binary: what `config show` prints, and what a wrong file leads to. Who may set what is in
//! `tests/engine/settings.rs`.

use crate::scratch::{Ran, Scratch};

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

#[test]
fn a_setting_can_be_read_set_and_edited() {
    let scratch = Scratch::new();
    let path = scratch.run(["config", "path"]).stdout.trim_end().to_owned();
    assert!(path.ends_with("/.config/toolcrib/config.toml"), "{path}");
    let get = |key: &str| scratch.run(["config", "get", key]);
    assert_eq!(get("mode").stdout, "standard\n");
    assert_eq!(get("sandbox.processes").stdout, "512\n");
    let ran = get("mod");
    assert!(ran.code == 2 && ran.stderr.contains("did you mean `mode`"), "{}", ran.stderr);

    let set = |key: &str, value: &str| scratch.run(["config", "set", key, value]);
    let ran = set("sandbox.memory_bytes", "2G");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(get("sandbox.memory_bytes").stdout, "2147483648\n");
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "[sandbox]\nmemory_bytes = \"2G\"\n");
    std::fs::write(&path, format!("# mine\n\n{text}")).unwrap();
    assert_eq!(set("mode", "strict").code, 0);
    assert_eq!(set("toolset", "wink,clemini/edit").code, 0);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("# mine\n") && text.contains("[\"wink\", \"clemini/edit\"]"), "{text}");
    let told = scratch.run(["config", "get", "mode", "--json"]).json();
    assert_eq!((&told["value"], &told["origin"]), (&"strict".into(), &path.as_str().into()));

    // What is not valid is not written.
    for (key, value, says) in [
        ("mode", "loose", "`strict`, `standard` or `permissive`, not `loose`"),
        ("sandbox.memory_bytes", "4X", "such as 512M, 4G"),
        ("sandbox.processes", "0", "between 1 and"),
        ("sandbox.procesess", "5", "did you mean `sandbox.processes`"),
        ("hikai.output_types", "x", "`toolcrib config edit`"),
    ] {
        let ran = set(key, value);
        assert!(ran.code == 2 && ran.stderr.contains(says), "{key}: {}", ran.stderr);
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let ran = scratch.run(["-c", "mode=permissive", "config", "set", "mode", "standard"]);
    let told = "flag -c overrides it here: the value in force is \"permissive\"";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
}

#[test]
fn a_setting_that_is_unset_has_its_default_again() {
    let scratch = Scratch::new();
    let default = scratch.run(["config", "get", "policy.approval_seconds"]).stdout;
    assert_eq!(scratch.run(["config", "set", "policy.approval_seconds", "33"]).code, 0);
    assert_eq!(scratch.run(["config", "get", "policy.approval_seconds"]).stdout, "33\n");
    let ran = scratch.run(["config", "unset", "policy.approval_seconds"]);
    assert!(ran.code == 0 && ran.stdout.starts_with("Removed "), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(scratch.run(["config", "get", "policy.approval_seconds"]).stdout, default);
    let ran = scratch.run(["config", "unset", "policy.approval_seconds"]);
    assert!(ran.code == 0 && ran.stdout.starts_with("There is no "), "{}", ran.stdout);
    assert_eq!(scratch.run(["config", "unset", "no.such"]).code, 2);
}

#[test]
fn an_edited_file_is_checked_and_can_be_mended() {
    let scratch = Scratch::new();
    let edit = |editor: &str| -> Ran {
        scratch.command().env("EDITOR", editor).args(["config", "edit"]).output().unwrap().into()
    };
    let ran = edit("printf 'mode = 1\\n' >");
    assert!(ran.code == 2 && ran.stderr.contains("`mode` must be"), "{}", ran.stderr);
    assert_eq!(scratch.run(["config", "get", "mode"]).code, 2, "the control: the file is broken");
    // A wrong value can be set right, but nothing while another is wrong.
    let ran = scratch.run(["config", "set", "mode", "strict"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(edit("printf 'mode = 1\\nroots = 3\\n' >").code, 2);
    let ran = scratch.run(["config", "set", "mode", "strict"]);
    assert!(ran.code == 2 && ran.stderr.contains("config edit"), "{}", ran.stderr);
    let ran = edit("printf 'mode = \"strict\"\\n' >");
    assert!(ran.code == 0 && ran.stdout.contains("is valid"), "{}", ran.stderr);
    assert_eq!(scratch.run(["config", "get", "mode"]).stdout, "strict\n");
    let ran = edit("false");
    assert!(ran.code == 2 && ran.stderr.contains("EDITOR"), "{}", ran.stderr);
}

#[test]
fn variables_that_are_no_settings_are_known_and_others_are_warned_about() {
    let scratch = Scratch::new();
    let shown = |name: &str| -> Ran {
        let mut command = scratch.command();
        command.env(name, "x").args(["config", "show"]).output().unwrap().into()
    };
    for name in ["TOOLCRIB_TOKEN_FILE", "TOOLCRIB_CA_FILE"] {
        assert!(!shown(name).stderr.contains("is not a setting"), "{}", shown(name).stderr);
    }
    let unknown = shown("TOOLCRIB_MODES").stderr;
    assert!(unknown.contains("`TOOLCRIB_MODES` is not a setting"), "{unknown}");
}
