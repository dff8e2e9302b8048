//! What the tests need of the machine beside Rust: installed where it is missing.

use std::error::Error;
use std::process::{Command, Stdio};

/// Programs, each with the package of Debian's that has it.
const NEEDED: [(&str, &str); 7] = [
    ("bwrap", "bubblewrap"),
    ("git", "git"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("python3", "python3"),
    ("pytest-3", "python3-pytest"),
    ("unshare", "util-linux"),
];

/// Installs what is missing.
pub fn install() -> Result<(), Box<dyn Error>> {
    let missing: Vec<&str> = NEEDED
        .iter()
        .filter(|(program, _)| !is_there(program))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let install = [&["install", "-y", "--no-install-recommends"][..], &missing].concat();
    let apt = |words: &[&str]| {
        let done = Command::new("apt-get").args(words).stdout(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    };
    if apt(&install) || apt(&["update"]) && apt(&install) {
        return Ok(());
    }
    Err(format!("the tests need {}; install them", missing.join(", ")).into())
}

/// Commands see programs in the system's folders alone.
fn is_there(program: &str) -> bool {
    ["/usr/bin", "/bin", "/usr/local/bin"]
        .iter()
        .any(|folder| std::path::Path::new(folder).join(program).is_file())
}
