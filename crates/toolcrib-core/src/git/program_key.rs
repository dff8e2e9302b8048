//! The settings that make git run a program.

use super::config::GitSetting;

/// Names of settings whose value is a program, in whichever section they are.
const PROGRAM_NAMES: &[&str] = &[
    "alternaterefscommand",
    "askpass",
    "clean",
    "cmd",
    "command",
    "defaultkeycommand",
    "difffilter",
    "external",
    "gitproxy",
    "helper",
    "packobjectshook",
    "process",
    "program",
    "receivepack",
    "recentobjectshook",
    "smudge",
    "sshcommand",
    "textconv",
    "uploadpack",
    "vcs",
];

/// Sections whose programs no subcommand that only reads runs.
const NOT_FOR_READING: &[&str] =
    &["alias", "browser", "difftool", "guitool", "man", "mergetool", "sendemail", "tar", "trailer"];

/// Returns what a setting makes git run although the command only reads, to follow the setting's name.
pub fn runs_when_reading(setting: &GitSetting) -> Option<&'static str> {
    if setting.value.is_none() {
        return match setting.key.as_str() {
            "status.submodulesummary" | "submodule.recurse" => RUNS_ELSEWHERE,
            "log.showsignature" => CHECKS_SIGNATURES,
            _ => None,
        };
    }
    let value = setting.value.as_deref().map(str::trim).filter(|it| !it.is_empty())?;
    let (section, _) = setting.key.split_once('.')?;
    let (_, name) = setting.key.rsplit_once('.')?;
    // These are a program or a switch.
    if section == "pager" || section == "core" && matches!(name, "fsmonitor" | "pager") {
        return (!is_switch(value)).then_some("names a program");
    }
    if PROGRAM_NAMES.contains(&name) && !NOT_FOR_READING.contains(&section) {
        return Some("names a program");
    }
    // `ext::sh -c …` as an address: a repository that lacks objects fetches them when they are read.
    let is_address =
        matches!(section, "remote" | "url") && (value.contains("::") || setting.key.contains("::"));
    if is_address {
        return Some("names a program for an address");
    }
    match setting.key.as_str() {
        // Even of repositories that the index does not name.
        "diff.submodule" if !value.eq_ignore_ascii_case("short") => RUNS_ELSEWHERE,
        "submodule.recurse" if !is_off(value) => RUNS_ELSEWHERE,
        "log.showsignature" if !is_off(value) => CHECKS_SIGNATURES,
        key if (key == "format.pretty" || key.starts_with("pretty.")) && value.contains("%G") => {
            CHECKS_SIGNATURES
        }
        "status.submodulesummary" if !is_off(value) => RUNS_ELSEWHERE,
        // Merges again, with the drivers of the settings.
        "log.diffmerges" if matches!(value, "r" | "remerge") => Some("runs merge drivers"),
        // The address can be in a file of an older form, `.git/remotes/NAME`.
        "protocol.ext.allow" | "protocol.allow" if !value.eq_ignore_ascii_case("never") => {
            Some("lets addresses name programs")
        }
        // A file, or the socket of a program.
        key if key.starts_with("trace2.") && key.ends_with("target") && !is_off(value) => {
            Some("makes git write elsewhere")
        }
        // Git 2.52 and later let an alias replace this subcommand.
        key if key.starts_with("alias.whatchanged") => Some("replaces a subcommand"),
        _ => None,
    }
}

/// Git runs `gpg` for it, on what the repository says.
const CHECKS_SIGNATURES: Option<&str> = Some("makes git run `gpg`");

const RUNS_ELSEWHERE: Option<&str> = Some("makes git run in other repositories");

/// Names of settings whose value is a program for some subcommand, beside [`PROGRAM_NAMES`].
const OTHER_PROGRAMS: &[&str] = &[
    "attributesfile",
    "browser",
    "cccmd",
    "driver",
    "editor",
    "guitool",
    "headercmd",
    "hookspath",
    "httpd",
    "mergeoptions",
    "sendmailcmd",
    "smtpserver",
    "templatedir",
    "tocmd",
    "tool",
    "tunnel",
];

