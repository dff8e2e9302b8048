//! What a catalogue brings beside its tools: prompts that a person picks in a client, and resources that a client reads.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::calling_client::{Answers, ClientQuestion};

/// What a catalogue brings beside its tools.
#[derive(Debug)]
pub struct Material {
    /// Prompts.
    pub prompts: &'static [PromptTemplate],
    /// Resources.
    pub resources: &'static [CatalogueResource],
}

impl Material {
    /// Nothing.
    pub const NONE: Self = Self { prompts: &[], resources: &[] };
}

/// A prompt: a common job, as a person picks it in a client.
#[derive(Debug)]
pub struct PromptTemplate {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// What it is filled in with.
    pub arguments: &'static [PromptField],
    /// What the person is asked before, if anything.
    pub question: Option<PromptQuestion>,
    /// Returns its messages, each with a `role` and a `content` block of MCP.
    pub messages: fn(&BTreeMap<&'static str, String>, &Answers) -> Value,
}

/// What a person is asked before they get a prompt.
#[derive(Debug)]
pub struct PromptQuestion {
    /// The name of the question.
    pub name: &'static str,
    /// Returns the question.
    pub question: fn() -> ClientQuestion,
}

/// An argument of a prompt.
#[derive(Debug)]
pub struct PromptField {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What stands for it if it is not given. `None`: it is required.
    pub usual: Option<&'static str>,
}

/// A resource of a catalogue.
#[derive(Debug)]
pub struct CatalogueResource {
    /// Its address. A `{name}` in it stands for any text without a slash.
    pub uri: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its MIME type.
    pub kind: &'static str,
    /// Returns its content, given the text that stands for the `{name}` in its address.
    pub content: fn(&str) -> ResourceContent,
}

/// The content of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceContent {
    /// A text.
    Text(String),
    /// Bytes, as base64.
    Base64(String),
}

impl CatalogueResource {
    /// Whether the address has a part that stands for any text.
    pub fn is_template(&self) -> bool {
        self.uri.contains('{')
    }

    /// Returns the content if this is the resource of that address.
    pub fn read(&self, uri: &str) -> Option<ResourceContent> {
        let Some((before, rest)) = self.uri.split_once('{') else {
            return (uri == self.uri).then(|| (self.content)(""));
        };
        let (_, after) = rest.split_once('}')?;
        let part = uri.strip_prefix(before)?.strip_suffix(after)?;
        let is_one_part = !part.is_empty() && !part.contains('/');
        is_one_part.then(|| (self.content)(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(uri: &'static str) -> CatalogueResource {
        let content = |part: &str| ResourceContent::Text(part.to_owned());
        CatalogueResource { uri, name: "r", about: "", kind: "text/plain", content }
    }

    #[test]
    fn a_resource_is_found_by_its_address_and_by_its_form() {
        let text = |text: &str| Some(ResourceContent::Text(text.to_owned()));
        let (fixed, form) = (resource("a://b"), resource("a://b/{id}/c"));
        assert_eq!(fixed.read("a://b"), text(""));
        assert_eq!(fixed.read("a://bc"), None);
        assert_eq!(form.read("a://b/7/c"), text("7"));
        for wrong in ["a://b//c", "a://b/7/8/c", "a://b/7", "a://b/{id}/d"] {
            assert_eq!(form.read(wrong), None, "{wrong}");
        }
    }
}
