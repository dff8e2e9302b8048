//! `git`: which of its subcommands and flags run programs, write files or reach hosts.

use super::arguments::{Arguments, ValueFlags, is_bundled, is_long};
use super::file::{moved_from, moved_to};
use super::git_signing::{checks_signatures, signs};
use super::row::{
    Caveat, Condition, Fact, FileEffectRules, FileWords, HostWords, PathWords, Program, Shows,
    example, with,
};
use super::text::without_pattern;

pub(super) const ROWS: &[Program] = &[Program {
    caveat: Caveat::Check(caveat),
    writes: FileWords::Find(writes),
    removes: FileWords::Find(removes),
    effects: FileEffectRules {
        knows_writes: Condition::Subcommand(&[KEEPS_NAMES, WRITES_AS_NAMED]),
        retargets_paths: Condition::OtherSubcommand(KEEPS_NAMES),
        writes_unnamed: Condition::OtherSubcommand(KEEPS_NAMES),
    },
    paths: PathWords::Choose(path_words),
    hosts: HostWords::WithSubcommand(&[
        "archive",
        "clone",
        "fetch",
        "ls-remote",
        "pull",
        "push",
        "remote",
        "submodule",
    ]),
    facts: &[Fact::TakesSubcommand],
    examples: &[
        example("git status", Shows::Plain),
        example("git diff --stat", Shows::Plain),
        example("git grep Foo::bar", Shows::Plain),
        example("git push -u origin x", Shows::Plain),
        example("git fetch", Shows::Plain),
        example("git pull --rebase", Shows::Plain),
        example("git archive HEAD", Shows::Plain),
        example("git -c a=b status", Shows::Caveat),
        example("git config core.pager x", Shows::Caveat),
        example("git config --get user.name", Shows::Plain),
        example("git config --local --list", Shows::Plain),
        example("git config --get a.b --unset", Shows::Caveat),
        example("git config a.b --get", Shows::Caveat),
        example("git config --get -f x a.b", Shows::Caveat),
        example("git for-each-ref --format=%(signature)", Shows::Caveat),
        example("git diff --output=x", Shows::Caveat),
        example("git log --outp=x", Shows::Caveat),
        example("git log --format=%GG", Shows::Caveat),
        example("git log --format=%-GG", Shows::Caveat),
        example("git for-each-ref --format=%(*signature)", Shows::Caveat),
        example("git for-each-ref --sort -signature", Shows::Caveat),
        example("git log --format=%h-%an", Shows::Plain),
        example("git grep --recurse-submodules x", Shows::Caveat),
        example("git diff --submodule=diff", Shows::Caveat),
        example("git show --remerge-diff", Shows::Caveat),
        example("git log --diff-merges=r", Shows::Caveat),
        example("git grep -Ox a", Shows::Caveat),
        example("git ls-remote --upload-pack=x .", Shows::Caveat),
        example("git push docs/evil.git HEAD:x", Shows::Caveat),
        example("git push -o origin docs/evil.git HEAD:x", Shows::Caveat),
        example("git merge -s ./evil x", Shows::Caveat),
        example("git commit --gpg-sign -m x", Shows::Caveat),
        example("git commit -S -m x", Shows::Caveat),
        example("git commit -aSkey -m x", Shows::Caveat),
        example("git commit -sm x", Shows::Plain),
        example("git commit --signoff -m x", Shows::Plain),
        example("git commit -mSubject", Shows::Plain),
        example("git tag -s v1", Shows::Caveat),
        example("git tag -am x v1", Shows::Plain),
        example("git mv docs/a locked/a", Shows::Writes(&["locked/a/a", "locked/a"])),
        example("git mv docs/a locked/a", Shows::Removes(&["docs/a"])),
        example("git restore locked/x", Shows::Writes(&["locked/x"])),
        example("git rm -f a b", Shows::Removes(&["a", "b"])),
        example("git log src", Shows::Writes(&[])),
        example("git commit -m secrets/x a", Shows::Paths(&["commit", "-m", "a"])),
        example("git log --grep=a/b src", Shows::Paths(&["log", "src"])),
        example("git grep a/b src", Shows::Paths(&["src"])),
        example("git push git@host.example:r", Shows::Hosts(&["push", "host.example"])),
        example("git log host.example", Shows::Hosts(&[])),
    ],
    ..Program::named(&["git"])
}];

/// Subcommands that leave the names of files as they are, and write no file that their words do not name.
const KEEPS_NAMES: &[&str] = &[
    "add",
    "blame",
    "branch",
    "cat-file",
    "commit",
    "describe",
    "diff",
    "fetch",
    "grep",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "name-rev",
    "push",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "tag",
];

/// Subcommands that change the names of files, or write files, as their words say.
const WRITES_AS_NAMED: &[&str] = &["checkout", "mv", "restore", "rm"];

