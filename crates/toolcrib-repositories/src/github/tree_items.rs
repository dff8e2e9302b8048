//! Trees as the API lists them, and as git stores them.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;

use crate::github::sha1::id_of;
use crate::object_id::ObjectId;

/// The answer to a question for a tree.
#[derive(Debug, Deserialize)]
pub(super) struct TreeReply {
    tree: Vec<TreeReplyItem>,
    /// Whether there is more than what is listed.
    #[serde(default)]
    pub(super) truncated: bool,
}

#[derive(Debug, Deserialize)]
struct TreeReplyItem {
    path: String,
    mode: String,
    #[serde(rename = "type")]
    kind: String,
    sha: String,
    size: Option<u64>,
}

/// An entry of a tree.
#[derive(Clone, Debug)]
pub(super) struct TreeItem {
    pub(super) name: Vec<u8>,
    mode: String,
    pub(super) is_directory: bool,
    pub(super) id: ObjectId,
    size: Option<u64>,
}

impl TreeReply {
    /// Returns the entries of one directory; nothing if one of them is malformed.
    pub(super) fn items(self) -> Option<Vec<TreeItem>> {
        self.tree.into_iter().map(|item| item.parse().map(|(_, item)| item)).collect()
    }

    /// Returns the entries of all directories, by the ids of those; nothing if one of them is malformed. Directories
    /// that the listing does not tell apart are left out.
    pub(super) fn directories(self, root: ObjectId) -> Option<HashMap<ObjectId, Vec<TreeItem>>> {
        let mut ids: HashMap<String, Option<ObjectId>> = HashMap::new();
        ids.insert(String::new(), Some(root));
        let mut items: HashMap<String, Vec<TreeItem>> = HashMap::new();
        for item in self.tree {
            let path = item.path.clone();
            let (above, item) = item.parse()?;
            if item.is_directory {
                let id = item.id;
                ids.entry(path).and_modify(|known| *known = None).or_insert(Some(id));
            }
            items.entry(above).or_default().push(item);
        }
        let all = ids.into_iter().filter_map(|(path, id)| Some((id?, path)));
        Some(all.map(|(id, path)| (id, items.get(&path).cloned().unwrap_or_default())).collect())
    }
}

impl TreeReplyItem {
    /// Returns the entry, and the path of its directory.
    fn parse(self) -> Option<(String, TreeItem)> {
        let (above, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let mode = self.mode.trim_start_matches('0');
        let is_mode = (1..=6).contains(&mode.len()) && mode.bytes().all(|it| it.is_ascii_digit());
        if name.is_empty() || name.contains('\0') || !is_mode {
            return None;
        }
        let item = TreeItem {
            name: name.as_bytes().to_vec(),
            mode: mode.to_owned(),
            is_directory: self.kind == "tree",
            id: ObjectId::from_hex(&self.sha)?,
            size: self.size,
        };
        Some((above.to_owned(), item))
    }
}

/// Returns the tree of entries, as git stores it.
pub(super) fn raw_tree(items: &[TreeItem]) -> Arc<[u8]> {
    let mut items: Vec<&TreeItem> = items.iter().collect();
    // Git sorts a directory as if its name ended in a slash.
    let end = |item: &TreeItem| item.is_directory.then_some(b'/');
    items.sort_by(|a, b| {
        let (a, b) = (a.name.iter().copied().chain(end(a)), b.name.iter().copied().chain(end(b)));
        a.cmp(b)
    });
    let mut raw = Vec::new();
    for item in items {
        raw.extend_from_slice(item.mode.as_bytes());
        raw.push(b' ');
        raw.extend_from_slice(&item.name);
        raw.push(0);
        raw.extend_from_slice(item.id.as_bytes());
    }
    raw.into()
}

/// Whether a tree is the one of this id.
pub(super) fn is_tree(raw: &[u8], id: &ObjectId) -> bool {
    id_of("tree", raw).as_ref() == Some(id)
}

/// Whether names may not be what the repository has: the API's answers are Unicode, and a name need not be.
pub(super) fn may_have_lost_names(items: &[TreeItem]) -> bool {
    items.iter().any(|item| !item.name.is_ascii())
}

/// Returns the sizes of files that entries tell.
pub(super) fn sizes(items: &[TreeItem]) -> impl Iterator<Item = (ObjectId, u64)> + '_ {
    items.iter().filter_map(|item| Some((item.id, item.size?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(items: &[(&str, &str, &str)]) -> TreeReply {
        let item = |(path, mode, kind): &(&str, &str, &str)| TreeReplyItem {
            path: (*path).to_owned(),
            mode: (*mode).to_owned(),
            kind: (*kind).to_owned(),
            sha: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391".to_owned(),
            size: Some(0),
        };
        TreeReply { tree: items.iter().map(item).collect(), truncated: false }
    }

    #[test]
    fn a_tree_has_the_id_that_git_gives_it() {
        let id = ObjectId::from_hex("fbfdffedb01db077a9b9efdfb3fd4b5ca9cd7b0b").unwrap();
        let items = reply(&[("b", "100644", "blob"), ("a", "100644", "blob")]).items().unwrap();
        let raw = raw_tree(&items);
        assert_eq!(&raw[..9], b"100644 a\0");
        assert!(!is_tree(&raw, &id) && is_tree(&raw, &id_of("tree", &raw).unwrap()));
    }

    #[test]
    fn malformed_entries_are_refused() {
        assert!(reply(&[("a", "040000", "tree")]).items().is_some());
        for item in [("", "100644", "blob"), ("a\0b", "100644", "blob"), ("a/", "100644", "blob")] {
            assert!(reply(&[item]).items().is_none(), "{item:?}");
        }
        for mode in ["", "0", "x", "1006440", "10 644"] {
            assert!(reply(&[("a", mode, "blob")]).items().is_none(), "{mode}");
        }
    }

    #[test]
    fn a_listing_of_everything_is_split_into_directories() {
        let root = ObjectId::from_bytes(&[7; 20]).unwrap();
        let reply =
            reply(&[("d", "040000", "tree"), ("d/x", "100644", "blob"), ("y", "100644", "blob")]);
        let all = reply.directories(root).unwrap();
        let names = |id: &ObjectId| -> Vec<Vec<u8>> {
            all[id].iter().map(|item| item.name.clone()).collect()
        };
        assert_eq!(names(&root), [b"d", b"y"]);
        let directory = ObjectId::from_hex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391").unwrap();
        assert_eq!(names(&directory), [b"x"]);
    }
}
