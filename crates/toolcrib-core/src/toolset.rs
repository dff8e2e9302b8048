//! A toolset: the tools that one session is offered, from all catalogues or from a choice of them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use crate::canonical::Digest;
use crate::catalogue::Catalogue;
use crate::declaration::Declared;
use crate::error::{ErrorKind, ToolError};
use crate::limits::Limits;
use crate::loaded_tool::ToolHandle;
use crate::nearest::{either, nearest};
use crate::shelf::{Shelf, ShelvedTool};
use crate::tool_name::ToolName;

/// The tools that a session is offered.
pub struct Toolset {
    /// Every tool there is, offered or not.
    shelf: Shelf,
    offers: Vec<Offer>,
}

/// One offered tool.
#[derive(Clone)]
pub struct Offer {
    /// The catalogue that the tool belongs to.
    pub catalogue: &'static Catalogue,
    /// The tool.
    pub tool: ToolHandle,
    /// The limits of a call, narrowed by the operator's settings.
    pub limits: Limits,
    name: ToolName,
    keys: Arc<OnceLock<Arc<[String]>>>,
    version: Arc<OnceLock<String>>,
}

impl Offer {
    /// Returns the names of the tool's arguments, in the order of their declaration.
    pub fn keys(&self) -> Arc<[String]> {
        let keys = || {
            let schema = self.tool.schema();
            let properties = schema.get("properties").and_then(Value::as_object);
            properties.into_iter().flat_map(Map::keys).cloned().collect()
        };
        Arc::clone(self.keys.get_or_init(keys))
    }

    /// Whether the tool runs a command that its caller sends. Such a tool keeps its deadline itself. A loaded tool
    /// runs none, however it names its arguments.
    pub fn runs_commands(&self) -> bool {
        self.tool.loaded().is_none() && self.keys().iter().any(|key| key == "command")
    }

    /// Returns the tool's version: a hash of its declaration and its source code.
    pub fn version(&self) -> &str {
        if let Some(tool) = self.tool.loaded() {
            return tool.version();
        }
        self.version.get_or_init(|| {
            let Declared { name, summary, tier, effect, limits: _ } = self.tool.declaration();
            let code = self.catalogue.source_hash(name);
            let all = json!([summary, tier.number(), effect.as_str(), self.tool.schema(), code]);
            let mut digest = Digest::of(self.name.as_str(), &all).to_string();
            digest.truncate(12);
            digest
        })
    }

    /// Returns the tool's unique name, `catalogue/tool`.
    pub fn full_name(&self) -> &ToolName {
        &self.name
    }
}

/// Why a toolset cannot be made from a list of choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolsetError {
    /// Two chosen tools have the same name.
    SharedName {
        /// The name without a catalogue.
        name: String,
        /// The full names of the two tools.
        tools: [ToolName; 2],
    },
    /// A choice names neither a catalogue nor a tool.
    Unknown {
        /// The choice.
        choice: String,
        /// What to choose instead.
        hint: String,
    },
}

impl fmt::Display for ToolsetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SharedName { name, tools: [one, other] } => write!(
                f,
                "`{one}` and `{other}` share the name `{name}`, so one toolset cannot hold both; \
                 leave one out"
            ),
            Self::Unknown { choice, hint } => {
                write!(
                    f,
                    "the toolset names `{choice}`, which is neither a catalogue nor a tool; {hint}"
                )
            }
        }
    }
}

impl std::error::Error for ToolsetError {}

impl Toolset {
    /// Offers every tool of every catalogue. A name that several catalogues share must be called in
    /// full.
    pub fn everything(shelf: impl Into<Shelf>) -> Self {
        let shelf = shelf.into();
        let offers = shelf.tools().map(offer_of).collect();
        Self { shelf, offers }
    }

    /// Offers the tools that `choices` name, each a `catalogue` or a `catalogue/tool`. No two chosen
    /// tools may share a name, because a model sees names without catalogues.
    pub fn choose(shelf: impl Into<Shelf>, choices: &[String]) -> Result<Self, ToolsetError> {
        let everything = Self::everything(shelf);
        let mut offers: Vec<Offer> = Vec::new();
        for choice in choices {
            let chosen = everything.matching(choice)?;
            for offer in chosen {
                let twin = offers.iter().find(|other| other.name.tool() == offer.name.tool());
                match twin.map(Offer::full_name) {
                    Some(other) if *other == offer.name => {}
                    Some(other) => {
                        let name = offer.name.tool().to_owned();
                        let tools = [other.clone(), offer.name];
                        return Err(ToolsetError::SharedName { name, tools });
                    }
                    None => offers.push(offer),
                }
            }
        }
        Ok(Self { shelf: everything.shelf, offers })
    }

