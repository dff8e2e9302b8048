//! Many paths in one block of memory, in order.

use std::cmp::Ordering;

/// Paths below a root, in order. Names are compared one by one, so that the files of a directory stay together.
#[derive(Clone, Default)]
pub(crate) struct Paths {
    blob: Vec<u8>,
    ends: Vec<u32>,
}

impl Paths {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, index: usize) -> &[u8] {
        let start = self.start_byte(index);
        // Each path is followed by a line break, so that no text is found across two paths.
        &self.blob[start..self.ends[index] as usize - 1]
    }

    pub(crate) fn push(&mut self, directory: &[u8], name: &[u8]) {
        if !directory.is_empty() {
            self.blob.extend_from_slice(directory);
            self.blob.push(b'/');
        }
        self.blob.extend_from_slice(name);
        self.blob.push(b'\n');
        self.ends.push(self.blob.len() as u32);
    }

    #[cfg(test)]
    pub(crate) fn push_path(&mut self, path: &[u8]) {
        self.push(b"", path);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The block of all paths.
    pub(crate) fn blob(&self) -> &[u8] {
        &self.blob
    }

    /// Returns where in the block a path starts; for the index after the last path, where the block ends.
    pub(crate) fn start_byte(&self, index: usize) -> usize {
        if index == 0 { 0 } else { self.ends[index - 1] as usize }
    }

    /// Returns the index of the path that a byte of the block belongs to.
    pub(crate) fn at_byte(&self, byte: usize) -> usize {
        self.ends.partition_point(|end| *end as usize <= byte)
    }

    /// Returns the index of `path`, or as an error the index where it would be.
    pub(crate) fn find(&self, path: &[u8]) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match order(self.get(middle), path) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.blob.capacity() + self.ends.capacity() * 4
    }
}

/// A path that sorts as walks do.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PathKey(Box<[u8]>);

impl PathKey {
    pub(crate) fn new(path: &[u8]) -> Self {
        Self(path.into())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Box<[u8]>> for PathKey {
    fn from(path: Box<[u8]>) -> Self {
        Self(path)
    }
}

impl Ord for PathKey {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.0, &other.0)
    }
}

impl PartialOrd for PathKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares two paths name by name.
pub(crate) fn order(a: &[u8], b: &[u8]) -> Ordering {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    match (a.get(same), b.get(same)) {
        (None, None) => Ordering::Equal,
        // A slash ends a name, and the shorter name sorts first.
        (None | Some(b'/'), Some(_)) => Ordering::Less,
        (Some(_), None | Some(b'/')) => Ordering::Greater,
        (Some(a), Some(b)) => a.cmp(b),
    }
}

/// Splits a path into its directory and its name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memrchr(b'/', path) {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

/// Whether `path` is `directory` or below it.
pub(crate) fn is_below(path: &[u8], directory: &[u8]) -> bool {
    directory.is_empty()
        || path.strip_prefix(directory).is_some_and(|rest| rest.first().is_none_or(|b| *b == b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_directory_stays_together() {
        let mut sorted = vec!["a/b", "a", "a.txt", "a/c/d", "a-b", "b", "a/c"];
        sorted.sort_by(|a, b| order(a.as_bytes(), b.as_bytes()));
        assert_eq!(sorted, ["a", "a/b", "a/c", "a/c/d", "a-b", "a.txt", "b"]);
    }

    #[test]
    fn paths_are_found_by_name_and_by_byte() {
        let mut paths = Paths::default();
        for (directory, name) in [("", "a"), ("a", "b"), ("", "c")] {
            paths.push(directory.as_bytes(), name.as_bytes());
        }
        assert_eq!(paths.get(1), b"a/b");
        assert_eq!(paths.find(b"a/b"), Ok(1));
        assert_eq!(paths.find(b"b"), Err(2));
        assert_eq!(paths.at_byte(3), 1);
        assert!(is_below(b"a/b", b"a") && is_below(b"a", b"a") && !is_below(b"ab", b"a"));
    }
}
