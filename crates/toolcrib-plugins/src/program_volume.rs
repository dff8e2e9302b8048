//! The volumes of a program: folders of its own that stay from call to call.

use std::fs;
use std::io;
use std::path::{Component, Path};

use serde_json::Value;
use toolcrib_core::worker::{FolderAccess, WorkerFolder};
use toolcrib_core::{ErrorKind, ToolError};

use crate::private_file::make_private_folder;

/// The folder at which a program sees its own files.
pub(crate) const PROGRAM_FOLDER: &str = "/plugin";

/// The most volumes of one program.
pub(crate) const MAX_VOLUMES: usize = 8;

/// The longest path of a volume, in bytes.
const MAX_VOLUME_PATH: usize = 256;

/// The first parts of paths that the sandbox uses itself.
const SYSTEM_FOLDERS: [&str; 17] = [
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc", "run",
    "sbin", "sys", "tmp", "usr", "var",
];

/// A folder that a program sees beside its own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramVolume {
    /// Its name. Every version of a tool has the same volume under this name.
    pub name: String,
    /// The path at which the program sees it.
    pub path: String,
    /// Whether the program may write.
    pub access: FolderAccess,
}

impl ProgramVolume {
    /// Reads a volume: its name, the path, and the mode `ro` or `rw`.
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        let fields = value.as_object()?;
        if fields.keys().any(|field| !["name", "path", "mode"].contains(&field.as_str())) {
            return None;
        }
        let name = value["name"].as_str().filter(|name| is_volume_name(name))?;
        let path = value["path"].as_str().filter(|path| is_volume_path(path))?;
        let access = match value.get("mode").map(Value::as_str) {
            None | Some(Some("rw")) => FolderAccess::Write,
            Some(Some("ro")) => FolderAccess::Read,
            Some(_) => return None,
        };
        Some(Self { name: name.to_owned(), path: path.to_owned(), access })
    }

    /// Returns the volume as whoever approves reads it.
    pub(crate) fn told(&self) -> String {
        let mode = if self.access == FolderAccess::Write { "rw" } else { "ro" };
        format!("{} at {} ({mode})", self.name, self.path)
    }

    /// Whether two volumes have one name, or one is below the other.
    pub(crate) fn collides(&self, other: &Self) -> bool {
        let (one, two) = (Path::new(&self.path), Path::new(&other.path));
        self.name == other.name || one.starts_with(two) || two.starts_with(one)
    }
}

/// Returns volumes as a worker sees them, each a folder below `above` that is made if it is not there. Fails if they
/// hold more than `most_bytes` already.
pub(crate) fn open_volumes(
    volumes: &[ProgramVolume],
    above: &Path,
    most_bytes: u64,
) -> Result<Vec<WorkerFolder>, ToolError> {
    let mut folders = Vec::new();
    let mut held = 0;
    for volume in volumes {
        let folder = above.join(&volume.name);
        let opened = make_private_folder(&folder).and_then(|()| {
            held += bytes_below(&folder)?;
            // Without links in its path, as the sandbox wants it.
            folder.canonicalize()
        });
        let source = opened.map_err(|err| {
            let message = format!("the volume `{}` cannot be used: {err}", volume.name);
            ToolError::new(ErrorKind::Io, message)
        })?;
        folders.push(WorkerFolder {
            source: source.to_string_lossy().into_owned(),
            target: volume.path.clone(),
            access: volume.access,
        });
    }
    if held > most_bytes {
        let message =
            format!("the program's volumes hold {held} bytes, and {most_bytes} are allowed");
        return Err(ToolError::new(ErrorKind::Failed, message)
            .with("reason", "volumes_full")
            .hint(format!(
                "empty `{}`, or let the operator raise `plugins.volume_bytes`",
                above.display()
            )));
    }
    Ok(folders)
}

fn bytes_below(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let meta = entry.metadata()?;
            bytes += meta.len();
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(bytes)
}

fn is_volume_name(name: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "-_".contains(it);
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}

fn is_volume_path(path: &str) -> bool {
    let place = Path::new(path);
    let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
    let Some(Component::Normal(first)) = place.components().nth(1) else { return false };
    place.is_absolute()
        && path.len() <= MAX_VOLUME_PATH
        && place.components().all(is_plain)
        && !path.contains("//")
        && !path.contains("/./")
        && !path.chars().any(char::is_control)
        && !SYSTEM_FOLDERS.iter().any(|it| first == *it)
        && !place.starts_with(PROGRAM_FOLDER)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_volume_has_a_plain_name_and_a_path_that_nothing_else_uses() {
        let parse = |name: &str, path: &str, mode: &str| {
            ProgramVolume::parse(&json!({"name": name, "path": path, "mode": mode}))
        };
        let good = parse("cache", "/data/cache", "ro").unwrap();
        assert_eq!(good.access, FolderAccess::Read);
        assert_eq!(parse("a", "/a", "rw").unwrap().access, FolderAccess::Write);
        for (name, path, mode) in [
            ("", "/data", "rw"),
            ("../x", "/data", "rw"),
            ("Data", "/data", "rw"),
            ("a", "data", "rw"),
            ("a", "/", "rw"),
            ("a", "/data/../etc", "rw"),
            ("a", "/etc/x", "rw"),
            ("a", "/usr", "rw"),
            ("a", "/plugin/x", "rw"),
            ("a", "/data", "w"),
            ("a", "/data\n", "rw"),
        ] {
            assert_eq!(parse(name, path, mode), None, "{name} {path} {mode}");
        }
        assert_eq!(ProgramVolume::parse(&json!({"name": "a", "path": "/a", "size": 1})), None);
        let other = |name, path| parse(name, path, "rw").unwrap();
        assert!(good.collides(&other("b", "/data")));
        assert!(good.collides(&other("cache", "/b")));
        assert!(!good.collides(&other("b", "/data/cached")));
    }

    #[test]
    fn a_volume_that_is_too_full_is_told() {
        let above = tempfile::tempdir().unwrap();
        let volume = ProgramVolume::parse(&json!({"name": "a", "path": "/a"})).unwrap();
        let open = |most| open_volumes(std::slice::from_ref(&volume), above.path(), most);
        let folders = open(10_000).unwrap();
        fs::create_dir(above.path().join("a/deep")).unwrap();
        fs::write(above.path().join("a/deep/file"), [0; 9000]).unwrap();
        assert_eq!((folders.len(), folders[0].target.as_str()), (1, "/a"));
        assert!(open(100_000).is_ok());
        let err = open(8000).unwrap_err();
        assert_eq!(err.context["reason"], "volumes_full");
    }
}
