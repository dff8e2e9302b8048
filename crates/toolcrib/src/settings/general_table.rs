//! The rows of the table of settings, but for those of the sandbox.

use toolcrib_core::Mode;
use toolcrib_host::{EngineKind, Hardlinks};
use toolcrib_plugins::mcp::server_spec::ServerSpec;
use toolcrib_repositories::GITHUB_API;
use toolcrib_runtime::{ConfirmationWeight, TaintPolicy};

use super::host_words::{BroadRoot, QuarantineAt, broad_root, hardlinks, quarantine};
use super::log_words::{LogFormat, LogLevel, log_format, log_level};
use super::mcp_words::{ClientAnswers, client_answers};
use super::plugin_words::is_not_off;
use super::policy_words::{AskStyle, ask_style, confirm, mode, tainted};
use super::rows::settings_table;
use super::schemas::SchemaTable;
use super::setting::{
    EmptyList, Project, Setting, SettingKey, choice, count, limit, limit_seconds, milliseconds,
    names, schemas, seconds, servers, switch, text,
};
use super::web_words::engine;

use std::time::Duration;

use Project::{More, Only, Smaller, Stricter, Subset};

settings_table! {
    GENERAL from 0;

    /// How strict to be: which calls run, which are asked about, which are refused.
    MODE: Mode = choice("mode", &["strict", "standard", "permissive"], "standard", mode)
        .project(Stricter);

    /// The shipped rules that are in force: `blocked`, `caution`, `harmless`.
    POLICY_SHIPPED: Vec<String> = names("policy.shipped", &["blocked", "caution", "harmless"]);

    /// Rules to leave out, by name.
    POLICY_WITHOUT: Vec<String> = names("policy.without", &[]);

    /// How long a call that was parked with `--park` can be answered.
    POLICY_PARK_SECONDS: Duration = seconds("policy.park_seconds", 86_400, (1, 31_536_000))
        .project(Smaller);

    /// The rate limit: calls per minute of one tool in one session. A number, `preset` (5 in mode
    /// strict, 15 in standard, 60 in permissive), or `off`.
    POLICY_CALLS_PER_MINUTE: String = text("policy.calls_per_minute", "off");

    /// The quota of bytes that the calls of one tool in one session may write; 0 for no limit.
    POLICY_TOOL_BYTES: Option<u64> = limit("policy.tool_bytes", i64::MAX);

    /// The quota of time that the calls of one tool in one session may run, in total; 0 for no
    /// limit.
    POLICY_TOOL_SECONDS: Option<Duration> = limit_seconds("policy.tool_seconds");

    /// The quota of bytes that the calls of one session may write; 0 for no limit.
    POLICY_SESSION_BYTES: Option<u64> = limit("policy.session_bytes", i64::MAX);

    /// The quota of time that the calls of one session may run, in total; 0 for no limit.
    POLICY_SESSION_SECONDS: Option<Duration> = limit_seconds("policy.session_seconds");

    /// The rate limit of one user: calls per minute of one tool, over all sessions and processes; 0
    /// for no limit.
    POLICY_USER_CALLS_PER_MINUTE: Option<u64> = limit("policy.user_calls_per_minute", 1_000_000);

    /// The quota of bytes that the calls of one user may write in a day; 0 for no limit.
    POLICY_USER_BYTES: Option<u64> = limit("policy.user_bytes", i64::MAX);

    /// The quota of time that the calls of one user may run in a day, in total; 0 for no limit.
    POLICY_USER_SECONDS: Option<Duration> = limit_seconds("policy.user_seconds");

    /// Who decides about a command that an agent was told to confirm, once the agent sends
    /// `confirmed`: a `person` is asked, or the `model`'s confirmation is enough.
    POLICY_CONFIRM: ConfirmationWeight =
        choice("policy.confirm", &["person", "model"], "person", confirm).project(Stricter);

    /// What happens to calls that would be allowed, once a command of the session could reach the
    /// network: `ask` a person, or `allow` them.
    POLICY_TAINTED: TaintPolicy = choice("policy.tainted", &["ask", "allow"], "allow", tainted)
        .project(Stricter);

    /// The form of the prompt. `auto` uses the form of the `wink` contract for calls of that catalogue,
    /// and Toolcrib's own form for all other calls. `toolcrib` and `wink` use one form for all calls.
    ASK_STYLE: AskStyle =
        choice("ask.style", &["auto", "toolcrib", "wink"], "auto", ask_style);

    /// How long a question must be on the terminal before a key can approve the call. So a key that you
    /// still hold from the last question approves nothing.
    ASK_DELAY_MS: Duration = milliseconds("ask.delay_ms", 500, (0, 10_000));

    /// How long a person has to answer a question. No answer means no.
    POLICY_APPROVAL_SECONDS: Duration = seconds("policy.approval_seconds", 120, (1, 86_400))
        .project(Smaller);

    /// Whether tools can be called. With `off`, no tool is on offer.
    TOOLS_ENABLED: bool = switch("tools.enabled", "on").project(Stricter);

    /// The catalogues (`wink`) and tools (`clemini/edit`) on offer. If it is not set, all are. An
    /// empty list offers none.
    TOOLSET: Vec<String> = names("toolset", &[]).project(Subset(EmptyList::EverythingUntilSet));

    /// Directories beside the workspace that file tools may reach by absolute path.
    ROOTS: Vec<String> = names("roots", &[]).at_start();

    /// Whether file tools open files that have several hard links. Package managers that link from
    /// a store (pnpm, uv, bun) need `allow`.
    FILES_HARDLINKS: Hardlinks =
        choice("files.hardlinks", &["refuse", "allow"], "refuse", hardlinks).project(Stricter).at_start();

    /// Names that no tool may change, in addition to `.git` and `.toolcrib`.
    FILES_PROTECTED: Vec<String> = names("files.protected", &[]).project(More).at_start();

    /// Whether `/`, a home directory or a system folder may be a root.
    FILES_BROAD_ROOT: BroadRoot =
        choice("files.broad_root", &["refuse", "allow"], "refuse", broad_root).project(Stricter).at_start();

    /// The longest that a tool may run. A tool's own limit applies if it is lower. The time to end a command is extra.
    LIMITS_DEADLINE_MS: u64 = count("limits.deadline_ms", 86_400_000, (1, 86_400_000))
        .project(Smaller);

    /// The most bytes that one reply may have. A tool's own limit applies if it is lower.
    LIMITS_OUTPUT_BYTES: u64 = count("limits.output_bytes", 67_108_864, (256, 1 << 30))
        .project(Smaller);

    /// Whether processes that answer many calls keep an index for search. Without an index, every
    /// search scans the files.
    SEARCH_INDEX: bool = switch("search.index", "on").project(Stricter).at_start();

    /// The most memory that the index of one root may use. Over this limit, cached text is dropped
    /// first, then the index.
    SEARCH_MEMORY_BYTES: u64 = count("search.memory_bytes", 536_870_912, (1 << 20, 1 << 40))
        .project(Smaller).at_start();

    /// How long a search runs before it answers with what it has found so far.
    SEARCH_TIME_MS: Duration = milliseconds("search.time_ms", 30_000, (1, 35_000))
        .project(Smaller);

    /// How many results a search counts. If there are more, the reply has the first ones and says "at least"
    /// before their number. 0 counts all.
    SEARCH_COUNT_LIMIT: u64 = count("search.count_limit", 10_000, (0, 1 << 40));

    /// Where the server listens: an address with its port, or `unix:` and the path of a socket. Without TLS, it
    /// must be a loopback address.
    SERVE_ADDRESS: String = text("serve.address", "127.0.0.1:7766").at_start();

    /// Names with ports that requests may have as their `Host`, beside those of the loopback address.
    SERVE_HOST_NAMES: Vec<String> = names("serve.host_names", &[]).at_start();

    /// The PEM file with the server's certificate and those that link it to one that clients trust. With it and
    /// `serve.tls_key`, the server speaks TLS. Changed files are taken up at the next connection.
    SERVE_TLS_CERTIFICATE: String = text("serve.tls_certificate", "").at_start();

    /// The PEM file with the private key of `serve.tls_certificate`. Only its owner may read it.
    SERVE_TLS_KEY: String = text("serve.tls_key", "").at_start();

    /// How many connections the server keeps open at once. Idle ones make room for new ones.
    SERVE_MAX_CONNECTIONS: u64 = count("serve.max_connections", 1024, (1, 100_000)).at_start();

    /// The most bytes that the body of a request may have.
    SERVE_BODY_BYTES: u64 = count("serve.body_bytes", 2_097_152, (1024, 1 << 30)).at_start();

    /// How many requests of one token, or calls of one agent over NATS, can run at once.
    SERVE_IN_FLIGHT_PER_TOKEN: u64 = count("serve.in_flight_per_token", 64, (1, 10_000)).at_start();

    /// How many requests a second one token may make, in the long run; 0 for no limit.
    SERVE_REQUESTS_PER_SECOND: Option<u64> = limit("serve.requests_per_second", 1_000_000).at_start();

    /// How long requests that run may go on after the server was told to stop.
    SERVE_STOP_SECONDS: Duration = seconds("serve.stop_seconds", 30, (1, 3600)).at_start();

    /// The OAuth authorization server whose access tokens the server accepts beside its own: its URL, exactly as the
    /// claim `iss` of its tokens has it. Empty for none.
    OAUTH_ISSUER: String = text("oauth.issuer", "").at_start();

    /// The URL of this server, as clients write it: its resource identifier. The claim `aud` of a token must name it.
    OAUTH_AUDIENCE: String = text("oauth.audience", "").at_start();

    /// The URL of the authorization server's public keys (a JWK Set). It begins with https://, unless the host is a
    /// loopback address.
    OAUTH_JWKS_URL: String = text("oauth.jwks_url", "").at_start();

    /// The path of a file with the authorization server's public keys (a JWK Set), in place of `oauth.jwks_url`. Only
    /// its owner may write it.
    OAUTH_JWKS_FILE: String = text("oauth.jwks_file", "").at_start();

    /// The claim that names the owner of a token. Choose one that its owner cannot change.
    OAUTH_NAME_CLAIM: String = text("oauth.name_claim", "sub").at_start();

    /// The claim that has the scopes of a token, as a list or as one text with spaces.
    OAUTH_SCOPE_CLAIM: String = text("oauth.scope_claim", "scope").at_start();

    /// The scope that gives a token the role `agent`. Empty for none.
    OAUTH_AGENT_SCOPE: String = text("oauth.agent_scope", "toolcrib:agent").at_start();

    /// The scope that gives a token the role `approver`. Empty for none.
    OAUTH_APPROVER_SCOPE: String = text("oauth.approver_scope", "toolcrib:approver").at_start();

    /// The scope that gives a token the role `admin`. Empty for none.
    OAUTH_ADMIN_SCOPE: String = text("oauth.admin_scope", "toolcrib:admin").at_start();

    /// The catalogues and tools that MCP clients are offered, if `toolset` is not set.
    MCP_TOOLSET: Vec<String> = names("mcp.toolset", &["clemini", "plugins"]).at_start();

    /// Whether MCP clients are listed two tools in place of all: one that finds tools by words, and one that calls what was
    /// found. It keeps the list short if many tools are on offer.
    MCP_SEARCH: bool = switch("mcp.search", "off").at_start();

    /// Which answers count that an MCP client brings: none (`off`), yes to one call (`once`), or also "always". The
    /// client is the program that runs the agent, and could make up an answer.
    MCP_APPROVE: ClientAnswers =
        choice("mcp.approve", &["off", "once", "always"], "once", client_answers).project(Stricter).at_start();

    /// Whether an answer that an MCP client brings can approve calls of tier 3, such as commands.
    MCP_APPROVE_TIER_3: bool = switch("mcp.approve_tier_3", "on").project(Stricter).at_start();

    /// Whether answers of MCP clients count over HTTP, where the agent and the person who answers have the same token.
    MCP_APPROVE_OVER_HTTP: bool = switch("mcp.approve_over_http", "off").project(Stricter).at_start();

    /// How long an MCP client waits for a command. One that knows tasks is then told to come back for the outcome.
    MCP_TASK_SECONDS: Duration = seconds("mcp.task_seconds", 10, (0, 86_400)).at_start();

    /// The MCP servers whose tools are mounted, each in a table `[mcp.NAME]` with `command` or `url`, and what it may reach.
    MCP_SERVERS: Vec<ServerSpec> = servers("mcp.servers");

    /// The `.mcp.json` files whose servers are mounted, too, by their absolute paths. A project's own is not read by itself.
    MCP_IMPORT: Vec<String> = names("mcp.import", &[]);

    /// What the server writes to stderr: `error`, `warn` and more, `info` and more, or `debug` for all.
    LOG_LEVEL: LogLevel = choice("log.level", &["error", "warn", "info", "debug"], "info", log_level).at_start();

    /// The form of the server's log: `text` for people, or `json` with one object a line for programs.
    LOG_FORMAT: LogFormat = choice("log.format", &["text", "json"], "text", log_format).at_start();

    /// The collector that the server exports spans to with OTLP over HTTP, such as `http://127.0.0.1:4318`. Empty for
    /// none.
    OTLP_ENDPOINT: String = text("otlp.endpoint", "").at_start();

    /// The path of a file with headers for the collector, one `Name: value` on each line. Only you may have access to
    /// it.
    OTLP_HEADERS_FILE: String = text("otlp.headers_file", "").at_start();

    /// Whether the record shows the beginning of arguments and replies.
    RECORD_PREVIEWS: bool = switch("record.previews", "on").project(Stricter).at_start();

    /// Environment variables whose values are redacted from the record, in addition to those whose
    /// names look like secrets.
    RECORD_SECRETS: Vec<String> = names("record.secrets", &[]).project(More).at_start();

    /// The retention of the record, in days. Older files are deleted after their statistics are computed.
    RECORD_KEEP_DAYS: u64 = count("record.keep_days", 90, (1, 36_500)).at_start();

    /// Whether `tools_audit.jsonl` is written beside the record, one line for each call.
    RECORD_LEGACY: bool = switch("record.legacy", "off").at_start();

    /// Whether a tool that got much worse (`high`) is quarantined until someone releases it.
    STATS_QUARANTINE: QuarantineAt =
        choice("stats.quarantine", &["high", "off"], "off", quarantine).project(Stricter).at_start();

    /// How many of the latest hours are compared with the baseline of a tool.
    STATS_CURRENT_HOURS: u64 = count("stats.current_hours", 24, (1, 24 * 31)).at_start();

    /// How many days, before those of `stats.current_hours`, are the baseline of a tool.
    STATS_BASELINE_DAYS: u64 = count("stats.baseline_days", 30, (1, 365)).at_start();

    /// The largest file that undo keeps a copy of. Tools do not change larger files at all.
    UNDO_MAX_BYTES: u64 = count("undo.max_bytes", 1_073_741_824, (0, 1 << 50)).project(Smaller).at_start();

    /// The repositories that tools can be connected to, as `NAME=PLACE`. A place is `git:PATH#REVISION`,
    /// `github:OWNER/NAME#REVISION`, or a directory. `toolcrib connect` adds, tests and removes them.
    CONNECTIONS: Vec<String> = names("connections", &[]);

    /// The repository that hikai's tools read: `workspace`, `none`, the name of a connection, or a place as
    /// in `connections`.
    HIKAI_CONNECTION: String = text("hikai.connection", "workspace").project(Only("none"));

    /// JSON Schemas that `validate_output` knows in addition to `domain_map`, by type.
    HIKAI_OUTPUT_TYPES: SchemaTable = schemas("hikai.output_types").at_start();

    /// The URL of the GitHub API that `check_pr_status` asks. That of an Enterprise server is `https://HOST/api/v3`. The
    /// token is that of `gh` where it is logged in, or else in `GH_TOKEN` or `GITHUB_TOKEN`; for other servers, in
    /// `GH_ENTERPRISE_TOKEN` or `GITHUB_ENTERPRISE_TOKEN`.
    GITHUB_API_URL: String = text("github.api_url", GITHUB_API);

    /// The sandbox root of forgekeeper's file tools. Empty for the workspace.
    FORGEKEEPER_ROOT: String = text("forgekeeper.root", "").contract_name("TOOLS_FS_ROOT");

    /// The forgekeeper tools on offer. An empty list offers all.
    FORGEKEEPER_ALLOW: Vec<String> = names("forgekeeper.allow", &[])
        .project(Subset(EmptyList::Everything))
        .contract_name("TOOL_ALLOW");

    /// Whether `run_bash` is on offer.
    FORGEKEEPER_BASH: bool = switch("forgekeeper.bash", "off")
        .project(Stricter)
        .contract_name("FRONTEND_ENABLE_BASH");

    /// Whether `http_fetch` is on offer. Modules with `hosts` fetch by it, too.
    FORGEKEEPER_HTTP_FETCH: bool = switch("forgekeeper.http_fetch", "off")
        .project(Stricter)
        .contract_name("FRONTEND_ENABLE_HTTP_FETCH");

    /// Whether `run_powershell` is on offer.
    FORGEKEEPER_POWERSHELL: bool = switch("forgekeeper.powershell", "off")
        .project(Stricter)
        .contract_name("FRONTEND_ENABLE_POWERSHELL");

    /// The most bytes that a forgekeeper tool reads from a file.
    FORGEKEEPER_MAX_READ_BYTES: u64 = count("forgekeeper.max_read_bytes", 65_536, (1, 1 << 30))
        .project(Smaller)
        .contract_name("TOOLS_MAX_READ_BYTES");

    /// The most bytes that a forgekeeper tool writes to a file.
    FORGEKEEPER_MAX_WRITE_BYTES: u64 = count("forgekeeper.max_write_bytes", 65_536, (1, 1 << 30))
        .project(Smaller)
        .contract_name("TOOLS_MAX_WRITE_BYTES");

    /// The most bytes of a forgekeeper tool's reply.
    FORGEKEEPER_MAX_OUTPUT_BYTES: u64 =
        count("forgekeeper.max_output_bytes", 10_240, (256, 1 << 30))
            .project(Smaller)
            .contract_name("TOOLS_MAX_OUTPUT_BYTES");

    /// The most lines of a file that a forgekeeper tool replies with.
    FORGEKEEPER_MAX_OUTPUT_LINES: u64 = count("forgekeeper.max_output_lines", 256, (1, 1 << 30))
        .project(Smaller)
        .contract_name("TOOLS_MAX_OUTPUT_LINES");

    /// The longest that one call of a forgekeeper tool may take.
    FORGEKEEPER_TIMEOUT_MS: u64 = count("forgekeeper.timeout_ms", 30_000, (1, 86_400_000))
        .project(Smaller)
        .contract_name("TOOLS_TIMEOUT_MS");

    /// Whether tools from other authors are on offer.
    PLUGINS_ENABLED: bool = switch("plugins.enabled", "on").project(Stricter);

    /// The folder with the files of tools from other authors. If it is empty, it is `tools` beside your settings file.
    PLUGINS_FOLDER: String = text("plugins.folder", "").at_start();

    /// Whether a person must approve a tool before it is loaded. With `off`, a module that asks for no permissions
    /// needs no approval.
    PLUGINS_APPROVAL_REQUIRED: bool =
        choice("plugins.approval_required", &["on", "off"], "on", is_not_off)
            .project(Stricter)
            .contract_name("TOOLS_APPROVAL_REQUIRED");

    /// How long a proposed tool can be approved.
    PLUGINS_PROPOSAL_MS: Duration =
        milliseconds("plugins.proposal_ms", 86_400_000, (1000, 31_536_000_000))
            .project(Smaller)
            .contract_name("TOOLS_APPROVAL_EXPIRES_MS");

    /// Whether agents are offered `propose_tool`, with which they propose tools.
    PLUGINS_SELF_UPDATE: bool = switch("plugins.self_update", "off")
        .project(Stricter)
        .contract_name("FRONTEND_ENABLE_SELF_UPDATE");

    /// The files and folders of the workspace that tools from other authors may be permitted to read.
    PLUGINS_READ: Vec<String> = names("plugins.read", &["."]).project(Subset(EmptyList::Nothing));

    /// The files and folders of the workspace that tools from other authors may be permitted to write.
    PLUGINS_WRITE: Vec<String> = names("plugins.write", &[]).project(Subset(EmptyList::Nothing));

    /// The tools that tools from other authors may be permitted to call.
    PLUGINS_TOOLS: Vec<String> = names("plugins.tools", &[]).project(Subset(EmptyList::Nothing));

    /// The hosts that tools from other authors may be permitted to reach: `host.example` or `*.host.example`.
    PLUGINS_HOSTS: Vec<String> = names("plugins.hosts", &[]).project(Subset(EmptyList::Nothing));

    /// The variables of Toolcrib's environment that programs from other authors may be given.
    PLUGINS_SECRETS: Vec<String> = names("plugins.secrets", &[]).project(Subset(EmptyList::Nothing));

    /// The most bytes of the volumes of one program from another author.
    PLUGINS_VOLUME_BYTES: u64 =
        count("plugins.volume_bytes", 67_108_864, (0, 1 << 40)).project(Smaller).at_start();

    /// The most memory that a program from another author may ask for.
    PLUGINS_PROGRAM_MEMORY_BYTES: u64 =
        count("plugins.program_memory_bytes", 1_073_741_824, (8 << 20, 1 << 40)).project(Smaller);

    /// The most processor cores that a program from another author may ask for.
    PLUGINS_PROGRAM_CPUS: u64 = count("plugins.program_cpus", 2, (1, 1024)).project(Smaller);

    /// The most memory of a module while it answers one call.
    PLUGINS_MEMORY_BYTES: u64 = count("plugins.memory_bytes", 67_108_864, (8 << 20, 1 << 40))
        .project(Smaller).at_start();

    /// How many processes run calls of such tools at once.
    PLUGINS_WORKERS: u64 = count("plugins.workers", 4, (1, 1024)).project(Smaller).at_start();

    /// The search engine of `web_search`: `duckduckgo`, a `searxng` server, or `brave`. Brave's key is read from the
    /// environment variable `TOOLCRIB_SEARCH_KEY`.
    WEB_SEARCH: EngineKind =
        choice("web.search", &["duckduckgo", "searxng", "brave"], "duckduckgo", engine);

    /// The URL of the search engine. A SearXNG server needs it; the others have one. It may be on this machine.
    WEB_SEARCH_URL: String = text("web.search_url", "");

    /// The URL of a model that speaks OpenAI's chat completions, without `/chat/completions`. Tools have texts processed
    /// by it. It may be on this machine. Its key is read from the environment variable `TOOLCRIB_MODEL_KEY`.
    MODEL_URL: String = text("model.url", "");

    /// The name of that model.
    MODEL_NAME: String = text("model.name", "");

    /// The most turns of a subagent.
    AGENT_MAX_TURNS: u64 = count("agent.max_turns", 50, (1, 10_000)).project(Smaller);

    /// The most tokens of a subagent, requests and answers of all its turns together.
    AGENT_MAX_TOKENS: u64 = count("agent.max_tokens", 2_000_000, (1, 1_000_000_000_000))
        .project(Smaller);

    /// The ports that tools may fetch from.
    NET_PORTS: Vec<String> = names("net.ports", &["443", "80"])
        .project(Subset(EmptyList::Nothing)).at_start();

    /// What tools call themselves when they fetch. Its first word is what a robots.txt knows them by. Empty for `toolcrib/`
    /// and the version.
    WEB_USER_AGENT: String = text("web.user_agent", "").at_start();

    /// The least time between two requests for pages of one host. 0 for none.
    WEB_CRAWL_DELAY_MS: Duration = milliseconds("web.crawl_delay_ms", 200, (0, 60_000)).at_start();

    /// Whether the robots.txt of a host is obeyed when an agent reads pages.
    WEB_ROBOTS: bool = choice("web.robots", &["on", "off"], "on", is_not_off)
        .project(Stricter).at_start();

    /// The most bytes of replies from the web that are kept in memory. 0 keeps none.
    WEB_CACHE_BYTES: u64 = count("web.cache_bytes", 16_777_216, (0, 1 << 30))
        .project(Smaller).at_start();
}
