//! Deciding: how long a call takes to be decided on under no rules, the shipped ones, and ten thousand.

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use toolcrib_core::command_reading::{ReadShell, Reading};
use toolcrib_core::policy::{Layer, Policy, Subject, rules_in};
use toolcrib_core::{Mode, Tier};
use toolcrib_shell::BashReader;

use super::measure::median;

/// How many rules there are at most.
const RULES: usize = 10_000;
const ROUNDS: usize = 101;
const CALLS: u32 = 200;

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let shell = BashReader::default();
    let policy = |rules: usize| -> Result<Policy, Box<dyn Error>> {
        Ok(Policy::new(
            Mode::Standard,
            rules_in(&text(rules)?, "bench", Layer::Operator, None)?.rules,
        ))
    };
    let (none, many) = (policy(0)?, policy(RULES)?);
    let command = "cargo test --lib && git status | head -5";
    let reading = shell.read(command);
    let write = ["/project/src/module77/file.rs".to_owned()];
    println!(
        "deciding about one call, median of {ROUNDS} (goal: at most 50 us with {RULES} rules):"
    );
    let cases: [(&str, Option<&Reading>, &[String]); 2] =
        [("a command of three programs", Some(&reading), &[]), ("a file to write", None, &write)];
    for (name, reading, writes) in cases {
        let tool = if reading.is_some() { "clemini/bash" } else { "wink/create_file" };
        let subject = Subject {
            tool: &tool.into(),
            tier: Tier::Restricted,
            canonical: "{}",
            root: "/project",
            reads: &[],
            writes,
            only_edits_text: false,
            hosts: &[],
            reading,
        };
        let [without, with] = [&none, &many]
            .map(|policy| time(|| policy.decide(&subject, Timestamp::UNIX_EPOCH, &[])));
        println!(
            "  {name:<28} no rules {:>7.2} us   {RULES} rules {:>7.2} us",
            without.as_secs_f64() * 1e6,
            with.as_secs_f64() * 1e6
        );
    }
    let read = time(|| shell.read(command));
    println!("  reading the command beforehand {:>7.2} us\n", read.as_secs_f64() * 1e6);
    Ok(())
}

/// Six parts in ten about commands, three about paths, one about whole tools.
fn text(rules: usize) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for number in 0..rules {
        let effect = ["allow", "ask", "deny"][number % 3];
        let when = match number % 10 {
            0..6 => format!("argv = [\"program{number}\", \"run\"]"),
            6..9 => format!("paths = [\"src/module{number}/**\", \"/srv/{number}/*.toml\"]"),
            _ => format!("tool = \"other/tool{number}\""),
        };
        writeln!(text, "[[rule]]\n{when}\neffect = \"{effect}\"")?;
    }
    Ok(text)
}

fn time<T>(mut work: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                black_box(work());
            }
            start.elapsed() / CALLS
        })
        .collect();
    median(&mut times)
}
