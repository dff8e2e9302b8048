//! The archive of a revision while it is of use: fetched once, whoever needs it first, and dropped when search has read
//! its files.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use toolcrib_core::{Cancel, ErrorKind, ToolError};

use crate::github::archive::{ArchiveBytes, fetch_archive};
use crate::github::archive_blobs::{ArchiveBlobs, KeptBlobs};
use crate::github::deadline::QuestionDeadline;
use crate::github::object_requests::ObjectRequests;
use crate::github::object_store::ObjectStore;
use crate::github::options::GitHubOptions;
use crate::github::tree_names::ArchiveNames;
use crate::object_id::ObjectId;

/// How long a fetch goes on before it is checked whether it is still wanted.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The archive of a revision.
pub(super) struct RevisionArchive {
    commit: ObjectId,
    state: Mutex<ArchiveState>,
    names: OnceLock<Arc<ArchiveNames>>,
    /// Why there is no archive, once that is known.
    missing: OnceLock<String>,
    /// How many files were read for search that were not in it.
    single_reads: AtomicUsize,
}

enum ArchiveState {
    NotFetched,
    /// As it came.
    Fetched(ArchiveBytes),
    Read(Arc<ArchiveBlobs>),
    Missing,
}

/// How files for search are read.
pub(super) enum ArchiveUse {
    Blobs(Arc<ArchiveBlobs>),
    /// One by one, because there is no archive.
    OneByOne,
}

/// What reading an archive for search needs.
pub(super) struct ArchiveReading<'a> {
    pub(super) requests: &'a ObjectRequests,
    pub(super) options: &'a GitHubOptions,
    pub(super) store: &'a ObjectStore,
    /// The most bytes of a file that is searched.
    pub(super) most_file_bytes: usize,
    pub(super) is_stopped: &'a dyn Fn() -> bool,
}

