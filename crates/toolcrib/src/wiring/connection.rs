//! The repository that the tools of a catalogue read: the workspace, a folder, or a repository at a revision.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::caller::is_connection_name;
use toolcrib_core::net::Net;
use toolcrib_core::{Call, Cancel, Connection, ToolName};
use toolcrib_repositories::{
    GITHUB_API, GitHubOptions, GitHubPlace, GitHubPullRequests, GitRepositoryOptions,
    PullRequestAccess, RepositoryPlace, RepositorySource,
};

use super::config::Config;
use super::file_area::FileArea;
use super::locations::{absolute, own_paths};
use super::net::open_net;
use super::options::OpenOptions;
use crate::error::CliError;
use crate::settings::{Settings, table};

/// What the tools of a catalogue are connected to.
#[derive(Clone)]
pub(super) enum ConnectedPlace {
    /// Files on disk, as they are.
    Folder(FileArea),
    /// A repository at a revision.
    Repository(Arc<RepositorySource>),
}

impl ConnectedPlace {
    /// Returns the connection of one call.
    pub(super) fn connect(&self, call: &Call, tool: &ToolName, cancel: &Cancel) -> Connection {
        match self {
            Self::Folder(area) => area.connect(call, tool, cancel),
            Self::Repository(source) => source.connect(&call.session.0, cancel),
        }
    }
}

/// A connection of the settings: `NAME=PLACE`.
pub struct NamedPlace {
    /// Its name.
    pub name: String,
    /// Where the repository is.
    pub place: RepositoryPlace,
}

/// The names that mean something else where a connection is named.
const TAKEN_NAMES: [&str; 2] = ["workspace", "none"];

impl NamedPlace {
    /// Reads an entry of `connections`.
    pub fn parse(entry: &str) -> Result<Self, CliError> {
        let bad = |why: &str| {
            CliError::settings(format!("`connections`: `{entry}` is no connection: {why}"))
                .hint("write NAME=PLACE, such as docs=git:/srv/docs.git#v2")
        };
        let (name, place) = entry.split_once('=').ok_or_else(|| bad("it has no `=`"))?;
        Self::check_name(name).map_err(|err| bad(&err.message))?;
        let place = RepositoryPlace::parse(place).map_err(|err| bad(&err.message))?;
        Ok(Self { name: name.to_owned(), place })
    }

    /// Fails if a connection can have no such name.
    pub fn check_name(name: &str) -> Result<(), CliError> {
        if !is_connection_name(name) {
            let message = "a name has letters, digits, `-`, `_` and `.`, 64 at most";
            return Err(CliError::settings(message).hint("choose another name"));
        }
        if TAKEN_NAMES.contains(&name) {
            let message =
                format!("`{name}` can be no name: `hikai.connection` has its own meaning for it");
            return Err(CliError::settings(message).hint("choose another name"));
        }
        Ok(())
    }

    /// Returns every connection of the settings.
    pub fn all(settings: &Settings) -> Result<Vec<Self>, CliError> {
        settings.get(table::CONNECTIONS).iter().map(|entry| Self::parse(entry)).collect()
    }
}

/// Returns the place that a setting names: a connection by its name, or a place as it is written. A path of a setting may
/// be relative.
pub fn connected_place(settings: &Settings, text: &str) -> Result<RepositoryPlace, CliError> {
    match NamedPlace::all(settings)?.into_iter().find(|it| it.name == text) {
        Some(named) => Ok(named.place),
        None => written_place(text),
    }
}

/// Returns the place that a person wrote. A path may be relative to the current directory.
pub fn written_place(text: &str) -> Result<RepositoryPlace, CliError> {
    let page = text.strip_prefix("https://github.com/").map(|page| page.trim_end_matches('/'));
    if let Some(page) = page {
        return written_place(&format!("github:{}", page.trim_end_matches(".git")));
    }
    // A folder with a colon in its name can still be written with a slash before it.
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let is_known = |scheme: &str| matches!(scheme, "git" | "github" | "folder");
    if let Some(scheme) = scheme.filter(|it| !it.contains(['/', '.']) && !is_known(it)) {
        let message = format!("`{text}` names no repository: `{scheme}:` is not known");
        return Err(CliError::settings(message).hint(
            "write git:/PATH#REVISION, github:OWNER/NAME#REVISION, github:HOST/OWNER/NAME, or the path of a folder",
        ));
    }
    let whole = match text.strip_prefix("git:") {
        Some(place) => {
            let (path, revision) = match place.split_once('#') {
                None => (place, String::new()),
                Some((path, revision)) => (path, format!("#{revision}")),
            };
            format!("git:{}{revision}", absolute(Path::new(path))?.display())
        }
        None if text.starts_with("github:") => text.to_owned(),
        None if text.contains('#') => text.to_owned(),
        None => {
            let path = text.strip_prefix("folder:").unwrap_or(text);
            absolute(Path::new(path))?.display().to_string()
        }
    };
    RepositoryPlace::parse(&whole).map_err(|err| {
        let told = CliError::settings(err.message);
        err.hint.into_iter().fold(told, CliError::hint)
    })
}

