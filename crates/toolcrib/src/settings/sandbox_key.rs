//! The settings of the sandbox, as data.

use super::key::NEVER;
use super::kind::{Key, Kind, Project};

/// Every setting that begins with `sandbox.`.
pub(super) static KEYS: &[Key] = &[
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
        ..NEVER
    },
    Key {
        name: "sandbox.environment",
        about: "Names in the environment that commands are handed, beside the language and the time zone.",
        kind: Kind::Names,
        default: "[]",
        ..NEVER
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
        ..NEVER
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
        ..NEVER
    },
    Key {
        name: "sandbox.bubblewrap",
        about: "The path of bubblewrap. Empty looks for it in the system's folders.",
        kind: Kind::Text,
        default: "\"\"",
        ..NEVER
    },
];
