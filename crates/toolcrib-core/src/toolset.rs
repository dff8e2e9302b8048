//! What one session is offered: all catalogues, or a choice of catalogues and tools.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use crate::canonical::Digest;
use crate::catalogue::Catalogue;
use crate::declaration::{Declaration, Limits};
use crate::error::{ErrorKind, ToolError};
use crate::nearest::{either, nearest};
use crate::tool::AnyTool;

/// The tools on offer.
pub struct Toolset {
    shelf: &'static [&'static Catalogue],
    offers: Vec<Offer>,
}

/// One tool on offer.
#[derive(Clone)]
pub struct Offer {
    /// Where it comes from.
    pub catalogue: &'static Catalogue,
    /// The tool.
    pub tool: &'static dyn AnyTool,
    /// How much it may take, after the operator's settings.
    pub limits: Limits,
    keys: Arc<OnceLock<Arc<[String]>>>,
    version: Arc<OnceLock<String>>,
}

impl Offer {
    /// The names of its arguments, in the order they are declared in.
    pub fn keys(&self) -> Arc<[String]> {
        let keys = || {
            let schema = self.tool.schema();
            let properties = schema.get("properties").and_then(Value::as_object);
            properties.into_iter().flat_map(Map::keys).cloned().collect()
        };
        Arc::clone(self.keys.get_or_init(keys))
    }

    /// Tells this declaration and code from those it had, and will have, in other versions.
    pub fn version(&self) -> &str {
        self.version.get_or_init(|| {
            let declaration = self.tool.declaration();
            let Declaration { name, summary, tier, effect, limits: _, examples: _ } = declaration;
            let code = self.catalogue.source_hash(name);
            let all = json!([summary, tier.number(), effect.as_str(), self.tool.schema(), code]);
            let mut digest = Digest::of(&self.full_name(), &all).to_string();
            digest.truncate(12);
            digest
        })
    }

    /// The name that is its own: `catalogue/tool`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.catalogue.name, self.tool.declaration().name)
    }
}

/// Why a toolset cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolsetError(pub String);

impl fmt::Display for ToolsetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ToolsetError {}