/// Sections in which `path` leads to a program, or to more settings.
const SECTIONS_WITH_PATHS: &[&str] =
    &["browser", "difftool", "include", "includeif", "lfs", "man", "mergetool"];

/// Sections whose settings are known: they name a program only under the names above. Programs that people install
/// beside git have sections of their own, and nobody can list what their settings run.
const KNOWN_SECTIONS: &[&str] = &[
    "add",
    "advice",
    "apply",
    "author",
    "blame",
    "branch",
    "checkout",
    "clean",
    "clone",
    "color",
    "column",
    "commit",
    "committer",
    "core",
    "credential",
    "diff",
    "extensions",
    "feature",
    "fetch",
    "filter",
    "format",
    "fsck",
    "gc",
    "gpg",
    "grep",
    "http",
    "i18n",
    "index",
    "init",
    "log",
    "maintenance",
    "merge",
    "notes",
    "pack",
    "pull",
    "push",
    "rebase",
    "receive",
    "remote",
    "repack",
    "rerere",
    "reset",
    "revert",
    "safe",
    "sequence",
    "stash",
    "status",
    "submodule",
    "tag",
    "transfer",
    "uploadpack",
    "url",
    "user",
    "pretty",
    "versionsort",
    "worktree",
];

/// Settings that name no program, but make a command that only reads obey other settings that do.
const FOR_READING: &[&str] = &[
    "diff.submodule",
    "format.pretty",
    "log.diffmerges",
    "log.showsignature",
    "status.submodulesummary",
    "submodule.recurse",
];

/// Returns what a setting makes git run with any subcommand, to follow the setting's name.
pub fn runs_program(setting: &GitSetting) -> Option<&'static str> {
    let is_more = |_: &&str| {
        let key = setting.key.as_str();
        !FOR_READING.contains(&key) && !key.starts_with("alias.") && !key.starts_with("pretty.")
    };
    if let Some(what) = runs_when_reading(setting).filter(is_more) {
        return Some(what);
    }
    // A blank is a name like any other.
    let value = setting.value.as_deref().filter(|it| !it.is_empty())?;
    let (section, _) = setting.key.split_once('.')?;
    let (_, name) = setting.key.rsplit_once('.')?;
    match (section, name) {
        // The first two are a switch here: a program was found before.
        ("pager", _) | ("core", "fsmonitor" | "pager") | ("lfs", "repositoryformatversion") => None,
        ("rebase", "instructionformat") => Some("can add lines to a rebase's todo list"),
        // A subcommand of git can be told to run a program too.
        ("alias", _) => Some("makes git run something else"),
        ("submodule", "update") => value.starts_with('!').then_some("names a program"),
        ("include" | "includeif", "path") => Some("leads to other settings"),
        (section, "path") if SECTIONS_WITH_PATHS.contains(&section) => Some("names a program"),
        ("protocol", "allow") => {
            value.eq_ignore_ascii_case("always").then_some("lets addresses name programs")
        }
        (_, name) if PROGRAM_NAMES.contains(&name) || OTHER_PROGRAMS.contains(&name) => {
            Some("names a program")
        }
        (section, _) if !KNOWN_SECTIONS.contains(&section) => {
            (!is_switch(value)).then_some("may name a program")
        }
        _ => None,
    }
}

fn is_switch(value: &str) -> bool {
    is_off(value) || matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1")
}

