//! A repository with a server before it.

use std::path::PathBuf;
use std::time::Duration;

use toolcrib_core::search::{Grep, Page, Pattern, Scope, Want};
use toolcrib_core::{Cancel, EntryKind, ToolError, Tree};
use toolcrib_repositories::{GitHubOptions, GitHubPlace, GitHubRepository};

use crate::github_net::github_net;
use crate::github_server::GitHubServer;
use crate::sample::{Sample, init};

/// A repository with a server before it.
pub(crate) struct Served {
    pub(crate) server: GitHubServer,
    pub(crate) options: GitHubOptions,
    pub(crate) token: Option<&'static str>,
    pub(crate) revision: Option<&'static str>,
    folder: tempfile::TempDir,
}

impl Served {
    /// Serves the files of a sample, committed to `main`.
    pub(crate) fn new(sample: &Sample) -> Self {
        let served = Self::empty();
        served.commit(sample, "main");
        served
    }

    /// Serves a repository without a commit.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("repository");
        init(&path, &["--bare"]);
        let server = GitHubServer::start(&path);
        Self { server, options: GitHubOptions::default(), token: None, revision: None, folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    /// Commits the files of a sample, and nothing else, in the place of what was on the branch.
    pub(crate) fn commit(&self, sample: &Sample, branch: &str) {
        sample.commit(&self.path(), branch);
        self.server.reload();
    }

    pub(crate) fn place(&self) -> GitHubPlace {
        GitHubPlace {
            api_url: self.server.url(),
            revision: self.revision.map(str::to_owned),
            token: self.token.map(str::to_owned),
            ..GitHubPlace::new("octo", "demo")
        }
    }

    pub(crate) fn try_open(&self) -> Result<GitHubRepository, ToolError> {
        let net = github_net(&[self.server.archive_port()]);
        GitHubRepository::open_with(net, self.place(), self.options.clone(), &Cancel::default())
    }

    pub(crate) fn open(&self) -> GitHubRepository {
        self.try_open().unwrap_or_else(|err| panic!("{err} {:?}", err.hint))
    }

    /// Returns how many requests came in since the last time.
    pub(crate) fn taken(&self) -> usize {
        self.server.take_seen().len()
    }
}

pub(crate) fn read(repository: &GitHubRepository, path: &str) -> Result<String, ToolError> {
    let content = repository.files_for(&Cancel::default()).read(path, 1 << 20)?;
    Ok(String::from_utf8(content.bytes).unwrap())
}

/// Lists all directories, and returns how many entries there are.
pub(crate) fn list_all(repository: &GitHubRepository) -> usize {
    let files = repository.files_for(&Cancel::default());
    let (mut count, mut rest) = (0, vec![".".to_owned()]);
    while let Some(directory) = rest.pop() {
        for entry in files.list(&directory, usize::MAX).unwrap().entries {
            count += 1;
            if entry.kind == EntryKind::Directory {
                rest.push(format!("{directory}/{}", entry.name));
            }
        }
    }
    count
}

/// Returns how many lines have a text.
pub(crate) fn grep(repository: &GitHubRepository, text: &str) -> Result<u64, ToolError> {
    let ask = Grep {
        pattern: Pattern { text: text.to_owned(), is_literal: true, ignores_case: true },
        scope: Scope::default(),
        want: Want::Lines { before: 0, after: 0 },
        page: Page::ALL,
        count_limit: u64::MAX,
        counts_files: true,
        time: Duration::from_mins(10),
    };
    Ok(repository.search().grep(&ask, &Cancel::default())?.lines)
}

/// Returns some files in some directories.
pub(crate) fn many_files(directories: usize, files: usize) -> Sample {
    let mut sample = Sample::default();
    for directory in 0..directories {
        for file in 0..files {
            let path = format!("part{}/dir{directory}/f{file}.txt", directory % 3);
            sample = sample.file(path, format!("needle {directory} {file}\n"));
        }
    }
    sample
}
