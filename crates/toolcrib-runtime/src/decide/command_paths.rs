//! The paths that the words of a command could be. Rules that tighten are about all of them; where there is such a
//! rule, what cannot be told proves nothing.

use std::collections::BTreeSet;

use toolcrib_core::policy::without_detours;
use toolcrib_core::program::{PrintsTo, path_words};
use toolcrib_core::reading::{Reading, Step};

use super::path_cache::PathCache;

/// Of more words than this, the rest are not looked at for files.
const MOST_NAMED: usize = 1000;

/// Nor of more parts of paths, from all directories together: each of them is asked for.
const MOST_PARTS: usize = 20_000;

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

/// What words could be, up to a bound.
pub(crate) struct Candidates {
    pub(crate) paths: BTreeSet<String>,
    /// Why there may be more, if so.
    pub(crate) beyond: Option<String>,
}

impl Candidates {
    /// Everything among the words of a command that could be a file, from any of these directories.
    pub(crate) fn all(reading: &Reading, directories: &[String]) -> Self {
        Self::of(words_of(reading), directories.len())
    }

    /// Each counts once, however often it is said.
    fn of<'a>(words: impl Iterator<Item = &'a String>, directories: usize) -> Self {
        let mut all = Self { paths: BTreeSet::new(), beyond: None };
        let mut parts = 0;
        for word in words {
            let (paths, is_all) = could_be(word);
            for path in paths {
                let size = (path.matches('/').count() + 1) * directories;
                parts += if all.paths.insert(path) { size } else { 0 };
            }
            if !is_all {
                let start: String = word.chars().take(40).collect();
                all.beyond.get_or_insert_with(|| format!("`{start}…` is too long to be looked at"));
            }
            if all.paths.len() > MOST_NAMED || parts > MOST_PARTS {
                all.beyond = Some("it has more words than are looked at".to_owned());
                break;
            }
        }
        all
    }
}

/// The directories that parts of a command could run in: where it begins, where each `cd` leads from there, and
/// where all of them lead one after the other.
pub(crate) fn directories(reading: &Reading, from: &str) -> Vec<String> {
    /// More than this are not followed.
    const MOST: usize = 8;
    let mut all = vec![from.to_owned()];
    let moves = reading.found.iter().filter(|words| {
        matches!(words.first().map(String::as_str), Some("cd" | "pushd" | "chdir"))
    });
    let moves = moves.take(MOST);
    let mut here = from.to_owned();
    for target in moves.filter_map(|words| words[1..].iter().find(|word| !word.starts_with('-'))) {
        here = below(&here, target);
        all.push(here.clone());
        all.push(below(from, target));
    }
    all.dedup();
    all.truncate(MOST);
    all
}

/// A path as it is from a directory.
pub(crate) fn below(from: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{from}/{path}") }
}

/// What a program that is not known does with a file that a rule keeps it from writing, nobody can tell.
pub(crate) fn doubt_writers(
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
        reading.proven = Err(format!("it could write `{word}`, and a rule is about that"));
    } else if let Some(why) = candidates.beyond.filter(|_| rules.restrict()) {
        reading.proven = Err(format!("{why}, and a rule is about paths"));
    }
}

/// Every word of a command that could name a file.
fn named_by(reading: &Reading) -> impl Iterator<Item = &String> {
    let steps = reading.proven.iter().flat_map(|proven| &proven.steps);
    // What is printed into another program can be names for it.
    let is_fed = steps.clone().any(|step| step.is_fed);
    let output = if is_fed { PrintsTo::Program } else { PrintsTo::Screen };
    let commands = reading.found.iter().chain(steps.map(|step| &step.words));
    commands.flat_map(move |words| path_words(words, output)).chain(&reading.reads)
}

/// Every word of a command, however it is read.
pub(crate) fn words_of(reading: &Reading) -> impl Iterator<Item = &String> {
    let steps = reading.proven.iter().flat_map(|proven| &proven.steps);
    let proven = steps.flat_map(|step| &step.words);
    reading.found.iter().flatten().chain(&reading.reads).chain(proven)
}

/// What a path is can change while a command runs, by a part of it: where a rule is about paths, nothing is proven
/// of the parts beside it. Nor is it of one that writes what its words do not name.
pub(crate) fn doubt_names(reading: &mut Reading, rules: PathRules) {
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
    let why = why.or(unnamed.then_some("it writes files that its words do not name"));
    if let Some(why) = why {
        reading.proven = Err(format!("{why}, and a rule is about paths"));
    }
}