    /// Returns the tools that one choice names.
    fn matching(&self, choice: &str) -> Result<Vec<Offer>, ToolsetError> {
        let chosen: Vec<Offer> = self
            .offers
            .iter()
            .filter(|offer| offer.catalogue.name == choice || offer.name == *choice)
            .cloned()
            .collect();
        if chosen.is_empty() && !self.may_come(&choice.into()) {
            let names = self.offers.iter().map(|offer| offer.name.as_str());
            let known = self.shelf.catalogues().map(|catalogue| catalogue.name);
            let near = nearest(choice, known.chain(names), 3);
            let hint = if near.is_empty() {
                let all: Vec<&str> =
                    self.shelf.catalogues().map(|catalogue| catalogue.name).collect();
                format!("the catalogues are {}", either(&all))
            } else {
                format!("did you mean {}?", either(&near))
            };
            return Err(ToolsetError::Unknown { choice: choice.to_owned(), hint });
        }
        Ok(chosen)
    }

    /// Whether a name is that of a catalogue without compiled tools, or of a tool in it. Such a tool may come later.
    fn may_come(&self, name: &ToolName) -> bool {
        let catalogue = name.catalogue().unwrap_or(name.as_str());
        self.shelf.catalogues().any(|it| it.name == catalogue && it.tools.is_empty())
    }

    /// Narrows the limits of each offer, and withdraws the offers for which `keep` returns false.
    pub fn adjust(&mut self, keep: impl Fn(&mut Offer) -> bool) {
        self.offers.retain_mut(|offer| keep(offer));
    }

    /// Returns every tool there is, offered or not.
    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Returns the offered tools.
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// Returns the catalogue whose format answers a call of `name`, whether or not the tool exists: the
    /// one that the name begins with, or the only one on offer.
    pub fn catalogue(&self, name: &ToolName) -> Option<&'static Catalogue> {
        if let (Some(catalogue), _) = name.asked_parts() {
            return self.shelf.catalogues().find(|it| it.name == catalogue);
        }
        let first = self.offers.first()?.catalogue;
        self.offers.iter().all(|offer| offer.catalogue.name == first.name).then_some(first)
    }

    /// Finds a tool by its full name `catalogue/tool`, or by its bare name where only one offered tool
    /// has it.
    pub fn find(&self, name: &ToolName) -> Result<&Offer, ToolError> {
        let (catalogue, tool) = name.asked_parts();
        let wanted = |offer: &&Offer| {
            catalogue.is_none_or(|catalogue| offer.catalogue.name == catalogue)
                && offer.name.tool() == tool
        };
        let found: Vec<&Offer> = self.offers.iter().filter(wanted).collect();
        match found.as_slice() {
            [one] => Ok(one),
            [] => Err(self.missing(name)),
            several => {
                let names: Vec<&str> = several.iter().map(|offer| offer.name.as_str()).collect();
                let message = format!("`{name}` is in several catalogues");
                Err(ToolError::new(ErrorKind::NoTool, message)
                    .hint(format!("say which: {}", either(&names)))
                    .with("tool", name.as_str()))
            }
        }
    }

    /// Returns the error for a name that finds no offered tool.
    fn missing(&self, name: &ToolName) -> ToolError {
        if self.shelf.has(name) {
            return ToolError::new(ErrorKind::NotOffered, format!("`{name}` is not on offer here"))
                .hint("the toolset or an allowlist leaves it out; `toolcrib tools` lists the tools on offer")
                .with("tool", name.as_str());
        }
        let offered = || self.offers.iter().map(Offer::full_name);
        let mut near = nearest(name.as_str(), offered().map(ToolName::as_str), 3);
        for found in nearest(name.last_part(), offered().map(ToolName::tool), 3) {
            for full in offered().filter(|full| full.tool() == found) {
                if near.len() < 3 && !near.contains(&full.as_str()) {
                    near.push(full.as_str());
                }
            }
        }
        let hint = if near.is_empty() {
            "`toolcrib tools` lists all tools".to_owned()
        } else {
            format!("did you mean {}?", either(&near))
        };
        let shown: String = name.as_str().chars().take(128).collect();
        ToolError::new(ErrorKind::NoTool, format!("no tool `{shown}`"))
            .hint(hint)
            .with("tool", shown)
            .with("nearest", near.into_iter().map(str::to_owned).collect::<Vec<_>>())
    }
}

fn offer_of(shelved: ShelvedTool) -> Offer {
    Offer {
        catalogue: shelved.catalogue,
        name: shelved.full_name(),
        limits: shelved.tool.declaration().limits,
        tool: shelved.tool,
        keys: Arc::default(),
        version: Arc::default(),
    }
}