fn is_off(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "false" | "no" | "off" | "0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::parse_config;

    #[track_caller]
    fn check(text: &str, expect: Option<&str>) {
        let settings = parse_config(text.as_bytes()).unwrap();
        assert_eq!(settings.iter().find_map(runs_when_reading), expect, "{text}");
    }

    #[test]
    fn settings_that_name_programs_are_known() {
        for text in [
            "[filter \"x\"]clean = a",
            "[filter \"x\"]process = a",
            "[diff]external = a",
            "[diff \"x\"]textconv = a",
            "[diff \"x\"]command = a",
            "[core]fsmonitor = .git/x",
            "[core]pager = a",
            "[pager]log = a",
            "[core]sshCommand = a",
            "[core]gitProxy = a",
            "[gpg]program = a",
            "[gpg \"ssh\"]program = a",
            "[credential]helper = a",
            "[remote \"x\"]uploadpack = a",
            "[gc]recentObjectsHook = a",
            "[hook \"x\"]command = a",
        ] {
            check(text, Some("names a program"));
        }
        check("[remote \"x\"]url = ext::sh -c x", Some("names a program for an address"));
        check("[url \"ext::sh\"]insteadOf = x", Some("names a program for an address"));
        for text in [
            "[diff]submodule = diff",
            "[status]submoduleSummary = true",
            "[status]submoduleSummary = 7",
            "[status]submoduleSummary",
        ] {
            check(text, Some("makes git run in other repositories"));
        }
        check("[log]diffMerges = remerge", Some("runs merge drivers"));
        check("[trace2]normalTarget = /x", Some("makes git write elsewhere"));
        check("[trace2]eventTarget = af_unix:x", Some("makes git write elsewhere"));
        check("[trace2]perfTarget = 0", None);
        check("[protocol \"ext\"]allow = always", Some("lets addresses name programs"));
        check("[protocol]allow = user", Some("lets addresses name programs"));
        check("[alias]whatchanged = !a", Some("replaces a subcommand"));
        check("[alias \"whatchanged\"]command = a", Some("replaces a subcommand"));
    }

    #[test]
    fn settings_of_other_subcommands_name_programs_too() {
        let check = |text: &str, expect: Option<&str>| {
            let settings = parse_config(text.as_bytes()).unwrap();
            assert_eq!(settings.iter().find_map(runs_program), expect, "{text}");
        };
        for text in [
            "[core]fsmonitor = .git/x",
            "[core]editor = a",
            "[sequence]editor = a",
            "[core]hooksPath = a",
            "[diff]tool = ../x",
            "[merge]guitool = x",
            "[branch \"m\"]mergeOptions = -s x",
            "[merge \"x\"]driver = a",
            "[mergetool \"x\"]cmd = a",
            "[difftool \"x\"]path = a",
            "[submodule \"x\"]update = !a",
            "[init]templateDir = a",
            "[trailer \"x\"]command = a",
        ] {
            check(text, Some("names a program"));
        }
        for alias in
            ["st = !a", "st = status", "st = ls-remote --upload-pack=x .", "whatchanged = x"]
        {
            check(&format!("[alias]{alias}"), Some("makes git run something else"));
        }
        check("[annex]secure-erase-command = x", Some("may name a program"));
        check("[include]path = a", Some("leads to other settings"));
        check("[includeIf \"gitdir:x\"]path = a", Some("leads to other settings"));
        for text in [
            "[core]\nbare = false\nfilemode = true\nfsmonitor = true\nlogallrefupdates = true",
            "[remote \"origin\"]\nurl = /a/b\nfetch = +refs/heads/*:refs/remotes/origin/*",
            "[branch \"main\"]\nremote = origin\nmerge = refs/heads/main\nrebase = true",
            "[submodule \"x\"]\nurl = a\nactive = true\nupdate = rebase\npath = x",
            "[lfs]repositoryformatversion = 0",
            "[push]default = simple",
            "[diff]submodule = diff",
            "[status]submoduleSummary = true",
            "[submodule]recurse = true",
            "[pretty]x = %GG",
            "[core]editor =",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn ordinary_settings_run_nothing() {
        for text in [
            "[core]\nbare = false\nfilemode = true\nfsmonitor = true\npager = false\neditor = vi",
            "[remote \"origin\"]\nurl = https://x.example/a.git\nfetch = +refs/heads/*:refs/remotes/origin/*",
            "[branch \"main\"]\nremote = origin\nmerge = refs/heads/main",
            "[user]name = A",
            "[alias]cmd = !x",
            "[mergetool \"x\"]cmd = a",
            "[credential]helper =",
            "[pager]log = off",
            "[diff]submodule = short",
            "[submodule]recurse = false",
            "[log]showSignature = false",
            "[pretty]x = %h %s",
            "[status]submoduleSummary = false",
            "[log]diffMerges = first-parent",
            "[protocol \"ext\"]allow = never",
            "[protocol \"file\"]allow = always",
            "[merge \"x\"]driver = a",
            "[filter \"x\"]required = true",
        ] {
            check(text, None);
        }
    }
}
