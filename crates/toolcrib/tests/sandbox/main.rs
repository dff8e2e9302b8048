//! Commands in their sandbox, through the real binary on the real kernel: what gets out, what is left
//! behind, what it says. Everything runs as root and as an ordinary user where it is root that tests.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod changes;
mod crowd;
mod ends;
mod escapes;
mod ground;
mod host_questions;
mod hostile;
mod inside;
mod left_behind;
mod limits;
mod masks;
mod missing;
mod module_fetch;
mod network;
mod output;
mod page;
#[path = "../it/place.rs"]
mod place;
mod printing;
#[path = "../it/privilege.rs"]
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
mod privilege;
mod protected;
mod races;
#[path = "../search/random.rs"]
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
mod random;
mod reading;
#[path = "../it/scratch.rs"]
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
mod scratch;
mod tasks;
#[path = "../engine/test_host.rs"]
mod test_host;
mod toolchains;
mod traffic;
mod undo;
mod worker_place;
mod workers;
