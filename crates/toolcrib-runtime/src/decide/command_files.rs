//! The files that a command runs and that somebody could change: its programs, and the scripts that its words name. A
//! grant stores them, so that it holds only while they are the same.

use std::collections::BTreeSet;

use toolcrib_core::canonical::Digest;
use toolcrib_core::command::ProgramPlace;
use toolcrib_core::command_reading::{Danger, Reading};
use toolcrib_core::policy::grant::GrantedFile;
use toolcrib_core::program::{
    ScriptPlace, ScriptWord, base_name, could_run_input, is_input, script_words,
};
use toolcrib_core::{Ctx, EntryKind, ErrorKind};

use super::command_paths::{below, is_known_when_run, move_targets};
use super::command_settings::CommandSettings;
use super::path_cache::PathCache;

/// The most programs of one command that are compared. Of the others, nobody knows whether they are the same.
const MOST_PROGRAMS: usize = 32;

/// The same for its scripts, and for the places where they could be.
const MOST_SCRIPTS: usize = 64;

/// The most folders in which a command can look for programs, and the most `cd`s that look there.
const MOST_FOLDERS: usize = 16;

/// The state of a file that cannot be compared. It is never the same.
const UNKNOWN: &str = "unknown";

/// The state of a path at which there is no file. A file that appears there is another state.
const MISSING: &str = "missing";

/// The state of a folder. What is in it is not compared.
const FOLDER: &str = "folder";

/// The state of a file that commands cannot change. Only the path that it leads to is compared.
const ELSEWHERE: &str = "elsewhere";

/// The most bytes of a file that are compared. A larger one is never the same.
const MOST_FILE_BYTES: u64 = 8 << 20;

/// Programs that add the words of their input to a command.
const WORD_ADDERS: [&str; 2] = ["xargs", "parallel"];

/// Whether the state of a file can be compared with another.
pub(super) fn is_comparable(file: &GrantedFile) -> bool {
    file.state != UNKNOWN
}

/// Whether there is a file whose content or stamp is compared.
pub(super) fn is_file(file: &GrantedFile) -> bool {
    !matches!(file.state.as_str(), UNKNOWN | MISSING | FOLDER | ELSEWHERE)
}

/// A file that a command runs.
#[derive(Clone, Debug)]
pub(crate) struct CommandFile {
    /// The file as it is now.
    pub(super) file: GrantedFile,
    /// The words of the program that runs it. Nothing if it could be any of them.
    pub(super) words: Option<Vec<String>>,
}

/// Returns the programs of a command that somebody could put another in the place of, and the scripts that it runs, as
/// they are now. Programs of the system are not among them. The command starts in the first of these directories, and
/// parts of it can run in the others.
pub(crate) fn command_files(
    reading: &Reading,
    directories: &[String],
    paths: &PathCache,
    ctx: &Ctx,
) -> Vec<CommandFile> {
    let steps = reading.proven.iter().flat_map(|proven| &proven.steps);
    // Some steps run a further program, as `timeout` does. Only the loose reading says which.
    let mut commands: Vec<&Vec<String>> = steps.map(|it| &it.words).chain(&reading.found).collect();
    commands.sort_unstable();
    commands.dedup();
    let settings = CommandSettings::of(reading);
    let places = LookupPlaces::new(reading, directories, &settings, paths, ctx);
    let mut all = Vec::new();
    let (compared, more) = commands.split_at(commands.len().min(MOST_PROGRAMS));
    all.extend(more.iter().filter_map(|words| Some(of_any(unknown(words.first()?)))));
    for command in compared {
        let of_it = |file: GrantedFile| CommandFile { file, words: Some((*command).clone()) };
        let programs = command.first().map(|name| places.programs(name));
        all.extend(programs.into_iter().flatten().map(of_it));
        let mut scripts = Scripts { places: &places, found: Vec::new() };
        let mut words = script_words(command);
        if reading.proven.is_ok() {
            // In a proven command every word is literal. A word with `*` comes from the loose reading, and is known.
            // What `find` puts in the place of `{}` is not.
            words.retain(|word| !is_open(word) || word.paths[0].contains("{}"));
        }
        scripts.add(&words);
        let (scripts, more) = scripts.found.split_at(scripts.found.len().min(MOST_SCRIPTS));
        all.extend(scripts.iter().cloned().map(of_it));
        all.extend(more.iter().map(|script| of_it(unknown(&script.name))));
    }
    // A variable can make a program run a file: `BASH_ENV`, `NODE_OPTIONS`, `SHELL` of `make`.
    let mut scripts = Scripts { places: &places, found: Vec::new() };
    let named = settings.paths.iter().take(MOST_SCRIPTS).cloned();
    let named = named.map(|path| ScriptWord { paths: vec![path], place: ScriptPlace::Code });
    scripts.add(&named.collect::<Vec<_>>());
    all.extend(scripts.found.into_iter().map(of_any));
    all.extend(unknown_files(reading, &commands, &settings).into_iter().map(of_any));
    if commands.iter().any(|words| could_run_input(words)) {
        // `sh < run.sh` runs it, too.
        let mut scripts = Scripts { places: &places, found: Vec::new() };
        for path in &reading.reads {
            let paths = vec![path.clone()];
            scripts.add(&[ScriptWord { paths, place: ScriptPlace::Loaded }]);
        }
        all.extend(scripts.found.into_iter().map(of_any));
    }
    all
}

