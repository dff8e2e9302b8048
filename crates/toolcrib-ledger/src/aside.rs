//! What files held before a command that may change them: one file for each command that runs, gone once it is
//! known what the command did.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toolcrib_core::change::SetAside;
use toolcrib_core::{CallId, Change};

use crate::state::read_plain;

/// A folder of them, each named by its call.
pub(crate) struct Aside {
    folder: PathBuf,
}

/// The first line of a file; what files held comes after it, one after the other.
#[derive(Serialize, Deserialize)]
struct Listed {
    changes: Vec<Change>,
    sizes: Vec<usize>,
}

impl Aside {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Keeps it so that no power cut takes it.
    pub(crate) fn keep(&self, call: &CallId, held: &[SetAside]) -> io::Result<()> {
        let listed = Listed {
            changes: held.iter().map(|held| held.change.clone()).collect(),
            sizes: held.iter().map(|held| held.content.len()).collect(),
        };
        let mut bytes = serde_json::to_vec(&listed)?;
        bytes.push(b'\n');
        for held in held {
            bytes.extend_from_slice(&held.content);
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let path = self.path(call)?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let kept = file.write_all(&bytes).and_then(|()| file.sync_data());
        let kept = kept.and_then(|()| File::open(&self.folder)?.sync_all());
        if kept.is_err() {
            let _ = fs::remove_file(&path);
        }
        kept
    }

    /// Returns what is kept; nothing if it was torn, since the command had not begun then.
    pub(crate) fn load(&self, call: &CallId) -> io::Result<Vec<SetAside>> {
        let bytes = match read_plain(&self.path(call)?) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            bytes => bytes?,
        };
        Ok(parse(&bytes).unwrap_or_default())
    }

    pub(crate) fn let_go(&self, call: &CallId) -> io::Result<()> {
        match fs::remove_file(self.path(call)?) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn path(&self, call: &CallId) -> io::Result<PathBuf> {
        if call.0.is_empty() || !call.0.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "that is no id of a call"));
        }
        Ok(self.folder.join(&call.0))
    }
}

fn parse(bytes: &[u8]) -> Option<Vec<SetAside>> {
    let (first, mut rest) = bytes.split_at_checked(memchr::memchr(b'\n', bytes)? + 1)?;
    let listed: Listed = serde_json::from_slice(first).ok()?;
    let mut all = Vec::new();
    for (change, size) in listed.changes.into_iter().zip(listed.sizes) {
        let (content, more) = rest.split_at_checked(size)?;
        all.push(SetAside { change, content: content.to_vec() });
        rest = more;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::{ChangeKind, FileId};

    fn held(path: &str, content: &[u8]) -> SetAside {
        let change = Change {
            call: CallId("01A".to_owned()),
            tool: "t".to_owned(),
            at: String::new(),
            kind: ChangeKind::Replaced,
            root: "/".to_owned(),
            root_id: FileId { device: 0, inode: 0, born: 0 },
            path: path.to_owned(),
            before: None,
            after: None,
            made: None,
        };
        SetAside { change, content: content.to_vec() }
    }

    #[test]
    fn what_was_set_aside_comes_back_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let aside = Aside::new(folder.path().join("aside"));
        let call = CallId("01A".to_owned());
        assert_eq!(aside.load(&call).unwrap(), []);
        let all = [held("a", b"one\ntwo"), held("b", b""), held("c\n", &[0xff, 0, b'\n'])];
        aside.keep(&call, &all).unwrap();
        assert_eq!(aside.load(&call).unwrap(), all);
        let path = aside.path(&call).unwrap();
        let bytes = fs::read(&path).unwrap();
        for size in 0..bytes.len() {
            fs::write(&path, &bytes[..size]).unwrap();
            assert_eq!(aside.load(&call).unwrap(), [], "{size}");
        }
        aside.let_go(&call).unwrap();
        aside.let_go(&call).unwrap();
        assert!(!path.exists());
        assert!(aside.keep(&CallId("../x".to_owned()), &all).is_err());
    }
}
