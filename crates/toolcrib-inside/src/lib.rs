//! What runs around a command: the launcher that starts it, and the first process inside its sandbox. Small, so
//! that it starts fast and can be read whole; nothing of it knows of tools, policy or settings.

pub mod canary;
mod filter;
mod first;
mod landlock;
mod launcher;
mod seccomp;
mod shield;
mod stage;
mod system;
mod transfer;
pub mod wire;

pub use first::PROXY_PORT;
pub use landlock::version as landlock_version;
pub use launcher::LAUNCHER;
pub use shield::Shield;
pub use stage::place as staged_place;
pub use system::thread_times;
pub use transfer::{field, transferred};

/// Does this process's work if it was started as one of our own helpers; else returns.
pub fn enter() {
    match std::env::args_os().nth(1) {
        Some(word) if word == launcher::INSIDE => first::run(),
        Some(word) if word == LAUNCHER => launcher::run(),
        _ => {}
    }
}
