//! The `/etc` that commands see: made once, with nothing but what programs need to run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files that are copied as they are, where they exist.
const COPIED: [&str; 9] = [
    "ld.so.cache",
    "ld.so.conf",
    "localtime",
    "mime.types",
    "os-release",
    "protocols",
    "services",
    "timezone",
    "debian_version",
];

/// Beginnings of the names of folders that are mounted, where they exist: which program a name stands for, and what
/// Java reads first.
const MOUNTED: [&str; 2] = ["alternatives", "java-"];

/// Folders that are mounted, where they exist: whom to trust on the network, if a command may reach a host.
const TRUST: [&str; 4] = ["ca-certificates", "crypto-policies", "pki", "ssl"];

/// Files that are made up: there is one user, and one host.
const MADE_UP: [(&str, &str); 4] = [
    ("passwd", "toolcrib:x:1000:1000::/tmp:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"),
    ("group", "toolcrib:x:1000:\nnogroup:x:65534:\n"),
    ("hosts", "127.0.0.1 localhost toolcrib\n::1 localhost\n"),
    ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
];

/// Makes or updates the folder, and returns the folders to mount into it.
pub(crate) fn prepare(folder: &Path, home: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    for (name, content) in MADE_UP {
        let content = content.replace(":/tmp:", &format!(":{}:", home.display()));
        update(&folder.join(name), content.as_bytes())?;
    }
    for name in COPIED {
        if let Ok(content) = fs::read(Path::new("/etc").join(name)) {
            update(&folder.join(name), &content)?;
        }
    }
    let mut mounted = Vec::new();
    for entry in fs::read_dir("/etc")?.flatten() {
        let name = entry.file_name();
        let shown = name.to_string_lossy();
        let is_wanted = MOUNTED.iter().any(|wanted| shown.starts_with(wanted));
        if (is_wanted || TRUST.contains(&&*shown)) && entry.path().is_dir() {
            fs::create_dir_all(folder.join(&name))?;
            mounted.push(entry.path());
        }
    }
    make_readable(folder)?;
    Ok(mounted)
}

/// Writes a file unless it already has this content.
fn update(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|now| now == content) {
        return Ok(());
    }
    let fresh = path.with_file_name(format!(".new-{}", std::process::id()));
    fs::write(&fresh, content)?;
    make_readable(&fresh)?;
    fs::rename(&fresh, path)
}

/// Makes a file or folder readable for everyone, because commands may run as any user.
fn make_readable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}
