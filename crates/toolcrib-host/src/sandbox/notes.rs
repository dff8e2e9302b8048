//! What a reader should be told about a command beside what it printed: why it was not started, which
//! limit it ran into, that it waited for someone to type.

use toolcrib_core::command::{End, Finished, Limit, Mechanism, Strike, Usage, show_bytes};
use toolcrib_core::{ErrorKind, ToolError};

use super::config::CommandLimits;
use toolcrib_inside::wire::Step;

/// What programs say when they may not have more memory.
const OUT_OF_MEMORY: [&str; 6] = [
    "Cannot allocate memory",
    "MemoryError",
    "bad_alloc",
    "heap out of memory",
    "memory allocation of",
    "out of memory",
];

/// What programs say when they may not start another process.
const NO_MORE_PROCESSES: [&str; 5] = [
    "can't start new thread",
    "fork: retry: Resource temporarily unavailable",
    "fork: Resource temporarily unavailable",
    "Cannot fork",
    "spawn EAGAIN",
];

/// What programs say when they would have asked someone.
const WOULD_ASK: [&str; 12] = [
    "a terminal is required to read the password",
    "a password is required",
    "could not read Username",
    "could not read Password",
    "terminal prompts disabled",
    "Host key verification failed",
    "/dev/tty: No such device or address",
    "cannot open /dev/tty",
    "Can't open /dev/tty",
    "EOF when reading a line",
    "stdin is not a terminal",
    "Inappropriate ioctl for device",
];

/// Adds to a finished command what can be told about it.
pub(crate) fn add(finished: &mut Finished, limits: &CommandLimits, most_processes: u64) {
    let code = finished.end.exit_code();
    let said = |words: &[&str]| words.iter().any(|word| finished.stderr.text.contains(word));
    let has_failed = code != 0;
    if finished.strike.is_none() {
        let (out_of_memory, no_more) = (said(&OUT_OF_MEMORY), said(&NO_MORE_PROCESSES));
        let peak = finished.usage.peak_memory;
        let by = Mechanism::Rlimit;
        let cpu = finished.usage.cpu_us / 1_000_000;
        let is_signal = |signal: i32| finished.end == End::Signalled(signal);
        finished.strike = match code {
            // Bash says so for a child of its own.
            153 if is_signal(libc::SIGXFSZ) || said(&["File size limit exceeded"]) => {
                Some(strike(Limit::FileSize, limits.file_size, None, by))
            }
            _ if has_failed && said(&["File too large", "File size limit exceeded"])
                || was_ended_for_size(&finished.stderr.text) =>
            {
                Some(strike(Limit::FileSize, limits.file_size, None, by))
            }
            152 if cpu + 2 >= limits.cpu_seconds => {
                Some(strike(Limit::Cpu, limits.cpu_seconds, Some(cpu), by))
            }
            _ if has_failed && said(&["Too many open files"]) => {
                Some(strike(Limit::OpenFiles, limits.open_files, None, by))
            }
            _ if has_failed && out_of_memory => {
                Some(strike(Limit::Memory, limits.memory, Some(peak), by))
            }
            _ if has_failed && no_more || most_processes > limits.processes => {
                Some(strike(Limit::Processes, limits.processes, Some(most_processes), by))
            }
            _ => None,
        };
    }
    if let (None, false, Some((limit, allowed, used))) =
        (&finished.strike, has_failed, hinted(&finished.stderr.text, &finished.usage, limits))
    {
        let (name, allowed, used) = (limit.as_str(), limit.show(allowed), limit.show(used));
        finished.notes.push(format!(
            "a part of the command may have run into the limit on {name}, by what it printed: allowed {allowed}, \
             used {used}"
        ));
    }
    if let Some(strike) = &finished.strike {
        finished.usage.struck = Some(strike.limit);
        finished.notes.push(strike.sentence());
    }
    if let End::Signalled(signal) = finished.end {
        finished.notes.push(format!("the command died by signal {signal}{}", name_of(signal)));
    }
    if has_failed && said(&["No space left on device"]) {
        let size = show_bytes(limits.scratch);
        finished
            .notes
            .push(format!("there is no space left: /tmp and the home have {size} each here"));
    }
    if has_failed && said(&WOULD_ASK) {
        finished.notes.push(
            "the command wanted someone to type: there is no terminal and nothing on stdin here; \
             give it what it needs by arguments or files"
                .to_owned(),
        );
    }
}

/// The limit that a part of a command ran into, by what it printed, though the whole ended well: what is allowed,
/// and what was used. Anyone can print that, so it is no more than a hint.
fn hinted(said: &str, usage: &Usage, limits: &CommandLimits) -> Option<(Limit, u64, u64)> {
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if has(&OUT_OF_MEMORY) {
        return Some((Limit::Memory, limits.memory, usage.peak_memory));
    }
    has(&NO_MORE_PROCESSES).then_some((Limit::Processes, limits.processes, usage.processes))
}

