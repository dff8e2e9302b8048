//! What a command was seen to have changed, as people are told.

use toolcrib_core::Change;
use toolcrib_core::command::Touched;
use toolcrib_ledger::Story;

use super::render;

/// What was seen to have changed beside what copies were kept of.
pub(super) fn also(story: &Story, changes: &[Change]) -> Vec<String> {
    let known: Vec<String> = changes.iter().map(render::place).collect();
    let is_known = |path: &str| known.iter().any(|known| known == path);
    // A folder that something of this came to or went from is explained by it.
    let is_above = |folder: &str| {
        let below = |it: &String| it.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        known.iter().any(below)
    };
    let mut said = Vec::new();
    for touched in touched(story) {
        for (what, path) in touched.named() {
            match what {
                "thinned" if !is_above(path) => {
                    said.push(format!("something was removed or moved in {path}"));
                }
                "removed" if !is_known(path) && !is_above(path) => {
                    said.push(format!("removed {path}"));
                }
                "made" if !is_known(path) => said.push(format!("new {path}")),
                "changed" if !is_known(path) => said.push(format!("changed {path}")),
                _ => {}
            }
        }
        if touched.more > 0 {
            said.push(format!("{} more", touched.more));
        }
        if touched.unkept > 0 {
            said.push(format!(
                "of at least {} that its words name no copy was kept: too many, too large or not readable",
                files(touched.unkept)
            ));
        }
        if touched.is_partial {
            said.push("perhaps others: not all of the workspace was looked at".to_owned());
        }
    }
    said
}

fn files(count: u64) -> String {
    if count == 1 { "one file".to_owned() } else { format!("{count} files") }
}

/// What was seen to have changed while it ran, or since it was lost.
pub(super) fn touched(story: &Story) -> Vec<Touched> {
    let told = story.entries.iter().filter_map(|entry| entry.touched.clone());
    let lost =
        story.moment("lost").and_then(|entry| entry.detail.as_ref()?.get("touched").cloned());
    told.chain(lost.and_then(|value| serde_json::from_value(value).ok())).collect()
}
