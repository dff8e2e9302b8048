//! A tool as clients are offered it, and the list of all, which is made once.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::Tool;
use toolcrib_core::Toolset;
use toolcrib_core::toolset::Offer;
use toolcrib_runtime::dialect::{Dialect, Names, declare};

/// A tool that is offered, under the name that clients call it by.
#[derive(Clone)]
pub(super) struct OfferedTool {
    pub(super) name: String,
    pub(super) offer: Offer,
    pub(super) names: Names,
}

/// The list of the tools on offer, kept until the runtime has another toolset.
#[derive(Default)]
pub(super) struct KeptToolList(Mutex<Option<ToolList>>);

/// The list that was made of a toolset.
struct ToolList {
    toolset: Arc<Toolset>,
    tools: Arc<[OfferedTool]>,
}

impl KeptToolList {
    /// Returns the list of a toolset. Makes it if another one is kept.
    pub(super) fn of(
        &self,
        toolset: &Arc<Toolset>,
        make: impl FnOnce() -> Vec<OfferedTool>,
    ) -> Arc<[OfferedTool]> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = &*kept
            && Arc::ptr_eq(&list.toolset, toolset)
        {
            return Arc::clone(&list.tools);
        }
        let tools: Arc<[OfferedTool]> = make().into();
        *kept = Some(ToolList { toolset: Arc::clone(toolset), tools: Arc::clone(&tools) });
        tools
    }
}

impl OfferedTool {
    /// Returns the tool as clients are told of it.
    pub(super) fn declared(&self) -> Tool {
        let mut declared = declare(Dialect::Mcp, self.names, std::slice::from_ref(&self.offer));
        let tool = declared["tools"][0].take();
        // The dialect and the SDK have the same form.
        serde_json::from_value(tool).unwrap_or_default()
    }
}