impl Toolset {
    /// Offers everything on the shelf. Names that several catalogues share must be called in full.
    pub fn everything(shelf: &'static [&'static Catalogue]) -> Self {
        let offers = shelf.iter().flat_map(|catalogue| offers_of(catalogue)).collect();
        Self { shelf, offers }
    }

    /// Offers what `choices` names, each a `catalogue` or a `catalogue/tool`. No two tools of a
    /// choice may share a name, since a model sees the bare names.
    pub fn choose(
        shelf: &'static [&'static Catalogue],
        choices: &[String],
    ) -> Result<Self, ToolsetError> {
        let everything = Self::everything(shelf);
        let mut offers: Vec<Offer> = Vec::new();
        for choice in choices {
            let chosen = everything.matching(choice)?;
            for offer in chosen {
                let name = offer.tool.declaration().name;
                let full = offer.full_name();
                let twin = offers.iter().find(|other| other.tool.declaration().name == name);
                match twin.map(Offer::full_name) {
                    Some(other) if other == full => {}
                    Some(other) => {
                        return Err(ToolsetError(format!(
                            "`{other}` and `{full}` share the name `{name}`, so one toolset \
                             cannot hold both; leave one out"
                        )));
                    }
                    None => offers.push(offer),
                }
            }
        }
        Ok(Self { shelf, offers })
    }

    fn matching(&self, choice: &str) -> Result<Vec<Offer>, ToolsetError> {
        let chosen: Vec<Offer> = self
            .offers
            .iter()
            .filter(|offer| offer.catalogue.name == choice || offer.full_name() == choice)
            .cloned()
            .collect();
        if chosen.is_empty() {
            let names: Vec<String> = self.offers.iter().map(Offer::full_name).collect();
            let known = self.shelf.iter().map(|catalogue| catalogue.name);
            let near = nearest(choice, known.chain(names.iter().map(String::as_str)), 3);
            let hint = if near.is_empty() {
                let all: Vec<&str> = self.shelf.iter().map(|catalogue| catalogue.name).collect();
                format!("there are {}", either(&all))
            } else {
                format!("did you mean {}?", either(&near))
            };
            return Err(ToolsetError(format!(
                "the toolset names `{choice}`, which is no catalogue or tool; {hint}"
            )));
        }
        Ok(chosen)
    }

    /// Narrows the limits of each offer, or withdraws it.
    pub fn adjust(&mut self, keep: impl Fn(&mut Offer) -> bool) {
        self.offers.retain_mut(|offer| keep(offer));
    }

    /// The tools on offer.
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// Returns the catalogue that should word a failure to find `name`.
    pub fn catalogue(&self, name: &str) -> Option<&'static Catalogue> {
        if let Some((catalogue, _)) = split(name) {
            return self.shelf.iter().copied().find(|it| it.name == catalogue);
        }
        let first = self.offers.first()?.catalogue;
        self.offers.iter().all(|offer| offer.catalogue.name == first.name).then_some(first)
    }

    /// Finds the tool that `name` means: `catalogue/tool`, or `tool` where only one has that name.
    pub fn find(&self, name: &str) -> Result<&Offer, ToolError> {
        let wanted = |offer: &&Offer| match split(name) {
            Some((catalogue, tool)) => {
                offer.catalogue.name == catalogue && offer.tool.declaration().name == tool
            }
            None => offer.tool.declaration().name == name,
        };
        let found: Vec<&Offer> = self.offers.iter().filter(wanted).collect();
        match found.as_slice() {
            [one] => Ok(one),
            [] => Err(self.missing(name)),
            several => {
                let names: Vec<String> = several.iter().map(|offer| offer.full_name()).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let message = format!("`{name}` is in several catalogues");
                Err(ToolError::new(ErrorKind::NoTool, message)
                    .hint(format!("say which: {}", either(&names)))
                    .with("tool", name))
            }
        }
    }

    fn missing(&self, name: &str) -> ToolError {
        let whole = Self::everything(self.shelf);
        let on_shelf = whole
            .offers
            .iter()
            .any(|offer| offer.full_name() == name || offer.tool.declaration().name == name);
        if on_shelf {
            return ToolError::new(ErrorKind::NotOffered, format!("`{name}` is not on offer here"))
                .hint("the toolset or an allowlist leaves it out; `toolcrib tools` lists what is")
                .with("tool", name);
        }
        let full: Vec<String> = self.offers.iter().map(Offer::full_name).collect();
        let bare = name.rsplit('/').next().unwrap_or(name);
        let mut near = nearest(name, full.iter().map(String::as_str), 3);
        for found in nearest(bare, self.offers.iter().map(|o| o.tool.declaration().name), 3) {
            for full in full.iter().filter(|full| full.ends_with(&format!("/{found}"))) {
                if near.len() < 3 && !near.contains(&full.as_str()) {
                    near.push(full);
                }
            }
        }
        let hint = if near.is_empty() {
            "`toolcrib tools` lists them all".to_owned()
        } else {
            format!("did you mean {}?", either(&near))
        };
        let shown: String = name.chars().take(128).collect();
        ToolError::new(ErrorKind::NoTool, format!("no tool `{shown}`"))
            .hint(hint)
            .with("tool", shown)
            .with("nearest", near.into_iter().map(str::to_owned).collect::<Vec<_>>())
    }
}

/// Splits a full name: `catalogue/tool`, or `catalogue__tool` where a wire allows no slash.
fn split(name: &str) -> Option<(&str, &str)> {
    name.split_once('/').or_else(|| name.split_once("__"))
}

fn offers_of(catalogue: &'static Catalogue) -> impl Iterator<Item = Offer> {
    catalogue.tools.iter().map(move |tool| Offer {
        catalogue,
        tool: *tool,
        keys: Arc::default(),
        version: Arc::default(),
        limits: tool.declaration().limits,
    })
}
