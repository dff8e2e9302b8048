//! What the operator says about an MCP server: how it is started, what it may reach, and how far it is trusted.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::Effect;
use toolcrib_core::canonical::Digest;
use toolcrib_core::policy::Tier;

use super::server_text::{ServerText, is_named_value};
use crate::plugin_declaration::tier_of;
use crate::plugin_error::{PluginError, PluginErrorKind};

/// The longest name of a server.
const MAX_SERVER_NAME: usize = 32;

/// An MCP server, as the operator describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSpec {
    /// The name, which is also the name of its catalogue.
    pub name: String,
    /// How it is reached.
    pub way: ServerWay,
    /// The environment variables that are passed to it.
    pub environment: Vec<(String, ServerText)>,
    /// The folders that it may read, besides those of the system.
    pub folders: Vec<String>,
    /// The hosts that it may reach.
    pub hosts: Vec<String>,
    /// The tier of its tools.
    pub tier: Tier,
    /// What its tools do. Only the operator can say that they change nothing.
    pub effect: Effect,
    /// How long a call may go without a sign of progress.
    pub idle: Duration,
    /// How long a call may take in all.
    pub longest: Duration,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerWay {
    /// Toolcrib starts it in the sandbox: the program and its arguments.
    Command(Vec<ServerText>),
    /// It runs elsewhere and speaks HTTP.
    Url {
        /// Its address.
        url: ServerText,
        /// What each request has besides, by the names of headers.
        headers: Vec<(String, ServerText)>,
    },
    /// A file that the operator imports says how.
    Imported,
}

impl ServerWay {
    /// Returns the command or the address as it was written, for people.
    pub fn written(&self) -> String {
        match self {
            Self::Command(words) => {
                words.iter().map(ServerText::written).collect::<Vec<_>>().join(" ")
            }
            Self::Url { url, .. } => url.written().to_owned(),
            Self::Imported => "no file of `mcp.import` has this server".to_owned(),
        }
    }
}

/// The table of a server in the settings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerTable {
    command: Option<Value>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    env: Vec<String>,
    #[serde(default)]
    folders: Vec<String>,
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(default = "default_tier")]
    tier: u64,
    #[serde(default)]
    reads_only: bool,
    #[serde(default = "default_idle_ms")]
    idle_ms: u64,
    #[serde(default = "default_longest_ms")]
    longest_ms: u64,
}

fn default_tier() -> u64 {
    Tier::Restricted.number().into()
}

fn default_idle_ms() -> u64 {
    60_000
}

fn default_longest_ms() -> u64 {
    600_000
}

impl ServerSpec {
    /// Reads the table of a server.
    pub fn of_table(name: &str, table: &Value) -> Result<Self, PluginError> {
        require_name(name)?;
        let table: ServerTable = serde_json::from_value(table.clone())
            .map_err(|err| bad(err.to_string()).hint("a server is `command = \"…\"` or `url = \"…\"`, and optionally `headers`, `env`, `folders`, `hosts`, `tier`, `reads_only`, `idle_ms` and `longest_ms`"))?;
        let way = way_of(&table)?;
        let tier = tier_of(table.tier)
            .ok_or_else(|| bad(format!("`tier` must be between 0 and 4, not {}", table.tier)))?;
        for variable in &table.env {
            if variable.is_empty() || variable.contains(['=', '\0']) {
                return Err(bad(format!("`env` lists names of variables, not `{variable}`"))
                    .hint("values come from the environment of Toolcrib"));
            }
        }
        for folder in &table.folders {
            if !Path::new(folder).is_absolute() {
                return Err(bad(format!("`folders` lists absolute paths, not `{folder}`")));
            }
        }
        for (key, time) in [("idle_ms", table.idle_ms), ("longest_ms", table.longest_ms)] {
            if time == 0 || time > 86_400_000 {
                return Err(bad(format!("`{key}` must be between 1 and 86400000, not {time}")));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            way,
            environment: table.env.iter().map(|it| (it.clone(), variable(it))).collect(),
            folders: table.folders,
            hosts: table.hosts,
            tier,
            effect: if table.reads_only { Effect::Read } else { Effect::Write },
            idle: Duration::from_millis(table.idle_ms),
            longest: Duration::from_millis(table.longest_ms),
        })
    }

    /// Describes a server that another file says how to reach. Nothing is known of it but its name.
    pub(crate) fn imported(name: &str, way: ServerWay) -> Result<Self, PluginError> {
        let mut spec = Self::of_table(name, &Value::Object(serde_json::Map::new()))?;
        spec.way = way;
        Ok(spec)
    }

    /// Returns what tells this server from another one that has had the same name: the hash of its command, or of its
    /// address. Values of variables are not part of it.
    pub(crate) fn identity(&self) -> String {
        let texts = |texts: &[(String, ServerText)]| -> Value {
            texts.iter().map(|(name, text)| json!([name, text.written()])).collect()
        };
        let way = match &self.way {
            ServerWay::Command(words) => words.iter().map(ServerText::written).collect(),
            ServerWay::Url { url, headers } => json!([{"url": url.written()}, texts(headers)]),
            ServerWay::Imported => Value::Null,
        };
        Digest::of(&self.name, &way).to_string()
    }
}

