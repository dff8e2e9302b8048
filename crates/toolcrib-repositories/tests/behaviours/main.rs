//! One list of behaviours for every kind of repository: a folder, a git work tree at a revision, a bare git repository
//! at a revision, a repository on GitHub. A new kind is one more variant of `repository::Kind`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![allow(clippy::format_collect, clippy::format_push_string, reason = "test data is small")]

#[path = "../github/github_net.rs"]
mod github_net;
#[path = "../github/github_server.rs"]
mod github_server;
mod random_tree;
mod repository;
mod sample;
mod search;
mod tools;
mod tree;
mod world;
