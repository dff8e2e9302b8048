//! The index on disk: names, stamps and postings, never text, under a checksum. A file that does not fit exactly is
//! treated as missing.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toolcrib_core::canonical::hex;

use crate::index::shard_postings::Postings;
use crate::index::tree_index::{FileState, IndexSnapshot, KnownFile};
use toolcrib_core::FileStamp;

const MAGIC: &[u8; 16] = b"toolcrib-index-2";

/// Makes the folder of an index, and the one with the folders of all indexes. The state folder itself is not made: if it
/// vanished, whoever puts it back must find its place empty.
pub(crate) fn make_in_state(folder: &Path) -> io::Result<()> {
    for it in folder.parent().into_iter().chain([folder]) {
        match std::fs::create_dir(it) {
            Err(err) if err.kind() != io::ErrorKind::AlreadyExists => return Err(err),
            _ => {}
        }
    }
    Ok(())
}

/// Saves a snapshot: writes it to a temporary file and renames that, so that a half-written index is never seen.
pub(crate) fn save(folder: &Path, snapshot: &IndexSnapshot) -> io::Result<u64> {
    make_in_state(folder)?;
    remove_leftovers(folder, std::time::Duration::from_mins(10));
    let temporary = folder.join(format!("index.{}~", std::process::id()));
    let saved = write(&temporary, snapshot);
    let saved =
        saved.and_then(|size| std::fs::rename(&temporary, folder.join("index")).map(|()| size));
    if saved.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    saved
}

/// Removes temporary files that a killed process left behind, if they are older than `age`.
fn remove_leftovers(folder: &Path, age: std::time::Duration) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let since = entry.metadata().and_then(|meta| meta.modified()).map(|it| it.elapsed());
        let is_old = since.is_ok_and(|since| since.is_ok_and(|since| since >= age));
        if name.starts_with("index.") && name.ends_with('~') && is_old {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn write(path: &Path, snapshot: &IndexSnapshot) -> io::Result<u64> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    let mut out =
        Out { file: io::BufWriter::with_capacity(1 << 20, file), sum: Sha256::new(), size: 0 };
    out.bytes(MAGIC)?;
    out.number(snapshot.shards.len())?;
    for shard in &snapshot.shards {
        let tables = shard.postings.tables();
        out.number(tables.docs)?;
        out.words(tables.heads)?;
        out.block(tables.thirds)?;
        out.words(tables.entries)?;
        out.block(tables.lists)?;
    }
    let kept = snapshot.files.iter().filter(|(_, known)| !known.is_racy);
    out.number(kept.clone().count())?;
    for (path, known) in kept {
        out.block(path)?;
        let (kind, shard, doc) = match known.state {
            FileState::Binary => (1, 0, 0),
            FileState::Packed(shard, doc) => (2, shard, doc),
            _ => (0, 0, 0),
        };
        out.bytes(&[kind])?;
        out.bytes(&shard.to_le_bytes())?;
        out.bytes(&doc.to_le_bytes())?;
        let FileStamp { device: _, inode, size, modified_ns, changed_ns } = known.stamp;
        for number in [inode, size, modified_ns.cast_unsigned(), changed_ns.cast_unsigned()] {
            out.bytes(&number.to_le_bytes())?;
        }
    }
    let sum = out.sum.finalize();
    out.file.write_all(&sum)?;
    out.file.flush()?;
    Ok(out.size + sum.len() as u64)
}

struct Out {
    file: io::BufWriter<File>,
    sum: Sha256,
    size: u64,
}

impl Out {
    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.size += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    fn number(&mut self, number: usize) -> io::Result<()> {
        self.bytes(&(number as u64).to_le_bytes())
    }

    fn block(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.number(bytes.len())?;
        self.bytes(bytes)
    }

    fn words(&mut self, words: &[u32]) -> io::Result<()> {
        self.number(words.len())?;
        let mut bytes = Vec::with_capacity(1 << 16);
        for chunk in words.chunks(1 << 14) {
            bytes.clear();
            bytes.extend(chunk.iter().flat_map(|word| word.to_le_bytes()));
            self.bytes(&bytes)?;
        }
        Ok(())
    }
}