fn variable(name: &str) -> ServerText {
    ServerText::Variable(name.to_owned())
}

/// Reads how a server of the settings is reached.
fn way_of(table: &ServerTable) -> Result<ServerWay, PluginError> {
    match (&table.command, &table.url) {
        (Some(_), Some(_)) => Err(bad("a server has a `command` or a `url`, not both".to_owned())),
        (Some(_), None) if !table.headers.is_empty() => {
            Err(bad("`headers` are for a server with a `url`".to_owned()))
        }
        (Some(command), None) => {
            let words = command_words(command)?;
            Ok(ServerWay::Command(words.into_iter().map(ServerText::Plain).collect()))
        }
        (None, Some(url)) => {
            require_url(url)?;
            for (name, value) in &table.headers {
                if !is_named_value(value) {
                    return Err(bad(format!("the header `{name}` must name a variable"))
                        .hint("write \"Bearer ${NAME}\" or \"${NAME}\": no secret belongs into a settings file"));
                }
            }
            let headers = table.headers.iter();
            let headers =
                headers.map(|(name, it)| (name.clone(), ServerText::Template(it.clone())));
            Ok(ServerWay::Url { url: ServerText::Plain(url.clone()), headers: headers.collect() })
        }
        (None, None) => Ok(ServerWay::Imported),
    }
}

/// Fails unless a text is an address that can be asked.
pub(crate) fn require_url(url: &str) -> Result<(), PluginError> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_url = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && url.bytes().all(|byte| byte.is_ascii_graphic());
    if is_url {
        return Ok(());
    }
    Err(bad("`url` must begin with `https://` or `http://`".to_owned()))
}

pub(crate) fn bad(message: String) -> PluginError {
    PluginError::new(PluginErrorKind::BadServer, message)
}

/// Fails unless the name can be that of a catalogue. Two underscores stand for the slash between a catalogue and a
/// tool on wires that allow none.
fn require_name(name: &str) -> Result<(), PluginError> {
    let is_part = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    let is_name = name.len() <= MAX_SERVER_NAME
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(is_part)
        && !name.contains("__");
    if is_name {
        return Ok(());
    }
    let shown = toolcrib_core::escape::line(name);
    Err(bad(format!("`{shown}` cannot be the name of a server"))
        .hint("use at most 32 of the characters a-z, 0-9, `-` and `_`, and begin with a letter"))
}

/// Reads a command: a list of words, or a text that is split at spaces.
fn command_words(value: &Value) -> Result<Vec<String>, PluginError> {
    let words: Option<Vec<String>> = match value {
        Value::String(text) => Some(text.split_whitespace().map(str::to_owned).collect()),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    words.filter(|words| words.first().is_some_and(|first| !first.is_empty())).ok_or_else(|| {
        bad("`command` must be a program and its arguments".to_owned())
            .hint("write it as a list of words, or as one text that is split at spaces")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_needs_only_a_command() {
        let spec =
            ServerSpec::of_table("files", &json!({"command": "node  server.js /a"})).unwrap();
        assert_eq!(spec.way.written(), "node server.js /a");
        assert_eq!((spec.tier, spec.hosts.len()), (Tier::Restricted, 0));
        assert_eq!(spec.effect, Effect::Write, "nobody said that it changes nothing");
        let list = json!({"command": ["a program", "x y"], "tier": 1, "env": ["TOKEN"], "reads_only": true});
        let spec = ServerSpec::of_table("files", &list).unwrap();
        assert_eq!(spec.effect, Effect::Read);
        assert_eq!((spec.way.written(), spec.tier), ("a program x y".to_owned(), Tier::Standard));
        let url =
            json!({"url": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${T}"}});
        let spec = ServerSpec::of_table("there", &url).unwrap();
        assert_eq!(spec.way.written(), "https://a.example/mcp");
        assert_eq!(
            ServerSpec::of_table("a", &json!({"tier": 2})).unwrap().way,
            ServerWay::Imported
        );
    }

    #[test]
    fn what_a_table_has_wrong_is_told() {
        for (name, table, part) in [
            ("a__b", json!({"command": "x"}), "name of a server"),
            ("A", json!({"command": "x"}), "name of a server"),
            ("a", json!({"command": "x", "url": "https://a"}), "not both"),
            ("a", json!({"command": "x", "headers": {"A": "${B}"}}), "with a `url`"),
            ("a", json!({"url": "ftp://a"}), "`url` must begin"),
            ("a", json!({"url": "https://a", "headers": {"A": "sk-1"}}), "must name a variable"),
            ("a", json!({"command": "x", "comand": "y"}), "comand"),
            ("a", json!({"command": " "}), "`command` must be"),
            ("a", json!({"command": [1]}), "`command` must be"),
            ("a", json!({"command": "x", "tier": 9}), "between 0 and 4"),
            ("a", json!({"command": "x", "env": ["A=1"]}), "names of variables"),
            ("a", json!({"command": "x", "folders": ["lib"]}), "absolute paths"),
            ("a", json!({"command": "x", "idle_ms": 0}), "idle_ms"),
        ] {
            let err = ServerSpec::of_table(name, &table).unwrap_err();
            assert_eq!(err.kind, PluginErrorKind::BadServer);
            assert!(err.message.contains(part), "{part}: {}", err.message);
        }
    }
}
