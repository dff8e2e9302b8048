//! The programs and scripts of a command: whether commands can change them, and whether they are still the ones that a
//! grant was given for.

use toolcrib_core::command::ProgramPlace;
use toolcrib_core::command_reading::{Reading, Unproven, UnprovenKind};
use toolcrib_core::policy::grant::{Covers, Grant, GrantedFile};
use toolcrib_core::program::new_flag;
use toolcrib_core::{Ctx, escape};

use super::command_files::{CommandFile, is_comparable, is_file};

/// Takes the proof back if a command could have put another program in the place of one that the command names.
pub(crate) fn distrust_changeable_programs(reading: &mut Reading, ctx: &Ctx) {
    let Ok(proven) = &reading.proven else { return };
    // Some steps run a further program, as `xargs` does.
    let words = proven.steps.iter().map(|step| &step.words).chain(&reading.found);
    let mut names: Vec<&str> =
        words.filter_map(|words| words.first()).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let changeable = names.into_iter().find_map(|name| {
        let file = ctx.commands.find_program(name)?;
        (file.place == ProgramPlace::Writable).then(|| (name.to_owned(), file.path))
    });
    if let Some((name, path)) = changeable {
        let message = format!("`{name}` is `{path}`, which commands can change");
        reading.proven = Err(Unproven::new(UnprovenKind::Evasion, message));
    }
}

/// The programs and scripts of a call, to compare with those that a grant stored.
#[derive(Clone, Copy)]
pub(crate) struct CallPrograms<'a> {
    pub(crate) reading: &'a Reading,
    pub(crate) files: &'a [CommandFile],
}

impl<'a> CallPrograms<'a> {
    /// Returns the programs and scripts that something covers.
    fn covered(self, covers: &Covers) -> impl Iterator<Item = &'a GrantedFile> {
        let is_covered = move |it: &&CommandFile| match covers {
            Covers::Call { .. } => true,
            Covers::Argv(words) => self.is_of_step(it, words),
            Covers::Path(_) | Covers::Edits(_) | Covers::Host(_) => false,
        };
        self.files.iter().filter(is_covered).map(|it| &it.file)
    }

    /// Whether a file belongs to the step with these words. One that is not of another step could be.
    fn is_of_step(self, file: &CommandFile, words: &[String]) -> bool {
        let Some(of) = &file.words else { return true };
        let mut others = self.reading.proven.iter().flat_map(|proven| &proven.steps);
        of.starts_with(words)
            || !others.any(|step| !step.words.starts_with(words) && step.words == *of)
    }

    /// Returns the names of the files whose changes end a grant.
    pub(crate) fn compared_names(self, covers: &Covers) -> Vec<&'a str> {
        let files = self.covered(covers).filter(|it| is_file(it));
        let mut names: Vec<&str> = files.map(|it| it.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns why no grant could hold, if so: something cannot be compared.
    pub(crate) fn why_ungrantable(self, covers: &Covers) -> Option<String> {
        let unknown = self.covered(covers).find(|it| !is_comparable(it))?;
        let name = escape::line(&unknown.name);
        Some(format!("Toolcrib cannot tell whether `{name}` will be the same next time"))
    }

    /// Whether the programs and scripts that a grant covers are those that it was given for.
    pub(crate) fn are_those_of(self, grant: &Grant) -> bool {
        self.difference(grant).is_none()
    }

    /// Returns the first that is not as it was when a grant was given.
    fn difference(self, grant: &Grant) -> Option<&'a GrantedFile> {
        // A grant from before files were stored.
        let then = grant.files.as_ref()?;
        let is_same = |file: &GrantedFile| is_comparable(file) && then.contains(file);
        self.covered(&grant.covers).find(|file| !is_same(file))
    }

    /// Returns why a grant that seems to cover the command does not: a new flag, or a file that is not the same.
    pub(crate) fn why_not_granted(self, grant: &Grant) -> Option<String> {
        match &grant.covers {
            Covers::Call { .. } => self.why_different(grant),
            Covers::Path(_) | Covers::Edits(_) | Covers::Host(_) => None,
            Covers::Argv(words) => {
                let mut steps = self.reading.proven.iter().flat_map(|proven| &proven.steps);
                let step = steps.find(|step| step.words.starts_with(words))?;
                let flag = || {
                    let flag = new_flag(&step.words, words.len())?;
                    Some(format!("grant `{}` does not cover the new flag `{flag}`", grant.id))
                };
                self.why_different(grant).or_else(flag)
            }
        }
    }

    fn why_different(self, grant: &Grant) -> Option<String> {
        let (file, id) = (self.difference(grant)?, &grant.id);
        let name = escape::line(&file.name);
        let is_it = |it: &GrantedFile| it.name == file.name && it.path == file.path;
        Some(if grant.files.iter().flatten().any(is_it) {
            format!("`{name}` changed since grant `{id}` was given")
        } else {
            format!("`{name}` is not what grant `{id}` was given for")
        })
    }
}