fn of_any(file: GrantedFile) -> CommandFile {
    CommandFile { file, words: None }
}

/// Returns what a command runs that is known only when it runs.
fn unknown_files(
    reading: &Reading,
    commands: &[&Vec<String>],
    settings: &CommandSettings,
) -> Vec<GrantedFile> {
    let mut all = Vec::new();
    // `xargs sh` runs the files that its input names.
    let adds_words = |words: &&Vec<String>| {
        words.first().is_some_and(|name| WORD_ADDERS.contains(&base_name(name)))
    };
    let lacks_script =
        |words: &&Vec<String>| could_run_input(words) && script_words(words).is_empty();
    if commands.iter().any(adds_words) && commands.iter().any(lacks_script) {
        all.push(unknown("the words that are read from input"));
    }
    // Each file is found in a folder of its own, which may be any.
    if commands.iter().any(|words| words.iter().any(|word| word == "-execdir" || word == "-okdir"))
    {
        all.push(unknown("what `-execdir` finds"));
    }
    if reading.dangers.contains(&Danger::PipeToShell) {
        all.push(unknown("what is piped into a shell"));
    }
    all.extend(settings.unknown.iter().map(|name| unknown(name)));
    if settings.folders.len() > MOST_FOLDERS || settings.paths.len() > MOST_SCRIPTS {
        all.push(unknown("what its variables name"));
    }
    // In a proven command, every `cd` leads where it says.
    let mut moves = move_targets(reading).filter(|_| reading.proven.is_err());
    let is_relative = |path: &str| !path.starts_with('/');
    let runs_relative = |words: &&Vec<String>| {
        words.first().is_some_and(|name| name.contains('/') && is_relative(name))
            || script_words(words).iter().any(|word| is_relative(&word.paths[0]))
    };
    if let Some(target) = moves.find(|target| target.contains(['$', '`', '*', '?', '[']))
        && commands.iter().any(runs_relative)
    {
        all.push(unknown(&format!("cd {target}")));
    }
    all
}

/// Where the programs and scripts of a command could be.
struct LookupPlaces<'a> {
    /// The directories that parts of the command could run in, or that are searched like them.
    directories: Vec<String>,
    /// Those of them in which names without a folder are looked for, because the command says so.
    searched: Vec<String>,
    paths: &'a PathCache,
    ctx: &'a Ctx,
}

impl<'a> LookupPlaces<'a> {
    fn new(
        reading: &Reading,
        directories: &[String],
        settings: &CommandSettings,
        paths: &'a PathCache,
        ctx: &'a Ctx,
    ) -> Self {
        let folders: BTreeSet<&String> = settings.folders.iter().take(MOST_FOLDERS).collect();
        let searched: BTreeSet<String> = directories
            .iter()
            .flat_map(|from| folders.iter().map(move |folder| below(from, folder)))
            .collect();
        // `cd` looks in the folders of `CDPATH`.
        let moved = searched.iter().flat_map(|folder| {
            move_targets(reading).take(MOST_FOLDERS).map(move |target| below(folder, target))
        });
        let directories = directories.iter().cloned().chain(searched.iter().cloned()).chain(moved);
        let directories: BTreeSet<String> = directories.collect();
        let (directories, searched) =
            (directories.into_iter().collect(), searched.into_iter().collect());
        Self { directories, searched, paths, ctx }
    }

    /// Returns what is at a path in each of the directories. `name` is how the command spells it.
    fn files(&self, path: &str) -> Vec<GrantedFile> {
        let places: BTreeSet<String> =
            self.directories.iter().map(|directory| below(directory, path)).collect();
        places.iter().map(|place| file_at(path, place, self.paths, self.ctx)).collect()
    }

