//! Counts the requests for a repository of 10,000 files on a GitHub-compatible server. Run it with
//! `cargo run --release -p toolcrib-repositories --example github_figures`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a measurement tells its figures, or fails"
)]

use std::time::{Duration, Instant};

use toolcrib_core::search::{Grep, Page, Pattern, Scope, Want};
use toolcrib_core::{Cancel, EntryKind, Tree};
use toolcrib_repositories::{GitHubPlace, GitHubRepository};

use crate::github_net::github_net;
use crate::github_server::GitHubServer;
use crate::sample::{Sample, init};

#[path = "../tests/fixture/github_net.rs"]
mod github_net;
#[path = "../tests/fixture/github_server.rs"]
mod github_server;
#[path = "../tests/fixture/sample.rs"]
mod sample;

const FILES: usize = 10_000;
const FILES_PER_DIRECTORY: usize = 50;

/// The root, twenty parts, and a directory for every fifty files.
const DIRECTORIES: usize = 1 + 20 + FILES / FILES_PER_DIRECTORY;

fn path(number: usize) -> String {
    let directory = number / FILES_PER_DIRECTORY;
    format!("part{}/dir{directory}/module_{number}.rs", directory % 20)
}

fn sample() -> Sample {
    (0..FILES).fold(Sample::default(), |sample, number| {
        let lines = (0..30).map(|line| format!("let value_{line} = compute({number});\n"));
        sample.file(path(number), lines.collect::<Vec<_>>().concat())
    })
}

fn list_all(repository: &GitHubRepository) {
    let files = repository.files_for(&Cancel::default());
    let (mut count, mut rest) = (0, vec![".".to_owned()]);
    while let Some(directory) = rest.pop() {
        for entry in files.list(&directory, usize::MAX).unwrap().entries {
            let path = format!("{directory}/{}", entry.name);
            match entry.kind {
                EntryKind::Directory => rest.push(path),
                _ => count += usize::from(files.stat(&path).unwrap().size > 0),
            }
        }
    }
    assert_eq!(count, FILES);
}

fn read_twenty(repository: &GitHubRepository) {
    let files = repository.files_for(&Cancel::default());
    for number in (0..FILES).step_by(FILES / 20) {
        assert!(files.read(&path(number), 1 << 20).unwrap().size > 0);
    }
}

fn search(repository: &GitHubRepository) {
    let ask = Grep {
        pattern: Pattern { text: "compute(77)".to_owned(), is_literal: true, ignores_case: true },
        scope: Scope::default(),
        want: Want::Lines { before: 0, after: 0 },
        page: Page::ALL,
        count_limit: u64::MAX,
        counts_files: true,
        time: Duration::from_mins(10),
    };
    assert_eq!(repository.search().grep(&ask, &Cancel::default()).unwrap().lines, 30);
}

/// Does something, tells how many requests it cost, and fails if it cost more than it may.
fn tell(server: &GitHubServer, what: &str, most: usize, work: impl FnOnce()) {
    let (left, begun) = (server.plan().left, Instant::now());
    work();
    let (took, requests) = (begun.elapsed(), server.take_seen().len());
    let counted = left - server.plan().left;
    println!("{what:44} {requests:>4} requests, {counted:>4} of the limit, {took:>10.1?}");
    assert!(requests <= most, "{what}: {requests} requests are more than {most}");
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    init(folder.path(), &["--bare"]);
    sample().commit(folder.path(), "main");
    let server = GitHubServer::start(folder.path());
    let open = || {
        let place = GitHubPlace { api_url: server.url(), ..GitHubPlace::new("octo", "demo") };
        let net = github_net(&[server.archive_port()]);
        GitHubRepository::open(net, place, &Cancel::default()).unwrap()
    };
    println!("{FILES} files in {DIRECTORIES} directories");
    tell(&server, "open", 3, || drop(open()));
    let repository = open();
    server.take_seen();
    tell(&server, "list everything, with sizes", 1, || list_all(&repository));
    tell(&server, "list everything again", 0, || list_all(&repository));
    tell(&server, "read 20 files", 20, || read_twenty(&repository));
    tell(&server, "read the same 20 files again", 0, || read_twenty(&repository));
    tell(&server, "first search", 2, || search(&repository));
    tell(&server, "search again", 0, || search(&repository));
    let mut again = None;
    tell(&server, "open again, nothing has changed", 3, || {
        again = Some(repository.open_again(&Cancel::default()).unwrap());
    });
    tell(&server, "list, read and search then", 0, || {
        let again = again.unwrap();
        list_all(&again);
        read_twenty(&again);
        search(&again);
    });
    for most_entries in [5000, 10] {
        server.plan().most_entries = most_entries;
        let repository = open();
        server.take_seen();
        // A listing that is cut before its first whole directory is one request more.
        let most = DIRECTORIES + usize::from(most_entries == 10);
        let what = format!("list everything, cut after {most_entries} entries");
        tell(&server, &what, most, || list_all(&repository));
        tell(&server, "list everything again", 0, || list_all(&repository));
    }
}
