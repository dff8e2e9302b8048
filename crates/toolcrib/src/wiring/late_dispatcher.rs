//! The dispatcher of a process, which is there once the process has connected to a bus.

use std::sync::{Arc, OnceLock};

use toolcrib_core::ToolName;
use toolcrib_runtime::{Dispatcher, RemotePlace};

/// Places calls as the dispatcher does that it is given later. Without one, every call runs here.
#[derive(Default)]
pub struct LateDispatcher(OnceLock<Arc<dyn Dispatcher>>);

impl LateDispatcher {
    /// Has calls placed from now on. Only the first dispatcher counts.
    pub fn set(&self, dispatcher: Arc<dyn Dispatcher>) {
        let _ = self.0.set(dispatcher);
    }
}

impl Dispatcher for LateDispatcher {
    fn place(&self, tool: &ToolName) -> Option<Arc<dyn RemotePlace>> {
        self.0.get()?.place(tool)
    }
}