/// Subcommands that print nothing of the content of committed files, unless a flag makes them.
const PRINTS_NO_CONTENT: &[&str] = &[
    "add",
    "branch",
    "commit",
    "describe",
    "fetch",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "name-rev",
    "push",
    "rev-list",
    "rev-parse",
    "show-ref",
    "status",
    "tag",
];

/// Flags that make one of them print content. With a format, a tag prints the file that it names.
const CONTENT_FLAGS: &[&str] =
    &["--verbose", "--patch", "--interactive", "--edit", "--format", "--textconv"];

/// Flags with which `git log` still prints no content.
const PLAIN_LOG_FLAGS: &[&str] = &[
    "-n",
    "--abbrev-commit",
    "--after",
    "--all",
    "--author",
    "--before",
    "--branches",
    "--date",
    "--decorate",
    "--first-parent",
    "--format",
    "--graph",
    "--grep",
    "--max-count",
    "--merges",
    "--name-only",
    "--name-status",
    "--no-merges",
    "--numstat",
    "--oneline",
    "--pretty",
    "--reverse",
    "--shortstat",
    "--since",
    "--skip",
    "--stat",
    "--tags",
    "--until",
];

/// Subcommands that run what they are told, or change what git runs later.
const RUNS_ANYTHING: &[&str] = &[
    "bisect",
    "clone",
    "config",
    "credential",
    "daemon",
    "difftool",
    "fast-import",
    "filter-branch",
    "help",
    "hook",
    "init",
    "instaweb",
    "maintenance",
    "merge-index",
    "merge-one-file",
    "mergetool",
    "rebase",
    "remote",
    "replace",
    "send-email",
    "shell",
    "submodule",
    "svn",
    "upload-archive",
    "worktree",
];

/// Long flags that run or write what follows them, or tell git to obey other settings.
const DANGEROUS_FLAGS: &[&str] = &[
    "--exec",
    "--filters",
    "--help",
    "--exec-path",
    "--ext-diff",
    "--extcmd",
    "--open-files-in-pager",
    "--output",
    "--receive-pack",
    // With these, git merges again, with the drivers of the settings.
    "--remerge-diff",
    "--diff-merges",
    "--textconv",
    "--tool",
    "--upload-pack",
    "--config",
    "--config-env",
    "--template",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--separate-git-dir",
    "--file",
    "--server-option",
    "--show-signature",
    "--verify-signatures",
    "--gpg-sign",
    "--output-directory",
    "--pathspec-from-file",
    "--recurse-submodules",
    "--submodule",
];

/// Flags without a value, of the subcommands that reach another repository.
const PLAIN_REMOTE_FLAGS: &[&str] = &[
    "-4",
    "-6",
    "-a",
    "-d",
    "-f",
    "-n",
    "-p",
    "-q",
    "-r",
    "-t",
    "-u",
    "-v",
    "--all",
    "--atomic",
    "--delete",
    "--dry-run",
    "--ff",
    "--ff-only",
    "--follow-tags",
    "--force",
    "--force-with-lease",
    "--heads",
    "--no-edit",
    "--no-ff",
    "--no-rebase",
    "--no-tags",
    "--no-verify",
    "--progress",
    "--prune",
    "--quiet",
    "--rebase",
    "--set-upstream",
    "--squash",
    "--tags",
    "--unshallow",
    "--verbose",
];

fn caveat(rest: &[String]) -> Option<String> {
    let at = rest.iter().position(|word| !word.starts_with('-'));
    let before = &rest[..at.unwrap_or(rest.len())];
    if let Some(word) =
        before.iter().find(|word| !matches!(word.as_str(), "--no-pager" | "--version"))
    {
        return Some(format!("with `{word}` before its subcommand, git can run anything"));
    }
    let (command, rest) = rest[at?..].split_first()?;
    if command == "config" && reads_settings(rest) {
        return None;
    }
    if RUNS_ANYTHING.contains(&command.as_str())
        || checks_signatures(command)
        || command.starts_with("remote-")
        || command.contains("--")
    {
        return Some(format!("`git {command}` runs programs, or sets which ones git runs later"));
    }
    let reaches = matches!(
        command.as_str(),
        "archive" | "fetch" | "fetch-pack" | "ls-remote" | "pull" | "push" | "send-pack"
    );
    if reaches && command != "archive" {
        let caveat = remote_caveat(rest);
        if caveat.is_some() {
            return caveat;
        }
    }
    let runs = |word: &&String| {
        DANGEROUS_FLAGS.iter().any(|long| is_long(word, long))
            || word.contains("::") && reaches
            || command == "grep" && is_bundled(word, "O")
            || command == "archive" && (is_bundled(word, "o") || is_long(word, "--remote"))
            || is_bundled(word, "s")
                && matches!(command.as_str(), "merge" | "pull" | "cherry-pick" | "revert")
            || is_long(word, "--strategy")
            || signs(command, word)
            || word.starts_with("--batch")
            || word.starts_with("--stdin")
    };
    rest.iter().find(runs).map(|word| with(word, "git runs a program or writes a file"))
}

