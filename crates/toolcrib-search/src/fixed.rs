//! Search in a tree that never changes and is not on disk, such as the files of a commit. It has the rules of a search
//! on disk, and an index of the whole tree, which is built at the first question.

pub(crate) mod engine;
pub(crate) mod index_build;
pub(crate) mod options;
mod targets;
pub(crate) mod tree;
mod walk;
