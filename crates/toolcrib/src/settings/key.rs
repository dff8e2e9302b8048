//! Every setting as data: its name, what it may be, its default, and what a project may do to it.

/// One setting.
#[derive(Debug)]
pub struct Key {
    /// Its name in files, with dots between tables.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it is if nobody sets it, as TOML.
    pub default: &'static str,
    /// What a project's own file may do to it.
    pub project: Project,
    /// A name in the environment beside `TOOLCRIB_…`.
    pub contract_name: Option<&'static str>,
}

impl Key {
    /// Its own name in the environment.
    pub fn variable(&self) -> String {
        format!("TOOLCRIB_{}", self.name.to_uppercase().replace('.', "_"))
    }
}

/// What a setting may be.
#[derive(Debug)]
pub enum Kind {
    /// One of these words, strictest first.
    Choice(&'static [&'static str]),
    /// A whole number in a range.
    Count(i64, i64),
    /// A list of words; in the environment, separated by commas.
    Names,
    /// Any text.
    Text,
    /// A table of JSON Schemas: inline, or as the path of a file.
    Schemas,
}

/// What a project's own file may do. Nothing here can loosen.
#[derive(Debug)]
pub enum Project {
    /// Nothing.
    Never,
    /// Choose a stricter word.
    Stricter,
    /// Choose a smaller number.
    Smaller,
    /// Leave out of the list, which means all when it is empty.
    Fewer,
    /// Leave out of the list, which means nothing when it is empty.
    Less,
    /// Add to the list.
    More,
    /// Set it to this and nothing else.
    Only(&'static str),
}

/// Every setting.
pub static KEYS: &[Key] = &[
    Key {
        name: "mode",
        about: "How strict to be: what runs, what is asked about, what is refused.",
        kind: Kind::Choice(&["strict", "standard", "permissive"]),
        default: "\"standard\"",
        project: Project::Stricter,
        contract_name: None,
    },
    Key {
        name: "policy.shipped",
        about: "Which of the rules that come with the program hold: `blocked`, `caution`, `harmless`.",
        kind: Kind::Names,
        default: "[\"blocked\", \"caution\", \"harmless\"]",
        project: Project::Never,
        contract_name: None,
    },
    Key {
        name: "policy.without",
        about: "Rules that do not hold, by their names.",
        kind: Kind::Names,
        default: "[]",
        project: Project::Never,
        contract_name: None,
    },
    Key {
        name: "policy.park_seconds",
        about: "How long a call that was kept with `--park` can be answered.",
        kind: Kind::Count(1, 31_536_000),
        default: "86400",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "policy.calls_per_minute",
        about: "Calls a minute of one tool in one session: a number, `preset` (5 in mode strict, 15 in \
                standard, 60 in permissive), or `off`.",
        kind: Kind::Text,
        default: "\"off\"",
        project: Project::Never,
        contract_name: None,
    },
    Key {
        name: "policy.confirm",
        about: "What an agent's `confirmed` is worth for a command it was told to confirm: then a `person` is \
                asked, or the `model`'s word is enough.",
        kind: Kind::Choice(&["person", "model"]),
        default: "\"person\"",
        project: Project::Stricter,
        contract_name: None,
    },
    Key {
        name: "policy.tainted",
        about: "What becomes of calls that would be allowed, once a command of the session could reach the \
                network: `ask` a person, or `allow` them.",
        kind: Kind::Choice(&["ask", "allow"]),
        default: "\"allow\"",
        project: Project::Stricter,
        contract_name: None,
    },
    Key {
        name: "policy.approval_seconds",
        about: "How long there is to answer when a person is asked; after that the answer is no.",
        kind: Kind::Count(1, 86_400),
        default: "120",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "toolset",
        about: "What is on offer: catalogues (`wink`) and tools (`clemini/edit`). Empty offers all.",
        kind: Kind::Names,
        default: "[]",
        project: Project::Fewer,
        contract_name: None,
    },
    Key {
        name: "roots",
        about: "Directories beside the workspace that file tools may reach by absolute path.",
        kind: Kind::Names,
        default: "[]",
        project: Project::Never,
        contract_name: None,
    },
    Key {
        name: "files.hardlinks",
        about: "Whether files with several names are opened. Package managers that link from a \
                store (pnpm, uv, bun) need `allow`.",
        kind: Kind::Choice(&["refuse", "allow"]),
        default: "\"refuse\"",
        project: Project::Stricter,
        contract_name: None,
    },
    Key {
        name: "files.protected",
        about: "Names that no tool may change, beside `.git` and `.toolcrib`.",
        kind: Kind::Names,
        default: "[]",
        project: Project::More,
        contract_name: None,
    },
    Key {
        name: "files.broad_root",
        about: "Whether `/`, a home directory or a system folder may be a root.",
        kind: Kind::Choice(&["refuse", "allow"]),
        default: "\"refuse\"",
        project: Project::Stricter,
        contract_name: None,
    },
    Key {
        name: "limits.deadline_ms",
        about: "The most time one call may take; a tool's own limit holds if it is lower.",
        kind: Kind::Count(1, 86_400_000),
        default: "600000",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "limits.output_bytes",
        about: "The most bytes one reply may have; a tool's own limit holds if it is lower.",
        kind: Kind::Count(256, 1 << 30),
        default: "67108864",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "search.index",
        about: "Whether processes that answer many calls keep an index for search. Without one every \
                search is a scan.",
        kind: Kind::Choice(&["off", "on"]),
        default: "\"on\"",
        project: Project::Stricter,
        contract_name: None,
    },
    Key {
        name: "search.memory_bytes",
        about: "The most memory one root's index may take: over it, cached text goes first, then the \
                index.",
        kind: Kind::Count(1 << 20, 1 << 40),
        default: "536870912",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "search.time_ms",
        about: "After how long a search answers with what it has found so far.",
        kind: Kind::Count(1, 35_000),
        default: "30000",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "sandbox.profile",
        about: "How much is in force for commands: `strict` is everything, or the command is refused. `root-degraded` \
                lets commands of the superuser be the superuser, without capabilities.",
        kind: Kind::Choice(&["strict", "root-degraded"]),
        default: "\"strict\"",
        project: Project::Stricter,
        contract_name: None,
    },
    Key {
        name: "sandbox.egress",
        about: "The hosts that commands may reach, `host.example` or `*.host.example`. Empty is no network.",
        kind: Kind::Names,
        default: "[]",
        project: Project::Less,
        contract_name: None,
    },
    Key {
        name: "sandbox.egress_ports",
        about: "The ports that commands may reach at those hosts.",
        kind: Kind::Names,
        default: "[\"443\"]",
        project: Project::Less,
        contract_name: None,
    },
    Key {
        name: "sandbox.toolchains",
        about: "Folders of the home that commands see and cannot change, where they exist.",
        kind: Kind::Names,
        default: "[\".cargo/bin\", \".cargo/git\", \".cargo/registry\", \".rustup\", \".pyenv\", \
                  \".nvm\", \".npm/_cacache\", \".local/bin\", \".local/lib\", \".cache/pip\", \
                  \"go\", \".m2/repository\"]",
        project: Project::Less,
        contract_name: None,
    },
    Key {
        name: "sandbox.caches",
        about: "Folders of the home that commands can change and find again, kept apart from the real ones.",
        kind: Kind::Names,
        default: "[]",
        project: Project::Never,
        contract_name: None,
    },
    Key {
        name: "sandbox.environment",
        about: "Names in the environment that commands are handed, beside the language and the time zone.",
        kind: Kind::Names,
        default: "[]",
        project: Project::Never,
        contract_name: None,
    },
    Key {
        name: "sandbox.protected",
        about: "Names at the workspace's root that commands can neither change nor make, beside git's settings and \
                `.toolcrib`: what other programs would execute.",
        kind: Kind::Names,
        default: "[\".claude\", \".codex\", \".cursor\", \".devcontainer\", \".envrc\", \".gemini\", \
                  \".husky\", \".mcp.json\", \".vscode\"]",
        project: Project::More,
        contract_name: None,
    },
    Key {
        name: "sandbox.unprotected",
        about: "Names among the protected ones, `.git` included, that commands may change after all.",
        kind: Kind::Names,
        default: "[]",
        project: Project::Never,
        contract_name: None,
    },
    Key {
        name: "sandbox.memory_bytes",
        about: "The most memory of one command, all its processes together.",
        kind: Kind::Count(16 << 20, 1 << 50),
        default: "4294967296",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "sandbox.processes",
        about: "The most processes of one command at once.",
        kind: Kind::Count(1, 1 << 20),
        default: "512",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "sandbox.cpu_seconds",
        about: "The most processor time of one command.",
        kind: Kind::Count(1, 1 << 30),
        default: "3600",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "sandbox.task_seconds",
        about: "The longest that a background command may run.",
        kind: Kind::Count(1, 1 << 30),
        default: "86400",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "sandbox.file_bytes",
        about: "The largest file that a command may write.",
        kind: Kind::Count(0, 1 << 50),
        default: "4294967296",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "sandbox.growth_bytes",
        about: "How much a command may make the workspace grow.",
        kind: Kind::Count(0, 1 << 50),
        default: "8589934592",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "sandbox.growth_files",
        about: "How many files a command may add to the workspace.",
        kind: Kind::Count(0, 1 << 40),
        default: "1000000",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "sandbox.open_files",
        about: "The most files that one process of a command may have open.",
        kind: Kind::Count(16, 1 << 20),
        default: "4096",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "sandbox.output_bytes",
        about: "How much a command may print before it is ended.",
        kind: Kind::Count(1024, 1 << 50),
        default: "1073741824",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "sandbox.saved_bytes",
        about: "How much of what a command prints to each stream is saved for reading later.",
        kind: Kind::Count(0, 1 << 40),
        default: "67108864",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "sandbox.scratch_bytes",
        about: "The size of a command's private `/tmp`, and of its private home.",
        kind: Kind::Count(1 << 20, 1 << 50),
        default: "1073741824",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "sandbox.user",
        about: "The user that commands are when toolcrib is the superuser and the workspace belongs to it.",
        kind: Kind::Count(1, 4_294_967_294),
        default: "64646",
        project: Project::Never,
        contract_name: None,
    },
    Key {
        name: "sandbox.bubblewrap",
        about: "The path of bubblewrap. Empty looks for it in the system's folders.",
        kind: Kind::Text,
        default: "\"\"",
        project: Project::Never,
        contract_name: None,
    },
    Key {
        name: "record.previews",
        about: "Whether the record shows the beginning of arguments and replies.",
        kind: Kind::Choice(&["off", "on"]),
        default: "\"on\"",
        project: Project::Stricter,
        contract_name: None,
    },
    Key {
        name: "undo.max_bytes",
        about: "The largest file that an undo copy is kept of. A larger one is not changed at all.",
        kind: Kind::Count(0, 1 << 50),
        default: "1073741824",
        project: Project::Smaller,
        contract_name: None,
    },
    Key {
        name: "hikai.connection",
        about: "The repository that hikai's tools read: `workspace`, `none`, or a directory.",
        kind: Kind::Text,
        default: "\"workspace\"",
        project: Project::Only("none"),
        contract_name: None,
    },
    Key {
        name: "hikai.output_types",
        about: "JSON Schemas that `validate_output` knows beside `domain_map`, by type.",
        kind: Kind::Schemas,
        default: "{}",
        project: Project::Never,
        contract_name: None,
    },
    Key {
        name: "forgekeeper.root",
        about: "The sandbox root of forgekeeper's file tools. Empty for the workspace.",
        kind: Kind::Text,
        default: "\"\"",
        project: Project::Never,
        contract_name: Some("TOOLS_FS_ROOT"),
    },
    Key {
        name: "forgekeeper.allow",
        about: "The forgekeeper tools on offer. Empty offers all.",
        kind: Kind::Names,
        default: "[]",
        project: Project::Fewer,
        contract_name: Some("TOOL_ALLOW"),
    },
    Key {
        name: "forgekeeper.bash",
        about: "Whether `run_bash` is on offer.",
        kind: Kind::Choice(&["off", "on"]),
        default: "\"off\"",
        project: Project::Stricter,
        contract_name: Some("FRONTEND_ENABLE_BASH"),
    },
    Key {
        name: "forgekeeper.powershell",
        about: "Whether `run_powershell` is on offer.",
        kind: Kind::Choice(&["off", "on"]),
        default: "\"off\"",
        project: Project::Stricter,
        contract_name: Some("FRONTEND_ENABLE_POWERSHELL"),
    },
    Key {
        name: "forgekeeper.max_read_bytes",
        about: "The most bytes a forgekeeper tool reads of a file.",
        kind: Kind::Count(1, 1 << 30),
        default: "65536",
        project: Project::Smaller,
        contract_name: Some("TOOLS_MAX_READ_BYTES"),
    },
    Key {
        name: "forgekeeper.max_write_bytes",
        about: "The most bytes a forgekeeper tool writes to a file.",
        kind: Kind::Count(1, 1 << 30),
        default: "65536",
        project: Project::Smaller,
        contract_name: Some("TOOLS_MAX_WRITE_BYTES"),
    },
    Key {
        name: "forgekeeper.max_output_bytes",
        about: "The most bytes of a forgekeeper tool's reply.",
        kind: Kind::Count(256, 1 << 30),
        default: "10240",
        project: Project::Smaller,
        contract_name: Some("TOOLS_MAX_OUTPUT_BYTES"),
    },
    Key {
        name: "forgekeeper.max_output_lines",
        about: "The most lines of a file that a forgekeeper tool replies with.",
        kind: Kind::Count(1, 1 << 30),
        default: "256",
        project: Project::Smaller,
        contract_name: Some("TOOLS_MAX_OUTPUT_LINES"),
    },
    Key {
        name: "forgekeeper.timeout_ms",
        about: "The most time one call of a forgekeeper tool may take.",
        kind: Kind::Count(1, 86_400_000),
        default: "30000",
        project: Project::Smaller,
        contract_name: Some("TOOLS_TIMEOUT_MS"),
    },
];
