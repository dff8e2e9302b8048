//! A scratch place for tests: a workspace, something outside of it, a home and a state folder.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Who makes the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Own,
    /// `nobody`, where the tests run as root.
    Nobody,
}

/// The id of `nobody`.
pub(crate) const NOBODY: u32 = 65534;

/// Returns everyone the tests can be: an ordinary user always, root too if it is root that tests.
pub(crate) fn users() -> Vec<User> {
    let is_root = rustix::process::geteuid().is_root();
    if is_root { vec![User::Own, User::Nobody] } else { vec![User::Own] }
}

/// A scratch place: a workspace, something outside of it, a home and a state folder.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    pub(crate) user: User,
}

impl Place {
    pub(crate) fn of(user: User) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let place = Self { folder, user };
        for part in ["project", "outside", "home"] {
            fs::create_dir(place.path(part)).unwrap();
            place.own(&place.path(part));
        }
        place.own(place.folder.path());
        place.put_at("outside/secret.txt", "SECRET");
        place
    }

    fn own(&self, path: &Path) {
        if self.user == User::Nobody {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// A path in the scratch place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path("project")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Puts a file into the workspace; a name that ends in `/` is a directory.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        self.put_at(&format!("project/{name}"), content);
    }

    pub(crate) fn put_at(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        let folder = if name.ends_with('/') { path.as_path() } else { path.parent().unwrap() };
        let mut made = self.folder.path().to_owned();
        for part in folder.strip_prefix(self.folder.path()).unwrap() {
            made.push(part);
            if !made.exists() {
                fs::create_dir(&made).unwrap();
                self.own(&made);
            }
        }
        if !name.ends_with('/') {
            fs::write(&path, content).unwrap();
            self.own(&path);
        }
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).unwrap()
    }

    /// Every line of the record but those about the record itself, and those that it says were torn.
    pub(crate) fn record(&self) -> Vec<Value> {
        let all = self.whole_record();
        all.into_iter().filter(|line| line["act"] != "record").collect()
    }

    /// Every line of the record but those that it says were torn.
    pub(crate) fn whole_record(&self) -> Vec<Value> {
        let Ok(folder) = fs::read_dir(self.state().join("context_log")) else { return Vec::new() };
        let mut files: Vec<_> = folder.map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|it| it == "jsonl"));
        files.sort();
        let text: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        let is_torn = text.contains("\"line_torn\"");
        let whole = |line: &str| match serde_json::from_str::<Value>(line) {
            Err(_) if is_torn => None,
            line => Some(line.unwrap()),
        };
        text.lines().filter_map(whole).collect()
    }
}
