//! The charset that a page or an XML document names for itself.

use super::attribute::TagAttributes;
use super::tokenizer::{MarkupLanguage, MarkupToken, MarkupTokenizer};

/// Returns the charset that a `<meta>` names.
pub(crate) fn meta_charset(html: &str) -> Option<String> {
    MarkupTokenizer::new(html, MarkupLanguage::Html).find_map(|token| {
        let MarkupToken::Start(tag) = token else { return None };
        if !tag.name.eq_ignore_ascii_case("meta") {
            return None;
        }
        let attributes = TagAttributes::new(tag.attributes);
        if let Some(charset) = attributes.clone().value("charset") {
            return Some(charset.into_owned());
        }
        let content = attributes.clone().value("content")?;
        attributes.value("http-equiv")?;
        let at = content.to_ascii_lowercase().find("charset=")?;
        let label = content.get(at + 8..)?.trim_matches(['"', '\'', ' ']);
        Some(label.split(';').next().unwrap_or_default().to_owned())
    })
}

/// Returns the charset that the declaration of an XML document names.
pub(crate) fn xml_charset(xml: &str) -> Option<String> {
    let declaration = xml.trim_start().strip_prefix("<?xml")?;
    let declaration = declaration.split_once("?>")?.0;
    TagAttributes::new(declaration).value("encoding").map(std::borrow::Cow::into_owned)
}
