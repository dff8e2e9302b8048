//! The paths that the words of a command could be. A rule that denies or asks about paths applies to all of them. If
//! there is such a rule, a command whose paths are not certain counts as not proven, so a person is asked.

use std::collections::BTreeSet;

use toolcrib_core::command_reading::{Reading, Step, Unproven, UnprovenKind};
use toolcrib_core::policy::without_detours;
use toolcrib_core::program::{
    self, Fact, PrintsTo, path_words, prints_committed_content, wrapper_directories,
};

use super::path_cache::PathCache;

/// The most words of a command that are taken for paths.
const MOST_PATHS: usize = 1000;

/// The most path components, over all directories that the command could run in. Each of them is resolved.
const MOST_COMPONENTS: usize = 20_000;

/// The most directories that a command is followed into.
const MOST_DIRECTORIES: usize = 8;

/// The longest word that is taken apart.
const LONGEST_WORD_BYTES: usize = 4096;

/// The most parts of one word that are taken for paths.
const MOST_WORD_PARTS: usize = 16;

/// The most flags in one word whose rest is taken for a path.
const MOST_BUNDLED_FLAGS: usize = 40;

/// Whether rules about paths restrict the tool that is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathRules {
    /// No rule denies or asks about paths.
    None,
    /// Some rule does, so a command must show which paths it touches.
    Restrict,
}

impl PathRules {
    fn restrict(self) -> bool {
        self == Self::Restrict
    }
}

/// The paths that words could be, up to a bound.
pub(crate) struct Candidates {
    pub(crate) paths: BTreeSet<String>,
    /// Why there may be more paths, if so.
    pub(crate) beyond: Option<String>,
}

impl Candidates {
    /// Returns every word of a command that could be a path, from any of these directories.
    pub(crate) fn all(reading: &Reading, directories: &[String]) -> Self {
        Self::of(words_of(reading), directories.len())
    }

    /// Returns every word that could be a path of the parts of a command that do more than change the directory.
    pub(crate) fn besides_moves(reading: &Reading, directories: &[String]) -> Self {
        let steps = reading.proven.iter().flat_map(|proven| &proven.steps);
        let commands = reading.found.iter().chain(steps.map(|step| &step.words));
        let words = commands.filter(|words| !is_move(words)).flatten().chain(&reading.reads);
        Self::of(words, directories.len())
    }

    /// Collects candidates. A path that occurs several times counts once.
    fn of<'a>(words: impl Iterator<Item = &'a String>, directories: usize) -> Self {
        let mut all = Self { paths: BTreeSet::new(), beyond: None };
        let mut parts = 0;
        for word in words {
            let (paths, is_all) = possible_paths(word);
            for path in paths {
                let size = (path.matches('/').count() + 1) * directories;
                parts += if all.paths.insert(path) { size } else { 0 };
            }
            if !is_all {
                let start: String = word.chars().take(40).collect();
                all.beyond
                    .get_or_insert_with(|| format!("`{start}…` is too long for Toolcrib to check"));
            }
            if all.paths.len() > MOST_PATHS || parts > MOST_COMPONENTS {
                all.beyond = Some("it has more words than Toolcrib checks".to_owned());
                break;
            }
        }
        all
    }
}

/// Returns the directories that parts of a command could run in: where it starts, where each `cd` or wrapper such as
/// `env -C` leads from there, and where all `cd`s lead one after the other.
pub(crate) fn directories(reading: &Reading, from: &str) -> Vec<String> {
    let mut all = vec![from.to_owned()];
    let moves = reading.found.iter().filter(|words| is_move(words)).take(MOST_DIRECTORIES);
    let wrapped = reading.found.iter().flat_map(|words| wrapper_directories(words));
    all.extend(wrapped.take(MOST_DIRECTORIES).map(|(_, target)| below(from, target)));
    let mut here = from.to_owned();
    for target in moves.filter_map(|words| move_target(words)) {
        let target = without_present_folder(target);
        let there = below(&here, target);
        all.push(there.clone());
        all.push(below(from, target));
        // Beside a word with a variable, the same command is there with the value of the variable, if it is known.
        if !target.contains('$') {
            here = there;
        }
    }
    all.dedup();
    all.truncate(MOST_DIRECTORIES);
    all
}

/// Returns where a command leads that changes the directory, as it is spelt.
fn move_target(words: &[String]) -> Option<&str> {
    words[1..].iter().find(|word| !word.starts_with('-')).map(String::as_str)
}

/// Returns where the `cd`s of a command lead, as they are spelt.
pub(super) fn move_targets(reading: &Reading) -> impl Iterator<Item = &str> {
    let moves = reading.found.iter().filter(|words| is_move(words));
    moves.filter_map(|words| move_target(words)).map(without_present_folder)
}

