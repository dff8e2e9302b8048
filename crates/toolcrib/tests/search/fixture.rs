//! A tree on disk, and two engines on it: one that only scans, and one with an index.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolcrib_core::change::{ConcurrentChanges, Snapshot};
use toolcrib_core::{CallId, Cancel, Change, ChangeJournal, Files, SearchableTree, Snapshots};
use toolcrib_host::{FileRules, Hardlinks, Root, SystemClock, UndoStore, Workspace};
use toolcrib_search::{Engine, IndexOptions, IndexStatus, Phase};

/// An undo store that keeps nothing, because a search undoes nothing.
struct NoUndo;

impl ChangeJournal for NoUndo {
    fn store(&self, content: &mut dyn io::Read) -> io::Result<(String, u64)> {
        let size = io::copy(content, &mut io::sink())?;
        Ok(("0".repeat(64), size))
    }
    fn append(&self, _: &Change) -> io::Result<()> {
        Ok(())
    }
    fn append_all(&self, _: &[Change]) -> io::Result<()> {
        Ok(())
    }
    fn retract(&self, _: &Change) -> io::Result<()> {
        Ok(())
    }
    fn position(&self) -> u64 {
        0
    }
}

impl Snapshots for NoUndo {
    fn take(&self, _: &CallId, _: &[Snapshot], _: u64) -> io::Result<()> {
        Ok(())
    }
    fn load(&self, _: &CallId) -> io::Result<Vec<Snapshot>> {
        Ok(Vec::new())
    }
    fn replace(&self, _: &CallId, _: &[Snapshot]) -> io::Result<()> {
        Ok(())
    }
    fn discard(&self, _: &CallId) -> io::Result<()> {
        Ok(())
    }
    fn release(&self, _: &CallId) {}
    fn orphaned(&self) -> Vec<CallId> {
        Vec::new()
    }
    fn concurrent(&self, _: &CallId) -> io::Result<ConcurrentChanges> {
        Ok(ConcurrentChanges::default())
    }
}

/// A tree with two engines on it.
pub(crate) struct Fixture {
    workspace: Arc<Workspace>,
    pub(crate) scan: Engine,
    pub(crate) index: Engine,
    /// Dropped last: an engine saves its index when it is dropped, and would make the folder again.
    pub(crate) folder: tempfile::TempDir,
}

pub(crate) const AMPLE_MEMORY: usize = 256 << 20;

impl Fixture {
    pub(crate) fn new(memory: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tree")).unwrap();
        open_to_all(folder.path());
        open_to_all(&folder.path().join("tree"));
        let workspace = workspace(&folder.path().join("tree"));
        let scan = Engine::new(trees(&workspace));
        let index = engine(&workspace, memory, Some(folder.path().join("kept")));
        Self { workspace, scan, index, folder }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    /// Starts the engine with the index again, as another process would.
    pub(crate) fn restart(&mut self, memory: usize) {
        self.index = engine(&self.workspace, memory, Some(self.folder.path().join("kept")));
    }

    /// Waits until the index knows every file, or says why there is none.
    pub(crate) fn wait_until_ready(&self) -> IndexStatus {
        self.index.start();
        wait_until_ready(&self.index)
    }

    /// Waits until the index knows the words of files, too.
    pub(crate) fn wait_until_words_are_known(&self) -> IndexStatus {
        self.index.start();
        let start = Instant::now();
        loop {
            let status = wait_until_ready(&self.index);
            if status.memory.words > 0 {
                return status;
            }
            assert!(start.elapsed() < Duration::from_mins(2), "no words: {status:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns the files as one of our tools changes them.
    pub(crate) fn tool(&self) -> impl Files {
        self.workspace.for_call(CallId("01".to_owned()), &"test".into(), Cancel::default())
    }
}

pub(crate) fn wait_until_ready(engine: &Engine) -> IndexStatus {
    let start = Instant::now();
    loop {
        let (_, status) = engine.statuses().remove(0);
        if matches!(status.phase, Phase::Ready | Phase::Off(_)) {
            return status;
        }
        assert!(start.elapsed() < Duration::from_mins(2), "never ready: {status:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn workspace(root: &Path) -> Arc<Workspace> {
    let rules =
        FileRules { hardlinks: Hardlinks::Allow, protected: Vec::new(), undo_bytes: 1 << 30 };
    let clock = Arc::new(SystemClock::default());
    let root = Root::open(root).unwrap();
    let undo = UndoStore { journal: Arc::new(NoUndo), snapshots: Arc::new(NoUndo) };
    Arc::new(Workspace::new(vec![root], rules, &[], undo, clock))
}

pub(crate) fn trees(workspace: &Arc<Workspace>) -> Vec<Arc<dyn SearchableTree>> {
    let tree = |root| Arc::new(root) as Arc<dyn SearchableTree>;
    workspace.search_roots().into_iter().map(tree).collect()
}

pub(crate) fn engine(workspace: &Arc<Workspace>, memory: usize, folder: Option<PathBuf>) -> Engine {
    let options =
        IndexOptions { max_memory_bytes: memory, folder, threads: 1, ignores_saved: false };
    let trees = trees(workspace).into_iter();
    Engine::with(trees.map(|tree| (tree, Some(options.clone()))).collect())
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    crate::ripgrep::give_to_reader(path);
}