/// Whether `git config` with these words only reads: it says so by a flag, and has no flag that says otherwise.
fn reads_settings(rest: &[String]) -> bool {
    const ACTIONS: &[&str] = &["--get", "--get-all", "--get-regexp", "--list", "-l"];
    const PLAIN: &[&str] =
        &["--global", "--local", "--name-only", "--show-origin", "--show-scope", "--system", "-z"];
    let is_action = |word: &String| ACTIONS.contains(&word.as_str());
    let is_known =
        |word: &String| !word.starts_with('-') || is_action(word) || PLAIN.contains(&word.as_str());
    rest.first().is_some_and(|first| first.starts_with('-'))
        && rest.iter().any(is_action)
        && rest.iter().all(is_known)
}

/// Whether git, with these words behind its name, could print the content of files that were committed, or write it
/// elsewhere.
pub(super) fn could_print_content(rest: &[String]) -> bool {
    let mut words = rest.iter().skip_while(|word| *word == "--no-pager");
    let Some(command) = words.next() else { return false };
    let flags = words.take_while(|word| *word != "--").filter(|word| word.starts_with('-'));
    let is_number = |word: &str| word[1..].bytes().all(|digit| digit.is_ascii_digit());
    let is_plain_of_log = |word: &String| {
        let name = word.split('=').next().unwrap_or(word);
        PLAIN_LOG_FLAGS.contains(&name) || is_number(word) || is_number(&word.replacen('n', "", 1))
    };
    let prints = |word: &String| {
        CONTENT_FLAGS.iter().any(|long| is_long(word, long)) || is_bundled(word, "vpie")
    };
    match command.as_str() {
        "--version" => false,
        "log" | "shortlog" => !flags.into_iter().all(is_plain_of_log),
        command if PRINTS_NO_CONTENT.contains(&command) => flags.into_iter().any(prints),
        _ => true,
    }
}

/// Returns why a subcommand that reaches another repository may do more than it says. Any remote but the usual two
/// can be a folder of the workspace, whose settings git then obeys.
fn remote_caveat(rest: &[String]) -> Option<String> {
    let remote = rest.iter().find(|word| !word.starts_with('-'));
    let flags = rest.iter().take_while(|word| word.starts_with('-'));
    let is_plain = |it: &str| PLAIN_REMOTE_FLAGS.contains(&it.split('=').next().unwrap_or(it));
    // A flag that takes a value would make the next word something else than the remote.
    if let Some(flag) = flags.into_iter().find(|it| !is_plain(it)) {
        return Some(with(flag, "git may reach another repository"));
    }
    if let Some(remote) = remote.filter(|it| !matches!(it.as_str(), "origin" | "upstream")) {
        return Some(with(remote, "git may run what the settings of that repository name"));
    }
    let flag = rest.iter().find(|it| is_long(it, "--repo"))?;
    Some(with(flag, "git may reach another repository"))
}

fn writes(rest: &[String]) -> Vec<String> {
    let Some((command, rest)) = rest.split_first() else { return Vec::new() };
    match command.as_str() {
        "mv" => moved_to(rest),
        "checkout" | "restore" => {
            let flags = ValueFlags { short: "bBs", long: &["--source", "--orphan"] };
            Arguments::parse(rest, flags).operands
        }
        _ => Vec::new(),
    }
}

fn removes(rest: &[String]) -> Vec<String> {
    let Some((command, rest)) = rest.split_first() else { return Vec::new() };
    match command.as_str() {
        "mv" => moved_from(rest),
        "rm" => Arguments::parse(rest, ValueFlags::NONE).operands,
        _ => Vec::new(),
    }
}

/// Returns the words that could name files: messages, patterns and formats do not.
fn path_words(rest: &[String]) -> Vec<&String> {
    match rest {
        [command, rest @ ..] if command == "grep" => without_pattern(rest),
        _ => (0..rest.len()).filter(|at| !is_text(rest, *at)).map(|at| &rest[at]).collect(),
    }
}

/// Whether a word is a message, a pattern or a format.
fn is_text(rest: &[String], at: usize) -> bool {
    let flag = |at: usize| rest[at].split('=').next().unwrap_or_default();
    let joined = ["--message", "--grep", "--author", "--format", "--pretty"];
    if rest[at].contains('=') && joined.contains(&flag(at)) {
        return true;
    }
    // Only of these subcommands is the next word known to be the flag's value.
    let Some(before) = at.checked_sub(1).map(|at| rest[at].as_str()) else { return false };
    match rest.first().map_or("", String::as_str) {
        "commit" => matches!(before, "-m" | "-am" | "--message" | "--author"),
        "tag" | "merge" | "notes" | "stash" => matches!(before, "-m" | "--message"),
        "log" | "rev-list" | "shortlog" => matches!(before, "--grep" | "--author"),
        _ => false,
    }
}