/// The paths that the words of a command could be. A rule that tightens is about those too; where there is
/// one, a word that could be a path and is not known to be which proves nothing.
pub(crate) fn mentioned(
    reading: &mut Reading,
    from: &str,
    rules: PathRules,
    paths: &PathCache,
) -> Vec<String> {
    let directories = directories(reading, from);
    let Candidates { paths: candidates, beyond: mut unknown } =
        Candidates::of(named_by(reading), directories.len());
    let spelt = candidates.iter().map(|word| without_detours(word.trim_start_matches("./")));
    let mut all: Vec<String> = spelt.collect();
    for word in candidates {
        for directory in &directories {
            let resolved = paths.resolve(&below(directory, &word));
            let leads_out = !resolved.is_inside && word != "/dev/null";
            if leads_out && (resolved.has_links || word.contains('/')) {
                unknown.get_or_insert_with(|| {
                    format!("`{word}` could be a file that a rule is about")
                });
            }
            all.push(resolved.path);
        }
    }
    // Of git's paths, stars and their like are its own to expand.
    let is_git = |words: &&Vec<String>| words.first().is_some_and(|name| name == "git");
    let mut git =
        reading.found.iter().filter(is_git).flat_map(|words| path_words(words, PrintsTo::Screen));
    let expands = |word: &&String| word.contains(['*', '?', '[', '\\']) || word.starts_with(":(");
    if let Some(word) = git.find(expands) {
        unknown.get_or_insert_with(|| format!("`{word}` could be files that a rule is about"));
    }
    if directories.len() > 1 {
        unknown.get_or_insert_with(|| {
            "it changes its directory, and a rule is about paths".to_owned()
        });
    }
    if let (true, Some(why), true) = (rules.restrict(), unknown, reading.proven.is_ok()) {
        reading.proven = Err(why);
    }
    all
}

/// What of a word could be a path: all of it, a flag's value, what is behind a colon or an `@`, an address. And
/// whether that is all it could be.
fn could_be(word: &str) -> (Vec<String>, bool) {
    /// Of more flags in one word than this, the rest are not looked at.
    const BUNDLED: usize = 40;
    /// Nor are more parts of one word than this, or any of a longer one.
    const PARTS: usize = 16;
    const LONGEST: usize = 4096;
    if word.len() > LONGEST {
        return (vec![word.to_owned()], false);
    }
    let parts: Vec<usize> = word.match_indices(['=', ':', '@']).map(|it| it.0).collect();
    let behind = parts.iter().take(PARTS).map(|at| &word[at + 1..]);
    // Behind two slashes is a host.
    let is_path = |it: &&str| !it.starts_with("//");
    let values = behind.flat_map(move |it| {
        [Some(it.trim_start_matches('/')), Some(it).filter(is_path)].into_iter().flatten()
    });
    let flags = word.strip_prefix('-').filter(|it| !it.starts_with('-')).unwrap_or_default();
    let bundled = (1..=BUNDLED.min(flags.len())).filter_map(|at| flags.get(at..));
    let magic = word.strip_prefix(":(").and_then(|it| it.split_once(')')).map(|it| it.1);
    let is_file = word.get(..5).is_some_and(|it| it.eq_ignore_ascii_case("file:"));
    let address = is_file.then(|| &word[5..]).map(|it| {
        let it = it.strip_prefix("//").unwrap_or(it);
        it.find('/').map_or(it, |at| &it[at..])
    });
    let one = [Some(word), magic, address].into_iter().flatten();
    let all = one.chain(values).chain(bundled);
    let all = all.filter(|it| !it.is_empty()).map(str::to_owned).collect();
    (all, parts.len() <= PARTS && flags.len() <= BUNDLED)
}

/// Puts real places in the place of what redirections are spelt as. One that is outside proves nothing.
pub(crate) fn place_redirects(reading: &mut Reading, from: &str, paths: &PathCache) {
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
            reading.proven = Err(format!("it writes `{path}`, which is not in the workspace"));
        }
    }
    let places = |named: &[String]| -> Vec<String> {
        let real = named.iter().map(|path| paths.resolve(&below(from, path)).path);
        real.chain(named.iter().map(|path| without_detours(path))).collect()
    };
    reading.writes = places(&reading.writes);
    reading.removes = places(&reading.removes);
}