/// Returns a path without `$PWD` at its beginning, which is the folder that it starts from anyway.
pub(super) fn without_present_folder(path: &str) -> &str {
    let rest = path.strip_prefix("$PWD").or_else(|| path.strip_prefix("${PWD}"));
    match rest {
        Some("") => ".",
        Some(rest) => rest.strip_prefix('/').map_or(path, |it| it.trim_start_matches('/')),
        None => path,
    }
}

/// Whether a command changes the directory that later ones run in.
fn is_move(words: &[String]) -> bool {
    matches!(words.first().map(String::as_str), Some("cd" | "pushd" | "chdir"))
}

/// Joins a path to a directory.
pub(crate) fn below(from: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{from}/{path}") }
}

/// Takes the proof back if a program whose writes are not known names a path that rules keep from writing.
pub(crate) fn distrust_unknown_writers(
    reading: &mut Reading,
    from: &str,
    rules: PathRules,
    keeps: &dyn Fn(&str) -> bool,
    paths: &PathCache,
) {
    let Ok(proven) = &reading.proven else { return };
    let unknown = proven.steps.iter().filter(|step| !step.effects.knows_writes);
    let candidates = Candidates::of(unknown.flat_map(|step| &step.words[1..]), 1);
    let found = candidates.paths.iter().find(|word| {
        keeps(&without_detours(word)) || keeps(&paths.resolve(&below(from, word)).path)
    });
    if let Some(word) = found {
        reading.proven = Err(evasion(format!("it could write `{word}`, which a rule restricts")));
    } else if let Some(why) = candidates.beyond.filter(|_| rules.restrict()) {
        reading.proven = Err(evasion(format!("{why}, and a rule restricts paths")));
    }
}

/// Returns the reason of a command that could lead around a rule.
fn evasion(message: String) -> Unproven {
    Unproven::new(UnprovenKind::Evasion, message)
}

/// Returns every word of a command that could name a file.
fn words_naming_files(reading: &Reading) -> impl Iterator<Item = &String> {
    let steps = reading.proven.iter().flat_map(|proven| &proven.steps);
    // What a program prints into another can be file names for that one.
    let is_fed = steps.clone().any(|step| step.is_fed);
    let output = if is_fed { PrintsTo::Program } else { PrintsTo::Screen };
    let commands = reading.found.iter().chain(steps.map(|step| &step.words));
    commands.flat_map(move |words| path_words(words, output)).chain(&reading.reads)
}

/// Returns every word of a command, from the strict and the loose reading.
pub(crate) fn words_of(reading: &Reading) -> impl Iterator<Item = &String> {
    let steps = reading.proven.iter().flat_map(|proven| &proven.steps);
    let proven = steps.flat_map(|step| &step.words);
    reading.found.iter().flatten().chain(&reading.reads).chain(proven)
}

/// Takes the proof back if a part of the command can make a path lead elsewhere while other parts use paths, if a part
/// writes files that its words do not name, or if its input names the files.
pub(crate) fn distrust_moving_paths(reading: &mut Reading, rules: PathRules) {
    let Ok(proven) = &reading.proven else { return };
    let has_pipe = proven.steps.iter().any(|step| step.is_fed);
    let is_file = |word: &String| !word.starts_with('-') || word.contains(['/', '=']);
    let has_files = |step: &Step| step.words[1..].iter().any(is_file);
    let maker = proven.steps.iter().position(|step| step.effects.retargets_paths);
    let why = match maker {
        Some(maker) if rules.restrict() => {
            let rest = proven.steps.iter().enumerate();
            let beside = rest.filter(|(at, _)| *at > maker || has_pipe && *at != maker);
            let has_redirects = !proven.writes.is_empty() || !reading.reads.is_empty();
            let is_led = has_redirects || beside.into_iter().any(|(_, step)| has_files(step));
            is_led.then_some("a part of it can make a path lead somewhere else")
        }
        _ => None,
    };
    let unnamed = rules.restrict() && proven.steps.iter().any(|step| step.effects.writes_unnamed);
    let why = why.or(unnamed.then_some("it writes files that its command line does not name"));
    let passes_on = |step: &Step| program::is(&step.words[0], Fact::PassesInputOn);
    let is_told = rules.restrict() && proven.steps.iter().any(passes_on);
    let why = why.or(is_told.then_some("its input names files"));
    if let Some(why) = why {
        reading.proven = Err(evasion(format!("{why}, and a rule restricts paths")));
    }
}

/// Takes the proof back if a part of the command could print what a repository keeps of its files while some files
/// are denied: the sandbox hides the files, and not what was committed of them.
pub(crate) fn distrust_committed_content(reading: &mut Reading, are_denied: impl FnOnce() -> bool) {
    let Ok(proven) = &reading.proven else { return };
    let Some(step) = proven.steps.iter().find(|step| prints_committed_content(&step.words)) else {
        return;
    };
    let shown = step.words.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(" ");
    if are_denied() {
        let why = format!("`{shown}` can print what was committed, and a rule denies files");
        reading.proven = Err(evasion(why));
    }
}

