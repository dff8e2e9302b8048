//! Placements: which tools run on other machines, and where, as the operator writes it.

use std::fmt;

use toolcrib_core::ToolName;

/// The longest name of a workspace or a label.
const LONGEST_NAME: usize = 64;

/// Tools, and the machines that run them: `TOOLS=WORKSPACE`, or `TOOLS=WORKSPACE@LABEL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// A catalogue, or the full name of a tool.
    tools: String,
    pub(crate) place: PlaceName,
}

/// The name of a place: a workspace, and perhaps a label that its machines have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlaceName {
    pub(crate) workspace: String,
    pub(crate) label: Option<String>,
}

impl Placement {
    /// Reads what the operator wrote. Fails with what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (tools, place) = text.split_once('=').ok_or("it has no `=`")?;
        let (workspace, label) = match place.split_once('@') {
            None => (place, None),
            Some((workspace, label)) => (workspace, Some(label)),
        };
        if !label.iter().chain([&workspace]).all(|name| is_bus_name(name)) {
            return Err(
                "a workspace and a label have up to 64 lowercase letters, digits, `-` and `_`",
            );
        }
        let is_name =
            |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_graphic() && it != b'*');
        if !is_name(tools) || tools.matches('/').count() > 1 {
            return Err("before the `=` stands a catalogue, or the full name of a tool");
        }
        let place = PlaceName { workspace: workspace.to_owned(), label: label.map(str::to_owned) };
        Ok(Self { tools: tools.to_owned(), place })
    }

    /// Returns what the placement names before the `=`.
    pub fn tools(&self) -> &str {
        &self.tools
    }

    /// Returns the placement of a tool: that of the tool itself, or else that of its catalogue.
    pub(crate) fn find<'a>(all: &'a [Self], tool: &ToolName) -> Option<&'a Self> {
        let of_tool = all.iter().find(|it| it.tools == tool.as_str());
        of_tool.or_else(|| all.iter().find(|it| Some(it.tools.as_str()) == tool.catalogue()))
    }
}

impl fmt::Display for PlaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.label {
            None => f.write_str(&self.workspace),
            Some(label) => write!(f, "{}@{label}", self.workspace),
        }
    }
}

/// Whether a text can be the name of a workspace, a label or a worker: it becomes a word of subjects.
pub fn is_bus_name(text: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || b"-_".contains(&it);
    (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_placed_before_its_catalogue() {
        let all: Vec<Placement> = ["clemini=app", "clemini/bash=app@gpu"]
            .into_iter()
            .map(|text| Placement::parse(text).unwrap())
            .collect();
        let found = |tool: &str| {
            let placement = Placement::find(&all, &tool.into())?;
            Some((placement.place.workspace.as_str(), placement.place.label.as_deref()))
        };
        assert_eq!(found("clemini/bash"), Some(("app", Some("gpu"))));
        assert_eq!(found("clemini/read_file"), Some(("app", None)));
        assert_eq!(found("wink/read_file"), None);
    }

    #[test]
    fn what_is_no_placement_is_told() {
        for text in [
            "clemini",
            "=app",
            "clemini=",
            "clemini=App",
            "clemini=a b",
            "clemini=a.b",
            "clemini=*",
            "clemini=a@",
            "clemini=a@>",
            "a/b/c=app",
            "*=app",
            "a b=app",
        ] {
            assert!(Placement::parse(text).is_err(), "{text}");
        }
    }
}
