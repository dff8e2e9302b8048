//! The kinds of repositories, and a repository of each kind with the same files.

use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_core::{CallId, Cancel, Connection, Files, SearchableTree, Tree};
use toolcrib_host::Workspace;
use toolcrib_repositories::{
    GitHubOptions, GitHubPlace, GitHubRepository, GitRepository, GitRepositoryOptions,
};
use toolcrib_search::Engine;

use crate::github_net::github_net;
use crate::github_server::GitHubServer;
use crate::sample::{Sample, init};
use crate::world::workspace;

/// A kind of repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Folder,
    WorkTree,
    Bare,
    GitHub,
    /// One whose directories do not fit into one answer.
    LargeGitHub,
}

/// Every kind.
pub(crate) const KINDS: [Kind; 5] =
    [Kind::Folder, Kind::WorkTree, Kind::Bare, Kind::GitHub, Kind::LargeGitHub];

/// A repository of one kind.
pub(crate) struct Repository {
    pub(crate) kind: Kind,
    opened: Opened,
    /// The path that stands for its root.
    pub(crate) root: PathBuf,
    /// A folder on disk, which is the repository or behind it.
    pub(crate) folder: PathBuf,
    _folder: tempfile::TempDir,
}

enum Opened {
    Folder(Arc<Workspace>, Arc<Engine>),
    Git(GitRepository),
    // The server ends with the repository.
    GitHub(GitHubRepository, #[expect(dead_code, reason = "it is kept alive")] GitHubServer),
}

impl Repository {
    /// Makes a repository with the files of a sample.
    pub(crate) fn new(kind: Kind, sample: &Sample) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut root = std::fs::canonicalize(folder.path()).unwrap().join("repository");
        let on_disk = root.clone();
        std::fs::create_dir(&root).unwrap();
        let opened = match kind {
            Kind::Folder => {
                // Git's ignore rules hold in a repository.
                std::fs::create_dir(root.join(".git")).unwrap();
                sample.write(&root);
                let workspace = workspace(&root);
                let tree = |root| Arc::new(root) as Arc<dyn SearchableTree>;
                let trees = workspace.search_roots().into_iter().map(tree);
                let engine = Arc::new(Engine::new(trees.collect()));
                Opened::Folder(workspace, engine)
            }
            Kind::WorkTree | Kind::Bare => {
                init(&root, if kind == Kind::Bare { &["--bare"] } else { &[] });
                sample.commit(&root, "main");
                let options = GitRepositoryOptions {
                    max_index_bytes: 64 << 20,
                    ..GitRepositoryOptions::default()
                };
                Opened::Git(
                    GitRepository::open_with(&root, "main", options, &Cancel::default()).unwrap(),
                )
            }
            Kind::GitHub | Kind::LargeGitHub => {
                init(&root, &["--bare"]);
                sample.commit(&root, "main");
                let server = GitHubServer::start(&root);
                if kind == Kind::LargeGitHub {
                    server.plan().most_entries = 5;
                }
                let place =
                    GitHubPlace { api_url: server.url(), ..GitHubPlace::new("octo", "demo") };
                let options =
                    GitHubOptions { max_index_bytes: 64 << 20, ..GitHubOptions::default() };
                let net = github_net(&[server.archive_port()]);
                let opened =
                    GitHubRepository::open_with(net, place, options, &Cancel::default()).unwrap();
                root = opened.root();
                Opened::GitHub(opened, server)
            }
        };
        Self { kind, opened, root, folder: on_disk, _folder: folder }
    }

    /// Returns the connection of one call.
    pub(crate) fn connect(&self) -> Connection {
        match &self.opened {
            Opened::Folder(workspace, engine) => {
                let call = CallId("01".to_owned());
                let files = workspace.for_call(call, &"test".into(), Cancel::default());
                Connection { host: None, files: Arc::new(files), search: Arc::clone(engine) as _ }
            }
            Opened::Git(repository) => repository.connect(&Cancel::default()),
            Opened::GitHub(repository, _) => repository.connect(&Cancel::default()),
        }
    }

    pub(crate) fn files(&self) -> Arc<dyn Tree> {
        self.connect().files
    }
}

/// Runs a behaviour on a repository of each kind.
pub(crate) fn each_kind(sample: &Sample, behaviour: impl Fn(&Repository)) {
    for kind in KINDS {
        behaviour(&Repository::new(kind, sample));
    }
}

/// Returns the files of a folder, for the parts of a context that no tool of these tests uses.
pub(crate) fn other_files(workspace: &Arc<Workspace>) -> Arc<dyn Files> {
    let call = CallId("01".to_owned());
    Arc::new(workspace.for_call(call, &"test".into(), Cancel::default()))
}
