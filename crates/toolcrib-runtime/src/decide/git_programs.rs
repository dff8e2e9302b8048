//! The programs that the settings of a repository make git run. A git command that only reads is harmless only if
//! there are none. The settings are read from their files, because a `git` that reads them could run them already.

use std::collections::BTreeSet;

use toolcrib_core::git::{HashSize, gitlinks, parse_config, runs_when_reading};
use toolcrib_core::{Content, EntryKind, ErrorKind, Files, ToolError};

/// The most bytes of a file of settings, and of an index.
const MOST_CONFIG_BYTES: u64 = 1 << 20;
const MOST_INDEX_BYTES: u64 = 64 << 20;

/// The most bytes of a file that leads to a git folder.
const MOST_POINTER_BYTES: u64 = 4096;

/// The most repositories that are read, and the most files of settings.
const MOST_REPOSITORIES: usize = 64;
const MOST_CONFIG_FILES: usize = 256;

/// The deepest nesting of repositories within repositories, and of settings that include others.
const DEEPEST_REPOSITORY: usize = 8;
const DEEPEST_INCLUDE: usize = 10;

/// Why a git command that only reads may run a program: what a person should know, in words.
pub(crate) struct GitDoubt(pub(crate) String);

/// Returns why git, started in the workspace, may run a program although the command only reads. `home` is the home
/// folder of commands.
pub(crate) fn git_doubt(files: &dyn Files, home: Option<&str>) -> Option<GitDoubt> {
    let home = home.filter(|home| files.resolve(home).is_inside);
    let mut reader =
        RepositoryReader { files, home, repositories: 0, config_files: BTreeSet::new() };
    reader.read_all().err()
}

struct RepositoryReader<'a> {
    files: &'a dyn Files,
    /// The home folder of commands, if it is in a root. Elsewhere it is empty whenever a command starts.
    home: Option<&'a str>,
    repositories: usize,
    /// The files of settings that were read.
    config_files: BTreeSet<String>,
}

/// Hooks that git runs although a command only reads. It runs the first whenever it has written the index, which
/// `git status` does. It runs the others when it has fetched an object that a partial clone lacks.
const READING_HOOKS: [&str; 3] = ["post-index-change", "pre-auto-gc", "reference-transaction"];

/// What the settings of one repository say beside the programs that they name.
#[derive(Default)]
struct RepositoryFacts {
    /// The format of the hashes, as the repository's first file of settings has it: git looks nowhere else.
    hash: Option<HashSize>,
    /// The folders that could have its hooks.
    hooks: Vec<String>,
    /// The folders that could have its files, from the git folder.
    worktrees: Vec<String>,
}

