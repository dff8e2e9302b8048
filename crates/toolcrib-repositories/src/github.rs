//! A repository on GitHub. Its REST API is the source of objects, and of the status of pull requests.

mod api;
pub(crate) mod api_address;
mod api_answer;
mod api_reply;
mod archive;
mod archive_blobs;
mod checks;
mod deadline;
mod gh_program;
mod known_replies;
mod object_requests;
mod object_store;
mod objects;
pub(crate) mod options;
pub(crate) mod place;
pub(crate) mod pull_request;
mod rate_limit;
pub(crate) mod repository;
mod resolve;
mod reviews;
mod revision_archive;
mod sha1;
mod tar_reader;
mod tree_items;
mod tree_names;
