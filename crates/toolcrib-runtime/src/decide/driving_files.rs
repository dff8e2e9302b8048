//! The files that drive the programs of a command although its words do not name them: a `Makefile`, a `package.json`.

use std::collections::BTreeSet;
use std::path::Path;

use toolcrib_core::Ctx;
use toolcrib_core::command_reading::Reading;
use toolcrib_core::program::{self, base_name, driving_files};

use super::command_paths::below;
use super::path_cache::PathCache;

/// The most folders that are searched for driving files.
const MOST_DRIVING_FOLDERS: usize = 64;

/// Returns the absolute paths where files could be that drive the programs of a command: in these directories, which
/// the command runs in, in the folders above them, because many programs search there too, and in the folders that the
/// command names.
pub(crate) fn driving_paths(
    reading: &Reading,
    directories: &[String],
    named: &[String],
    paths: &PathCache,
) -> Vec<String> {
    let files: BTreeSet<&str> =
        commands(reading).filter_map(|words| driving_files(words)).flatten().copied().collect();
    if files.is_empty() {
        return Vec::new();
    }
    let mut folders = BTreeSet::new();
    for directory in directories {
        let start = paths.resolve(directory).path;
        let above = Path::new(&start).ancestors().map(|it| it.display().to_string());
        folders.extend(above.take_while(|it| paths.resolve(it).is_inside));
    }
    folders.extend(named.iter().cloned());
    let folders = folders.iter().take(MOST_DRIVING_FOLDERS);
    let places = folders.flat_map(|folder| files.iter().map(move |file| below(folder, file)));
    let ends = places.map(|place| paths.resolve(&place)).filter(|end| end.is_inside);
    ends.map(|end| end.path).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the programs of a command that read files which its words do not name, by name: programs that files of their
/// directory drive, scripts of the workspace, and programs of which nothing is known.
pub(crate) fn driven_programs(
    reading: &Reading,
    directories: &[String],
    paths: &PathCache,
    ctx: &Ctx,
) -> Vec<String> {
    let is_inside =
        |name: &str| directories.iter().any(|it| paths.resolve(&below(it, name)).is_inside);
    let is_driven = |words: &&Vec<String>| {
        let Some(name) = words.first() else { return false };
        driving_files(words).is_some()
            || name.contains('/') && is_inside(name)
            || program::find(base_name(name)).is_none() && ctx.commands.find_program(name).is_some()
    };
    let names = commands(reading).filter(is_driven).filter_map(|words| words.first());
    names.cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the words of every command, from the strict and the loose reading.
fn commands(reading: &Reading) -> impl Iterator<Item = &Vec<String>> {
    let steps = reading.proven.iter().flat_map(|proven| &proven.steps);
    reading.found.iter().chain(steps.map(|step| &step.words))
}
