//! A tree object: a directory of a revision, as git stores it.

use crate::object_id::ObjectId;

/// The kind of a tree's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeEntryKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link. Its target is the content of its object.
    Link,
    /// A commit of another repository, which has the files.
    Submodule,
}

/// An entry of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeEntry<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) kind: TreeEntryKind,
    pub(crate) id: ObjectId,
}

/// A parsed tree object. It keeps the bytes of the object, because they are as small as any other form.
pub(crate) struct TreeObject {
    raw: Box<[u8]>,
    /// Where each entry begins, in order of the names.
    starts: Box<[u32]>,
    id_length: usize,
}

impl TreeObject {
    /// Parses a tree object of a repository whose ids have so many bytes; nothing if it is malformed. Entries with
    /// names that no file can have are left out, and so are entries whose name another one has.
    pub(crate) fn parse(raw: Vec<u8>, id_length: usize) -> Option<Self> {
        let mut starts = Vec::new();
        let mut at = 0;
        while at < raw.len() {
            let (name, end) = split_entry(&raw[at..], id_length)?;
            let is_name = !name.is_empty() && name != b"." && name != b"..";
            if is_name && !name.contains(&b'/') {
                starts.push(u32::try_from(at).ok()?);
            }
            at += end;
        }
        let mut tree = Self { raw: raw.into(), starts: Box::default(), id_length };
        // Git sorts a directory as if its name ended in a slash. The sort is stable: the first of equals stays first.
        starts.sort_by(|a, b| tree.name_at(*a).cmp(tree.name_at(*b)));
        starts.dedup_by(|later, first| tree.name_at(*later) == tree.name_at(*first));
        tree.starts = starts.into();
        Some(tree)
    }

    /// Bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        self.raw.len() + self.starts.len() * 4 + 64
    }

    /// The entries, in order of their names.
    pub(crate) fn entries(&self) -> impl Iterator<Item = TreeEntry<'_>> {
        self.starts.iter().filter_map(|start| self.entry_at(*start))
    }

    /// Returns the entry of this name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<TreeEntry<'_>> {
        let place = self.starts.binary_search_by(|start| self.name_at(*start).cmp(name)).ok()?;
        self.entry_at(self.starts[place])
    }

    fn name_at(&self, start: u32) -> &[u8] {
        split_entry(&self.raw[start as usize..], self.id_length).map_or(b"", |(name, _)| name)
    }

    fn entry_at(&self, start: u32) -> Option<TreeEntry<'_>> {
        let entry = &self.raw[start as usize..];
        let (name, end) = split_entry(entry, self.id_length)?;
        let id = ObjectId::from_bytes(&entry[end - self.id_length..end])?;
        Some(TreeEntry { name, kind: kind(entry), id })
    }
}

/// Splits an entry: `<mode> <name>\0<id>`. Returns its name, and where it ends.
fn split_entry(entry: &[u8], id_length: usize) -> Option<(&[u8], usize)> {
    // The longest mode has six digits.
    let space = entry.iter().take(7).position(|byte| *byte == b' ')?;
    let name = &entry[space + 1..];
    let end = memchr::memchr(0, name)?;
    let total = space + 1 + end + 1 + id_length;
    (total <= entry.len()).then_some((&name[..end], total))
}

/// Returns the kind of an entry by the digits of its mode, as git does: what is nothing else is a submodule.
fn kind(entry: &[u8]) -> TreeEntryKind {
    let digits = entry.iter().take_while(|byte| **byte != b' ');
    let mode = digits.fold(0_u32, |mode, byte| mode << 3 | u32::from(byte & 7));
    match mode >> 12 {
        0o10 => TreeEntryKind::File,
        0o04 => TreeEntryKind::Directory,
        0o12 => TreeEntryKind::Link,
        _ => TreeEntryKind::Submodule,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, &[u8], u8)]) -> Vec<u8> {
        let mut raw = Vec::new();
        for (mode, name, id) in entries {
            raw.extend_from_slice(mode.as_bytes());
            raw.push(b' ');
            raw.extend_from_slice(name);
            raw.push(0);
            raw.extend_from_slice(&[*id; 20]);
        }
        raw
    }

    #[test]
    fn entries_are_in_order_of_their_names_and_found_by_them() {
        let raw = tree(&[
            ("100644", b"a.txt", 1),
            ("40000", b"a", 2),
            ("100755", b"run", 3),
            ("120000", b"\xff link", 4),
            ("160000", b"sub", 5),
        ]);
        let tree = TreeObject::parse(raw, 20).unwrap();
        let names: Vec<&[u8]> = tree.entries().map(|entry| entry.name).collect();
        assert_eq!(names, [&b"a"[..], b"a.txt", b"run", b"sub", b"\xff link"]);
        let kind = |name: &[u8]| tree.find(name).map(|entry| entry.kind);
        assert_eq!(kind(b"a"), Some(TreeEntryKind::Directory));
        assert_eq!(kind(b"a.txt"), Some(TreeEntryKind::File));
        assert_eq!(kind(b"\xff link"), Some(TreeEntryKind::Link));
        assert_eq!(kind(b"sub"), Some(TreeEntryKind::Submodule));
        assert_eq!(kind(b"b"), None);
        assert_eq!(tree.find(b"run").unwrap().id.as_bytes(), [3; 20]);
    }

    #[test]
    fn names_that_no_file_can_have_are_left_out_and_of_equal_names_the_first_stays() {
        let raw = tree(&[
            ("100644", b"..", 1),
            ("100644", b".", 2),
            ("100644", b"a/b", 3),
            ("100644", b"", 4),
            ("100644", b"x", 5),
            ("40000", b"x", 6),
        ]);
        let tree = TreeObject::parse(raw, 20).unwrap();
        assert_eq!(tree.entries().count(), 1);
        assert_eq!(tree.find(b"x").unwrap().id.as_bytes(), [5; 20]);
    }

    #[test]
    fn a_tree_that_ends_early_is_malformed() {
        let raw = tree(&[("100644", b"a", 1)]);
        assert!(TreeObject::parse(raw.clone(), 20).is_some());
        for end in 1..raw.len() {
            assert!(TreeObject::parse(raw[..end].to_vec(), 20).is_none(), "{end}");
        }
        assert!(TreeObject::parse(b"no mode at all".to_vec(), 20).is_none());
    }
}
