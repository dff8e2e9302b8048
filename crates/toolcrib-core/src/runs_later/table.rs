//! The rows of the list of what other programs run or obey on their own.

use super::row::LaterLevel::{self, Protected, Refused, Told};
use super::row::LaterPlace::{self, File, FileAtRoot, Folder};
use super::row::LaterReader::{self, Agent, Build, Editor, Git, Package, Server, Shell};
use super::row::RunsLater;

/// Everything that other programs run or obey on their own.
pub const RUNS_LATER: &[RunsLater] = &[
    row(Git, ".git", Folder, Refused, "git runs its hooks and the programs that its settings name"),
    row(Git, ".githooks", Folder, Told, "git runs the hooks in it where `core.hooksPath` names it"),
    row(Git, ".husky", Folder, Protected, "git runs the hooks in it, which Husky installs"),
    row(Git, ".pre-commit-config.yaml", File, Told, "pre-commit runs its hooks with every commit"),
    row(Git, ".pre-commit-hooks.yaml", File, Told, "pre-commit runs the hooks that it offers"),
    row(Git, "lefthook.yml", File, Told, "Lefthook runs its commands with every commit"),
    row(Git, ".lefthook.yml", File, Told, "Lefthook runs its commands with every commit"),
    row(Git, "lefthook-local.yml", File, Told, "Lefthook runs its commands with every commit"),
    row(Git, ".overcommit.yml", File, Told, "Overcommit runs its hooks with every commit"),
    row(Git, ".lintstagedrc*", File, Told, "lint-staged runs its commands with every commit"),
    row(Git, "lint-staged.config.*", File, Told, "lint-staged runs its commands with every commit"),
    row(Git, ".gitmodules", File, Told, "git fetches the repositories that it names"),
    row(
        Git,
        ".gitattributes",
        File,
        Told,
        "git runs the filters and diff programs that it assigns to files",
    ),
    row(
        Git,
        "HEAD",
        FileAtRoot,
        Told,
        "git takes a folder with it for a repository and obeys the settings there",
    ),
    row(
        Editor,
        ".vscode",
        Folder,
        Protected,
        "Visual Studio Code runs the tasks and obeys the settings in it",
    ),
    row(
        Editor,
        ".devcontainer",
        Folder,
        Protected,
        "editors build and run the container that it describes",
    ),
    row(
        Editor,
        ".devcontainer.json",
        File,
        Told,
        "editors build and run the container that it describes",
    ),
    row(
        Editor,
        ".idea",
        Folder,
        Told,
        "JetBrains editors run the configurations and obey the settings in it",
    ),
    row(Editor, ".run", Folder, Told, "JetBrains editors run the configurations in it"),
    row(
        Editor,
        ".fleet",
        Folder,
        Told,
        "JetBrains Fleet runs the configurations and obeys the settings in it",
    ),
    row(Editor, ".zed", Folder, Told, "Zed runs the tasks and obeys the settings in it"),
    row(Editor, ".helix", Folder, Told, "Helix runs the language servers that its settings name"),
    row(Editor, ".nvim.lua", File, Told, "Neovim runs it where `exrc` is set"),
    row(Editor, ".nvimrc", File, Told, "Neovim runs it where `exrc` is set"),
    row(Editor, ".exrc", File, Told, "Vim runs it where `exrc` is set"),
    row(Editor, ".vimrc", File, Told, "Vim runs it where `exrc` is set"),
    row(Editor, ".lvimrc", File, Told, "Vim runs it with the plug-in for local settings"),
    row(Editor, ".dir-locals.el", File, Told, "Emacs evaluates the variables in it"),
    row(Editor, ".dir-locals-2.el", File, Told, "Emacs evaluates the variables in it"),
    row(
        Shell,
        ".envrc",
        File,
        Protected,
        "direnv runs it in the shell of whoever enters the folder",
    ),
    row(
        Shell,
        ".autoenv*",
        File,
        Told,
        "autoenv runs it in the shell of whoever enters the folder",
    ),
    row(Shell, ".mise.toml", File, Told, "mise runs its tasks and hooks and sets the environment"),
    row(Shell, "mise.toml", File, Told, "mise runs its tasks and hooks and sets the environment"),
    row(Shell, ".mise", Folder, Told, "mise runs the tasks in it"),
    row(Shell, ".tool-versions", File, Told, "asdf and mise choose programs by it"),
    row(Shell, "flake.nix", File, Told, "Nix evaluates it, also for direnv"),
    row(Shell, "shell.nix", File, Told, "Nix evaluates it, also for direnv"),
    row(Agent, ".toolcrib", Folder, Refused, "Toolcrib obeys the settings and rules in it"),
    row(
        Agent,
        ".claude",
        Folder,
        Protected,
        "Claude Code runs the hooks and obeys the settings in it",
    ),
    row(Agent, ".codex", Folder, Protected, "Codex obeys the settings in it"),
    row(Agent, ".cursor", Folder, Protected, "Cursor runs the servers and obeys the rules in it"),
    row(
        Agent,
        ".gemini",
        Folder,
        Protected,
        "Gemini CLI runs the servers and obeys the settings in it",
    ),
    row(Agent, ".mcp.json", File, Protected, "agents run the servers that it names"),
    row(Agent, ".cursorrules", File, Told, "Cursor obeys it"),
    row(Agent, ".windsurf", Folder, Told, "Windsurf obeys the rules in it"),
    row(Agent, ".windsurfrules", File, Told, "Windsurf obeys it"),
    row(Agent, ".continue", Folder, Told, "Continue obeys the settings and rules in it"),
    row(Agent, ".roo", Folder, Told, "Roo Code runs the servers and obeys the rules in it"),
    row(Agent, ".roomodes", File, Told, "Roo Code obeys it"),
    row(Agent, ".clinerules", Folder, Told, "Cline obeys it"),
    row(Agent, ".aider*", File, Told, "aider obeys its settings, which name commands"),
    row(
        Agent,
        ".opencode",
        Folder,
        Told,
        "opencode runs the plug-ins and obeys the settings in it",
    ),
    row(Agent, "opencode.json", File, Told, "opencode runs the servers that it names"),
    row(Agent, ".kiro", Folder, Told, "Kiro runs the hooks and obeys the settings in it"),
    row(Agent, ".amazonq", Folder, Told, "Amazon Q obeys the settings and rules in it"),
    row(Agent, ".github/copilot-instructions.md", File, Told, "GitHub Copilot obeys it"),
    row(Agent, ".github/instructions", Folder, Told, "GitHub Copilot obeys the instructions in it"),
    row(Agent, "AGENTS.md", File, Told, "agents obey it"),
    row(Agent, "CLAUDE.md", File, Told, "Claude Code obeys it"),
    row(Agent, "CLAUDE.local.md", File, Told, "Claude Code obeys it"),
    row(Agent, "GEMINI.md", File, Told, "Gemini CLI obeys it"),
    row(Server, ".github/workflows", Folder, Told, "GitHub runs the workflows in it"),
    row(Server, ".github/actions", Folder, Told, "GitHub runs the actions in it"),
    row(Server, ".gitea", Folder, Told, "Gitea runs the workflows in it"),
    row(Server, ".forgejo", Folder, Told, "Forgejo runs the workflows in it"),
    row(Server, ".gitlab-ci.yml", File, Told, "GitLab runs its jobs"),
    row(Server, ".circleci", Folder, Told, "CircleCI runs the jobs in it"),
    row(Server, ".buildkite", Folder, Told, "Buildkite runs the pipelines and hooks in it"),
    row(Server, ".travis.yml", File, Told, "Travis CI runs its jobs"),
    row(Server, ".drone.yml", File, Told, "Drone runs its jobs"),
    row(Server, ".woodpecker*", Folder, Told, "Woodpecker runs its jobs"),
    row(Server, "azure-pipelines.yml", File, Told, "Azure Pipelines runs its jobs"),
    row(Server, "bitbucket-pipelines.yml", File, Told, "Bitbucket runs its jobs"),
    row(Server, "appveyor.yml", File, Told, "AppVeyor runs its jobs"),
    row(Server, "Jenkinsfile", File, Told, "Jenkins runs it"),
    row(Package, ".npmrc", File, Told, "npm obeys it: it names registries and programs"),
    row(Package, ".yarnrc", File, Told, "Yarn obeys it: it names the Yarn that is run"),
    row(
        Package,
        ".yarnrc.yml",
        File,
        Told,
        "Yarn obeys it: it names plug-ins and the Yarn that is run",
    ),
    row(Package, ".yarn", Folder, Told, "Yarn runs the releases and plug-ins in it"),
    row(Package, ".pnp.cjs", File, Told, "Node.js runs it in projects with Yarn"),
    row(Package, ".pnpmfile.cjs", File, Told, "pnpm runs it with every installation"),
    row(Package, "bunfig.toml", File, Told, "Bun runs the files that it preloads"),
    row(
        Package,
        ".cargo/config.toml",
        File,
        Told,
        "Cargo runs the compilers, linkers and runners that it names",
    ),
    row(
        Package,
        ".cargo/config",
        File,
        Told,
        "Cargo runs the compilers, linkers and runners that it names",
    ),
    row(Package, "rust-toolchain.toml", File, Told, "rustup chooses the compiler by it"),
    row(Package, "rust-toolchain", File, Told, "rustup chooses the compiler by it"),
    row(Package, "pip.conf", File, Told, "pip obeys it: it names package indexes"),
    row(Package, ".pypirc", File, Told, "Python packaging tools obey it: it names package indexes"),
    row(Package, ".mvn", Folder, Told, "Maven loads the extensions and options in it"),
    row(Package, "mvnw", File, Told, "people and editors run it in the place of Maven"),
    row(Package, "gradle/wrapper", Folder, Told, "Gradle runs the wrapper in it"),
    row(Package, "gradlew", File, Told, "people and editors run it in the place of Gradle"),
    row(
        Package,
        "gradle.properties",
        File,
        Told,
        "Gradle obeys it: it names options of the Java machine",
    ),
    row(Package, ".bundle", Folder, Told, "Bundler obeys the settings in it"),
    row(Package, ".nvmrc", File, Told, "nvm chooses Node.js by it"),
    row(Package, ".node-version", File, Told, "Node.js version managers choose Node.js by it"),
    row(Package, ".python-version", File, Told, "pyenv chooses Python by it"),
    row(Package, ".ruby-version", File, Told, "Ruby version managers choose Ruby by it"),
    row(Build, "package.json", File, Told, "npm runs its scripts, some with every installation"),
    row(Build, "Makefile", File, Told, "make runs its commands"),
    row(Build, "GNUmakefile", File, Told, "make runs its commands"),
    row(Build, "Justfile", File, Told, "just runs its commands"),
    row(Build, ".justfile", File, Told, "just runs its commands"),
    row(Build, "Taskfile.yml", File, Told, "Task runs its commands"),
    row(Build, "Taskfile.yaml", File, Told, "Task runs its commands"),
    row(Build, "Rakefile", File, Told, "rake runs it"),
    row(Build, "CMakeLists.txt", File, Told, "CMake runs it, also in editors that open the folder"),
    row(
        Build,
        "CMakePresets.json",
        File,
        Told,
        "CMake obeys it, also in editors that open the folder",
    ),
    row(Build, "meson.build", File, Told, "Meson runs it"),
    row(
        Build,
        "build.rs",
        File,
        Told,
        "Cargo runs it with every build, also in editors that open the folder",
    ),
    row(Build, "build.gradle", File, Told, "Gradle runs it, also in editors that open the folder"),
    row(
        Build,
        "build.gradle.kts",
        File,
        Told,
        "Gradle runs it, also in editors that open the folder",
    ),
    row(
        Build,
        "settings.gradle",
        File,
        Told,
        "Gradle runs it, also in editors that open the folder",
    ),
    row(
        Build,
        "settings.gradle.kts",
        File,
        Told,
        "Gradle runs it, also in editors that open the folder",
    ),
    row(Build, ".bazelrc", File, Told, "Bazel obeys it: it names programs and options"),
    row(Build, "setup.py", File, Told, "pip runs it when it installs the project"),
    row(Build, "conftest.py", File, Told, "pytest runs it, also in editors that look for tests"),
    row(Build, "sitecustomize.py", File, Told, "Python runs it whenever it starts in the folder"),
    row(Build, "Dockerfile", File, Told, "Docker runs its commands when it builds the image"),
    row(Build, "Containerfile", File, Told, "Podman runs its commands when it builds the image"),
    row(Build, "docker-compose.yml", File, Told, "Docker Compose runs the containers in it"),
    row(Build, "docker-compose.yaml", File, Told, "Docker Compose runs the containers in it"),
    row(Build, "compose.yml", File, Told, "Docker Compose runs the containers in it"),
    row(Build, "compose.yaml", File, Told, "Docker Compose runs the containers in it"),
    row(Build, "Vagrantfile", File, Told, "Vagrant runs it"),
    row(Build, "Tiltfile", File, Told, "Tilt runs it"),
];

/// The names at the root of a workspace that commands may not change.
pub const PROTECTED_NAMES: &[&str] = &protected_names();

const fn protected_names() -> [&'static str; count_protected()] {
    let (mut names, mut found, mut at) = ([""; count_protected()], 0, 0);
    while at < RUNS_LATER.len() {
        if matches!(RUNS_LATER[at].level, Protected) {
            names[found] = RUNS_LATER[at].name;
            found += 1;
        }
        at += 1;
    }
    names
}

const fn count_protected() -> usize {
    let (mut count, mut at) = (0, 0);
    while at < RUNS_LATER.len() {
        if matches!(RUNS_LATER[at].level, Protected) {
            count += 1;
        }
        at += 1;
    }
    count
}

const fn row(
    reader: LaterReader,
    name: &'static str,
    place: LaterPlace,
    level: LaterLevel,
    why: &'static str,
) -> RunsLater {
    RunsLater { name, place, reader, level, why }
}
