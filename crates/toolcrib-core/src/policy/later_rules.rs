//! The shipped rules about what other programs run on their own: file tools are asked about it in every mode.

use crate::runs_later::LaterReader;

use super::rule::{Callers, Layer, Rule, RuleEffect, Source, When};

/// Where decisions say that these rules are written.
const SOURCE: &str = "shipped:runs-later";

/// Returns a rule for each kind of program that runs or obeys files on its own.
pub fn later_rules() -> impl Iterator<Item = Rule> {
    let named = LaterReader::ALL.into_iter().filter_map(|it| Some((it, it.rule_id()?)));
    named.enumerate().map(|(number, (reader, id))| Rule {
        id: id.to_owned(),
        source: Source { file: SOURCE.to_owned(), line: number + 1 },
        layer: Layer::Shipped,
        tools: Vec::new(),
        callers: Callers::default(),
        when: When { runs_later: Some(reader), ..When::default() },
        effect: RuleEffect::Ask,
        because: format!("{} run such files on their own", reader.title()),
        expires: None,
        confirm: false,
        text: String::new(),
    })
}
