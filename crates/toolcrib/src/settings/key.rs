//! Every setting as data.

use super::kind::{Key, Kind, Project};

/// What a project has no say in, and no contract has a name for.
pub(super) const NEVER: Key = Key {
    name: "",
    about: "",
    kind: Kind::Text,
    default: "\"\"",
    project: Project::Never,
    contract_name: None,
};

/// Every setting.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().chain(super::sandbox_key::KEYS)
}

static KEYS: &[Key] = &[
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
        ..NEVER
    },
    Key {
        name: "policy.without",
        about: "Rules that do not hold, by their names.",
        kind: Kind::Names,
        default: "[]",
        ..NEVER
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
        ..NEVER
    },
    Key {
        name: "policy.tool_bytes",
        about: "Bytes that the calls of one tool in one session may write; 0 for no bound.",
        kind: Kind::Count(0, i64::MAX),
        default: "0",
        ..NEVER
    },
    Key {
        name: "policy.tool_seconds",
        about: "How long the calls of one tool in one session may run, together; 0 for no bound.",
        kind: Kind::Count(0, i64::MAX),
        default: "0",
        ..NEVER
    },
    Key {
        name: "policy.session_bytes",
        about: "Bytes that the calls of one session may write; 0 for no bound.",
        kind: Kind::Count(0, i64::MAX),
        default: "0",
        ..NEVER
    },
    Key {
        name: "policy.session_seconds",
        about: "How long the calls of one session may run, together; 0 for no bound.",
        kind: Kind::Count(0, i64::MAX),
        default: "0",
        ..NEVER
    },
    Key {
        name: "policy.user_calls_per_minute",
        about: "Calls a minute of one tool by one user, whatever the session and the process; 0 for no bound.",
        kind: Kind::Count(0, 1_000_000),
        default: "0",
        ..NEVER
    },
    Key {
        name: "policy.user_bytes",
        about: "Bytes that the calls of one user may write in a day; 0 for no bound.",
        kind: Kind::Count(0, i64::MAX),
        default: "0",
        ..NEVER
    },
    Key {
        name: "policy.user_seconds",
        about: "How long the calls of one user may run in a day, together; 0 for no bound.",
        kind: Kind::Count(0, i64::MAX),
        default: "0",
        ..NEVER
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
        ..NEVER
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
        name: "record.previews",
        about: "Whether the record shows the beginning of arguments and replies.",
        kind: Kind::Choice(&["off", "on"]),
        default: "\"on\"",
        project: Project::Stricter,
        contract_name: None,
    },
    Key {
        name: "record.secrets",
        about: "Names of variables whose values are kept out of the record, beside those whose names tell.",
        kind: Kind::Names,
        default: "[]",
        project: Project::More,
        contract_name: None,
    },
    Key {
        name: "record.keep_days",
        about: "How many days the record is kept. Older files are removed once their figures are folded.",
        kind: Kind::Count(1, 36500),
        default: "90",
        ..NEVER
    },
    Key {
        name: "record.legacy",
        about: "Whether `tools_audit.jsonl` is written beside the record, a line for each call.",
        kind: Kind::Choice(&["off", "on"]),
        default: "\"off\"",
        ..NEVER
    },
    Key {
        name: "stats.quarantine",
        about: "Whether a tool that got much worse (`high`) is kept out until someone lets it in again.",
        kind: Kind::Choice(&["high", "off"]),
        default: "\"off\"",
        project: Project::Stricter,
        contract_name: None,
    },
    Key {
        name: "stats.current_hours",
        about: "How many hours count as now when a tool is compared with what it was.",
        kind: Kind::Count(1, 24 * 31),
        default: "24",
        ..NEVER
    },
    Key {
        name: "stats.baseline_days",
        about: "How many days before that a tool is compared with.",
        kind: Kind::Count(1, 365),
        default: "30",
        ..NEVER
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
        ..NEVER
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
