//! The name of a tool: `catalogue/tool`, or what a caller wrote in its place.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What stands for the slash on wires that allow none.
const NO_SLASH: &str = "__";

/// The name of a tool. A tool that was found has its full name, `catalogue/tool`. A caller may leave the catalogue
/// out, or write something that is no tool's name at all. A clone costs no allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName(Arc<str>);

impl JsonSchema for ToolName {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("ToolName")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

impl ToolName {
    /// Returns the full name of a tool. Without a catalogue, the tool's name stands alone.
    pub fn new(catalogue: &str, tool: &str) -> Self {
        if catalogue.is_empty() { tool.into() } else { format!("{catalogue}/{tool}").into() }
    }

    /// Returns the name as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the catalogue, if it is written: what stands before the first slash.
    pub fn catalogue(&self) -> Option<&str> {
        self.parts().0
    }

    /// Returns the tool's name without its catalogue.
    pub fn tool(&self) -> &str {
        self.parts().1
    }

    /// Returns the catalogue, if it is written, and the tool's name without it.
    pub fn parts(&self) -> (Option<&str>, &str) {
        self.parts_at(self.0.split_once('/'))
    }

    /// Returns `catalogue__tool`, for wires that allow no slash.
    pub fn without_slash(&self) -> String {
        self.0.replacen('/', NO_SLASH, 1)
    }

    /// Returns the parts as a caller may write them: with a slash, or as [`Self::without_slash`] returns them.
    pub fn asked_parts(&self) -> (Option<&str>, &str) {
        self.parts_at(self.0.split_once('/').or_else(|| self.0.split_once(NO_SLASH)))
    }

    fn parts_at<'a>(&'a self, split: Option<(&'a str, &'a str)>) -> (Option<&'a str>, &'a str) {
        split.map_or((None, self.as_str()), |(catalogue, tool)| (Some(catalogue), tool))
    }

    /// Returns what follows the last slash. In a name with too many slashes, that is most likely the tool.
    pub fn last_part(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns every text by which a rule can mean this tool: the full name, the catalogue (empty if there is none),
    /// and the name without the catalogue.
    pub fn groups(&self) -> [&str; 3] {
        let (catalogue, tool) = self.parts();
        [self.as_str(), catalogue.unwrap_or_default(), tool]
    }
}

impl From<&str> for ToolName {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for ToolName {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Maps with names as keys are searched with plain text, too.
impl Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for ToolName {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for ToolName {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl Serialize for ToolName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ToolName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

/// Takes the text as the parser has it, so that a name costs one allocation.
struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = ToolName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ToolName, E> {
        Ok(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, catalogue: Option<&str>, tool: &str) {
        let name = ToolName::from(text);
        assert_eq!((name.catalogue(), name.tool()), (catalogue, tool), "{text}");
        assert_eq!(name.to_string(), text);
    }

    fn check_asked(text: &str, catalogue: Option<&str>, tool: &str) {
        assert_eq!(ToolName::from(text).asked_parts(), (catalogue, tool), "{text}");
    }

    #[test]
    fn name_is_split_at_its_first_slash() {
        check("wink/edit", Some("wink"), "edit");
        check("a/b/c", Some("a"), "b/c");
        check("a/", Some("a"), "");
        check("/b", Some(""), "b");
        check("edit", None, "edit");
        check("", None, "");
        // The record shows a made-up name as it was written.
        check("a__b", None, "a__b");
    }

    #[test]
    fn caller_may_write_two_underscores_for_the_slash() {
        check_asked("wink/edit", Some("wink"), "edit");
        check_asked("wink__edit", Some("wink"), "edit");
        check_asked("a/b__c", Some("a"), "b__c");
        check_asked("a/b/c", Some("a"), "b/c");
        check_asked("read_file", None, "read_file");
        check_asked("", None, "");
        assert_eq!(ToolName::from("wink/edit").without_slash(), "wink__edit");
        assert_eq!(ToolName::from("edit").without_slash(), "edit");
    }

    #[test]
    fn last_part_follows_the_last_slash() {
        for (text, last) in [("a/b/c", "c"), ("a/b", "b"), ("a__b", "a__b"), ("b", "b"), ("", "")] {
            assert_eq!(ToolName::from(text).last_part(), last, "{text}");
        }
    }

    #[test]
    fn rules_mean_a_tool_by_name_and_catalogue() {
        let name = ToolName::new("wink", "edit");
        assert_eq!(name, "wink/edit");
        assert_eq!(name.groups(), ["wink/edit", "wink", "edit"]);
        let bare = ToolName::new("", "edit");
        assert_eq!(bare, "edit");
        assert_eq!(bare.groups(), ["edit", "", "edit"]);
    }

    #[test]
    fn name_is_a_plain_string_in_json_and_a_key_that_text_finds() {
        let name: ToolName = serde_json::from_str(r#""wink/edit""#).unwrap();
        assert_eq!(serde_json::to_string(&name).unwrap(), r#""wink/edit""#);
        let map = std::collections::HashMap::from([(name, 1)]);
        assert_eq!(map.get("wink/edit"), Some(&1));
    }
}
