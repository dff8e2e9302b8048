//! `tools/list`: the tools on offer.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{CacheScope, ListToolsResult, PaginatedRequestParams};
use toolcrib_core::nearest::{either, nearest};
use toolcrib_core::toolset::Offer;
use toolcrib_core::{Catalogue, Toolset};
use toolcrib_runtime::dialect::Names;

use super::offered_tool::OfferedTool;
use super::server::{McpServer, ToolListing};

/// How many tools a page has.
const PAGE_SIZE: usize = 100;

/// How long a client may keep the list, in milliseconds. It is told when the list changes.
const FRESH_MS: u64 = 60_000;

impl McpServer {
    /// Returns the tools on offer, in an order that stays the same.
    pub(super) fn offered(&self) -> Arc<[OfferedTool]> {
        let toolset = Arc::clone(&self.api.runtime.current().toolset);
        self.offered.of(&toolset, || self.named_tools(&toolset))
    }

    /// Returns the chosen tools. A tool has its catalogue in its name only if another one has the same name.
    fn named_tools(&self, toolset: &Toolset) -> Vec<OfferedTool> {
        let is_chosen = |offer: &&Offer| {
            let is_named = |choice: &String| {
                offer.catalogue.name == choice.as_str() || *offer.full_name() == *choice.as_str()
            };
            self.config.toolset.as_ref().is_none_or(|choices| choices.iter().any(is_named))
        };
        let chosen: Vec<Offer> = toolset.offers().iter().filter(is_chosen).cloned().collect();
        let is_shared = |offer: &Offer| {
            let same = |it: &&Offer| it.full_name().tool() == offer.full_name().tool();
            chosen.iter().filter(same).count() > 1
        };
        let named = chosen.iter().map(|offer| {
            let (name, names) = if is_shared(offer) {
                (offer.full_name().without_slash(), Names::Full)
            } else {
                (offer.full_name().tool().to_owned(), Names::Plain)
            };
            OfferedTool { name, offer: offer.clone(), names }
        });
        named.collect()
    }

    /// Returns the catalogues of the tools on offer.
    pub(super) fn catalogues(&self) -> Vec<&'static Catalogue> {
        let mut catalogues: Vec<&'static Catalogue> = Vec::new();
        for tool in &*self.offered() {
            let catalogue = tool.offer.catalogue;
            if !catalogues.iter().any(|known| known.name == catalogue.name) {
                catalogues.push(catalogue);
            }
        }
        catalogues
    }

    /// Returns one page of the tools on offer.
    pub(super) fn list_tools(
        &self,
        request: Option<&PaginatedRequestParams>,
    ) -> Result<ListToolsResult, ErrorData> {
        if self.config.listing == ToolListing::Search {
            return Ok(fresh(ListToolsResult::with_all_items(self.searching_tools())));
        }
        let offered = self.offered();
        let cursor = request.and_then(|request| request.cursor.as_deref());
        let from = match cursor {
            None => 0,
            Some(cursor) => {
                let found = offered.iter().position(|tool| tool.name == cursor);
                found.map(|at| at + 1).ok_or_else(|| {
                    let message = "this cursor is not of the present list; list the tools anew without a cursor";
                    ErrorData::invalid_params(message, None)
                })?
            }
        };
        let page = &offered[from..offered.len().min(from + PAGE_SIZE)];
        let mut result =
            ListToolsResult::with_all_items(page.iter().map(OfferedTool::declared).collect());
        if from + PAGE_SIZE < offered.len() {
            result.next_cursor = page.last().map(|tool| tool.name.clone());
        }
        Ok(fresh(result))
    }

    /// Finds a tool by the name that clients call it by.
    pub(super) fn find_tool(&self, name: &str) -> Result<OfferedTool, ErrorData> {
        let offered = self.offered();
        if let Some(tool) = offered.iter().find(|tool| tool.name == name) {
            return Ok(tool.clone());
        }
        let near = nearest(name, offered.iter().map(|tool| tool.name.as_str()), 3);
        let hint = if near.is_empty() && self.config.listing == ToolListing::Search {
            "`find_tools` finds tools by words".to_owned()
        } else if near.is_empty() {
            "tools/list has all names".to_owned()
        } else {
            format!("did you mean {}?", either(&near))
        };
        let shown: String = name.chars().take(128).collect();
        let data = serde_json::json!({"nearest": near});
        Err(ErrorData::invalid_params(format!("no tool `{shown}`; {hint}"), Some(data)))
    }
}

/// Says how long a client may keep a list.
fn fresh(mut result: ListToolsResult) -> ListToolsResult {
    result.ttl_ms = Some(FRESH_MS);
    // Operators offer different tools to different servers, and tokens may differ one day.
    result.cache_scope = Some(CacheScope::Private);
    result
}
