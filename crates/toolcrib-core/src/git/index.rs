//! The repositories within a repository: its index names them. `git status` runs a git of its own in each of them.

use std::fmt;

/// The size of the hashes in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashSize {
    /// SHA-1.
    Twenty,
    /// SHA-256.
    ThirtyTwo,
}

/// Why an index cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitIndexError {
    /// It is damaged, or of a version that is not known.
    Malformed,
    /// A part of it is in another file.
    Split,
    /// A part of it is in the trees of the repository: the index has a folder in the place of what is in it.
    Sparse,
    /// It has a table of places from which git reads the entries. They could be other entries.
    Table,
}

impl fmt::Display for GitIndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "it cannot be parsed",
            Self::Split => "it is a split index",
            Self::Sparse => "it is a sparse index",
            Self::Table => "it has an index entry offset table",
        })
    }
}

impl std::error::Error for GitIndexError {}

/// The mode of an entry that stands for a repository.
const GITLINK: u32 = 0o160_000;

/// The mode of an entry that stands for a folder.
const FOLDER: u32 = 0o040_000;

/// The bytes of an entry before its hash, and where its mode is among them.
const BYTES_BEFORE_HASH: usize = 40;
const MODE_AT: usize = 24;

/// Returns the paths of the repositories that an index names.
pub fn gitlinks(bytes: &[u8], hash: HashSize) -> Result<Vec<String>, GitIndexError> {
    let hash_bytes = match hash {
        HashSize::Twenty => 20,
        HashSize::ThirtyTwo => 32,
    };
    let version = number(bytes, 4)?;
    if bytes.get(..4) != Some(b"DIRC") || !(2..=4).contains(&version) {
        return Err(GitIndexError::Malformed);
    }
    let (mut at, mut links, mut path) = (12, Vec::new(), Vec::new());
    for _ in 0..number(bytes, 8)? {
        let start = at;
        let mode = number(bytes, at + MODE_AT)?;
        at += BYTES_BEFORE_HASH + hash_bytes;
        let is_extended = bytes.get(at).ok_or(GitIndexError::Malformed)? & 0x40 != 0;
        at += if version >= 3 && is_extended { 4 } else { 2 };
        if version == 4 {
            // Each path repeats the beginning of the one before it.
            let dropped = variable_number(bytes, &mut at)?;
            let kept = path.len().checked_sub(dropped).ok_or(GitIndexError::Malformed)?;
            path.truncate(kept);
        } else {
            path.clear();
        }
        let rest = bytes.get(at..).ok_or(GitIndexError::Malformed)?;
        let end = rest.iter().position(|byte| *byte == 0).ok_or(GitIndexError::Malformed)?;
        path.extend_from_slice(&rest[..end]);
        at += end + 1;
        if version < 4 {
            // Filled up with zeros to a multiple of eight bytes.
            at = start + (at - start).next_multiple_of(8);
        }
        if mode & 0o170_000 == FOLDER {
            return Err(GitIndexError::Sparse);
        }
        if mode & 0o170_000 == GITLINK {
            let path = String::from_utf8(path.clone()).map_err(|_| GitIndexError::Malformed)?;
            links.push(path);
        }
    }
    // With threads, git finds the extensions by what stands at the very end.
    if let Some(end) = bytes.len().checked_sub(12 + 2 * hash_bytes)
        && bytes.get(end..end + 4) == Some(b"EOIE")
        && number(bytes, end + 8)? as usize != at
    {
        return Err(GitIndexError::Table);
    }
    // The extensions, and a hash of everything at the end.
    while at + 8 + hash_bytes <= bytes.len() {
        match bytes.get(at..at + 4) {
            Some(b"link") => return Err(GitIndexError::Split),
            Some(b"sdir") => return Err(GitIndexError::Sparse),
            Some(b"IEOT") => return Err(GitIndexError::Table),
            _ => {}
        }
        at = at.saturating_add(8).saturating_add(number(bytes, at + 4)? as usize);
    }
    Ok(links)
}

fn number(bytes: &[u8], at: usize) -> Result<u32, GitIndexError> {
    let four = bytes.get(at..at + 4).and_then(|it| it.try_into().ok());
    four.map(u32::from_be_bytes).ok_or(GitIndexError::Malformed)
}

/// Reads a number of seven bits a byte, as git packs offsets.
fn variable_number(bytes: &[u8], at: &mut usize) -> Result<usize, GitIndexError> {
    let mut value = 0_usize;
    for count in 0..4 {
        let byte = *bytes.get(*at).ok_or(GitIndexError::Malformed)?;
        *at += 1;
        value = (value << 7) + usize::from(byte & 0x7f) + usize::from(count > 0) * 128;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(GitIndexError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(version: u32, mode: u32, before: &str, path: &str) -> Vec<u8> {
        let mut bytes = vec![0; MODE_AT];
        bytes.extend(mode.to_be_bytes());
        bytes.resize(BYTES_BEFORE_HASH + 20, 7);
        bytes.extend((path.len() as u16).to_be_bytes());
        if version == 4 {
            bytes.push(before.len() as u8);
        }
        bytes.extend(path.bytes());
        bytes.push(0);
        if version < 4 {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        bytes
    }

    fn index(version: u32, entries: &[(u32, &str)], extension: &[u8]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend((entries.len() as u32).to_be_bytes());
        let mut before = "";
        for (mode, path) in entries {
            bytes.extend(entry(version, *mode, before, path));
            before = path;
        }
        bytes.extend(extension);
        bytes.extend([9; 20]);
        bytes
    }

    #[test]
    fn repositories_in_an_index_are_found() {
        let entries = [(0o100_644, "a"), (GITLINK, "sub/one"), (0o100_755, "x/yz"), (GITLINK, "z")];
        for version in 2..=4 {
            let bytes = index(version, &entries, b"TREE\0\0\0\x02ab");
            assert_eq!(
                gitlinks(&bytes, HashSize::Twenty),
                Ok(vec!["sub/one".to_owned(), "z".to_owned()]),
                "{version}"
            );
        }
        assert_eq!(gitlinks(&index(2, &entries[..1], b""), HashSize::Twenty), Ok(Vec::new()));
    }

    #[test]
    fn an_index_that_does_not_tell_all_is_refused() {
        let whole = index(2, &[(GITLINK, "sub")], b"");
        for cut in [0, 3, 11, 40, 70] {
            assert_eq!(
                gitlinks(&whole[..cut], HashSize::Twenty),
                Err(GitIndexError::Malformed),
                "{cut}"
            );
        }
        let eoie =
            |offset: u32| [b"EOIE\0\0\0\x18", offset.to_be_bytes().as_slice(), &[5; 20]].concat();
        for (extension, expect) in [
            (b"link\0\0\0\x01a".to_vec(), Err(GitIndexError::Split)),
            (b"sdir\0\0\0\0".to_vec(), Err(GitIndexError::Sparse)),
            (b"IEOT\0\0\0\x01a".to_vec(), Err(GitIndexError::Table)),
            (eoie(12), Ok(Vec::new())),
            (eoie(13), Err(GitIndexError::Table)),
        ] {
            let bytes = index(2, &[], &extension);
            assert_eq!(gitlinks(&bytes, HashSize::Twenty), expect, "{extension:?}");
        }
        let sparse = index(3, &[(FOLDER, "a/")], b"");
        assert_eq!(gitlinks(&sparse, HashSize::Twenty), Err(GitIndexError::Sparse));
        assert_eq!(gitlinks(&index(5, &[], b""), HashSize::Twenty), Err(GitIndexError::Malformed));
    }
}
