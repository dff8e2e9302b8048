//! What a call proposes to do: the tool's plan, its command parsed once, and its paths resolved once.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use toolcrib_core::command::Shell;
use toolcrib_core::command_reading::{ReadShell, Reading, Step, Unproven, UnprovenKind};
use toolcrib_core::policy::grant::{Grant, GrantedFile};
use toolcrib_core::program::{base_name, file_effects};
use toolcrib_core::{Ctx, Plan, ToolError};

use super::command_files::{CommandFile, command_files, is_file};
use super::command_paths::{Candidates, below, directories, is_known_when_run, words_of};
use super::driving_files::{driven_programs, driving_paths};
use super::git_programs::git_doubt;
use super::grant_comparison::{CallPrograms, distrust_changeable_programs};
use super::path_cache::PathCache;

/// The plan of a call, and everything about it that is worth finding out only once.
pub(crate) struct Proposal {
    pub(crate) plan: Plan,
    /// How its command was read, if it runs one.
    pub(crate) reading: Option<Reading>,
    /// The directories that parts of its command could run in.
    directories: Vec<String>,
    /// The words of its command that could be paths.
    candidates: OnceLock<Candidates>,
    /// The programs of its command that are no programs of the system, and its scripts.
    files: OnceLock<Vec<CommandFile>>,
    pub(crate) paths: PathCache,
    /// The paths of the plan that policy decided about, each with where it led.
    pub(crate) decided_paths: Vec<(String, String)>,
}

impl Proposal {
    /// Reads the command of a plan.
    pub(crate) fn new(plan: Plan, shell: &dyn ReadShell, ctx: &Ctx) -> Self {
        let mut reading = read_command(&plan, shell);
        let from = plan.command.as_ref().and_then(|command| command.directory.as_deref());
        if let Some(reading) = &mut reading {
            follow_full_paths(reading, from.unwrap_or("."), ctx);
            distrust_changeable_programs(reading, ctx);
            doubt_git(reading, ctx);
        }
        let directories = match &reading {
            Some(reading) => directories(reading, from.unwrap_or(".")),
            None => Vec::new(),
        };
        let paths = PathCache::new(&ctx.files);
        Self {
            plan,
            reading,
            directories,
            candidates: OnceLock::new(),
            files: OnceLock::new(),
            paths,
            decided_paths: Vec::new(),
        }
    }

    /// Forgets where paths led, because time has passed: a person was asked.
    pub(crate) fn forget_paths(self) -> Self {
        Self { paths: self.paths.emptied(), files: OnceLock::new(), ..self }
    }

    /// Returns the directory that the command starts in, as the caller wrote it.
    pub(crate) fn start_directory(&self) -> &str {
        let command = self.plan.command.as_ref();
        command.and_then(|command| command.directory.as_deref()).unwrap_or(".")
    }

    pub(crate) fn directories(&self) -> &[String] {
        &self.directories
    }

    /// Returns the words of the command that could be paths, from any of its directories.
    pub(crate) fn candidates(&self) -> Option<&Candidates> {
        let reading = self.reading.as_ref()?;
        Some(self.candidates.get_or_init(|| Candidates::all(reading, &self.directories)))
    }

    /// Returns the absolute paths of the files that the plan edits, in the plan's order.
    pub(crate) fn edited_paths(&self) -> Result<Vec<String>, ToolError> {
        self.plan.edits.iter().map(|edit| self.paths.absolute(&edit.path)).collect()
    }