/// Whether bash says that a process of its own was ended for the size of a file: its number stands before it. What
/// came after that may have ended well.
fn was_ended_for_size(said: &str) -> bool {
    said.lines().any(|line| {
        let before =
            line.split("File size limit exceeded").next().filter(|it| it.len() < line.len());
        let number = before.and_then(|it| it.split_whitespace().next_back());
        number.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn strike(limit: Limit, allowed: u64, used: Option<u64>, by: Mechanism) -> Strike {
    Strike { limit, allowed, used, by }
}

fn name_of(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => " (SIGSEGV: it touched memory that is not its own)",
        libc::SIGABRT => " (SIGABRT: it gave itself up)",
        libc::SIGKILL => " (SIGKILL: the kernel or another process ended it)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGSYS => " (SIGSYS: it made a call to the kernel that is forbidden here)",
        libc::SIGXFSZ => " (SIGXFSZ: a file grew past the limit)",
        libc::SIGXCPU => " (SIGXCPU: its processor time ran out)",
        libc::SIGPIPE => " (SIGPIPE)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGILL => " (SIGILL)",
        _ => "",
    }
}

/// Words why a command was not started.
pub(crate) fn not_started(step: Step, why: &str, errno: Option<i32>) -> ToolError {
    if step == Step::Shield {
        let message =
            format!("the command was not run: what is protected was moved meanwhile: {why}");
        return ToolError::new(ErrorKind::Io, message).hint("try again");
    }
    if step == Step::Verify {
        let message = format!("the command was not run: its sandbox is not as it should be: {why}");
        return ToolError::new(ErrorKind::Unavailable, message)
            .hint("try again; `toolcrib doctor` shows what is in force")
            .with("reason", "sandbox_unavailable");
    }
    if is_of_sandbox(step) {
        let (mechanism, fix) = match step {
            Step::Landlock => ("landlock", "use a kernel from 6.2 on with Landlock among its LSMs"),
            Step::Seccomp => ("seccomp", "use a kernel with CONFIG_SECCOMP_FILTER"),
            Step::Spawn => ("bubblewrap", "install the package `bubblewrap`"),
            _ => ("sandbox", "run `toolcrib doctor`"),
        };
        return unavailable(mechanism, why, fix);
    }
    match (step, errno) {
        (Step::Directory, _) => {
            ToolError::new(ErrorKind::NotFound, format!("the command cannot start in {why}"))
        }
        (_, Some(libc::E2BIG)) => {
            ToolError::new(ErrorKind::TooLarge, "the command is longer than the kernel takes")
                .hint("write it to a file of the workspace and run that")
        }
        _ => ToolError::new(ErrorKind::NotFound, format!("the command cannot be run: {why}"))
            .with("reason", "command_not_found"),
    }
}

/// Words that a command came without a handle to end it by.
pub(crate) fn no_handle() -> ToolError {
    ToolError::new(ErrorKind::Unavailable, "the command was not run: too many files are open here")
        .hint("let toolcrib open more files (`ulimit -n`), or run less at once")
}

/// Words that bubblewrap failed before anything of ours ran inside.
pub(crate) fn no_sandbox(said: &str) -> ToolError {
    let said = said.trim();
    let (mechanism, fix) = if said.contains("user namespace") || said.contains("uid map") {
        (
            "user namespaces",
            "let ordinary users make them: sysctl user.max_user_namespaces above 0, \
             kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0",
        )
    } else if said.contains("Creating new namespace failed") {
        ("user namespaces", "let ordinary users make them: sysctl user.max_user_namespaces above 0")
    } else {
        ("bubblewrap", "run `toolcrib doctor`")
    };
    let why = if said.is_empty() { "bubblewrap ended without a word" } else { said };
    unavailable(mechanism, why, fix)
}

/// Words that a mechanism is missing, so that nothing is run.
pub(crate) fn unavailable(mechanism: &str, why: &str, fix: &str) -> ToolError {
    let message = format!("no sandbox, so the command was not run: {mechanism} is missing ({why})");
    ToolError::new(ErrorKind::Unavailable, message)
        .hint(format!("{fix}; `toolcrib doctor` shows what is in force"))
        .with("reason", "sandbox_unavailable")
        .with("missing", mechanism)
}

/// Whether a step of starting belongs to the sandbox, not to the command.
fn is_of_sandbox(step: Step) -> bool {
    !matches!(step, Step::Directory | Step::Exec)
}