    /// Returns the files that a program could be, unless it is one of the system.
    fn programs(&self, name: &str) -> Vec<GrantedFile> {
        if name.contains('/') {
            // A `cd` in the command may lead to another file of that name.
            let files = self.files(name);
            let is_there = |it: &GrantedFile| is_file(it) || it.state == ELSEWHERE;
            return if files.iter().any(is_there) { files } else { vec![unknown(name)] };
        }
        let own = self.searched.iter().map(|folder| below(folder, name));
        let own = own.map(|place| file_at(name, &place, self.paths, self.ctx));
        let Some(file) = self.ctx.commands.find_program(name) else {
            // Some wrappers, such as `uv run`, take a script in the place of a program.
            return own.chain(self.files(name).into_iter().filter(is_file)).collect();
        };
        let stamp = file.stamp;
        // The device is left out, because its number can change when the machine starts.
        let state =
            format!("{} bytes, inode {}, changed {}", stamp.size, stamp.inode, stamp.changed_ns);
        let is_compared = file.place != ProgramPlace::System;
        let program = GrantedFile { name: name.to_owned(), path: file.path, state };
        own.chain(is_compared.then_some(program)).collect()
    }

    /// Returns what is in the folders that a word could mean, as one state each.
    fn folders(&self, path: &str) -> Vec<GrantedFile> {
        let of_folder = |file: GrantedFile| match file.state.as_str() {
            FOLDER => {
                let state = self.folder_state(&file.path);
                GrantedFile { state: state.unwrap_or_else(|| UNKNOWN.to_owned()), ..file }
            }
            _ => file,
        };
        self.files(path).into_iter().map(of_folder).collect()
    }

    fn folder_state(&self, path: &str) -> Option<String> {
        let state = self.ctx.files.folder_state(path, MOST_SCRIPTS).ok()?;
        let files = serde_json::to_vec(&state.files).ok().filter(|_| !state.is_cut)?;
        Some(format!("{} files, {}", state.files.len(), Digest::of_bytes(&files)))
    }
}

/// The scripts of a command.
struct Scripts<'a> {
    places: &'a LookupPlaces<'a>,
    found: Vec<GrantedFile>,
}

impl Scripts<'_> {
    /// Adds the files that the words of one program name.
    fn add(&mut self, words: &[ScriptWord]) {
        for word in words.iter().filter(|word| !is_input(&word.paths[0])) {
            if self.found.len() > MOST_SCRIPTS {
                return;
            }
            let found = self.files_of(word);
            let has_file = found.iter().any(|it| is_file(it) || it.state == ELSEWHERE);
            if word.place == ScriptPlace::Code && !has_file {
                continue;
            }
            for file in found {
                if !self.found.contains(&file) {
                    self.found.push(file);
                }
            }
            // The words behind a script are data for it.
            if word.place == ScriptPlace::Operand && has_file {
                return;
            }
        }
    }

    /// Returns what is at the paths that a word could mean.
    fn files_of(&self, word: &ScriptWord) -> Vec<GrantedFile> {
        if is_open(word) {
            return match word.place {
                // Code has such characters all the time.
                ScriptPlace::Code => Vec::new(),
                ScriptPlace::Operand
                | ScriptPlace::BehindFlag
                | ScriptPlace::Loaded
                | ScriptPlace::Folder => vec![unknown(&word.paths[0])],
            };
        }
        // One that comes later can be preferred: a package to a module of the same name.
        let files = |path: &String| match word.place {
            ScriptPlace::Folder => self.places.folders(path),
            ScriptPlace::Operand
            | ScriptPlace::BehindFlag
            | ScriptPlace::Loaded
            | ScriptPlace::Code => self.places.files(path),
        };
        word.paths.iter().flat_map(files).collect()
    }
}

/// Whether a word stands for something that is known only when the command runs.
fn is_open(word: &ScriptWord) -> bool {
    let path = &word.paths[0];
    path.contains(['*', '?', '$', '`', '[', '{']) || path.starts_with('~')
}

fn unknown(name: &str) -> GrantedFile {
    GrantedFile { name: name.to_owned(), path: name.to_owned(), state: UNKNOWN.to_owned() }
}

/// Returns what is at a path now. `name` is how the command spells it.
fn file_at(name: &str, path: &str, paths: &PathCache, ctx: &Ctx) -> GrantedFile {
    let end = paths.resolve(path);
    let is_elsewhere = !end.is_inside && !is_known_when_run(&end.path);
    let is_folder = || ctx.files.stat(path).is_ok_and(|it| it.kind == EntryKind::Directory);
    let state = match ctx.files.read(path, MOST_FILE_BYTES) {
        Ok(content) if content.size > MOST_FILE_BYTES => UNKNOWN.to_owned(),
        Ok(content) => format!("{} bytes, {}", content.size, Digest::of_bytes(&content.bytes)),
        Err(_) if is_elsewhere => ELSEWHERE.to_owned(),
        Err(err) if err.kind == ErrorKind::NotFound => MISSING.to_owned(),
        Err(_) if is_folder() => FOLDER.to_owned(),
        Err(_) => UNKNOWN.to_owned(),
    };
    GrantedFile { name: name.to_owned(), path: end.path, state }
}
