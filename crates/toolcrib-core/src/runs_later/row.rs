//! A row of the list of what other programs run or obey on their own.

/// A file or folder that other programs run or obey on their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunsLater {
    /// The name, or a path that ends in it. A star at the end stands for any ending.
    pub name: &'static str,
    /// Where the name counts.
    pub place: LaterPlace,
    /// What kind of program reads it.
    pub reader: LaterReader,
    /// Who may change it.
    pub level: LaterLevel,
    /// The program that reads it, and what the program does with it: a sentence without its period.
    pub why: &'static str,
}

/// Where the name of a row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaterPlace {
    /// A file, in any folder.
    File,
    /// A file at the root of the workspace.
    FileAtRoot,
    /// Something in any folder, and everything below it.
    Folder,
}

/// Who may change a file that other programs run. The order is severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaterLevel {
    /// Commands may change it, and the reply names it. File tools are asked about.
    Told,
    /// At the root of the workspace commands may not change it; elsewhere the reply names it. File tools are asked
    /// about.
    Protected,
    /// No tool may change it.
    Refused,
}

/// What kind of program reads a file. Most kinds have a rule, which an operator can switch off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaterReader {
    /// git, and programs that install its hooks.
    Git,
    /// Editors and development environments.
    Editor,
    /// Shells and what sets their environment.
    Shell,
    /// Agents.
    Agent,
    /// Build servers.
    Server,
    /// Package managers and toolchains.
    Package,
    /// Build tools and test runners.
    Build,
}

impl LaterReader {
    /// Every kind of reader.
    pub const ALL: [Self; 7] = [
        Self::Git,
        Self::Editor,
        Self::Shell,
        Self::Agent,
        Self::Server,
        Self::Package,
        Self::Build,
    ];

    /// Returns the id of the rule that asks about these files. Build files have none: people start build tools
    /// themselves, and writing such files is ordinary work.
    pub fn rule_id(self) -> Option<&'static str> {
        match self {
            Self::Git => Some("later-git"),
            Self::Editor => Some("later-editor"),
            Self::Shell => Some("later-shell"),
            Self::Agent => Some("later-agent"),
            Self::Server => Some("later-server"),
            Self::Package => Some("later-package"),
            Self::Build => None,
        }
    }

    /// Returns what people call these programs.
    pub fn title(self) -> &'static str {
        match self {
            Self::Git => "git and its hooks",
            Self::Editor => "Editors",
            Self::Shell => "Shells",
            Self::Agent => "Agents",
            Self::Server => "Build servers",
            Self::Package => "Package managers and toolchains",
            Self::Build => "Build tools and test runners",
        }
    }
}

impl RunsLater {
    /// Returns why a path on this row is not written unasked.
    pub fn reason(&self, path: &str) -> String {
        format!("other programs run `{path}` on their own: {}", self.why)
    }
}
