//! One list of behaviours for every kind of repository: a folder, a git work tree at a revision, a bare git repository
//! at a revision, a repository on GitHub. A new kind is one more variant of `repository::Kind`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "../fixture/github_net.rs"]
mod github_net;
#[path = "../fixture/github_server.rs"]
mod github_server;
mod random_tree;
mod repository;
#[path = "../fixture/sample.rs"]
mod sample;
mod search;
mod tools;
mod tree;
mod world;