/// Returns the paths that the words of a command could be, as they are spelt and where they lead. Takes the proof
/// back if rules restrict paths and a word could be a path that is not certain.
pub(crate) fn mentioned_paths(
    reading: &mut Reading,
    from: &str,
    rules: PathRules,
    paths: &PathCache,
) -> Vec<String> {
    let directories = directories(reading, from);
    let Candidates { paths: candidates, beyond: mut unknown } =
        Candidates::of(words_naming_files(reading), directories.len());
    let spelt = candidates.iter().map(|word| without_detours(word.trim_start_matches("./")));
    let mut all: Vec<String> = spelt.collect();
    for word in candidates {
        for directory in &directories {
            let resolved = paths.resolve(&below(directory, &word));
            let leads_out = !resolved.is_inside && word != "/dev/null";
            if leads_out && (resolved.has_links || word.contains('/')) {
                unknown
                    .get_or_insert_with(|| format!("`{word}` could be a file that a rule matches"));
            }
            all.push(resolved.path);
        }
    }
    // Git expands wildcards in its paths itself.
    let is_git = |words: &&Vec<String>| words.first().is_some_and(|name| name == "git");
    let mut git =
        reading.found.iter().filter(is_git).flat_map(|words| path_words(words, PrintsTo::Screen));
    let expands = |word: &&String| word.contains(['*', '?', '[', '\\']) || word.starts_with(":(");
    if let Some(word) = git.find(expands) {
        unknown.get_or_insert_with(|| format!("`{word}` could match files that a rule restricts"));
    }
    if reading.proven.as_ref().is_ok_and(|proven| proven.has_wildcards) {
        unknown.get_or_insert_with(|| {
            "its wildcards could match files that a rule restricts".to_owned()
        });
    }
    if directories.len() > 1 {
        unknown.get_or_insert_with(|| {
            "it changes its directory, and a rule restricts paths".to_owned()
        });
    }
    if let (true, Some(why), true) = (rules.restrict(), unknown, reading.proven.is_ok()) {
        reading.proven = Err(evasion(why));
    }
    all
}

/// Whether a word leads through a folder of the kernel in which each process finds something else.
pub(crate) fn is_known_when_run(word: &str) -> bool {
    word.contains("/proc/") || word.contains("/dev/fd")
}

/// Returns the parts of a word that could be paths: all of it, the value of a flag, what follows a colon or an `@`, a
/// file address. Also returns whether these are all that it could be.
fn possible_paths(word: &str) -> (Vec<String>, bool) {
    if word.len() > LONGEST_WORD_BYTES {
        return (vec![word.to_owned()], false);
    }
    let parts: Vec<usize> = word.match_indices(['=', ':', '@']).map(|it| it.0).collect();
    let behind = parts.iter().take(MOST_WORD_PARTS).map(|at| &word[at + 1..]);
    // Two slashes begin a host, not a path.
    let is_path = |it: &&str| !it.starts_with("//");
    let values = behind.flat_map(move |it| {
        [Some(it.trim_start_matches('/')), Some(it).filter(is_path)].into_iter().flatten()
    });
    let flags = word.strip_prefix('-').filter(|it| !it.starts_with('-')).unwrap_or_default();
    let bundled = (1..=MOST_BUNDLED_FLAGS.min(flags.len())).filter_map(|at| flags.get(at..));
    let magic = word.strip_prefix(":(").and_then(|it| it.split_once(')')).map(|it| it.1);
    let is_file = word.get(..5).is_some_and(|it| it.eq_ignore_ascii_case("file:"));
    let address = is_file.then(|| &word[5..]).map(|it| {
        let it = it.strip_prefix("//").unwrap_or(it);
        it.find('/').map_or(it, |at| &it[at..])
    });
    let one = [Some(word), magic, address].into_iter().flatten();
    let all = one.chain(values).chain(bundled);
    let all = all.filter(|it| !it.is_empty()).map(str::to_owned).collect();
    (all, parts.len() <= MOST_WORD_PARTS && flags.len() <= MOST_BUNDLED_FLAGS)
}

/// Replaces the targets of redirections by where they lead. Takes the proof back if one is outside the workspace.
pub(crate) fn resolve_redirects(reading: &mut Reading, from: &str, paths: &PathCache) {
    if let Ok(proven) = &mut reading.proven {
        let mut outside = None;
        for path in &mut proven.writes {
            let resolved = paths.resolve(&below(from, path));
            if resolved.is_inside {
                *path = resolved.path;
            } else {
                outside = Some(path.clone());
            }
        }
        if let Some(path) = outside {
            let message = format!("it writes `{path}`, which is not in the workspace");
            reading.proven = Err(Unproven::new(UnprovenKind::Redirect, message));
        }
    }
    let places = |named: &[String]| -> Vec<String> {
        let real = named.iter().map(|path| paths.resolve(&below(from, path)).path);
        real.chain(named.iter().map(|path| without_detours(path))).collect()
    };
    reading.writes = places(&reading.writes);
    reading.removes = places(&reading.removes);
}