    /// Returns the paths in the workspace that the command names. An answer pins the files and folders there.
    pub(crate) fn named_files(&self) -> Vec<String> {
        let resolved = self.command_words().into_iter().map(|path| self.paths.resolve(&path));
        let mut files: Vec<String> = resolved.filter(|it| it.is_inside).map(|it| it.path).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Returns the names in the command that lead out of the workspace through a link, each with where it leads.
    pub(crate) fn links_out(&self) -> BTreeSet<(String, String)> {
        let words = self.command_words().into_iter().map(|path| (self.paths.resolve(&path), path));
        let out = words.filter(|(end, _)| end.has_links && !end.is_inside);
        out.map(|(end, path)| (path, end.path)).collect()
    }

    /// Returns the folders that parts of the command run in and that no word but a `cd` names, absolute.
    pub(crate) fn entered_folders(&self) -> BTreeSet<String> {
        let reading = self.reading.as_ref().filter(|_| self.directories.len() > 1);
        let Some(reading) = reading else { return BTreeSet::new() };
        let others = Candidates::besides_moves(reading, &self.directories);
        let end = |path: &str| self.paths.resolve(path).path;
        let mut entered: BTreeSet<String> = self.directories.iter().map(|it| end(it)).collect();
        for directory in &self.directories {
            for word in &others.paths {
                entered.remove(&end(&below(directory, word)));
            }
        }
        entered
    }

    /// Returns the absolute paths where files could be that drive the programs of the command although its words do not
    /// name them. `named` are the folders that the command names.
    pub(crate) fn driving_files(&self, named: &[String]) -> Vec<String> {
        let Some(reading) = &self.reading else { return Vec::new() };
        driving_paths(reading, &self.directories, named, &self.paths)
    }

    /// Returns the programs of the command that read files which its words do not name.
    pub(crate) fn driven_programs(&self, ctx: &Ctx) -> Vec<String> {
        let Some(reading) = &self.reading else { return Vec::new() };
        driven_programs(reading, &self.directories, &self.paths, ctx)
    }

    /// Returns the paths of the call that lead through links, each with where it leads.
    pub(crate) fn links(&self) -> Vec<(String, String)> {
        let edits = self.plan.edits.iter().map(|edit| edit.path.clone());
        let mut paths: Vec<String> = edits.chain(self.plan.reads.iter().cloned()).collect();
        paths.extend(self.command_words());
        paths.sort_unstable();
        paths.dedup();
        let resolved = paths.into_iter().map(|path| (self.paths.resolve(&path), path));
        resolved.filter(|(end, _)| end.has_links).map(|(end, path)| (path, end.path)).collect()
    }

    /// Returns the programs of the command that are no programs of the system, and its scripts. They are those of when
    /// somebody asked first: a grant is for what the question was about, not for what came while a person thought.
    pub(crate) fn files(&self, ctx: &Ctx) -> &[CommandFile] {
        self.files.get_or_init(|| {
            let reading = self.reading.as_ref();
            reading
                .map_or_else(Vec::new, |it| command_files(it, &self.directories, &self.paths, ctx))
        })
    }

    /// Returns the absolute paths of those that are there.
    pub(crate) fn script_paths(&self, ctx: &Ctx) -> BTreeSet<String> {
        let files = self.files(ctx).iter().map(|it| &it.file);
        files.filter(|file| is_file(file)).map(|file| file.path.clone()).collect()
    }

    /// Returns the same files, as a grant stores them.
    pub(crate) fn granted_files(&self, ctx: &Ctx) -> Vec<GrantedFile> {
        let mut all: Vec<GrantedFile> = Vec::new();
        for CommandFile { file, .. } in self.files(ctx) {
            if !all.contains(file) {
                all.push(file.clone());
            }
        }
        all
    }

    /// Returns the programs and scripts of the command, to compare with those of a grant.
    pub(crate) fn call_programs(&self, ctx: &Ctx) -> Option<CallPrograms<'_>> {
        let reading = self.reading.as_ref()?;
        Some(CallPrograms { reading, files: self.files(ctx) })
    }

    /// Whether the programs and scripts of the command that a grant covers are those that it was given for.
    pub(crate) fn has_programs_of(&self, grant: &Grant, ctx: &Ctx) -> bool {
        self.call_programs(ctx).is_none_or(|programs| programs.are_those_of(grant))
    }

    /// Returns why a grant that seems to cover the command does not, for the person who is asked again.
    pub(crate) fn why_not_granted(&self, grants: &[Grant], ctx: &Ctx) -> Option<String> {
        let programs = self.call_programs(ctx)?;
        grants.iter().find_map(|grant| programs.why_not_granted(grant))
    }

    /// Returns what an answer about this call does not pin down, each in a sentence.
    pub(crate) fn unpinned_words(&self) -> Vec<String> {
        /// The most words that are listed.
        const MOST_LISTED_WORDS: usize = 10;
        let Some(reading) = &self.reading else { return Vec::new() };
        // If it is proven what runs, the values of variables are known, too.
        let is_proven = reading.proven.as_ref().is_ok_and(|proven| !proven.has_wildcards);
        let is_open = |word: &&String| {
            let is_expanded =
                word.contains(['*', '?', '$', '`', '[', '{']) || word.starts_with('~');
            (is_expanded && !is_proven) || is_known_when_run(word)
        };
        let mut open: Vec<&String> = words_of(reading).filter(is_open).collect();
        open.sort_unstable();
        open.dedup();
        let listed = open.iter().take(MOST_LISTED_WORDS);
        let mut all: Vec<String> = listed
            .map(|word| format!("the value of `{word}`, which is known only at run time"))
            .collect();
        all.extend(and_more(open.len(), MOST_LISTED_WORDS, "words"));
        all.extend(self.candidates().and_then(|candidates| candidates.beyond.clone()));
        all
    }

