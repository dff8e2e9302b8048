//! Where settings come from, and who may set what.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;
use toolcrib::settings::{FlagValue, Settings, table};
use toolcrib::wiring::{Config, OpenOptions};
use toolcrib::{CliError, CliErrorKind};

use crate::opened::Scratch;

const USER: &str = "home/.config/toolcrib/config.toml";

fn read(options: &OpenOptions) -> Result<Settings, CliError> {
    Config::read(options).map(|config| config.settings)
}

/// Returns the value of a setting, and where it came from.
fn shown(settings: &Settings, name: &str) -> (String, String) {
    let (_, value, origin) = settings.all().find(|(setting, ..)| setting.name == name).unwrap();
    (value.to_string(), origin.to_string())
}

/// Returns the mode, and where it came from.
#[track_caller]
fn mode(options: &OpenOptions) -> (String, String) {
    let (mode, origin) = shown(&read(options).unwrap_or_else(|err| panic!("{err}")), "mode");
    (mode.trim_matches('"').to_owned(), origin)
}

#[track_caller]
fn refused(scratch: &Scratch) -> CliError {
    let refused = read(&scratch.options(&[])).err().unwrap();
    assert_eq!(refused.kind, CliErrorKind::Settings, "{refused}");
    refused
}

#[test]
fn later_places_win_and_say_so() {
    let mut scratch = Scratch::new();
    assert_eq!(mode(&scratch.options(&[])), ("standard".to_owned(), "default".to_owned()));
    scratch.put_at(USER, "mode = 'permissive'\n");
    let (found, from) = mode(&scratch.options(&[]));
    assert!(found == "permissive" && from.ends_with("config.toml"), "{found} {from}");
    scratch.put(".toolcrib/config.toml", "mode = 'strict'\n");
    let (found, from) = mode(&scratch.options(&[]));
    assert!(found == "strict" && from.ends_with(".toolcrib/config.toml"), "{found} {from}");
    scratch.environment.insert("TOOLCRIB_MODE".to_owned(), "permissive".into());
    let found = mode(&scratch.options(&[])).0;
    assert_eq!(found, "strict", "the environment can only tighten");
    fs::remove_file(scratch.work().join(".toolcrib/config.toml")).unwrap();
    scratch.environment.insert("TOOLCRIB_MODE".to_owned(), "standard".into());
    let expect = ("standard".to_owned(), "environment TOOLCRIB_MODE".to_owned());
    assert_eq!(mode(&scratch.options(&[])), expect);
    let flags = vec![FlagValue::new("--mode", table::MODE, "permissive".to_owned())];
    let flagged = OpenOptions { flags, ..scratch.options(&[]) };
    assert_eq!(mode(&flagged), ("permissive".to_owned(), "flag --mode".to_owned()));
    let assigned = scratch.options(&["mode=permissive"]);
    assert_eq!(mode(&assigned), ("permissive".to_owned(), "flag -c".to_owned()));
}

#[test]
fn a_project_that_loosens_is_ignored_aloud() {
    let scratch = Scratch::new();
    scratch.put("a", "b");
    let loose = "mode = 'permissive'\nroots = ['/']\n[files]\nhardlinks = 'allow'\n";
    scratch.put(".toolcrib/config.toml", loose);
    let crib = scratch.open();
    let write = json!({"file_path": "a", "content": "x"});
    assert_eq!(crib.call("clemini/write_file", write).kind(), "approval_required");
    for key in ["mode", "roots", "files.hardlinks"] {
        let warnings = &crib.crib.settings.warnings;
        assert!(warnings.iter().any(|it| it.starts_with(&format!("`{key}`"))), "{warnings:?}");
    }
    assert_eq!(scratch.text("a"), "b");
    scratch.put(".toolcrib/config.toml", "mode = 'strict'\n");
    let read = scratch.open().call("clemini/read_file", json!({"file_path": "a"}));
    assert_eq!(read.kind(), "approval_required", "strict asks before it reads");
}

#[test]
fn a_file_that_others_could_have_written_is_not_trusted() {
    let scratch = Scratch::new();
    scratch.put_at(USER, "mode = 'permissive'\n");
    assert_eq!(mode(&scratch.options(&[])).0, "permissive");
    fs::set_permissions(scratch.path(USER), fs::Permissions::from_mode(0o666)).unwrap();
    let refused = refused(&scratch);
    assert!(refused.message.contains("not trusted"), "{refused}");
}

