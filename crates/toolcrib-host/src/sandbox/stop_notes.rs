//! What the sandbox stopped, judging by what a command printed: programs report it in words that do not name the
//! sandbox. Each cause is told once, with the setting that opens it.

use std::path::Path;

use toolcrib_core::command::Finished;
use toolcrib_inside::{Shield, ShieldKind};

use super::egress::{Egress, ProxyNote, is_host_name};
use super::guard::Guard;
use crate::files::spelling::spelt;

/// What programs print before the name of a host that they cannot find.
const BEFORE_HOST: [&str; 8] = [
    "Could not resolve host: ",
    "Could not resolve hostname ",
    "Couldn't resolve host ",
    "unable to resolve host address ",
    "getaddrinfo ENOTFOUND ",
    "getaddrinfo EAI_AGAIN ",
    "Failed to resolve ",
    "dial tcp: lookup ",
];

/// What programs print when there is no network, without the name of a host.
const NO_NETWORK: [&str; 6] = [
    "Network is unreachable",
    "network is unreachable",
    "ENETUNREACH",
    "Name or service not known",
    "Temporary failure in name resolution",
    "failed to lookup address information",
];

/// What programs print when they may not change a file.
const READ_ONLY: [&str; 2] = ["Read-only file system", "read-only file system"];

/// What programs print when they may not remove, rename or create something, because Toolcrib holds it in place.
const HELD_IN_PLACE: [&str; 2] = ["Device or resource busy", FILE_EXISTS];

/// What `mkdir` prints about a folder that Toolcrib put in the place of a missing one.
const FILE_EXISTS: &str = "File exists";

/// What programs print about a file that is masked.
const MASKED: &str = "Permission denied";

/// How many hosts or paths are named.
const MOST_NAMED_STOPS: usize = 4;

/// Where a command ran, as far as it matters for what was stopped.
pub(super) struct StopContext<'a> {
    pub(super) guards: &'a [Guard],
    /// The home folder that the command saw.
    pub(super) home: &'a Path,
    pub(super) egress: &'a Egress,
    /// The notes of the proxy about requests that did not pass, which the reader is told anyway.
    pub(super) refused: &'a [ProxyNote],
}

/// Why a path cannot be changed, and so what opens it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathCause {
    /// A name of `sandbox.protected`.
    Protected,
    /// What git runs or obeys.
    Git,
    /// Toolcrib's own settings.
    Own,
    /// A policy rule denies it.
    Denied,
    /// It is a folder of the home that the sandbox shows, such as a toolchain.
    Home,
    /// It is elsewhere.
    Outside,
}

/// Returns what the sandbox stopped, a sentence for each cause.
pub(super) fn notes(finished: &Finished, context: &StopContext<'_>) -> Vec<String> {
    use PathCause::{Denied, Git, Home, Outside, Own, Protected};
    let has_failed = finished.exit_code() != 0;
    // A command that succeeds may print anything to stdout, such as the log of another one.
    let stdout = if has_failed { &*finished.stdout.text } else { "" };
    let lines = finished.stderr.text.lines().chain(stdout.lines());
    let mut notes = Vec::new();
    let mut hosts: Vec<String> = Vec::new();
    let mut is_cut_off = false;
    let mut stops: Vec<(PathCause, String)> = Vec::new();
    for line in lines {
        hosts.extend(host_in(line).filter(|host| !hosts.contains(host)));
        is_cut_off |= NO_NETWORK.iter().any(|words| line.contains(words));
        stops.extend(stopped_path(line, context).filter(|stop| !stops.contains(stop)));
    }
    // The proxy has told of these.
    let is_told = |host: &String| context.refused.iter().any(|note| note.host == *host);
    hosts.retain(|host| !is_told(host));
    if !hosts.is_empty() || (is_cut_off && has_failed && context.refused.is_empty()) {
        notes.push(network_note(&hosts, context.egress));
    }
    for cause in [Protected, Git, Own, Denied, Home, Outside] {
        // Anybody can print such words; about the paths of the first four we know that they are kept.
        if matches!(cause, Home | Outside) && !has_failed {
            continue;
        }
        let of_cause = stops.iter().filter(|stop| stop.0 == cause);
        let paths: Vec<&str> = of_cause.map(|stop| stop.1.as_str()).collect();
        notes.extend(path_note(cause, &paths));
    }
    notes
}

/// Returns a sentence about hosts that were out of reach.
fn network_note(hosts: &[String], egress: &Egress) -> String {
    let begin = "the sandbox stopped the command at the network";
    if egress.hosts().is_empty() {
        return match hosts {
            [] => format!(
                "{begin}: commands can reach no host. The operator can allow hosts in `sandbox.egress`"
            ),
            hosts => format!(
                "{begin}: commands can reach no host, and this one wanted {}. The operator can allow this: \
                 `sandbox.egress = [{}]`",
                quoted(hosts),
                listed(hosts)
            ),
        };
    }
    let others: Vec<&String> = hosts.iter().filter(|host| !egress.covers(host)).collect();
    if !others.is_empty() {
        return format!(
            "{begin}: `sandbox.egress` does not list {}. The operator can add this",
            quoted(&others)
        );
    }
    let wanted = if hosts.is_empty() { "a host".to_owned() } else { quoted(hosts) };
    format!(
        "{begin}: a program wanted {wanted} without the proxy. Commands reach hosts only through the proxy that \
         `HTTPS_PROXY` names"
    )
}

