//! Search without the files that policy denies.

use std::sync::Arc;

use toolcrib_core::policy::DeniedPaths;
use toolcrib_core::search::{Found, FoundPaths, Glob, Grep, Pattern, Scope, Search};
use toolcrib_core::{Cancel, ToolError};

/// A search that neither searches nor finds denied files, whatever it is asked.
pub(crate) struct DeniedSearch {
    search: Arc<dyn Search>,
    denied: DeniedPaths,
}

impl DeniedSearch {
    pub(crate) fn new(search: Arc<dyn Search>, denied: DeniedPaths) -> Self {
        Self { search, denied }
    }

    fn narrowed(&self, scope: &Scope) -> Scope {
        Scope { denied: Some(self.denied.clone()), ..scope.clone() }
    }
}

impl Search for DeniedSearch {
    fn check(&self, pattern: Option<&Pattern>, scope: &Scope) -> Result<(), ToolError> {
        self.search.check(pattern, scope)
    }

    fn grep(&self, ask: &Grep, cancel: &Cancel) -> Result<Found, ToolError> {
        let ask = Grep { scope: self.narrowed(&ask.scope), ..ask.clone() };
        self.search.grep(&ask, cancel)
    }

    fn glob(&self, ask: &Glob, cancel: &Cancel) -> Result<FoundPaths, ToolError> {
        let ask = Glob { scope: self.narrowed(&ask.scope), ..ask.clone() };
        self.search.glob(&ask, cancel)
    }
}