    /// Returns every word of the command that could be a path, from every directory it could run in.
    fn command_words(&self) -> Vec<String> {
        let Some(candidates) = self.candidates() else { return Vec::new() };
        let from = |directory| candidates.paths.iter().map(move |word| below(directory, word));
        self.directories.iter().flat_map(|directory| from(directory)).collect()
    }
}

/// Returns the sentence for what a list leaves out, if it does.
fn and_more(all: usize, listed: usize, what: &str) -> Option<String> {
    let more = all.saturating_sub(listed);
    (more > 0).then(|| format!("{more} more {what}"))
}

fn read_command(plan: &Plan, shell: &dyn ReadShell) -> Option<Reading> {
    plan.command.as_ref().map(|command| match command.shell {
        Shell::Bash => shell.read(&command.text),
        Shell::Own => {
            let mut reading = shell.read(&command.text);
            // Even within quotes, shells differ in how they read these.
            if reading.proven.is_ok() && command.text.contains(['\\', '!', '^', '{', '\n']) {
                let why =
                    "a backslash, brace, `!`, `^` or line break, which not all shells read alike";
                reading.proven = Err(Unproven::new(UnprovenKind::Language, why));
            }
            reading
        }
        Shell::PowerShell | Shell::Program(_) => Reading::unread("this shell's language"),
    })
}

/// Takes back the caveat of a `cd` with a full path that leads into the workspace. If the only `cd` of a command leads
/// to the directory `from` that the command starts in, every other step runs there.
fn follow_full_paths(reading: &mut Reading, from: &str, ctx: &Ctx) {
    let Ok(proven) = &mut reading.proven else { return };
    let is_move = |step: &Step| {
        step.words.first().is_some_and(|name| matches!(name.as_str(), "cd" | "pushd" | "popd"))
    };
    let moves = proven.steps.iter().filter(|step| is_move(step)).count();
    let mut has_moved = moves > 0;
    for step in &mut proven.steps {
        let folder = match &step.words[..] {
            [name, folder] if name == "cd" && folder.starts_with('/') => folder,
            _ => continue,
        };
        let end = ctx.files.resolve(folder);
        if end.is_inside && !folder.split('/').any(|part| part == "..") {
            step.caveat = None;
            has_moved &= moves > 1 || end.path != ctx.files.resolve(from).path;
        }
    }
    if moves > 0 && !has_moved {
        proven.steps.iter_mut().for_each(|step| step.is_elsewhere = false);
    }
}

/// The names of files and folders that git reads its settings from.
const GIT_SETTINGS_NAMES: [&str; 6] =
    [".git", ".gitconfig", "commondir", "config", "config.worktree", "index"];

/// Notes why git may run a program although its words say that it only reads. Only a proven command with `git` in it
/// costs anything.
fn doubt_git(reading: &mut Reading, ctx: &Ctx) {
    let Ok(proven) = &mut reading.proven else { return };
    let is_git = |words: &[String]| words.first().is_some_and(|name| name == "git");
    let Some(first) = proven.steps.iter().position(|step| is_git(&step.words)) else { return };
    let is_setting = |path: &String| GIT_SETTINGS_NAMES.contains(&base_name(path));
    let mut writes = proven.writes.iter().chain(&reading.writes).chain(&reading.removes);
    let changes =
        proven.steps[..first].iter().any(|step| file_effects(&step.words).retargets_paths);
    let doubt = if changes || writes.any(is_setting) {
        Some("a part of the command can change where git reads its settings".to_owned())
    } else {
        git_doubt(&*ctx.files, ctx.commands.home().as_deref()).map(|doubt| doubt.0)
    };
    for step in proven.steps.iter_mut().filter(|step| is_git(&step.words)) {
        step.doubt.clone_from(&doubt);
    }
}