impl RevisionArchive {
    pub(super) fn new(commit: ObjectId) -> Self {
        let state = Mutex::new(ArchiveState::NotFetched);
        Self {
            commit,
            state,
            names: OnceLock::new(),
            missing: OnceLock::new(),
            single_reads: AtomicUsize::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, ArchiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns why there is no archive, if that is known.
    pub(super) fn why_missing(&self) -> Option<&str> {
        self.missing.get().map(String::as_str)
    }

    /// Returns the names in the archive; nothing if there is none.
    pub(super) fn names(
        &self,
        requests: &ObjectRequests,
        options: &GitHubOptions,
    ) -> Result<Option<Arc<ArchiveNames>>, ToolError> {
        let mut state = self.state();
        if let Some(known) = self.names.get() {
            return Ok(Some(Arc::clone(known)));
        }
        let Some(bytes) = self.fetched(&mut state, requests, options, &|| false)? else {
            return Ok(None);
        };
        match ArchiveNames::read(&bytes) {
            Ok(names) => Ok(Some(Arc::clone(self.names.get_or_init(|| Arc::new(names))))),
            Err(err) => {
                self.give_up(&mut state, &err);
                Ok(None)
            }
        }
    }

    /// Returns the files in the archive.
    pub(super) fn blobs(&self, reading: &ArchiveReading<'_>) -> Result<ArchiveUse, ToolError> {
        let ArchiveReading { requests, options, store, is_stopped, .. } = reading;
        let mut state = self.state();
        if let ArchiveState::Read(blobs) = &*state {
            return Ok(ArchiveUse::Blobs(Arc::clone(blobs)));
        }
        let kept = KeptBlobs {
            is_wanted: &|id| store.size(id).is_some(),
            most_file_bytes: reading.most_file_bytes,
            most_bytes: options.max_index_bytes,
            is_stopped: *is_stopped,
        };
        let fetched = self.fetched(&mut state, requests, options, is_stopped)?;
        let read = fetched.and_then(|bytes| match ArchiveBlobs::read(&bytes, &kept) {
            Ok(blobs) => Some(Arc::new(blobs)),
            Err(err) => {
                self.give_up(&mut state, &err);
                None
            }
        });
        let Some(blobs) = read else {
            self.check_single_reads(store.known_files(), options.max_single_reads)?;
            return Ok(ArchiveUse::OneByOne);
        };
        // A small repository is read whole, and needs no request any more.
        if blobs.bytes <= options.max_cached_bytes {
            blobs.iter().for_each(|(id, content)| store.add_blob(*id, content));
        }
        *state = ArchiveState::Read(Arc::clone(&blobs));
        Ok(ArchiveUse::Blobs(blobs))
    }

    /// Drops the files when all of them were read.
    pub(super) fn drop_read_blobs(&self, used: &ArchiveUse) {
        if let ArchiveUse::Blobs(blobs) = used
            && blobs.are_all_read()
        {
            self.drop_blobs();
        }
    }

    /// Drops the files.
    pub(super) fn drop_blobs(&self) {
        let mut state = self.state();
        if let ArchiveState::Read(_) = &*state {
            *state = ArchiveState::NotFetched;
        }
    }

    /// Returns the archive as it came; nothing if there is none.
    fn fetched(
        &self,
        state: &mut ArchiveState,
        requests: &ObjectRequests,
        options: &GitHubOptions,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<ArchiveBytes>, ToolError> {
        match state {
            ArchiveState::Fetched(bytes) => return Ok(Some(Arc::clone(bytes))),
            ArchiveState::Missing => return Ok(None),
            ArchiveState::NotFetched | ArchiveState::Read(_) => {}
        }
        match self.fetch(requests, options, is_stopped) {
            Ok(bytes) => {
                *state = ArchiveState::Fetched(Arc::clone(&bytes));
                Ok(Some(bytes))
            }
            Err(err) if is_lasting(&err) => {
                self.give_up(state, &err);
                Ok(None)
            }
            Err(err) => Err(err),
        }
    }

    fn give_up(&self, state: &mut ArchiveState, err: &ToolError) {
        let _ = self.missing.set(err.message.clone());
        *state = ArchiveState::Missing;
    }

    /// Fetches the archive on a thread of its own, so that it ends when nobody wants it any more.
    fn fetch(
        &self,
        requests: &ObjectRequests,
        options: &GitHubOptions,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<ArchiveBytes, ToolError> {
        let (api, name) = (Arc::clone(&requests.api), requests.full_name.clone());
        let (commit, most_bytes) = (self.commit.to_string(), options.max_archive_bytes);
        let cancel = Cancel::default();
        let deadline = QuestionDeadline::new(options.archive_time, &cancel);
        let (sender, fetched) = mpsc::sync_channel(1);
        let fetch = move || {
            // Nobody waits any more, if this fails.
            let _ = sender.send(fetch_archive(&api, &name, &commit, most_bytes, &deadline));
        };
        let started = thread::Builder::new().name("toolcrib-archive".to_owned()).spawn(fetch);
        started.map_err(|err| {
            let message = format!("the thread for the archive cannot be started: {err}");
            ToolError::new(ErrorKind::Unavailable, message)
        })?;
        loop {
            match fetched.recv_timeout(POLL_INTERVAL) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Timeout) if is_stopped() => cancel.cancel(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ToolError::new(ErrorKind::Bug, "fetching the archive failed"));
                }
            }
        }
    }

    /// Counts a file that is read for search although it is not in the archive; fails if there are too many.
    pub(super) fn count_single_read(&self, most: usize) -> Result<(), ToolError> {
        let reads = 1 + self.single_reads.fetch_add(1, Ordering::Relaxed);
        self.check_single_reads(reads, most)
    }

    /// Fails if so many files cannot be read one by one.
    fn check_single_reads(&self, files: usize, most: usize) -> Result<(), ToolError> {
        if files <= most {
            return Ok(());
        }
        let why = self.why_missing().unwrap_or("its archive lacks files");
        let message = format!(
            "the revision cannot be searched: {why}, and its {files} files are too many to read them one by one \
             (the limit is {most})"
        );
        Err(ToolError::new(ErrorKind::Unavailable, message)
            .hint("connect a clone of the repository to search it"))
    }
}

/// Whether there is no archive, and not only no answer now.
fn is_lasting(err: &ToolError) -> bool {
    let is_limit = err.context.get("reason").is_some_and(|reason| reason == "rate_limit");
    let is_passing = matches!(
        err.kind,
        ErrorKind::Timeout | ErrorKind::Cancelled | ErrorKind::Permission | ErrorKind::Bug
    );
    !is_limit && !is_passing
}
