//! Builds the sandbox's helper as a program of its own, which the toolcrib program carries. The helper is executed
//! for every command, so it has to be small.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The flags to try, in order: a static program needs no loader and no libraries, where the system can link one.
const FLAGS_TO_TRY: [&str; 2] = ["-Ctarget-feature=+crt-static", ""];

fn main() -> Result<(), Box<dyn Error>> {
    let own = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let helper = own.join("../toolcrib-inside");
    for part in ["src", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", helper.join(part).display());
    }
    println!("cargo::rerun-if-changed={}", own.join("../../Cargo.lock").display());
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    for flags in FLAGS_TO_TRY {
        if let Some(built) = build(&helper, &out.join("inside"), flags)? {
            std::fs::copy(built, out.join("toolcrib-inside"))?;
            return Ok(());
        }
    }
    Err("the sandbox's helper program cannot be built: see the messages above".into())
}

/// Builds the program with these flags. Returns its path, or `None` if it cannot be built.
fn build(helper: &Path, folder: &Path, flags: &str) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let target = std::env::var("TARGET")?;
    let done = Command::new(std::env::var("CARGO")?)
        .args(["build", "--quiet", "--release", "--bin", "toolcrib-inside", "--target", &target])
        .arg("--manifest-path")
        .arg(helper.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(folder)
        // Settings for the toolcrib program, or of a checker, do not apply to this one.
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env("RUSTFLAGS", flags)
        .env("CARGO_PROFILE_RELEASE_LTO", "fat")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .status()?;
    let program = folder.join(target).join("release/toolcrib-inside");
    Ok(done.success().then_some(program))
}
