//! Starting a command: a plain one, bubblewrap alone with the same namespaces and mounts, and ours; from
//! a small process and from one that holds 2 GB. And what a command prints, next to a plain pipe.

use std::error::Error;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib::wiring::{Crib, OpenOptions, call_at_terminal, session};
use toolcrib_core::command::{CommandRequest, OnTimeout, Ran, Shell};
use toolcrib_core::{CallId, Cancel, Commands};
use toolcrib_host::{SharedSandbox, TaskOwner};
use toolcrib_runtime::{AlwaysYes, Watchdog};

use super::measure::{median, time};

/// How often each is started.
const STARTS: usize = 101;
/// How often the large file is printed.
const PRINTS: usize = 9;
/// How large it is.
const LARGE: usize = 100 << 20;

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let work = scratch.path().join("work");
    std::fs::create_dir(&work)?;
    // Bubblewrap alone writes there as another user.
    std::fs::set_permissions(&work, std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
    // Whoever bubblewrap is run as must reach it.
    std::fs::set_permissions(scratch.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let options = OpenOptions {
        workspace: Some(work.clone()),
        state: Some(scratch.path().join("state")),
        is_long_lived: true,
        // Bubblewrap alone could not be shown what is in a home that is closed to it.
        assignments: vec!["sandbox.toolchains=[]".to_owned()],
        ..OpenOptions::default()
    };
    let crib = Crib::open(&options).map_err(|err| err.to_string())?;
    crib.sandbox().user().map_err(|err| err.message)?;
    for folder in ["state", "state/sandbox"] {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(scratch.path().join(folder), open)?;
    }
    let commands = crib.sandbox().commands_for(TaskOwner::nobody());
    println!(
        "one command, `sh -c true`, median of {STARTS} (goal: ours at most 1.25 x bubblewrap alone):"
    );
    starts(&crib, &commands, "from a small process")?;
    let ballast = vec![1_u8; 2 << 30];
    starts(&crib, &commands, "from one of 2 GB")?;
    drop(std::hint::black_box(ballast));
    println!();
    through_the_tool(&crib, &work)?;
    prints(&commands, &work)
}

/// Compares whole calls of a tool with bubblewrap alone that shows the command the same files.
fn through_the_tool(crib: &Crib, work: &Path) -> Result<(), Box<dyn Error>> {
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _events = events.enter();
    let runtime =
        crib.runtime(Arc::new(AlwaysYes("bench".to_owned()))).map_err(|err| err.to_string())?;
    let (watchdog, session) = (Watchdog::default(), session());
    let call = |command: &str| -> Result<Duration, Box<dyn Error>> {
        let args = json!({"command": command, "confirmed": true});
        let call = call_at_terminal(session.clone(), "clemini/bash", args);
        let start = Instant::now();
        let outcome = runtime.call_here(call, &Cancel::default(), &watchdog, Arc::new(|_| {}));
        let elapsed = start.elapsed();
        let outcome = outcome.ok_or("the call did not end")?;
        if outcome.reply["exit_code"] == 0 { Ok(elapsed) } else { Err(outcome.text.into()) }
    };
    println!("a whole call of `clemini/bash`, recorded, median of {STARTS}:");
    for (command, goal) in [("true", 1.2), ("echo x > made.txt", 1.4)] {
        let (options, held) = crib.sandbox().bubblewrap_alone().map_err(|err| err.message)?;
        let mut alone = Command::new("/usr/bin/bwrap");
        alone.args(&options).arg("--chdir").arg(work);
        // Neither can write what the other has made.
        let same = command.replace("made.txt", "made-alone.txt");
        alone.args(["--", "/usr/bin/bash", "--noprofile", "--norc", "-c", &same]);
        alone.env_clear().env("PATH", "/usr/bin:/bin");
        if let Some(user) = crib.sandbox().user().map_err(|err| err.message)? {
            alone.uid(user).gid(user);
        }
        drop(held);
        call(command)?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            let (_, held) = crib.sandbox().bubblewrap_alone().map_err(|err| err.message)?;
            theirs.push(time(&mut alone)?);
            drop(held);
            ours.push(call(command)?);
        }
        let [ours, theirs] = [ours, theirs].map(|mut times| median(&mut times).as_secs_f64() * 1e3);
        println!(
            "  `{command}`{:>width$} {ours:>6.2} ms   bubblewrap alone {theirs:>6.2} ms   {:.2} x   (goal: at most {goal})",
            "",
            ours / theirs,
            width = 20 - command.len()
        );
    }
    println!();
    Ok(())
}

