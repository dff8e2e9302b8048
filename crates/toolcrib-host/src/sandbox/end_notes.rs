//! What the reader of a command's result should know beside its output: why it was not started, which limit it hit,
//! that it waited for input.

use toolcrib_core::command::{End, Finished, Limit, Mechanism, Strike, Usage, show_bytes};
use toolcrib_core::{ErrorKind, ToolError};

use super::config::CommandLimits;
use toolcrib_inside::wire::StartStep;

/// What programs print when they get no more memory.
const OUT_OF_MEMORY: [&str; 6] = [
    "Cannot allocate memory",
    "MemoryError",
    "bad_alloc",
    "heap out of memory",
    "memory allocation of",
    "out of memory",
];

/// What programs print when they cannot start another process.
const OUT_OF_PROCESSES: [&str; 5] = [
    "can't start new thread",
    "fork: retry: Resource temporarily unavailable",
    "fork: Resource temporarily unavailable",
    "Cannot fork",
    "spawn EAGAIN",
];

/// What programs print when they want a person to type something.
const WANTS_INPUT: [&str; 12] = [
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

/// Adds the limit that a finished command hit, and notes for its reader.
pub(crate) fn add_to(finished: &mut Finished, limits: &CommandLimits, most_processes: u64) {
    let code = finished.end.exit_code();
    let printed = |words: &[&str]| words.iter().any(|word| finished.stderr.text.contains(word));
    let has_failed = code != 0;
    if finished.strike.is_none() {
        let (out_of_memory, no_more) = (printed(&OUT_OF_MEMORY), printed(&OUT_OF_PROCESSES));
        let peak = finished.usage.peak_memory;
        let by = Mechanism::Rlimit;
        let cpu = finished.usage.cpu_us / 1_000_000;
        let is_signal = |signal: i32| finished.end == End::Signalled(signal);
        finished.strike = match code {
            // Bash ends with this code for a child of its own.
            153 if is_signal(libc::SIGXFSZ) || printed(&["File size limit exceeded"]) => {
                Some(strike(Limit::FileSize, limits.file_size, None, by))
            }
            _ if has_failed && printed(&["File too large", "File size limit exceeded"])
                || was_ended_for_size(&finished.stderr.text) =>
            {
                Some(strike(Limit::FileSize, limits.file_size, None, by))
            }
            152 if cpu + 2 >= limits.cpu_seconds => {
                Some(strike(Limit::Cpu, limits.cpu_seconds, Some(cpu), by))
            }
            _ if has_failed && printed(&["Too many open files"]) => {
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
    if let (None, false, Some((limit, allowed, used))) = (
        &finished.strike,
        has_failed,
        suspected_limit(&finished.stderr.text, &finished.usage, limits),
    ) {
        let (name, allowed, used) = (limit.as_str(), limit.show(allowed), limit.show(used));
        finished.notes.push(format!(
            "a part of the command may have hit the limit on {name}, judging by its output: allowed {allowed}, \
             used {used}"
        ));
    }
    if let Some(strike) = &finished.strike {
        finished.usage.struck = Some(strike.limit);
        finished.notes.push(strike.sentence());
    }
    if let End::Signalled(signal) = finished.end {
        finished
            .notes
            .push(format!("the command was killed by signal {signal}{}", signal_name(signal)));
    }
    if has_failed && printed(&["No space left on device"]) {
        let size = show_bytes(limits.scratch);
        finished.notes.push(format!(
            "no space left: /tmp and the home folder have {size} each in the sandbox"
        ));
    }
    if has_failed && printed(&WANTS_INPUT) {
        finished.notes.push(
            "the command wanted input: there is no terminal and no stdin in the sandbox; \
             pass what it needs as arguments or in files"
                .to_owned(),
        );
    }
}

/// Returns the limit that a part of the command may have hit although the whole succeeded, with what is allowed and
/// what was used. It is only a hint, because any program can print such words.
fn suspected_limit(
    printed: &str,
    usage: &Usage,
    limits: &CommandLimits,
) -> Option<(Limit, u64, u64)> {
    let has = |words: &[&str]| words.iter().any(|word| printed.contains(word));
    if has(&OUT_OF_MEMORY) {
        return Some((Limit::Memory, limits.memory, usage.peak_memory));
    }
    has(&OUT_OF_PROCESSES).then_some((Limit::Processes, limits.processes, usage.processes))
}

/// Whether bash reports that one of its processes was ended because of the size of a file. Bash prints the number
/// of the process before the words. What ran after that may have succeeded.
fn was_ended_for_size(printed: &str) -> bool {
    printed.lines().any(|line| {
        let before =
            line.split("File size limit exceeded").next().filter(|it| it.len() < line.len());
        let number = before.and_then(|it| it.split_whitespace().next_back());
        number.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn strike(limit: Limit, allowed: u64, used: Option<u64>, by: Mechanism) -> Strike {
    Strike { limit, allowed, used, by }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => " (SIGSEGV: invalid memory access)",
        libc::SIGABRT => " (SIGABRT: it aborted)",
        libc::SIGKILL => " (SIGKILL: the kernel or another process ended it)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGSYS => " (SIGSYS: a system call that the sandbox forbids)",
        libc::SIGXFSZ => " (SIGXFSZ: a file grew past the limit)",
        libc::SIGXCPU => " (SIGXCPU: its processor time ran out)",
        libc::SIGPIPE => " (SIGPIPE)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGILL => " (SIGILL)",
        _ => "",
    }
}

/// Returns the error for a command that could not be started.
pub(crate) fn not_started(step: StartStep, why: &str, errno: Option<i32>) -> ToolError {
    if step == StartStep::Shield {
        let message =
            format!("the command was not run: a protected file was moved meanwhile: {why}");
        return ToolError::new(ErrorKind::Io, message).hint("try again");
    }
    if step == StartStep::Verify {
        let message = format!("the command was not run: its sandbox failed its checks: {why}");
        return ToolError::new(ErrorKind::Unavailable, message)
            .hint("try again; `toolcrib doctor` shows what is in force")
            .with("reason", "sandbox_unavailable");
    }
    if is_of_sandbox(step) {
        let (mechanism, fix) = match step {
            StartStep::Landlock => {
                ("landlock", "use a Linux kernel 6.2 or newer with Landlock enabled")
            }
            StartStep::Seccomp => ("seccomp", "use a kernel with CONFIG_SECCOMP_FILTER"),
            StartStep::Spawn => ("bubblewrap", "install the package `bubblewrap`"),
            _ => ("sandbox", "check the reason in parentheses"),
        };
        return unavailable(mechanism, why, fix);
    }
    match (step, errno) {
        (StartStep::Directory, _) => {
            ToolError::new(ErrorKind::NotFound, format!("the command cannot start in {why}"))
        }
        (_, Some(libc::E2BIG)) => {
            ToolError::new(ErrorKind::TooLarge, "the command is longer than the kernel accepts")
                .hint("write the command to a file in the workspace and run that file")
        }
        _ => ToolError::new(ErrorKind::NotFound, format!("the command cannot be run: {why}"))
            .with("reason", "command_not_found"),
    }
}

/// Returns the error for a command that we received no handle to end it with.
pub(crate) fn no_handle() -> ToolError {
    ToolError::new(
        ErrorKind::Unavailable,
        "the command was not run: Toolcrib has too many files open",
    )
    .hint("raise the limit on open files (`ulimit -n`), or run fewer commands at once")
}

/// Returns the error for a bubblewrap that failed before our first process ran inside. `printed` is what it printed.
pub(crate) fn no_sandbox(printed: &str) -> ToolError {
    let printed = printed.trim();
    let (mechanism, fix) = if printed.contains("user namespace") || printed.contains("uid map") {
        (
            "user namespaces",
            "allow ordinary users to make user namespaces: set sysctl user.max_user_namespaces above 0, \
             kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; in a container, \
             let its seccomp profile allow them too",
        )
    } else if printed.contains("Creating new namespace failed") {
        (
            "user namespaces",
            "allow ordinary users to make user namespaces: set sysctl user.max_user_namespaces above 0; in a \
             container, let its seccomp profile allow them too",
        )
    } else {
        ("bubblewrap", "check the reason in parentheses")
    };
    let why = if printed.is_empty() { "bubblewrap ended without a message" } else { printed };
    unavailable(mechanism, why, fix)
}

/// Returns the error for a command that is not run because a mechanism of the sandbox is missing.
pub(crate) fn unavailable(mechanism: &str, why: &str, fix: &str) -> ToolError {
    let message = format!(
        "the command was not run, because the sandbox is not available ({mechanism}: {why})"
    );
    ToolError::new(ErrorKind::Unavailable, message)
        .hint(format!("{fix}; `toolcrib doctor` shows what is in force"))
        .with("reason", "sandbox_unavailable")
        .with("missing", mechanism)
}

/// Whether a step of starting belongs to the sandbox, not to the command.
fn is_of_sandbox(step: StartStep) -> bool {
    !matches!(step, StartStep::Directory | StartStep::Exec)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::time::Duration;

    use super::super::finished_fixture;
    use super::*;

    const LIMITS: CommandLimits = CommandLimits {
        memory: 1 << 30,
        processes: 64,
        cpu_seconds: 10,
        task_time: Duration::from_mins(1),
        file_size: 1 << 20,
        growth: 1 << 30,
        files: 1000,
        open_files: 256,
        output: 1 << 20,
        network: 1 << 20,
        saved: 1 << 20,
        scratch: 1 << 20,
    };

    /// Returns a command that ended so and printed `stderr`, with its limit and notes added.
    fn finished(end: End, stderr: &str) -> Finished {
        let mut finished = finished_fixture::finished(end, "", stderr);
        add_to(&mut finished, &LIMITS, 1);
        finished
    }

    #[track_caller]
    fn check_limit(end: End, stderr: &str, expect: Option<Limit>) {
        let struck = finished(end, stderr).strike.map(|strike| strike.limit);
        assert_eq!(struck, expect, "{end:?} {stderr}");
    }

    #[test]
    fn failed_command_names_the_limit_it_hit() {
        check_limit(End::Exited(1), "MemoryError", Some(Limit::Memory));
        check_limit(End::Exited(1), "bash: fork: Cannot fork", Some(Limit::Processes));
        check_limit(End::Exited(1), "Too many open files", Some(Limit::OpenFiles));
        check_limit(End::Exited(1), "write: File too large", Some(Limit::FileSize));
        check_limit(End::Signalled(libc::SIGXFSZ), "", Some(Limit::FileSize));
        check_limit(End::Exited(1), "no such file", None);
    }

    #[test]
    fn successful_command_only_gets_a_hint() {
        let finished = finished(End::Exited(0), "MemoryError");
        assert!(finished.strike.is_none());
        assert!(finished.notes[0].contains("may have hit the limit on memory"));
    }

    #[test]
    fn notes_explain_signals_missing_input_and_full_disks() {
        for (end, stderr, expect) in [
            (End::Signalled(libc::SIGSEGV), "", "killed by signal 11 (SIGSEGV"),
            (End::Exited(1), "EOF when reading a line", "the command wanted input"),
            (End::Exited(1), "No space left on device", "no space left"),
        ] {
            let notes = finished(end, stderr).notes;
            assert!(notes.iter().any(|note| note.contains(expect)), "{notes:?}");
        }
        assert!(finished(End::Exited(0), "EOF when reading a line").notes.is_empty());
    }

    #[test]
    fn errors_name_the_mechanism_and_the_fix() {
        let err = no_sandbox("bwrap: No permissions to create new user namespace");
        assert_eq!(err.context["missing"], "user namespaces");
        assert!(err.hint.is_some_and(|hint| hint.contains("toolcrib doctor")));
        let err = not_started(StartStep::Exec, "`nope`: not found", None);
        assert_eq!(err.kind, ErrorKind::NotFound);
    }

    #[test]
    fn every_limit_is_told_in_these_words() {
        let mut all = String::new();
        for limit in [
            Limit::Memory,
            Limit::Processes,
            Limit::Cpu,
            Limit::FileSize,
            Limit::Growth,
            Limit::Files,
            Limit::OpenFiles,
            Limit::Output,
            Limit::Network,
        ] {
            for used in [None, Some(105), Some(300)] {
                let mut ended = finished(End::Limited, "");
                ended.notes.clear();
                ended.strike = Some(strike(limit, 100, used, Mechanism::Rlimit));
                add_to(&mut ended, &LIMITS, 1);
                assert_eq!(ended.usage.struck, Some(limit));
                all.push_str(&(ended.notes.join("\n") + "\n"));
            }
        }
        insta::assert_snapshot!("limits", all);
    }

    #[test]
    fn what_a_command_printed_is_explained_in_these_words() {
        let mut all = String::new();
        for (end, stderr) in [
            (End::Exited(1), "MemoryError"),
            (End::Exited(0), "MemoryError"),
            (End::Exited(1), "bash: fork: Cannot fork"),
            (End::Exited(0), "can't start new thread"),
            (End::Exited(1), "Too many open files"),
            (End::Exited(1), "write: File too large"),
            (End::Exited(0), "line 1: 23 File size limit exceeded"),
            (End::Exited(1), "No space left on device"),
            (End::Exited(1), "sudo: a password is required"),
            (End::Exited(1), "no such file"),
        ] {
            let notes = finished(end, stderr).notes.join("\n");
            let _ = writeln!(all, "# {end:?} {stderr}\n{notes}");
        }
        for signal in [
            libc::SIGSEGV,
            libc::SIGABRT,
            libc::SIGKILL,
            libc::SIGTERM,
            libc::SIGSYS,
            libc::SIGXFSZ,
            libc::SIGXCPU,
            libc::SIGPIPE,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGHUP,
        ] {
            all.push_str(&(finished(End::Signalled(signal), "").notes.join("\n") + "\n"));
        }
        insta::assert_snapshot!("printed", all);
    }

    #[test]
    fn every_reason_not_to_start_is_told_in_these_words() {
        let steps = [
            StartStep::Spawn,
            StartStep::Shield,
            StartStep::Verify,
            StartStep::Egress,
            StartStep::Landlock,
            StartStep::Seccomp,
            StartStep::Limits,
            StartStep::Directory,
            StartStep::Exec,
        ];
        let mut errors: Vec<(String, ToolError)> = steps
            .map(|step| (format!("{step:?}"), not_started(step, "why", None)))
            .into_iter()
            .collect();
        let long = not_started(StartStep::Exec, "why", Some(libc::E2BIG));
        errors.push(("too long".to_owned(), long));
        errors.push(("no handle".to_owned(), no_handle()));
        for printed in [
            "bwrap: No permissions to create new user namespace",
            "bwrap: Creating new namespace failed: nesting depth",
            "bwrap: setting up uid map: Permission denied",
            "bwrap: Can't mount proc",
            "",
        ] {
            errors.push((format!("bubblewrap said `{printed}`"), no_sandbox(printed)));
        }
        let all = errors.iter().map(|(about, err)| {
            let (kind, hint) = (err.kind.as_str(), err.hint.as_deref().unwrap_or("-"));
            format!("# {about}\n{kind}: {}\nhint: {hint}\n", err.message)
        });
        insta::assert_snapshot!("not_started", all.collect::<Vec<_>>().concat());
    }
}
