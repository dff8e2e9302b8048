//! Speed, shown side by side: the peer and us in one run, interleaved, as ratios of medians.

#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::error::Error;
use std::path::PathBuf;

mod apart;
mod batch_door;
mod bombs;
mod corpus;
mod deny;
mod git;
mod github;
mod ledger;
mod made_repository;
mod mcp;
mod mcp_peer;
mod measure;
mod mounted;
mod page;
mod path;
mod plugins;
mod policy;
mod questions;
mod sandbox;
mod search;
mod server;
mod start;
mod web;

/// Runs every comparison and prints it.
pub fn run() -> Result<(), Box<dyn Error>> {
    let program = release_binary()?;
    println!(
        "Each row is measured in this run, the peer and us in turn; medians and their ratio.\n"
    );
    // One part by its name, or all of them.
    let wanted = std::env::args().nth(2);
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    if is_wanted("start") {
        start::run(&program)?;
    }
    if is_wanted("ledger") {
        ledger::run()?;
        println!();
    }
    if is_wanted("path") {
        path::run(&program)?;
    }
    if is_wanted("server") {
        server::run(&program)?;
    }
    if is_wanted("page") {
        page::run(&program)?;
    }
    if is_wanted("mcp") {
        mcp::run(&program)?;
    }
    if is_wanted("plugins") {
        plugins::run(&program)?;
        mounted::run(&program)?;
    }
    if is_wanted("policy") {
        policy::run()?;
    }
    if is_wanted("sandbox") {
        sandbox::run()?;
    }
    if is_wanted("deny") {
        deny::run()?;
    }
    if is_wanted("search") {
        search::run()?;
    }
    // The questions are a part of the search benchmark that can be run alone.
    if is_wanted("search") || is_wanted("questions") {
        questions::run(&program)?;
    }
    if is_wanted("bombs") {
        bombs::run(&program)?;
    }
    if is_wanted("web") {
        web::run()?;
    }
    if is_wanted("git") {
        git::run(&program)?;
    }
    if is_wanted("github") {
        github::run()?;
    }
    Ok(())
}

/// Runs a part that was started in a network of its own.
pub fn run_apart() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(2).as_deref() {
        Some("web") => web::run_inside(&release_binary()?),
        part => Err(format!("no such part: {part:?}").into()),
    }
}

fn release_binary() -> Result<PathBuf, Box<dyn Error>> {
    let mut path = std::env::current_exe()?;
    path.set_file_name("toolcrib");
    if path.exists() { Ok(path) } else { Err("build it first: make bench".into()) }
}
