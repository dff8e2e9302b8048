//! Where the paths of one call lead, each looked up once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::capability::Resolved;
use toolcrib_core::{Files, ToolError};

/// Remembers where paths lead, so that each path of a call is resolved once before anybody is asked.
pub(crate) struct PathCache {
    files: Arc<dyn Files>,
    resolved: Mutex<HashMap<String, Resolved>>,
    absolute: Mutex<HashMap<String, Result<String, ToolError>>>,
}

impl PathCache {
    pub(crate) fn new(files: &Arc<dyn Files>) -> Self {
        Self { files: Arc::clone(files), resolved: Mutex::default(), absolute: Mutex::default() }
    }

    /// Returns a cache of the same files that knows nothing yet.
    pub(crate) fn emptied(&self) -> Self {
        Self::new(&self.files)
    }

    /// Returns where a path leads for someone who follows every link, as commands do.
    pub(crate) fn resolve(&self, path: &str) -> Resolved {
        let mut resolved = self.resolved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = resolved.get(path) {
            return known.clone();
        }
        let fresh = self.files.resolve(path);
        resolved.insert(path.to_owned(), fresh.clone());
        fresh
    }

    /// Returns the absolute path that `path` stands for.
    pub(crate) fn absolute(&self, path: &str) -> Result<String, ToolError> {
        let mut absolute = self.absolute.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = absolute.get(path) {
            return known.clone();
        }
        let fresh = self.files.absolute(path);
        absolute.insert(path.to_owned(), fresh.clone());
        fresh
    }

    /// Returns the absolute path of the workspace's root.
    pub(crate) fn root(&self) -> String {
        self.absolute(".").unwrap_or_default()
    }
}
