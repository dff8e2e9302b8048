//! What the tests need of the machine beside Rust: installed where it is missing, and never without
//! a word.

#![expect(clippy::print_stdout, reason = "a chore tells what it does")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::docs::root;

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

/// A program that is built from the package registry, to compare with.
pub struct Peer {
    program: &'static str,
    package: &'static str,
    version: &'static str,
}

/// The ripgrep that search is compared with: the version of the crates that search uses.
pub const RIPGREP: Peer = Peer { program: "rg", package: "ripgrep", version: "15.2.0" };

/// The fd that search is compared with.
pub const FD: Peer = Peer { program: "fd", package: "fd-find", version: "10.5.0" };

/// Installs everything that is missing.
pub fn install() -> Result<(), Box<dyn Error>> {
    let missing: Vec<&str> = NEEDED
        .iter()
        .filter(|(program, _)| !is_there(program))
        .map(|(_, package)| *package)
        .collect();
    if !missing.is_empty() && !install_packages(&missing) {
        let missing = missing.join(", ");
        return Err(format!("the tests need {missing}; install them and try again").into());
    }
    RIPGREP.install()?;
    Ok(())
}

/// Installs packages of the system, and says so. Returns whether they are there now.
pub(crate) fn install_packages(packages: &[&str]) -> bool {
    println!("==> installing with apt-get, because they are missing: {}", packages.join(", "));
    let install = [&["install", "-y", "--no-install-recommends"][..], packages].concat();
    let apt = |words: &[&str]| {
        let done = Command::new("apt-get").args(words).stdout(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    };
    apt(&install) || apt(&["update"]) && apt(&install)
}

impl Peer {
    /// Returns the program, installed beside the builds if it is not there.
    pub fn install(&self) -> Result<PathBuf, Box<dyn Error>> {
        let Self { program, package, version } = self;
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root().join("target"), PathBuf::from);
        let folder = target.join("tools");
        let path = folder.join("bin").join(program);
        if self.is_right(&path) {
            return Ok(path);
        }
        println!("==> building {package} {version} into {}, to compare with", folder.display());
        let done = Command::new(env!("CARGO"))
            .args(["install", "--locked", "--force", package, "--version", version, "--root"])
            .arg(&folder)
            .env_remove("CARGO_TARGET_DIR")
            .status()?;
        if done.success() {
            Ok(path)
        } else {
            Err(format!("{package} {version} could not be installed: see above").into())
        }
    }

    fn is_right(&self, path: &Path) -> bool {
        let output = Command::new(path).arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(self.version))
    }
}

/// Whether a program is in the folders of the system: commands see programs in no others.
fn is_there(program: &str) -> bool {
    ["/usr/bin", "/bin", "/usr/local/bin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).is_file())
}
