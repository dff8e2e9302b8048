//! Where a repository is, as people write it: `git:PATH#REVISION`, `github:OWNER/NAME#REVISION`, or a folder.

use std::fmt;
use std::path::PathBuf;

use toolcrib_core::pull_requests::owner_and_name;
use toolcrib_core::{ErrorKind, ToolError};

use crate::github::api_address::ApiAddress;

/// The API of github.com.
pub const GITHUB_API: &str = "https://api.github.com";

/// The revision of a git repository for which none is named.
const HEAD: &str = "HEAD";

/// Where a repository is, and at which revision it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepositoryPlace {
    /// A folder, whose files are read as they are.
    Folder(PathBuf),
    /// A git repository on disk.
    Git {
        /// The work tree, or the bare repository.
        path: PathBuf,
        /// The revision.
        revision: String,
    },
    /// A repository on GitHub, or on a server with its API.
    GitHub {
        /// The URL of the API.
        api_url: String,
        /// The user or the organization.
        owner: String,
        /// The repository.
        name: String,
        /// The revision; the default branch without it.
        revision: Option<String>,
    },
}

impl RepositoryPlace {
    /// Reads a place. Paths must be absolute, because a place is used from everywhere.
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        if text.chars().any(char::is_control) {
            return Err(bad(&text.escape_debug().to_string(), "it has control characters"));
        }
        let (place, revision) = match text.split_once('#') {
            None => (text, None),
            Some((_, "")) => return Err(bad(text, "no revision follows `#`")),
            Some((place, revision)) => (place, Some(revision.to_owned())),
        };
        if let Some(path) = place.strip_prefix("git:") {
            let revision = revision.unwrap_or_else(|| HEAD.to_owned());
            return Ok(Self::Git { path: absolute(text, path)?, revision });
        }
        if let Some(name) = place.strip_prefix("github:") {
            let (api_url, [owner, name]) = github(text, name)?;
            return Ok(Self::GitHub { api_url, owner, name, revision });
        }
        if revision.is_some() {
            return Err(bad(text, "a folder has no revisions"));
        }
        let path = place.strip_prefix("folder:").unwrap_or(place);
        Ok(Self::Folder(absolute(text, path)?))
    }
}

/// Returns the URL of the API, the owner and the name. A host before the owner is an Enterprise server; with a scheme, all that
/// is before the owner is the URL of its API.
fn github(text: &str, name: &str) -> Result<(String, [String; 2]), ToolError> {
    let not_named = || bad(text, "a repository is named OWNER/NAME");
    let place = name.trim_end_matches('/');
    // The last two parts are the repository.
    let last = place.rmatch_indices('/').nth(1).map(|(at, _)| at);
    let (host, repository) = match last {
        Some(at) => (Some(&place[..at]), &place[at + 1..]),
        None => (None, place),
    };
    let (owner, name) = owner_and_name(repository).ok_or_else(not_named)?;
    let api_url = match host {
        None | Some("github.com") => GITHUB_API.to_owned(),
        Some(url) if url.starts_with("https://") || url.starts_with("http://") => url.to_owned(),
        Some(host) if host.contains(['/', '@']) || host.is_empty() => return Err(not_named()),
        Some(host) => format!("https://{host}/api/v3"),
    };
    if ApiAddress::parse(&api_url).is_err() {
        return Err(bad("github:…", "the address of its server is not one"));
    }
    Ok((api_url, [owner, name].map(str::to_owned)))
}

fn absolute(text: &str, path: &str) -> Result<PathBuf, ToolError> {
    let path = PathBuf::from(path);
    if path.is_absolute() { Ok(path) } else { Err(bad(text, "the path must be absolute")) }
}

fn bad(text: &str, why: &str) -> ToolError {
    ToolError::new(ErrorKind::BadArgs, format!("`{text}` names no repository: {why}")).hint(
        "write git:/PATH#REVISION, github:OWNER/NAME#REVISION, github:HOST/OWNER/NAME, or the path of a folder",
    )
}

impl fmt::Display for RepositoryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
            Self::Git { path, revision } => write!(f, "git:{}#{revision}", path.display()),
            Self::GitHub { api_url, owner, name, revision } => {
                f.write_str("github:")?;
                if api_url != GITHUB_API {
                    write!(f, "{api_url}/")?;
                }
                write!(f, "{owner}/{name}")?;
                revision.iter().try_for_each(|revision| write!(f, "#{revision}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written() {
        for (text, written) in [
            ("/srv/docs", "/srv/docs"),
            ("folder:/srv/docs", "/srv/docs"),
            ("git:/srv/a.git", "git:/srv/a.git#HEAD"),
            ("git:/srv/a.git#v2~1", "git:/srv/a.git#v2~1"),
            ("github:o/n", "github:o/n"),
            ("github:github.com/o/n.js#main", "github:o/n.js#main"),
            ("github:ghe.example.com/o/n", "github:https://ghe.example.com/api/v3/o/n"),
            ("github:http://127.0.0.1:99/api/v3/o/n#x", "github:http://127.0.0.1:99/api/v3/o/n#x"),
        ] {
            let place = RepositoryPlace::parse(text).unwrap();
            assert_eq!(place.to_string(), written);
            assert_eq!(RepositoryPlace::parse(written).unwrap(), place);
        }
    }

    #[test]
    fn what_names_no_repository_is_refused() {
        for (text, why) in [
            ("", "must be absolute"),
            ("docs", "must be absolute"),
            ("git:docs#main", "must be absolute"),
            ("git:/srv/a#", "no revision"),
            ("/srv/docs#main", "has no revisions"),
            ("github:o", "OWNER/NAME"),
            ("github:o/", "OWNER/NAME"),
            ("github:o/..", "OWNER/NAME"),
            ("github:o/n?x=1", "OWNER/NAME"),
            ("github:user@host/o/n", "OWNER/NAME"),
            ("github:https://user:secret@host/o/n", "not one"),
            ("/srv/a\nb", "control"),
        ] {
            let err = RepositoryPlace::parse(text).unwrap_err();
            assert!(err.message.contains(why), "{text}: {err}");
        }
    }
}
