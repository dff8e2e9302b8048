//! What brings searchers down: one line of a gigabyte, patterns that blow up, half a million files.
//! Off unless asked for, as it takes four gigabytes of disk: `BENCH_BOMBS=1`.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs the comparison with the limits, and prints it.
pub(super) fn run(program: &Path) -> Result<(), Box<dyn Error>> {
    if std::env::var_os("BENCH_BOMBS").is_none() {
        println!("bombs: left out; BENCH_BOMBS=1 runs them (they need 4 GB of disk)");
        return Ok(());
    }
    let scratch = tempfile::tempdir()?;
    let place = |name: &str| -> Result<std::path::PathBuf, Box<dyn Error>> {
        let folder = scratch.path().join(name);
        std::fs::create_dir(&folder)?;
        Ok(folder)
    };
    println!("| bomb | pattern | answer | seconds | peak memory, MB |");
    println!("| --- | --- | --- | --- | --- |");
    let long = place("long")?;
    fill(&long.join("line"), b"abcdefgh ", 1 << 30)?;
    let large = place("large")?;
    fill(&large.join("file"), b"a line of fifty bytes or so, with nothing special\n", 2 << 30)?;
    let small = place("small")?;
    fill(&small.join("file"), b"aaaaaaaaaaaaaaaaaaaaaaaaaaaa ", 11 << 10)?;
    let many = place("many")?;
    for number in 0..500_000 {
        let folder = many.join(format!("{}", number / 1000));
        if number % 1000 == 0 {
            std::fs::create_dir(&folder)?;
        }
        std::fs::write(folder.join(format!("f{number}")), "one line\n")?;
    }
    for (folder, what, patterns) in [
        (&long, "a line of 1 GB", &["needle", ".*", "(?i)needle"][..]),
        (&large, "a file of 2 GB", &["needle", ".*", r"\w+ needle"]),
        (
            &small,
            "bounded repeats on a long line",
            &["(a{0,80}){0,80}b", r"(\w{1,60} ){1,60}z", r"\w{1,900}x"],
        ),
        (&many, "500,000 files", &["needle", ".*"]),
    ] {
        for pattern in patterns {
            detonate(program, folder, what, pattern, scratch.path())?;
        }
    }
    println!();
    Ok(())
}

fn fill(path: &Path, piece: &[u8], size: usize) -> Result<(), Box<dyn Error>> {
    let block = piece.repeat((1 << 20) / piece.len());
    let mut file = std::fs::File::create(path)?;
    let mut written = 0;
    while written < size {
        let part = block.len().min(size - written);
        file.write_all(&block[..part])?;
        written += part;
    }
    Ok(())
}

fn detonate(
    program: &Path,
    folder: &Path,
    what: &str,
    pattern: &str,
    scratch: &Path,
) -> Result<(), Box<dyn Error>> {
    let args = serde_json::json!({"pattern": pattern, "head_limit": 250}).to_string();
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(["call", "clemini/grep", &args, "--json"])
        .current_dir(folder)
        .env("TOOLCRIB_STATE", scratch.join("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::fs::File::create(scratch.join("answer"))?))
        .stderr(Stdio::null())
        .spawn()?;
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        peak = peak.max(memory(child.id()));
        std::thread::sleep(Duration::from_millis(2));
    }
    let elapsed = start.elapsed().as_secs_f64();
    let answer: serde_json::Value =
        serde_json::from_slice(&std::fs::read(scratch.join("answer"))?)?;
    let answer = if let Some(error) = answer["error"].as_str() {
        error.to_owned()
    } else {
        let warning =
            answer["warnings"][0].as_str().map_or_else(String::new, |it| format!("; {it}"));
        let at_least = if answer["total_is_at_least"] == true { "at least " } else { "" };
        format!("{} of {at_least}{}{warning}", answer["count"], answer["total_found"])
    };
    println!(
        "| {what} | `{}` | {answer} | {elapsed:.2} | {} |",
        pattern.replace('|', "\\|"),
        peak / 1000
    );
    Ok(())
}

/// Returns the most memory a process has had, in kilobytes.
fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