fn starts(crib: &Crib, commands: &SharedSandbox, label: &str) -> Result<(), Box<dyn Error>> {
    let (options, _held) = crib.sandbox().bubblewrap_alone().map_err(|err| err.message)?;
    let words = ["sh", "-c", "true"];
    let mut plain = Command::new("/bin/sh");
    plain.args(&words[1..]).env_clear();
    let mut alone = Command::new("/usr/bin/bwrap");
    alone.args(&options).arg("--").args(words).env_clear().env("PATH", "/usr/bin:/bin");
    let mut same_user = Command::new("/usr/bin/bwrap");
    same_user.args(&options).arg("--").args(words).env_clear().env("PATH", "/usr/bin:/bin");
    if let Some(user) = crib.sandbox().user().map_err(|err| err.message)? {
        same_user.uid(user).gid(user);
    }
    let request = request(&words);
    // By their paths: looked up in another PATH, they would be forked and not spawned.
    // And once for what is only done once.
    ours(commands, &request)?;
    let mut times = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        times[0].push(time(&mut plain)?);
        times[1].push(time(&mut alone)?);
        times[2].push(time(&mut same_user)?);
        times[3].push(ours(commands, &request)?);
    }
    let [plain, alone, same_user, ours] =
        times.map(|mut times| median(&mut times).as_secs_f64() * 1e3);
    println!("  {label}:");
    println!("    plain                              {plain:>6.2} ms");
    println!(
        "    bubblewrap alone, as we are        {alone:>6.2} ms   ours is {:.2} x",
        ours / alone
    );
    println!(
        "    bubblewrap alone, as our commands  {same_user:>6.2} ms   ours is {:.2} x",
        ours / same_user
    );
    println!("    ours                               {ours:>6.2} ms   {:.1} x plain", ours / plain);
    Ok(())
}

fn request(words: &[&str]) -> CommandRequest {
    CommandRequest {
        call: CallId("bench".to_owned()),
        shell: Shell::Program(words.iter().map(|word| (*word).to_owned()).collect()),
        text: String::new(),
        directory: None,
        time: Duration::from_mins(1),
        on_timeout: OnTimeout::Kill,
        keep: 25_000,
        rest_hint: "",
        is_read_only: false,
    }
}

fn ours(commands: &SharedSandbox, request: &CommandRequest) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    match commands.run(request, &Cancel::default()).map_err(|err| err.message)? {
        Ran::Over(finished) if finished.exit_code() == 0 => Ok(start.elapsed()),
        other => Err(format!("{other:?}").into()),
    }
}

/// Compares the output path with a plain pipe.
fn prints(commands: &SharedSandbox, work: &Path) -> Result<(), Box<dyn Error>> {
    let text: Vec<u8> =
        (0..LARGE / 64).flat_map(|line| format!("{line:<63}\n").into_bytes()).collect();
    std::fs::write(work.join("large"), text)?;
    let request = request(&["cat", "large"]);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..PRINTS {
        let start = Instant::now();
        let mut child =
            Command::new("cat").arg(work.join("large")).stdout(Stdio::piped()).spawn()?;
        let mut buffer = vec![0; 64 << 10];
        let mut pipe = child.stdout.take().ok_or("no pipe")?;
        while pipe.read(&mut buffer)? > 0 {}
        child.wait()?;
        times[0].push(start.elapsed());
        times[1].push(ours(commands, &request)?);
    }
    let [plain, ours] = times.map(|mut times| median(&mut times).as_secs_f64());
    let rate = |seconds: f64| LARGE as f64 / seconds / 1e6;
    println!("`cat` of 100 MB, median of {PRINTS}:");
    println!(
        "  plain pipe {:>6.0} MB/s   ours {:>6.0} MB/s, head and tail kept and 64 MB saved   {:>4.2} of the pipe\n",
        rate(plain),
        rate(ours),
        plain / ours
    );
    Ok(())
}
