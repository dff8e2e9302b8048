//! The real ripgrep, to compare with. It is installed beside the build if it is not there.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use toolcrib_core::escape::name;
use toolcrib_core::search::{Pattern, Scope};

use crate::privilege::is_root;

/// The version whose answers count as right: that of the crates we use.
const VERSION: &str = "15.2.0";

/// The user who reads the trees of these tests, so that root does not read by its privileges.
const READER: u32 = 65534;

/// Returns the binary, as a path that leads to an open file. Whoever runs it can reach it like that,
/// wherever the build is, and no copy is left behind in the temporary folder.
pub(crate) fn binary() -> &'static Path {
    static BINARY: OnceLock<(File, PathBuf)> = OnceLock::new();
    let (_, path) = BINARY.get_or_init(|| {
        let file = File::open(installed()).unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        (file, path.into())
    });
    path
}

/// Returns where the binary is. It is beside the folders of the builds, so that it is installed once
/// for all of them; `cargo xtask tools` installs it too.
fn installed() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools");
    let binary = folder.join("bin/rg");
    let is_right = Command::new(&binary).arg("--version").output().is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).starts_with(&format!("ripgrep {VERSION}"))
    });
    if !is_right {
        let line = format!("\ninstalling ripgrep {VERSION}, to compare with\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let done = Command::new(cargo)
            .args(["install", "--quiet", "--locked", "--force", "ripgrep", "--version", VERSION])
            .arg("--root")
            .arg(&folder)
            .env_remove("CARGO_TARGET_DIR")
            .status()
            .unwrap();
        assert!(done.success(), "ripgrep could not be installed");
    }
    binary
}

/// A line that ripgrep found: path, number, text without its line break.
pub(crate) type Hit = (String, u64, String);

fn command(root: &Path) -> Command {
    let mut command = Command::new(binary());
    command.current_dir(root).env_remove("RIPGREP_CONFIG_PATH").stdin(Stdio::null());
    as_reader(&mut command);
    command
}

/// Makes a command run as the reader.
pub(crate) fn as_reader(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    if is_root() {
        command.uid(READER).gid(READER);
    }
}

/// Makes the reader the owner of what is at a path.
pub(crate) fn give_to_reader(path: &Path) {
    if is_root() {
        std::os::unix::fs::lchown(path, Some(READER), Some(READER)).unwrap();
    }
}

/// Makes the reader the owner of everything in a tree.
pub(crate) fn give_all_to_reader(root: &Path) {
    if is_root() {
        for path in
            crate::random_tree::directories(root).iter().chain(&crate::random_tree::files(root))
        {
            give_to_reader(path);
        }
    }
}

/// Returns every line that ripgrep finds in a directory of `root`, in files of a type if the scope has one.
pub(crate) fn lines(root: &Path, scope: &Scope, pattern: &Pattern) -> BTreeSet<Hit> {
    let mut command = command(root);
    command.args(["--json", "--no-messages"]);
    if pattern.is_literal {
        command.arg("-F");
    }
    if pattern.ignores_case {
        command.arg("-i");
    }
    // `$` matches before a carriage return, as with this flag.
    if !pattern.is_literal && pattern.text.replace(r"\$", "").contains('$') {
        command.arg("--crlf");
    }
    match scope.kind.as_deref() {
        Some(known @ ("rust" | "txt" | "all")) => command.args(["-t", known]),
        Some(other) => {
            command.arg(format!("--type-add=extension:*.{other}")).args(["-t", "extension"])
        }
        None => &mut command,
    };
    command.arg("-e").arg(&pattern.text).args(&scope.directory);
    let output = command.output().unwrap();
    let mut hits = BTreeSet::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: Value = serde_json::from_slice(line).unwrap();
        if message["type"] != "match" {
            continue;
        }
        let data = &message["data"];
        let text = bytes(&data["lines"]);
        let text = text.strip_suffix(b"\n").unwrap_or(&text);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let number = data["line_number"].as_u64().unwrap();
        hits.insert((spell(&bytes(&data["path"])), number, String::from_utf8_lossy(text).into()));
    }
    hits
}

/// Returns every file that ripgrep would search below `directory` of `root`.
pub(crate) fn files(root: &Path, directory: Option<&str>) -> BTreeSet<String> {
    let output = command(root)
        .args(["--files", "--null", "--no-messages"])
        .args(directory)
        .output()
        .unwrap();
    let paths = output.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(spell).collect()
}

/// Spells a path as our answers do.
pub(crate) fn spell(path: &[u8]) -> String {
    let path = path.strip_prefix(b"./").unwrap_or(path);
    let names: Vec<_> = path.split(|byte| *byte == b'/').map(name).collect();
    names.join("/")
}

pub(crate) fn spell_path(path: &Path) -> String {
    spell(path.as_os_str().as_bytes())
}

fn bytes(value: &Value) -> Vec<u8> {
    match value["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => decode(value["bytes"].as_str().unwrap()),
    }
}

/// Decodes base64.
fn decode(text: &str) -> Vec<u8> {
    let digit = |byte: u8| -> u32 {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => 0,
        };
        u32::from(digit)
    };
    let mut bytes = Vec::new();
    for chunk in text.as_bytes().chunks(4) {
        let word = chunk.iter().fold(0, |word, byte| word << 6 | digit(*byte));
        let padding = chunk.len() - chunk.split(|byte| *byte == b'=').next().map_or(0, <[u8]>::len);
        bytes.extend_from_slice(&word.to_be_bytes()[1..4 - padding]);
    }
    bytes
}

#[test]
fn base64_is_read() {
    assert_eq!(decode("aGVsbG8="), b"hello");
    assert_eq!(decode("/w=="), b"\xff");
}
