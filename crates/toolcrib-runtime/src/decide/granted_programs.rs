//! The programs of a command: whether commands can change them, and whether they are still the ones that a grant was
//! given for.

use toolcrib_core::Ctx;
use toolcrib_core::canonical::Digest;
use toolcrib_core::command::ProgramPlace;
use toolcrib_core::command_reading::{Reading, Unproven, UnprovenKind};
use toolcrib_core::policy::grant::{Covers, Grant, GrantedProgram};
use toolcrib_core::program::new_flag;

use super::command_paths::{below, is_known_when_run};

/// The most programs of one command that are compared. Of the others, nobody knows whether they are the same.
const MOST_PROGRAMS: usize = 32;

/// The state of a program that cannot be compared. It is never the same.
const UNKNOWN: &str = "unknown";

/// The most bytes of a program that are compared. Of a larger one, the first bytes and the size are.
const MOST_PROGRAM_BYTES: u64 = 8 << 20;

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

/// Returns the programs of a command that somebody could put another in the place of, as they are now. Programs of the
/// system are not among them.
pub(crate) fn programs_of(reading: &Reading, from: &str, ctx: &Ctx) -> Vec<GrantedProgram> {
    let mut names: Vec<&String> = match &reading.proven {
        Ok(proven) => proven.steps.iter().filter_map(|step| step.words.first()).collect(),
        Err(_) => reading.found.iter().filter_map(|words| words.first()).collect(),
    };
    names.sort_unstable();
    names.dedup();
    let beyond = names.split_off(names.len().min(MOST_PROGRAMS));
    let compared = names.into_iter().filter_map(|name| program_of(name, from, ctx));
    let unknown = |name: &String| GrantedProgram {
        name: name.clone(),
        path: name.clone(),
        state: UNKNOWN.to_owned(),
    };
    compared.chain(beyond.into_iter().map(unknown)).collect()
}

fn program_of(name: &str, from: &str, ctx: &Ctx) -> Option<GrantedProgram> {
    let granted =
        |path: String, state: String| GrantedProgram { name: name.to_owned(), path, state };
    if name.contains('/') {
        let path = below(from, name);
        let end = ctx.files.resolve(&path);
        let state = match ctx.files.read(&path, MOST_PROGRAM_BYTES) {
            Ok(content) => format!("{} bytes, {}", content.size, Digest::of_bytes(&content.bytes)),
            // Its path is another one as soon as it leads elsewhere.
            Err(_) if !end.is_inside && !is_known_when_run(&end.path) => "elsewhere".to_owned(),
            Err(_) => UNKNOWN.to_owned(),
        };
        return Some(granted(end.path, state));
    }
    let file = ctx.commands.find_program(name)?;
    let stamp = file.stamp;
    // The device is left out, because its number can change when the machine starts.
    let state =
        format!("{} bytes, inode {}, changed {}", stamp.size, stamp.inode, stamp.changed_ns);
    (file.place != ProgramPlace::System).then(|| granted(file.path, state))
}

/// Whether the programs that a grant covers are those that it was given for. `now` are the programs of the call.
pub(crate) fn has_same_programs(grant: &Grant, now: &[GrantedProgram]) -> bool {
    // A grant from before programs were stored.
    let Some(then) = &grant.programs else { return true };
    let is_covered = |program: &&GrantedProgram| match &grant.covers {
        Covers::Call { .. } => true,
        Covers::Argv(words) => words.first() == Some(&program.name),
        Covers::Path(_) | Covers::Edits(_) | Covers::Host(_) => false,
    };
    let is_same = |program: &GrantedProgram| program.state != UNKNOWN && then.contains(program);
    now.iter().filter(is_covered).all(is_same)
}

/// Returns why a grant that seems to cover a command does not: a new flag, or another program. `now` are the programs of
/// the command.
pub(crate) fn why_not_granted(
    grant: &Grant,
    reading: &Reading,
    now: &[GrantedProgram],
) -> Option<String> {
    let is_other = || format!("a program is not the one that grant `{}` was given for", grant.id);
    match &grant.covers {
        Covers::Call { .. } => (!has_same_programs(grant, now)).then(is_other),
        Covers::Path(_) | Covers::Edits(_) | Covers::Host(_) => None,
        Covers::Argv(words) => {
            let mut steps = reading.proven.iter().flat_map(|proven| &proven.steps);
            let step = steps.find(|step| step.words.starts_with(words))?;
            if !has_same_programs(grant, now) {
                return Some(is_other());
            }
            let flag = new_flag(&step.words, words.len())?;
            Some(format!("grant `{}` does not cover the new flag `{flag}`", grant.id))
        }
    }
}