#[test]
fn typing_errors_are_refused() {
    let mut scratch = Scratch::new();
    for (text, says) in [
        ("sandobx = true", "no setting `sandobx`"),
        ("[files]\nhardlink = 'allow'", "did you mean `files.hardlinks`?"),
        ("mode = 3", "`mode` must be"),
        ("mode = ", "line 1"),
        ("[limits]\ndeadline_ms = 0", "between 1 and"),
    ] {
        for place in [USER, "project/.toolcrib/config.toml"] {
            scratch.put_at(place, text);
            let refused = refused(&scratch).to_string();
            assert!(refused.contains(says), "{place}: {refused}");
            scratch.put_at(place, "");
        }
    }
    assert!(read(&scratch.options(&[])).is_ok());
    scratch.environment.insert("TOOLS_MAX_READ_BYTES".to_owned(), "lots".into());
    refused(&scratch);
}

#[test]
fn a_projects_file_cannot_be_a_way_out() {
    let scratch = Scratch::new();
    scratch.put(".toolcrib/", "");
    let path = scratch.work().join(".toolcrib/config.toml");
    symlink(scratch.path("outside/secret.txt"), &path).unwrap();
    let told = refused(&scratch).to_string();
    assert!(!told.contains("SECRET"), "{told}");
    fs::remove_file(&path).unwrap();
    mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
    refused(&scratch);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "#".repeat(1 << 20)).unwrap();
    refused(&scratch);
    fs::write(&path, "#").unwrap();
    assert!(read(&scratch.options(&[])).is_ok(), "the control");
}

#[test]
fn the_names_of_the_contract_work() {
    let mut scratch = Scratch::new();
    for (name, value) in [
        ("TOOLS_MAX_READ_BYTES", "11"),
        ("TOOLS_TIMEOUT_MS", "12"),
        ("TOOL_ALLOW", "echo, get_time"),
    ] {
        scratch.environment.insert(name.to_owned(), value.into());
    }
    let settings = read(&scratch.options(&[])).unwrap_or_else(|err| panic!("{err}"));
    assert_eq!(shown(&settings, "forgekeeper.max_read_bytes").0, "11");
    assert_eq!(shown(&settings, "forgekeeper.timeout_ms").1, "environment TOOLS_TIMEOUT_MS");
    assert_eq!(shown(&settings, "forgekeeper.allow").0, r#"["echo", "get_time"]"#);
}

#[test]
fn other_roots_are_reached_by_absolute_path_only_if_named() {
    let scratch = Scratch::new();
    let read = json!({"file_path": scratch.path("outside/secret.txt")});
    assert_eq!(scratch.open().call("clemini/read_file", read.clone()).kind(), "outside_root");
    let roots = format!("roots={}", scratch.path("outside").display());
    let got = scratch.open_with(&[&roots]).call("clemini/read_file", read);
    assert!(got.text().contains("SECRET"), "{}", got.text());
}

#[test]
fn an_empty_toolset_offers_nothing() {
    let scratch = Scratch::new();
    let count =
        |settings: &[&str]| scratch.open_with(settings).crib.toolset().unwrap().offers().len();
    // The control: a list that nobody set offers everything.
    assert!(count(&[]) > 10);
    assert_eq!(count(&["toolset=[]"]), 0);
    scratch.put_at(USER, "toolset = []\n");
    assert_eq!(count(&[]), 0);
    let call = scratch.open().call("nachos/calculator", json!({"expression": "1+1"}));
    assert_eq!(call.kind(), "not_offered", "{}", call.text());
    assert!(count(&["toolset=wink"]) > 0);
    // A project can take tools away, but gives none.
    scratch.put(".toolcrib/config.toml", "toolset = ['wink']\n");
    assert_eq!(count(&[]), 0);
    scratch.put_at(USER, "toolset = ['wink']\n");
    assert!(count(&[]) > 0);
    scratch.put(".toolcrib/config.toml", "toolset = []\n");
    assert_eq!(count(&[]), 0);
}

#[test]
fn the_times_that_the_manual_names_are_the_defaults() {
    let settings = Settings::defaults();
    for (name, seconds) in [("policy.approval_seconds", "120"), ("policy.park_seconds", "86400")] {
        assert_eq!(shown(&settings, name), (seconds.to_owned(), "default".to_owned()));
    }
}
