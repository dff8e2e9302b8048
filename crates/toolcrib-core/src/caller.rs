//! Who makes a call, and through which door.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who makes a call, as the door that took it knows. Nothing that is written in a call can change it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Caller {
    /// Who calls.
    pub principal: Principal,
    /// The door that took the call.
    pub door: Door,
    /// What the client calls itself. It is shown and recorded, and nothing is decided by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The connection that the caller chose, by the name that the operator gave it. Without one, it is that of the
    /// settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// The door of the call for which a plugin or a subagent makes this one. What is forbidden at that door stays
    /// forbidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Door>,
}

/// What the name of a principal begins with that an authorization server vouches for. The name of a token has no `:`.
const OAUTH_PREFIX: &str = "oauth:";

/// What the name of a principal begins with for whom a NATS server vouches, which lets it publish on its subjects.
const NATS_PREFIX: &str = "nats:";

/// Everybody who shares the subjects of the nachos contract. No agent has such an id.
const NATS_SHARED: &str = "(shared)";

/// What the name of a principal begins with who logged in to the page with the link that a server printed.
const PAGE_PREFIX: &str = "page:";

/// Someone with a name and a role: the owner of a token, whoever an authorization server vouches for, or the user of this
/// machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Principal {
    /// The name of the token, or of the user, or `oauth:SERVER#NAME`, or `nats:AGENT`, or `page:user-UID`.
    pub name: String,
    /// What the principal may do.
    pub role: Role,
}

/// What a principal may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user of this machine, at a terminal or through a program of theirs.
    User,
    /// Makes calls.
    Agent,
    /// Answers questions about the calls of others.
    Approver,
    /// Does everything, but does not approve its own calls.
    Admin,
}

/// The way by which a call came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// The command line.
    Terminal,
    /// The server's API.
    Http,
    /// The Model Context Protocol, over pipes or HTTP.
    Mcp,
    /// The bus, in the envelopes of the nachos contract.
    Nats,
    /// A tool from another author, which makes calls while its own call runs.
    Plugin,
    /// The agent loop: a subagent that does the work of a call.
    Agent,
}

impl Caller {
    /// Returns the user of this machine, who calls at a terminal.
    pub fn at_terminal(name: impl Into<String>) -> Self {
        let principal = Principal { name: name.into(), role: Role::User };
        Self { principal, door: Door::Terminal, client: None, connection: None, via: None }
    }

    /// Returns what a grant for an exact call covers: its canonical arguments, in the connection that the caller chose.
    pub fn covered(&self, args: String) -> String {
        match &self.connection {
            None => args,
            Some(connection) => format!("{args} in connection {connection}"),
        }
    }

    /// Whether the caller is the user of this machine, at a terminal or through a program of theirs.
    pub fn is_local_user(&self) -> bool {
        self.principal.role == Role::User
    }
}

impl Principal {
    /// Returns whom an authorization server calls `name`. `server` is its address without `https://`. It has no `#`, so
    /// that two servers never make the same name.
    pub fn of_oauth(server: &str, name: &str, role: Role) -> Self {
        Self { name: format!("{OAUTH_PREFIX}{server}#{name}"), role }
    }

    /// Returns the agent with this id on NATS, or everybody who shares the subjects of the contract.
    pub fn of_nats(agent: Option<&str>) -> Self {
        Self { name: format!("{NATS_PREFIX}{}", agent.unwrap_or(NATS_SHARED)), role: Role::Agent }
    }

    /// Whether somebody else vouches for a name: an authorization server, or a NATS server.
    pub fn is_vouched_name(name: &str) -> bool {
        name.starts_with(OAUTH_PREFIX) || name.starts_with(NATS_PREFIX)
    }

    /// Returns the user who started a server, at its page. The user of a terminal has another name, so that the page can
    /// answer questions about the calls of agents that this user started, and none about its own.
    pub fn of_page(user: u32) -> Self {
        Self { name: format!("{PAGE_PREFIX}user-{user}"), role: Role::Admin }
    }

    /// Whether a name is one of [`Principal::of_page`].
    pub fn is_page_name(name: &str) -> bool {
        name.starts_with(PAGE_PREFIX)
    }

    /// Whether this principal may answer questions about calls of `asker`. Nobody answers for their own name, whatever
    /// its role is by now. The user of this machine does: the calls at a terminal are those of agents that the user
    /// started.
    pub fn may_answer_for(&self, asker: &Self) -> bool {
        self.role == Role::User || self.name != asker.name
    }
}

/// The longest name of a connection.
const LONGEST_CONNECTION_NAME: usize = 64;

/// Whether a connection can have this name: letters, digits, `-`, `_` and `.`, 64 at most.
pub fn is_connection_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.len() <= LONGEST_CONNECTION_NAME && name.chars().all(is_plain)
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::User, Self::Agent, Self::Approver, Self::Admin];

    /// The roles that a token can have.
    pub const OF_TOKENS: [Self; 3] = [Self::Agent, Self::Approver, Self::Admin];

    /// Returns the spelling in rules, in the record and for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Approver => "approver",
            Self::Admin => "admin",
        }
    }

    /// Reads the spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

impl Door {
    /// Every door.
    pub const ALL: [Self; 6] =
        [Self::Terminal, Self::Http, Self::Mcp, Self::Nats, Self::Plugin, Self::Agent];

    /// Returns the spelling in rules, in the record and for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Http => "http",
            Self::Mcp => "mcp",
            Self::Nats => "nats",
            Self::Plugin => "plugin",
            Self::Agent => "agent",
        }
    }

    /// Reads the spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|door| door.as_str() == text)
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