/// Returns the host that a program did not find, from its error message.
fn host_in(line: &str) -> Option<String> {
    let rest = BEFORE_HOST.iter().find_map(|words| Some(line.split_once(words)?.1))?;
    let rest = rest.trim_start_matches(['\'', '"', '`', '‘', '“']);
    let is_of_host = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '_');
    let host = &rest[..rest.find(|it| !is_of_host(it)).unwrap_or(rest.len())];
    let host = host.trim_end_matches('.');
    (host.contains('.') && is_host_name(host)).then(|| host.to_ascii_lowercase())
}

/// Returns the path that an error message is about, if the sandbox keeps commands from changing it.
fn stopped_path(line: &str, context: &StopContext<'_>) -> Option<(PathCause, String)> {
    let is_masked = line.contains(MASKED);
    let words = READ_ONLY.into_iter().chain(HELD_IN_PLACE).find(|words| line.contains(words));
    let words = words.or(is_masked.then_some(MASKED))?;
    paths_in(line).find_map(|path| stop_at(Path::new(path), words, context))
}

/// Returns what may be a path in an error message: what is in quotes, and what is between colons or blanks, the last
/// first: a shell begins its message with its own path.
fn paths_in(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split(['\'', '"', '`', '‘', '’', '“', '”']).skip(1).step_by(2);
    let between =
        line.rsplit(": ").flat_map(|part| [part, part.rsplit(' ').next().unwrap_or(part)]);
    let is_path = |it: &&str| !it.is_empty() && it.len() <= 4096 && *it != "." && *it != "/";
    quoted.chain(between).map(|it| it.trim_end_matches('/')).filter(is_path)
}

fn stop_at(path: &Path, words: &str, context: &StopContext<'_>) -> Option<(PathCause, String)> {
    let mut is_inside = path.is_relative();
    for guard in context.guards {
        let below = match path.strip_prefix(guard.root()) {
            Ok(below) => {
                is_inside = true;
                below
            }
            Err(_) if path.is_relative() => path.strip_prefix("./").unwrap_or(path),
            Err(_) => continue,
        };
        if let Some(shield) = shield_over(guard.shields(), below) {
            let cause = cause_of(shield);
            let is_stopped = match words {
                // Otherwise it does exist.
                FILE_EXISTS => guard.has_cover(&shield.path),
                MASKED => cause == PathCause::Denied,
                _ => true,
            };
            return is_stopped.then(|| (cause, spelt(&shield.path)));
        }
    }
    if is_inside || !READ_ONLY.contains(&words) {
        return None;
    }
    let is_home = path.starts_with(context.home);
    let cause = if is_home { PathCause::Home } else { PathCause::Outside };
    Some((cause, format!("/{}", spelt(path))))
}

/// Returns the shield that keeps a path as it is. A folder that is only held in place is kept for what is in it.
fn shield_over<'a>(shields: &'a [Shield], path: &Path) -> Option<&'a Shield> {
    let is_over = |it: &&Shield| it.kind != ShieldKind::InPlace && path.starts_with(&it.path);
    let holds = |it: &&Shield| it.kind == ShieldKind::InPlace && it.path == path;
    let within = |held: &Shield| {
        shields.iter().find(|it| it.kind != ShieldKind::InPlace && it.path.starts_with(&held.path))
    };
    shields.iter().find(is_over).or_else(|| shields.iter().find(holds).and_then(within))
}

fn cause_of(shield: &Shield) -> PathCause {
    let names: Vec<_> = shield.path.iter().collect();
    match &names[..] {
        _ if shield.kind == ShieldKind::Masked => PathCause::Denied,
        [name, ..] if *name == ".toolcrib" => PathCause::Own,
        [name] if *name != ".git" => PathCause::Protected,
        // A file to which git's settings lead is protected like git's settings.
        _ => PathCause::Git,
    }
}

fn path_note(cause: PathCause, paths: &[&str]) -> Option<String> {
    if paths.is_empty() {
        return None;
    }
    let shown = quoted(paths);
    let listed = listed(paths);
    Some(match cause {
        PathCause::Protected => format!(
            "the sandbox stopped a change to {shown}, because other programs run or obey it. The operator can allow \
             it: `sandbox.unprotected = [{listed}]`"
        ),
        PathCause::Git => format!(
            "the sandbox stopped a change to {shown}, because git runs what its settings and hooks name. The operator \
             can allow it: `sandbox.unprotected = [\".git\"]`"
        ),
        PathCause::Own => format!(
            "the sandbox stopped a change to {shown}: Toolcrib's own settings are for people, and no setting opens \
             them to commands"
        ),
        PathCause::Denied => {
            format!(
                "the sandbox hides {shown}, because a policy rule denies it. The operator can change the rule"
            )
        }
        PathCause::Home => format!(
            "the sandbox stopped a change to {shown}: commands can only read this folder. The operator can give them \
             a copy to write to: list the folder in `sandbox.caches`"
        ),
        PathCause::Outside => format!(
            "the sandbox stopped a change to {shown}: commands can write only in the workspace, in `/tmp` and in a \
             private home folder. The operator can add a folder to `roots`"
        ),
    })
}

