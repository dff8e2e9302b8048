//! The settings of the sandbox, which are the last rows of the table of settings.

use std::time::Duration;

use toolcrib_core::runs_later::PROTECTED_NAMES;
use toolcrib_host::Profile;

use super::bus_table::BUS;
use super::general_table::GENERAL;
use super::host_words::profile;
use super::rows::settings_table;
use super::setting::{
    EmptyList, Project, Setting, SettingKey, choice, count, names, seconds, text, user_id,
};

use Project::{More, Smaller, Stricter, Subset};

settings_table! {
    SANDBOX from GENERAL.len() + BUS.len();

    /// How much of the sandbox is in force. With `strict`, a command runs with every protection or not at all.
    /// With `root-degraded`, if root runs Toolcrib, commands run as root too, but without capabilities.
    SANDBOX_PROFILE: Profile =
        choice("sandbox.profile", &["strict", "root-degraded"], "strict", profile)
            .project(Stricter);

    /// The hosts that commands may reach: `host.example` or `*.host.example`. An empty list means no
    /// network.
    SANDBOX_EGRESS: Vec<String> = names("sandbox.egress", &[]).project(Subset(EmptyList::Nothing));

    /// The ports that commands may reach at those hosts.
    SANDBOX_EGRESS_PORTS: Vec<String> = names("sandbox.egress_ports", &["443"])
        .project(Subset(EmptyList::Nothing));

    /// How many bytes a command may send to hosts and receive from them, together, before it is
    /// ended.
    SANDBOX_EGRESS_BYTES: u64 = count("sandbox.egress_bytes", 1_073_741_824, (0, 1 << 50))
        .project(Smaller);

    /// Folders of the home directory that commands can read but not change, if they exist. If a
    /// toolchain's own variable says that it is elsewhere (`CARGO_HOME`, `GOPATH`, …), commands can read
    /// the same folders there. `$GOROOT` and `$JAVA_HOME` are the folders that these variables name.
    SANDBOX_TOOLCHAINS: Vec<String> = names("sandbox.toolchains", &[
        ".cargo/bin", ".cargo/git", ".cargo/registry", ".rustup", ".pyenv", ".nvm",
        ".npm/_cacache", ".local/bin", ".local/lib", ".cache/pip", "go", ".m2/repository",
        ".local/share/pnpm", "$GOROOT", "$JAVA_HOME",
    ]).project(Subset(EmptyList::Nothing));

    /// Folders of the home directory that commands can change and that persist between commands.
    /// They are separate from your real folders of the same name.
    SANDBOX_CACHES: Vec<String> = names("sandbox.caches", &[]);

    /// Environment variables that are passed to commands, in addition to the language and the time
    /// zone.
    SANDBOX_ENVIRONMENT: Vec<String> = names("sandbox.environment", &[]);

    /// Names at the root of the workspace that commands can neither change nor create, in addition
    /// to git's settings and `.toolcrib`: files that other programs would execute.
    SANDBOX_PROTECTED: Vec<String> = names("sandbox.protected", PROTECTED_NAMES)
        .project(More);

    /// Protected names, `.git` included, that commands may change after all.
    SANDBOX_UNPROTECTED: Vec<String> = names("sandbox.unprotected", &[]);

    /// The most memory that one command may use, over all its processes.
    SANDBOX_MEMORY_BYTES: u64 = count("sandbox.memory_bytes", 4_294_967_296, (16 << 20, 1 << 50))
        .project(Smaller);

    /// The most processes that one command may have at once.
    SANDBOX_PROCESSES: u64 = count("sandbox.processes", 512, (1, 1 << 20)).project(Smaller);

    /// The most processor time that one command may use.
    SANDBOX_CPU_SECONDS: u64 = count("sandbox.cpu_seconds", 3600, (1, 1 << 30)).project(Smaller);

    /// The longest that a background command may run.
    SANDBOX_TASK_SECONDS: Duration = seconds("sandbox.task_seconds", 86_400, (1, 1 << 30))
        .project(Smaller);

    /// How many background commands of one token, or of the user at a terminal, can run at once.
    SANDBOX_TASKS: u64 = count("sandbox.tasks", 16, (1, 100_000)).project(Smaller);

    /// The largest file that a command may write.
    SANDBOX_FILE_BYTES: u64 = count("sandbox.file_bytes", 4_294_967_296, (0, 1 << 50))
        .project(Smaller);

    /// How many bytes a command may add to the workspace.
    SANDBOX_GROWTH_BYTES: u64 = count("sandbox.growth_bytes", 8_589_934_592, (0, 1 << 50))
        .project(Smaller);

    /// How many files a command may add to the workspace.
    SANDBOX_GROWTH_FILES: u64 = count("sandbox.growth_files", 1_000_000, (0, 1 << 40))
        .project(Smaller);

    /// The most files that one process of a command may have open.
    SANDBOX_OPEN_FILES: u64 = count("sandbox.open_files", 4096, (16, 1 << 20)).project(Smaller);

    /// How many bytes a command may print before it is ended.
    SANDBOX_OUTPUT_BYTES: u64 = count("sandbox.output_bytes", 1_073_741_824, (1024, 1 << 50))
        .project(Smaller);

    /// How many bytes of a command's output are saved for later, per stream.
    SANDBOX_SAVED_BYTES: u64 = count("sandbox.saved_bytes", 67_108_864, (0, 1 << 40))
        .project(Smaller);

    /// The size of a command's private `/tmp`, and of its private home directory.
    SANDBOX_SCRATCH_BYTES: u64 = count("sandbox.scratch_bytes", 1_073_741_824, (1 << 20, 1 << 50))
        .project(Smaller);

    /// The user id that commands run as when Toolcrib runs as root and root owns the workspace.
    SANDBOX_USER: u32 = user_id("sandbox.user", 64_646, (1, 4_294_967_294));

    /// The path of bubblewrap. If it is empty, Toolcrib looks in the system's folders.
    SANDBOX_BUBBLEWRAP: String = text("sandbox.bubblewrap", "");
}
