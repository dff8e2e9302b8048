//! A git repository on disk. The program `git` reads its objects, in an environment where nothing that a repository
//! says can make it run other programs.

mod blob_batch;
mod folder;
mod object_child;
mod objects;
mod program;
pub(crate) mod repository;
mod resolve;
