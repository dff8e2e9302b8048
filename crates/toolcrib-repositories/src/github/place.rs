//! Where a repository on GitHub is, and who asks for it.

use std::fmt;

use toolcrib_core::pull_requests::owner_and_name;
use toolcrib_core::{ErrorKind, ToolError};

use crate::repository_place::GITHUB_API;

/// Where a repository on GitHub is.
#[derive(Clone)]
pub struct GitHubPlace {
    /// The user or the organization.
    pub owner: String,
    /// The repository.
    pub name: String,
    /// The address of the REST API. That of an Enterprise server is `https://HOST/api/v3`.
    pub api_url: String,
    /// The branch, tag or commit; the default branch if there is none.
    pub revision: Option<String>,
    /// The token. It is sent to the host of `api_url`, and to no other one.
    pub token: Option<String>,
}

impl GitHubPlace {
    /// Makes the place of a repository on github.com, without a token.
    pub fn new(owner: impl Into<String>, name: impl Into<String>) -> Self {
        let (owner, name, api_url) = (owner.into(), name.into(), GITHUB_API.to_owned());
        Self { owner, name, api_url, revision: None, token: None }
    }

    /// Parses `owner/name`, as people write it.
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let Some((owner, name)) = owner_and_name(text) else {
            let text: String = text.chars().take(200).collect();
            let message = format!("`{}` is not a repository on GitHub", text.escape_debug());
            return Err(ToolError::new(ErrorKind::BadArgs, message)
                .hint("write its owner and its name, such as `octocat/hello-world`"));
        };
        Ok(Self::new(owner, name))
    }

    /// Fails if owner or name can be none of GitHub.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        Self::parse(&self.full_name()).map(|_| ())
    }

    /// Returns `owner/name`.
    pub(super) fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

/// Shows everything but the token.
impl fmt::Debug for GitHubPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitHubPlace")
            .field("owner", &self.owner)
            .field("name", &self.name)
            .field("api_url", &self.api_url)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_owner_and_a_name() {
        let place = GitHubPlace::parse("octo-cat/hello.world_1").unwrap();
        assert_eq!((place.owner.as_str(), place.name.as_str()), ("octo-cat", "hello.world_1"));
        for text in ["", "a", "a/", "/b", "a/b/c", "../b", "a/..", "a/b?c", "a/b c", "ä/b"] {
            assert_eq!(GitHubPlace::parse(text).unwrap_err().kind, ErrorKind::BadArgs, "{text}");
        }
    }

    #[test]
    fn a_token_is_not_shown() {
        let place = GitHubPlace { token: Some("s3cret".to_owned()), ..GitHubPlace::new("a", "b") };
        assert!(!format!("{place:?}").contains("s3cret"));
    }
}
