//! Pins: the files and folders that an approval is bound to, each with its state when the question was asked.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::change::FileId;

/// A file or folder that an approval is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The path below the workspace, or an absolute path if it is somewhere else.
    pub path: String,
    /// The state when the question was asked.
    pub state: PinState,
}

/// The state of a pinned file or folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinState {
    /// A file.
    File {
        /// The size in bytes.
        size: u64,
        /// The digest of its first bytes.
        digest: String,
    },
    /// A folder.
    Folder(FolderState),
    /// A link that leads out of the workspace, and where it leads.
    Link(String),
}

/// The state of a folder: which folder it is, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderState {
    /// The identity of the folder.
    pub id: FileId,
    /// The files and links below the folder, each as its path below the folder and a digest of its state, in the order
    /// of a walk. Empty folders do not count, nor does what is in a `.git` folder below.
    pub files: Vec<(String, String)>,
    /// Whether there may be more files below the folder than these.
    pub is_cut: bool,
}

/// How a pinned file or folder differs from its state when the question was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinChange {
    /// The path of the pin.
    pub path: String,
    /// The first file below the path that changed, if the path is still the same folder.
    pub inside: Option<String>,
    /// What happened to the file inside, or to the path if there is none.
    pub kind: PinChangeKind,
}

/// What happened to a pinned file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinChangeKind {
    /// It was not there.
    New,
    /// It is not there any more.
    Gone,
    /// Its content is another.
    Content,
    /// Another file or folder has its name.
    Replaced,
}

impl fmt::Display for PinChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, inside, kind } = self;
        if let Some(inside) = inside {
            return write!(f, "`{path}` changed: `{inside}` in it {}", kind.as_str());
        }
        write!(f, "`{path}` {}", kind.as_str())
    }
}

impl PinChangeKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::New => "is new",
            Self::Gone => "is gone",
            Self::Content => "changed",
            Self::Replaced => "was replaced by something else",
        }
    }
}

/// Returns how the pins of now differ from those of when the question was asked, by path.
pub fn pin_changes(asked: &[Pin], now: &[Pin]) -> Vec<PinChange> {
    let (asked, now) = (by_path(asked), by_path(now));
    let paths: BTreeSet<&str> = asked.keys().chain(now.keys()).copied().collect();
    let change = |path: &str| {
        let whole = |kind| Some(PinChange { path: path.to_owned(), inside: None, kind });
        match (asked.get(path), now.get(path)) {
            (None, None) => None,
            (None, Some(_)) => whole(PinChangeKind::New),
            (Some(_), None) => whole(PinChangeKind::Gone),
            (Some(asked), Some(now)) if asked == now => None,
            (Some(PinState::File { .. }), Some(PinState::File { .. })) => {
                whole(PinChangeKind::Content)
            }
            (Some(PinState::Folder(asked)), Some(PinState::Folder(now))) if asked.id == now.id => {
                let (inside, kind) = first_change(asked, now);
                Some(PinChange { path: path.to_owned(), inside, kind })
            }
            (Some(_), Some(_)) => whole(PinChangeKind::Replaced),
        }
    };
    paths.into_iter().filter_map(change).collect()
}

fn by_path(pins: &[Pin]) -> BTreeMap<&str, &PinState> {
    pins.iter().map(|pin| (pin.path.as_str(), &pin.state)).collect()
}

/// Returns changes as one part of a sentence, the first of them in full; nothing if there are none.
pub fn list_changes(changes: impl IntoIterator<Item = PinChange>) -> Option<String> {
    let mut changes = changes.into_iter();
    let first = changes.next()?;
    Some(match changes.count() {
        0 => first.to_string(),
        1 => format!("{first}, and 1 other thing changed"),
        more => format!("{first}, and {more} other things changed"),
    })
}

/// Returns the first file of a folder that changed, and what happened to it. Both states list the files in the same
/// order, so the first difference is the first change.
fn first_change(asked: &FolderState, now: &FolderState) -> (Option<String>, PinChangeKind) {
    let same = asked.files.iter().zip(&now.files).take_while(|(asked, now)| asked == now).count();
    let inside = |path: &String, kind| (Some(path.clone()), kind);
    match (asked.files.get(same), now.files.get(same)) {
        (Some((was, _)), Some((is, _))) if was == is => inside(is, PinChangeKind::Content),
        (Some((was, _)), Some((is, _))) => {
            let left: HashSet<&String> = now.files[same..].iter().map(|it| &it.0).collect();
            if left.contains(was) {
                inside(is, PinChangeKind::New)
            } else {
                inside(was, PinChangeKind::Gone)
            }
        }
        (Some((was, _)), None) => inside(was, PinChangeKind::Gone),
        (None, Some((is, _))) => inside(is, PinChangeKind::New),
        (None, None) => (None, PinChangeKind::Content),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, digest: &str) -> Pin {
        let state = PinState::File { size: 1, digest: digest.to_owned() };
        Pin { path: path.to_owned(), state }
    }

    fn folder(inode: u64, files: &[(&str, &str)]) -> Pin {
        let files = files.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
        let id = FileId { device: 1, inode, born: 0 };
        let state = PinState::Folder(FolderState { id, files, is_cut: false });
        Pin { path: "tpl".to_owned(), state }
    }

    #[track_caller]
    fn check(asked: &[Pin], now: &[Pin], expect: &[&str]) {
        let got: Vec<String> = pin_changes(asked, now).iter().map(ToString::to_string).collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn every_change_is_named() {
        check(&[file("a", "1")], &[file("a", "2")], &["`a` changed"]);
        check(&[file("a", "1")], &[file("b", "1")], &["`a` is gone", "`b` is new"]);
        check(&[file("tpl", "1")], &[folder(1, &[])], &["`tpl` was replaced by something else"]);
        let asked = [folder(1, &[("a", "1"), ("b", "1")])];
        let inside = |files| [folder(1, files)];
        check(&asked, &inside(&[("a", "1"), ("b", "2")]), &["`tpl` changed: `b` in it changed"]);
        check(&asked, &inside(&[("b", "1")]), &["`tpl` changed: `a` in it is gone"]);
        check(&asked, &inside(&[("a", "1")]), &["`tpl` changed: `b` in it is gone"]);
        let more = inside(&[("a", "1"), ("a1", "1"), ("b", "1")]);
        check(&asked, &more, &["`tpl` changed: `a1` in it is new"]);
        let other = [folder(2, &[("a", "1"), ("b", "1")])];
        check(&asked, &other, &["`tpl` was replaced by something else"]);
    }

    #[test]
    fn equal_pins_have_no_changes() {
        let pins = [file("a", "1"), folder(1, &[("a", "1")])];
        check(&pins, &pins.clone(), &[]);
    }
}