impl RepositoryReader<'_> {
    fn read_all(&mut self) -> Result<(), GitDoubt> {
        let mut facts = RepositoryFacts::default();
        if let Some(home) = self.home {
            for name in [".gitconfig", ".config/git/config"] {
                self.config(&format!("{home}/{name}"), 0, &mut facts)?;
            }
        }
        let hooks = facts.hooks;
        let Some(worktree) = self.worktree()? else { return Ok(()) };
        self.repository(&worktree, &hooks, 0)
    }

    /// Returns the folder of the repository that the workspace is in.
    fn worktree(&self) -> Result<Option<String>, GitDoubt> {
        let mut at = ".".to_owned();
        loop {
            if self.kind(&join(&at, ".git"))?.is_some() {
                return Ok(Some(at));
            }
            let Ok(absolute) = self.files.absolute(&at) else { return Ok(None) };
            let Some((above, _)) = absolute.rsplit_once('/').filter(|it| !it.0.is_empty()) else {
                return Ok(None);
            };
            // Folders above the roots are not there for commands.
            if !self.files.resolve(above).is_inside {
                return Ok(None);
            }
            above.clone_into(&mut at);
        }
    }

    fn repository(
        &mut self,
        worktree: &str,
        hooks: &[String],
        depth: usize,
    ) -> Result<(), GitDoubt> {
        let pointer = join(worktree, ".git");
        let folder = match self.kind(&pointer)? {
            None => return Ok(()),
            Some(EntryKind::Directory) => pointer,
            Some(EntryKind::File | EntryKind::Link | EntryKind::Special) => {
                let text = self.text(&pointer, MOST_POINTER_BYTES)?.unwrap_or_default();
                let Some(target) = text.strip_prefix("gitdir: ") else { return Ok(()) };
                join(worktree, without_line_end(target))
            }
        };
        self.repositories += 1;
        if self.repositories > MOST_REPOSITORIES || depth > DEEPEST_REPOSITORY {
            return Err(GitDoubt(format!(
                "it has more repositories within repositories than Toolcrib reads, such as `{worktree}`"
            )));
        }
        let common = self.text(&join(&folder, "commondir"), MOST_POINTER_BYTES)?;
        let common =
            common.map_or_else(|| folder.clone(), |it| join(&folder, without_line_end(&it)));
        let mut facts = RepositoryFacts::default();
        self.config(&join(&common, "config"), 0, &mut facts)?;
        let hash = facts.hash.unwrap_or(HashSize::Twenty);
        self.config(&join(&folder, "config.worktree"), 0, &mut facts)?;
        let elsewhere = facts.worktrees.iter().map(|it| join(&folder, it));
        let worktrees: BTreeSet<String> = elsewhere.chain([worktree.to_owned()]).collect();
        for worktree in &worktrees {
            let own = facts.hooks.iter().chain(hooks).map(|hooks| join(worktree, hooks));
            own.chain([join(&common, "hooks")]).try_for_each(|hooks| self.hooks(&hooks))?;
        }
        let index = join(&folder, "index");
        let Some(content) = self.content(&index, MOST_INDEX_BYTES)? else { return Ok(()) };
        let links = gitlinks(&content.bytes, hash)
            .map_err(|err| GitDoubt(format!("`{index}` cannot be read: {err}")))?;
        for worktree in &worktrees {
            for link in &links {
                // The settings for a repository do not hold in the repositories within it, but the home's do.
                self.repository(&join(worktree, link), hooks, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Reads a file of settings and those that it includes, under whatever condition.
    fn config(
        &mut self,
        path: &str,
        depth: usize,
        facts: &mut RepositoryFacts,
    ) -> Result<(), GitDoubt> {
        if self.config_files.len() > MOST_CONFIG_FILES || depth > DEEPEST_INCLUDE {
            return Err(GitDoubt(format!("`{path}` and others include more than Toolcrib reads")));
        }
        let Some(content) = self.content(path, MOST_CONFIG_BYTES)? else { return Ok(()) };
        if !self.config_files.insert(path.to_owned()) {
            return Ok(());
        }
        let settings = parse_config(&content.bytes)
            .map_err(|err| GitDoubt(format!("`{path}` cannot be read: {err}")))?;
        for setting in &settings {
            let value = setting.value.as_deref().unwrap_or_default();
            let is_include = match setting.key.rsplit_once('.') {
                Some((section, "path")) => {
                    section == "include" || section.starts_with("includeif.")
                }
                _ => false,
            };
            if let Some(what) = runs_when_reading(setting) {
                return Err(GitDoubt(format!("`{}` in `{path}` {what}", setting.key)));
            } else if is_include {
                let folder = path.rsplit_once('/').map_or(".", |it| it.0);
                let included = self.expanded(value, &setting.key, path)?;
                self.config(&join(folder, &included), depth + 1, facts)?;
            } else if setting.key == "core.hookspath" {
                facts.hooks.push(self.expanded(value, &setting.key, path)?);
            } else if setting.key == "core.worktree" {
                facts.worktrees.push(self.expanded(value, &setting.key, path)?);
            } else if setting.key == "extensions.objectformat" && depth == 0 {
                facts.hash = Some(match value.to_ascii_lowercase().as_str() {
                    "sha256" => HashSize::ThirtyTwo,
                    _ => HashSize::Twenty,
                });
            }
        }
        Ok(())
    }

    /// Returns a path of the settings with the home folder in the place of `~`.
    fn expanded(&self, value: &str, key: &str, path: &str) -> Result<String, GitDoubt> {
        // Newer versions of git take words in front of a path, as in `:(optional)hooks`.
        if value.contains(char::REPLACEMENT_CHARACTER) || value.starts_with(":(") {
            return Err(GitDoubt(format!(
                "`{key}` in `{path}` has a path that Toolcrib cannot read"
            )));
        }
        match (value.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => Ok(format!("{home}/{rest}")),
            _ if value.starts_with(['~', '%']) => {
                Err(GitDoubt(format!("`{key}` in `{path}` leads out of the workspace")))
            }
            _ => Ok(value.to_owned()),
        }
    }

    /// Fails if a folder has a hook that git runs.
    fn hooks(&self, folder: &str) -> Result<(), GitDoubt> {
        if folder == "/dev/null" {
            return Ok(());
        }
        for name in READING_HOOKS {
            let path = join(folder, name);
            if self.kind(&path)?.is_some() {
                return Err(GitDoubt(format!("`{path}` is a hook that git runs")));
            }
        }
        Ok(())
    }

    fn kind(&self, path: &str) -> Result<Option<EntryKind>, GitDoubt> {
        match self.files.stat(path) {
            Ok(meta) => Ok(Some(meta.kind)),
            Err(err) if is_missing(err.kind) => Ok(None),
            Err(err) => Err(unreadable(path, &err)),
        }
    }

    fn text(&self, path: &str, most: u64) -> Result<Option<String>, GitDoubt> {
        let Some(content) = self.content(path, most)? else { return Ok(None) };
        // Git stops at a zero. Other bytes cannot be followed as git follows them.
        let text = String::from_utf8(content.bytes).ok().filter(|text| !text.contains('\0'));
        let doubt = || GitDoubt(format!("`{path}` has a path that Toolcrib cannot read"));
        text.map(Some).ok_or_else(doubt)
    }

    fn content(&self, path: &str, most: u64) -> Result<Option<Content>, GitDoubt> {
        match self.files.read(path, most) {
            Ok(content) if content.is_cut() => {
                Err(GitDoubt(format!("`{path}` has more than {most} bytes")))
            }
            Ok(content) => Ok(Some(content)),
            Err(err) if is_missing(err.kind) => Ok(None),
            Err(err) => Err(unreadable(path, &err)),
        }
    }
}

fn unreadable(path: &str, err: &ToolError) -> GitDoubt {
    if err.message.contains(path) {
        return GitDoubt(err.message.clone());
    }
    GitDoubt(format!("`{path}` cannot be read: {}", err.message))
}

/// Returns a path in a file of its own as git reads it. Other blanks are part of the path.
fn without_line_end(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

fn is_missing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotDirectory)
}

fn join(folder: &str, path: &str) -> String {
    match (path.starts_with('/'), folder) {
        (true, _) | (false, "." | "") => path.to_owned(),
        (false, folder) => format!("{}/{path}", folder.trim_end_matches('/')),
    }
}
