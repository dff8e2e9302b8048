//! Resolves a path for those who decide about a call: follows every link, as commands do, and opens nothing.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use toolcrib_core::capability::Resolved;

use crate::files::root::Root;
use crate::files::spelling::{spelt, spelt_root};

/// More links than this count as a circle.
const MOST_LINKS: usize = 40;

/// Resolves `path` from the first of `roots`, or from `/`. Links are followed below the roots. Paths outside are
/// not inspected.
pub(crate) fn resolve(roots: &[Root], path: &str) -> Resolved {
    let start = roots.first().map_or_else(PathBuf::new, |root| root.path().to_owned());
    let mut parts: VecDeque<OsString> = VecDeque::new();
    let push = |parts: &mut VecDeque<OsString>, path: &Path| {
        for part in path.components().rev() {
            parts.push_front(part.as_os_str().to_owned());
        }
    };
    push(&mut parts, &start.join(path));
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    let inside = |at: &Path| roots.iter().find(|root| at.starts_with(root.path()));
    while let Some(part) = parts.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::RootDir) => at = PathBuf::from("/"),
            Some(Component::ParentDir) => {
                at.pop();
            }
            Some(Component::Normal(name)) => {
                at.push(name);
                if inside(&at).is_some()
                    && links < MOST_LINKS
                    && let Ok(target) = std::fs::read_link(&at)
                {
                    links += 1;
                    at.pop();
                    push(&mut parts, &target);
                }
            }
            _ => {}
        }
    }
    let is_inside = links < MOST_LINKS && inside(&at).is_some();
    let shown = match inside(&at) {
        Some(root) => {
            let below = at.strip_prefix(root.path()).map_or_else(|_| String::new(), spelt);
            let root = spelt_root(root);
            if below.is_empty() { root } else { format!("{}/{below}", root.trim_end_matches('/')) }
        }
        None => at.display().to_string(),
    };
    Resolved { path: shown, is_inside, has_links: links > 0 }
}
