//! The mechanisms that a sandbox is made of: where bubblewrap is, and what to do when one of them is missing.

use std::fmt;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use toolcrib_core::ToolError;

use super::end_notes;

/// The folders that bubblewrap is searched in. Only the superuser can change them.
const BUBBLEWRAP_FOLDERS: [&str; 4] =
    ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

/// Why no bubblewrap can be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoBubblewrap {
    /// The setting is not an absolute path.
    RelativePath(PathBuf),
    /// None of the folders has one.
    Missing,
    /// Another user than the superuser could have put it there.
    Untrusted(PathBuf),
    /// It is not an executable file.
    NoProgram(PathBuf),
}

impl fmt::Display for NoBubblewrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RelativePath(path) => write!(f, "`{}` is not an absolute path", path.display()),
            Self::Missing => f.write_str("no `bwrap` in the system's folders"),
            Self::Untrusted(path) => {
                write!(f, "users other than root can change `{}`", path.display())
            }
            Self::NoProgram(path) => write!(f, "`{}` is not a program", path.display()),
        }
    }
}

/// Finds bubblewrap: at `given`, or in the system's folders. A file that others than the superuser could have put there
/// is not trusted.
pub(crate) fn find_bubblewrap(given: Option<&Path>) -> Result<PathBuf, NoBubblewrap> {
    let candidates: Vec<PathBuf> = match given {
        Some(path) if path.is_absolute() => vec![path.to_owned()],
        Some(path) => return Err(NoBubblewrap::RelativePath(path.to_owned())),
        None => BUBBLEWRAP_FOLDERS.iter().map(|folder| Path::new(folder).join("bwrap")).collect(),
    };
    let mut why = NoBubblewrap::Missing;
    for path in candidates {
        let Ok(meta) = fs::metadata(&path) else { continue };
        if meta.uid() != 0 || meta.mode() & 0o022 != 0 {
            why = NoBubblewrap::Untrusted(path);
        } else if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 {
            why = NoBubblewrap::NoProgram(path);
        } else {
            return Ok(path);
        }
    }
    Err(why)
}

/// Returns the error for a command that is not run because a mechanism is missing, with what to do about it.
pub(crate) fn missing(mechanism: &str, why: &str) -> ToolError {
    end_notes::unavailable(mechanism, why, fix(mechanism))
}

/// Returns what to do when a mechanism is missing.
pub(crate) fn fix(mechanism: &str) -> &'static str {
    match mechanism {
        "bubblewrap" => "install the package `bubblewrap`",
        "landlock" => {
            "use Linux 6.2 or newer with Landlock enabled (add `landlock` to `lsm=` on the kernel command line)"
        }
        "user namespaces" => {
            "allow ordinary users to make user namespaces: set sysctl user.max_user_namespaces above 0, and, where they \
             exist, kernel.unprivileged_userns_clone=1 and \
             kernel.apparmor_restrict_unprivileged_userns=0; in a container, let its seccomp profile allow them too"
        }
        "idmapped mount" => {
            "put the workspace on a file system that can map owners (ext4, xfs, btrfs, tmpfs), \
             make an ordinary user its owner, or run toolcrib as an ordinary user"
        }
        "launcher" => {
            "check that `/proc` is mounted, that the toolcrib program is executable, and that the limit on open \
             files (`ulimit -n`) is not reached"
        }
        "seccomp" => "use a kernel with CONFIG_SECCOMP_FILTER",
        "mount namespace" => "run toolcrib as an ordinary user, or as root with the right to mount",
        _ => "check the reason in parentheses",
    }
}
