//! The editor that the person has chosen.

use std::path::Path;
use std::process::Command;

/// What to do if the editor does not work.
pub(super) const EDITOR_HINT: &str = "set VISUAL or EDITOR to your editor";

/// A command that opens a file in an editor.
pub(super) struct Editor(String);

impl Editor {
    /// Returns the editor that `$VISUAL` or `$EDITOR` names, or else `vi`.
    pub(super) fn from_environment() -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        Self(set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned()))
    }

    pub(super) fn name(&self) -> &str {
        &self.0
    }

    /// Returns the process that opens a file. The variable is a command with arguments, as git takes it.
    pub(super) fn command(&self, path: &Path) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{} \"$1\"", self.0)).arg("sh").arg(path);
        command
    }
}
