//! The order of a write: nothing changes in the workspace before the old content and the journal are on disk.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use toolcrib_core::capability::WriteMode;
use toolcrib_core::{CallId, Cancel, Change, ChangeJournal, Files};
use toolcrib_host::{FileRules, Hardlinks, Root, SystemClock, UndoStore, Workspace};
use toolcrib_ledger::{Journal, SnapshotStore, StateFolder};

/// The steps of a write that the journal sees, each of which can fail as in a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JournalStep {
    Store,
    Append,
}

/// A journal that looks at the workspace at each step.
struct WatchingJournal {
    folder: PathBuf,
    fails_at: Option<JournalStep>,
    seen: Mutex<Vec<(JournalStep, BTreeMap<String, String>)>>,
}

impl WatchingJournal {
    fn step(&self, step: JournalStep) -> io::Result<()> {
        self.seen.lock().unwrap().push((step, files_in(&self.folder)));
        if self.fails_at == Some(step) { Err(io::Error::other("no disk")) } else { Ok(()) }
    }
}

impl ChangeJournal for WatchingJournal {
    fn store(&self, content: &mut dyn Read) -> io::Result<(String, u64)> {
        let size = io::copy(content, &mut io::sink())?;
        self.step(JournalStep::Store).map(|()| ("0".repeat(64), size))
    }
    fn append(&self, _: &Change) -> io::Result<()> {
        self.step(JournalStep::Append)
    }
    fn append_all(&self, _: &[Change]) -> io::Result<()> {
        self.step(JournalStep::Append)
    }
    fn retract(&self, _: &Change) -> io::Result<()> {
        Ok(())
    }
    fn position(&self) -> u64 {
        0
    }
}

/// Returns the files of a folder with their content.
fn files_in(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    entries.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect()
}

/// The content of files by their names.
type FileTexts = BTreeMap<String, String>;

/// Writes `new` to a file with the content `old`. Returns what the journal saw at each step, and what is there
/// afterwards.
fn write(fails_at: Option<JournalStep>) -> (Vec<(JournalStep, FileTexts)>, FileTexts, bool) {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("work");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("file"), "old").unwrap();
    let state = StateFolder::open(&scratch.path().join("state")).unwrap();
    let seen = Mutex::default();
    let journal = Arc::new(WatchingJournal { folder: folder.clone(), fails_at, seen });
    let undo = UndoStore {
        journal: Arc::clone(&journal) as Arc<dyn ChangeJournal>,
        snapshots: Arc::new(SnapshotStore::new(&state, Arc::new(Journal::new(&state)))),
    };
    let rules =
        FileRules { hardlinks: Hardlinks::Allow, protected: Vec::new(), undo_bytes: 1 << 20 };
    let root = Root::open(&folder).unwrap();
    let workspace =
        Arc::new(Workspace::new(vec![root], rules, &[], undo, Arc::new(SystemClock::default())));
    let files = workspace.for_call(CallId("one".to_owned()), &"a/b".into(), Cancel::default());
    let is_written = files.write("file", b"new", WriteMode::Replace).is_ok();
    let seen = journal.seen.lock().unwrap().clone();
    (seen, files_in(&folder), is_written)
}

#[test]
fn nothing_changes_before_the_old_content_and_the_journal_are_stored() {
    let with = |content: &str| BTreeMap::from([("file".to_owned(), content.to_owned())]);
    let steps = [JournalStep::Store, JournalStep::Append];
    let (seen, left, is_written) = write(None);
    let expected: Vec<_> = steps.iter().map(|step| (*step, with("old"))).collect();
    assert_eq!(seen, expected, "the workspace is as it was at each step");
    assert_eq!((left, is_written), (with("new"), true), "the control");
    for (at, step) in steps.into_iter().enumerate() {
        let (seen, left, is_written) = write(Some(step));
        assert_eq!(seen, expected[..=at], "{step:?}");
        assert_eq!((left, is_written), (with("old"), false), "{step:?}: nothing is left behind");
    }
}
