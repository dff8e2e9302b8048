//! The variables that a command sets: the files that their values name, and the folders in which the shell or a program
//! then looks for programs and scripts.

use toolcrib_core::command_reading::Reading;
use toolcrib_core::program::driving_files;

use super::command_paths::without_present_folder;

/// What ends a path within the value of a variable.
const PATH_ENDS: [char; 9] = [' ', '\t', '\n', ':', ';', ',', '=', '"', '\''];

/// Variables whose value is the path of a script, or decides in which folders one is looked for. With an unknown value,
/// nobody knows what runs.
const DECIDING: [&str; 4] = ["BASH_ENV", "CDPATH", "ENV", "PATH"];

/// What the variables that a command sets lead to.
#[derive(Default)]
pub(super) struct CommandSettings {
    /// The parts of their values that could be paths.
    pub(super) paths: Vec<String>,
    /// The folders in which programs and scripts are looked for, as they are spelt.
    pub(super) folders: Vec<String>,
    /// The first variable that decides what runs and has a value that is known only when the command runs.
    pub(super) unknown: Option<String>,
}

impl CommandSettings {
    /// Returns what the variables of a command lead to, also those that are set for a program: `make SHELL=x`.
    pub(super) fn of(reading: &Reading) -> Self {
        let mut all = Self::default();
        for (name, value) in &reading.assigned {
            all.add(name, value);
        }
        for words in &reading.found {
            let is_driven = driving_files(words).is_some();
            for (name, value) in words.iter().skip(1).filter_map(|word| word.split_once('=')) {
                let is_name =
                    |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_';
                if is_driven || !name.is_empty() && name.chars().all(is_name) {
                    all.add(name, value);
                }
            }
        }
        all
    }

    fn add(&mut self, name: &str, value: &str) {
        let is_search = name.ends_with("PATH") || matches!(name, "PERL5LIB" | "RUBYLIB");
        for part in value.split(PATH_ENDS) {
            let part = without_present_folder(part);
            if part.contains(['$', '`']) {
                let is_harmless = is_variable(part, name) || part.starts_with("$HOME/");
                if DECIDING.contains(&name) && !is_harmless {
                    self.unknown.get_or_insert_with(|| name.to_owned());
                }
                continue;
            }
            if is_search {
                // An empty folder of a list is the one that the command runs in.
                self.folders.push(if part.is_empty() { "." } else { part }.to_owned());
            }
            if !part.is_empty() {
                self.paths.push(part.to_owned());
            }
        }
    }
}

/// Whether a text is nothing but the value that a variable had before.
fn is_variable(text: &str, name: &str) -> bool {
    let inner = text.strip_prefix('$').map(|it| it.trim_start_matches('{').trim_end_matches('}'));
    inner == Some(name)
}