/// Opens repositories for the tools that read them.
#[derive(Clone)]
pub struct RepositoryOpener {
    /// The net, for repositories that are elsewhere.
    pub net: Arc<dyn Net>,
    /// The token for github.com, if there is one.
    pub github_token: Option<String>,
    /// The token for other servers with the same API, if there is one.
    pub enterprise_token: Option<String>,
    /// How repositories are read.
    pub options: GitRepositoryOptions,
    /// The URL of the API that is asked about pull requests.
    pull_request_api: String,
    /// The folders in which the program `gh` is looked for.
    program_path: OsString,
}

impl RepositoryOpener {
    /// Returns the opener that the settings and the environment give. In the folders `closed`, nothing is read.
    pub fn new(
        net: Arc<dyn Net>,
        settings: &Settings,
        environment: &BTreeMap<String, OsString>,
        closed: &[PathBuf],
    ) -> Self {
        let token = |names: [&str; 2]| {
            let values = names.into_iter().filter_map(|name| environment.get(name)?.to_str());
            values.map(str::trim).find(|it| !it.is_empty()).map(str::to_owned)
        };
        Self {
            net,
            github_token: token(GITHUB_TOKENS),
            enterprise_token: token(ENTERPRISE_TOKENS),
            options: GitRepositoryOptions {
                closed_folders: closed.to_owned(),
                ..repository_options(settings)
            },
            pull_request_api: settings.get(table::GITHUB_API_URL),
            program_path: environment.get("PATH").cloned().unwrap_or_default(),
        }
    }

    /// Returns the opener for a command that opens no workspace.
    pub fn of_config(config: &Config, options: &OpenOptions) -> Result<Self, CliError> {
        let Config { settings, state, files, environment, .. } = config;
        let net = open_net(settings, options)?;
        let state = state.as_deref().map_err(CliError::clone)?;
        Ok(Self::new(net, settings, environment, &own_paths(files, state, settings)))
    }

    /// Returns the token for an API. That of github.com goes nowhere else.
    fn token_for(&self, api_url: &str) -> Option<String> {
        let is_public = api_url.trim_end_matches('/') == GITHUB_API;
        if is_public { self.github_token.clone() } else { self.enterprise_token.clone() }
    }

    /// Returns the pull requests of GitHub. A question that names no repository is about the connected one.
    pub(super) fn pull_requests(&self, connected: Option<&RepositoryPlace>) -> GitHubPullRequests {
        let api_url = self.pull_request_api.clone();
        let repository = match connected {
            Some(RepositoryPlace::GitHub { api_url: of, owner, name, .. }) if *of == api_url => {
                Some(format!("{owner}/{name}"))
            }
            _ => None,
        };
        let access = PullRequestAccess {
            token: self.token_for(&api_url),
            api_url,
            repository,
            program_path: self.program_path.clone(),
        };
        GitHubPullRequests::new(Arc::clone(&self.net), access)
    }

    /// Returns the repository at a place, which is opened when it is needed. A folder is read at its `HEAD`.
    pub fn source(&self, place: RepositoryPlace) -> RepositorySource {
        match place {
            RepositoryPlace::Folder(path) => {
                RepositorySource::git(path, "HEAD".to_owned(), self.options.clone())
            }
            RepositoryPlace::Git { path, revision } => {
                RepositorySource::git(path, revision, self.options.clone())
            }
            RepositoryPlace::GitHub { api_url, owner, name, revision } => {
                let token = self.token_for(&api_url);
                let place = GitHubPlace { owner, name, api_url, revision, token };
                let options = GitHubOptions {
                    max_index_bytes: self.options.max_index_bytes,
                    ..GitHubOptions::default()
                };
                RepositorySource::github(Arc::clone(&self.net), place, options)
            }
        }
    }
}

/// The environment variables that can hold the token for github.com.
const GITHUB_TOKENS: [&str; 2] = ["GH_TOKEN", "GITHUB_TOKEN"];

/// The environment variables that can hold the token for other servers with the same API.
const ENTERPRISE_TOKENS: [&str; 2] = ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];

/// Returns how repositories are read, as the settings say.
fn repository_options(settings: &Settings) -> GitRepositoryOptions {
    GitRepositoryOptions {
        max_index_bytes: settings.get(table::SEARCH_MEMORY_BYTES) as usize,
        ..GitRepositoryOptions::default()
    }
}
