//! The id of an object, computed of its content, so that nobody on the way can put another in its place.

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};

use crate::object_id::ObjectId;

/// Returns the id that git gives to a content of this kind.
pub(super) fn id_of(kind: &str, content: &[u8]) -> Option<ObjectId> {
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    context.update(format!("{kind} {}\0", content.len()).as_bytes());
    context.update(content);
    ObjectId::from_bytes(context.finish().as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        let id = |kind: &str, content: &[u8]| id_of(kind, content).unwrap().to_string();
        assert_eq!(id("tree", b""), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        assert_eq!(id("blob", b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(id("blob", b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
    }
}
