//! The kernel's list of what is mounted.

use std::fs;
use std::io;
use std::path::Path;

/// One mount.
pub(crate) struct Mount {
    /// The device its file system is on.
    pub(crate) device: String,
    /// Which folder or file of that file system it shows.
    pub(crate) of: String,
    /// Where it is mounted.
    pub(crate) place: String,
}

impl Mount {
    /// Whether it is mounted below a path.
    pub(crate) fn is_below(&self, path: &str) -> bool {
        rest_of(&self.place, path).is_some_and(|rest| !rest.is_empty())
    }

    /// Whether it shows, below the place of `base`, exactly what is there in `base` as well.
    pub(crate) fn is_on_itself(&self, base: &Self, path: &str) -> bool {
        let shown = rest_of(&self.of, &base.of);
        self.device == base.device && shown.is_some() && shown == rest_of(&self.place, path)
    }
}

/// The rest of a path below another one.
fn rest_of<'a>(path: &'a str, above: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(above.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
}

/// Lists the mounts of this process's namespace.
pub(crate) fn list() -> io::Result<Vec<Mount>> {
    let text = fs::read_to_string("/proc/self/mountinfo")?;
    let mount = |line: &str| {
        let mut fields = line.split(' ').skip(2);
        let mut next = || fields.next().map(plain);
        Some(Mount { device: next()?, of: next()?, place: next()? })
    };
    Ok(text.lines().filter_map(mount).collect())
}

/// What is mounted below these roots already, and comes with them: the device and root of each.
pub(crate) fn below<'a>(roots: impl Iterator<Item = &'a Path>) -> Vec<(String, String)> {
    let roots: Vec<&str> = roots.filter_map(Path::to_str).collect();
    let is_below = |mount: &Mount| roots.iter().any(|root| mount.is_below(root));
    let mounts = list().unwrap_or_default();
    mounts.into_iter().filter(is_below).map(|mount| (mount.device, mount.of)).collect()
}

/// Undoes the kernel's spelling of odd characters.
fn plain(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let code = rest.get(1..4).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            _ => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(device: &str, of: &str, place: &str) -> Mount {
        Mount { device: device.to_owned(), of: of.to_owned(), place: place.to_owned() }
    }

    #[test]
    fn a_part_of_the_workspace_is_told_from_anything_else() {
        let base = mount("8:1", "/home/me/project", "/project");
        let on_itself = |it: Mount| it.is_on_itself(&base, "/project");
        assert!(on_itself(mount("8:1", "/home/me/project/.git", "/project/.git")));
        assert!(!on_itself(mount("8:1", "/home/me/other", "/project/b")));
        assert!(!on_itself(mount("8:1", "/home/me/project/.git", "/project/b")));
        assert!(!on_itself(mount("8:2", "/home/me/project/.git", "/project/.git")));
        assert!(!on_itself(mount("8:1", "/home/me/projects", "/project/s")));
        assert_eq!(plain("/a\\040b\\134c"), "/a b\\c");
    }
}
