//! What runs around a command: the launcher that starts it, and the first process inside its sandbox. The crate is
//! small, so that the program starts fast and can be read whole. It knows nothing of tools, policy or settings.

mod bpf;
pub mod canary;
mod descriptor;
mod failure;
mod init_process;
mod landlock;
mod launcher;
mod seccomp;
mod shield;
mod stage;
mod system;
mod transfer;
pub mod wire;

pub use init_process::PROXY_PORT;
pub use landlock::{LandlockError, version as landlock_version};
pub use launcher::LAUNCHER;
pub use shield::{Shield, ShieldKind};
pub use stage::place as staged_place;
pub use system::{end_by_interrupt, thread_times};
pub use transfer::{field, transferred};

/// Runs this process as the launcher or as the first process inside, if it was started as one of them. Returns
/// otherwise.
pub fn enter() {
    match std::env::args_os().nth(1) {
        Some(word) if word == launcher::INSIDE => init_process::run(),
        Some(word) if word == LAUNCHER => launcher::run(),
        _ => {}
    }
}