/// Loads the saved snapshot; nothing if there is none, or it is damaged, or larger than `most` bytes.
pub(crate) fn load(folder: &Path, most: usize) -> Option<IndexSnapshot> {
    let mut file = File::open(folder.join("index")).ok()?;
    if file.metadata().ok()?.len() > most as u64 {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
    if *Sha256::digest(content) != *sum {
        return None;
    }
    parse(content)
}

fn parse(content: &[u8]) -> Option<IndexSnapshot> {
    let mut content = In { rest: content.strip_prefix(MAGIC)? };
    let mut snapshot = IndexSnapshot::default();
    for _ in 0..content.number()? {
        let docs = content.number()?;
        let heads = content.words()?;
        let thirds = content.block()?.to_vec();
        let entries = content.words()?;
        let lists = content.block()?.to_vec();
        let postings = if heads.is_empty() {
            Postings::empty()
        } else {
            Postings::from_tables(heads, thirds, entries, lists, docs)?
        };
        snapshot.shards.push(postings.into());
    }
    for _ in 0..content.number()? {
        let path = content.block()?.into();
        let kind = content.take(1)?[0];
        let shard = u16::from_le_bytes(content.take(2)?.try_into().ok()?);
        let doc = u16::from_le_bytes(content.take(2)?.try_into().ok()?);
        let mut numbers = [0_u64; 4];
        for number in &mut numbers {
            *number = u64::from_le_bytes(content.take(8)?.try_into().ok()?);
        }
        let [inode, size, modified, changed] = numbers;
        let stamp = FileStamp {
            device: 0,
            inode,
            size,
            modified_ns: modified.cast_signed(),
            changed_ns: changed.cast_signed(),
        };
        let state = match kind {
            1 => FileState::Binary,
            2 => {
                let tables = snapshot.shards.get(usize::from(shard))?;
                if usize::from(doc) >= tables.postings.docs() {
                    return None;
                }
                FileState::Packed(shard, doc)
            }
            _ => FileState::AlwaysScan,
        };
        snapshot.files.insert(path, KnownFile { stamp, is_racy: false, state, text: None });
    }
    content.rest.is_empty().then_some(snapshot)
}

struct In<'a> {
    rest: &'a [u8],
}

impl<'a> In<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.take(8)?.try_into().ok()?)).ok()
    }

    fn block(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length)
    }

    fn words(&mut self) -> Option<Vec<u32>> {
        let length = self.number()?.checked_mul(4)?;
        let bytes = self.take(length)?;
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap_or_default());
        Some(bytes.chunks_exact(4).map(word).collect())
    }
}

/// Returns the folder, within a state folder, that the index of a root is saved in.
pub fn index_folder(state: &Path, root: &Path) -> PathBuf {
    let sum = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let mut name = String::new();
    // Writing to a string cannot fail.
    let _ = hex(&sum[..8], &mut name);
    state.join("search").join(name)
}

/// Whether the index of a root was switched off.
pub fn is_index_disabled(folder: &Path) -> bool {
    folder.join("off").exists()
}

/// Switches the index of a root off: nobody builds or loads one until [`enable_index`].
pub fn disable_index(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("off"), "")
}

/// Switches the index of a root on again.
pub fn enable_index(folder: &Path) -> io::Result<()> {
    match std::fs::remove_file(folder.join("off")) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
        _ => Ok(()),
    }
}

/// The saved index of a root.
#[derive(Clone, Copy, Debug)]
pub struct SavedIndex {
    /// The size of the file.
    pub bytes: u64,
    /// When the index was saved.
    pub written: std::time::SystemTime,
}

/// Returns the index that is saved in a folder, if there is one.
pub fn saved_index(folder: &Path) -> Option<SavedIndex> {
    let meta = std::fs::metadata(folder.join("index")).ok()?;
    Some(SavedIndex { bytes: meta.len(), written: meta.modified().ok()? })
}

/// Deletes the index that is saved in a folder.
pub fn delete_index(folder: &Path) -> io::Result<()> {
    remove_leftovers(folder, std::time::Duration::ZERO);
    match std::fs::remove_file(folder.join("index")) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::shard_postings::PostingsBuilder;
    use crate::plan::Query;
    use crate::trigram::trigram;

    fn snapshot() -> IndexSnapshot {
        let mut builder = PostingsBuilder::new();
        builder.add(b"hello world");
        builder.end();
        let mut snapshot =
            IndexSnapshot { shards: vec![builder.build().into()], ..IndexSnapshot::default() };
        let stamp = FileStamp { device: 0, inode: 1, size: 2, modified_ns: -3, changed_ns: 4 };
        let known = |state, is_racy| KnownFile { stamp, is_racy, state, text: None };
        snapshot.files.insert(b"a".as_slice().into(), known(FileState::Packed(0, 0), false));
        snapshot.files.insert(b"b".as_slice().into(), known(FileState::Binary, false));
        snapshot.files.insert(b"c".as_slice().into(), known(FileState::Binary, true));
        snapshot
    }

    #[test]
    fn what_is_kept_comes_back_but_for_what_was_racy() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), &snapshot()).unwrap();
        let back = load(folder.path(), 1 << 20).unwrap();
        assert_eq!(back.files.len(), 2);
        assert_eq!(back.files[b"a".as_slice()].state, FileState::Packed(0, 0));
        assert_eq!(back.files[b"a".as_slice()].stamp.modified_ns, -3);
        assert_eq!(
            back.shards[0].postings.find(&Query::Trigram(trigram(b"wor")), 1),
            Some(vec![0])
        );
        assert!(load(folder.path(), 100).is_none(), "over the options");
    }

    #[test]
    fn a_damaged_index_is_none() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), &snapshot()).unwrap();
        let whole = std::fs::read(folder.path().join("index")).unwrap();
        for at in [0, 20, whole.len() / 2, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(folder.path().join("index"), &bytes).unwrap();
            assert!(load(folder.path(), 1 << 20).is_none(), "byte {at}");
        }
        std::fs::write(folder.path().join("index"), &whole[..whole.len() - 7]).unwrap();
        assert!(load(folder.path(), 1 << 20).is_none());
    }
}
