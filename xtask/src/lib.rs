//! Chores of this repository that need logic, and what its tidy test looks at.

pub mod bare_server;
pub mod bench;
pub mod check;
pub mod docs;
pub mod picture;
pub mod run;
mod test_lanes;
mod test_program;
pub mod tools;