/// Returns names as a list in settings. If there are more names, the list ends with `…`.
fn listed(names: &[impl AsRef<str>]) -> String {
    let shown = names.iter().take(MOST_NAMED_STOPS).map(|it| format!("\"{}\"", it.as_ref()));
    let more = (names.len() > MOST_NAMED_STOPS).then(|| "…".to_owned());
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

fn quoted(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<String> =
        names.iter().take(MOST_NAMED_STOPS).map(|it| format!("`{}`", it.as_ref())).collect();
    match names.len().saturating_sub(MOST_NAMED_STOPS) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_core::command::End;

    use super::super::egress::HostRule;
    use super::super::finished_fixture::finished;
    use super::*;

    /// Returns the notes about a command that ended with this code and printed this, in a sandbox with these hosts.
    fn notes_of(code: i32, stdout: &str, stderr: &str, hosts: &[&str]) -> Vec<String> {
        let finished = finished(End::Exited(code), stdout, stderr);
        let hosts = hosts.iter().map(|host| HostRule::parse(host).unwrap()).collect();
        let egress = Egress::new(hosts, vec![443]);
        let sentence = "network access refused: told.example:443: why".to_owned();
        let refused = [ProxyNote { host: "told.example".to_owned(), sentence }];
        let home = Path::new("/home/me");
        notes(&finished, &StopContext { guards: &[], home, egress: &egress, refused: &refused })
    }

    #[test]
    fn the_words_of_programs_are_told_as_the_sandbox() {
        let mut all = String::new();
        for stderr in [
            "curl: (6) Could not resolve host: a.example",
            "fatal: unable to access 'https://a.example/b/': Could not resolve host: a.example",
            "  [6] Couldn't resolve host name (Could not resolve host: index.a.example)",
            "ssh: Could not resolve hostname a.example: Name or service not known\r",
            "wget: unable to resolve host address ‘a.example’",
            "npm error request to https://a.example failed, reason: getaddrinfo ENOTFOUND a.example",
            "dial tcp: lookup a.example: device or resource busy",
            "NameResolutionError(\"Failed to resolve 'a.example' ([Errno -3] Temporary failure\")",
            "one: Could not resolve host: a.example\ntwo: Could not resolve host: b.example\nCould not resolve host: \
             a.example",
            "bash: line 1: /usr/x: Read-only file system",
            "error: could not write /home/me/.cargo/x: Read-only file system (os error 30)",
        ] {
            let notes = notes_of(1, "", stderr, &[]);
            assert_eq!(notes.len(), 1, "{stderr}: {notes:?}");
            all.push_str(&(notes.concat() + "\n"));
        }
        for (stderr, hosts) in [
            ("Could not resolve host: a.example", &["b.example"][..]),
            ("Could not resolve host: a.example", &["a.example"]),
        ] {
            all.push_str(&(notes_of(1, "", stderr, hosts).concat() + "\n"));
        }
        insta::assert_snapshot!("stopped", all);
    }

    #[test]
    fn what_was_not_stopped_or_is_told_already_has_no_note() {
        let words = "Could not resolve host: a.example\n/usr/x: Read-only file system\n";
        assert_eq!(notes_of(1, words, "", &[]).len(), 2, "a failed command's output counts");
        for (code, stdout, stderr) in [
            (0, words, ""),
            (0, "", "/usr/x: Read-only file system"),
            (0, "", "Network is unreachable"),
            (1, "", "Could not resolve host: told.example"),
            (1, "", "Could not resolve host: a b"),
            (1, "", "no such file: /usr/x"),
            (1, "", "mkdir: cannot create directory ‘src’: File exists"),
            (1, "", "/root: Permission denied"),
        ] {
            let notes = notes_of(code, stdout, stderr, &[]);
            assert!(notes.is_empty(), "{stdout}{stderr}: {notes:?}");
        }
        assert_eq!(notes_of(0, "", "Could not resolve host: a.example", &[]).len(), 1);
    }

    #[test]
    fn text_of_a_command_is_escaped_and_bounded() {
        let many: Vec<String> =
            (0..50).map(|number| format!("Could not resolve host: h{number}.example")).collect();
        let note = notes_of(1, "", &many.join("\n"), &[]).concat();
        assert!(note.contains("and 46 more") && note.len() < 400, "{note}");
        assert!(note.ends_with("\"h3.example\", …]`"), "{note}");
        let note = notes_of(1, "", &many[..4].join("\n"), &[]).concat();
        assert!(note.ends_with("\"h3.example\"]`"), "nothing is left out: {note}");
        let note = notes_of(1, "", "/usr/\u{1b}[2J: Read-only file system", &[]).concat();
        assert!(note.contains("sandbox stopped") && !note.contains('\u{1b}'), "{note}");
    }
}
