//! What the attributes of a start tag say that matters for every element: whether it is hidden, and what it is for.

use super::attribute::TagAttributes;
use super::element::ElementRole;

/// Classes of elements that no reader needs, such as links that edit a section.
const HIDDEN_CLASSES: [&str; 4] = ["mw-editsection", "mw-jump-link", "headerlink", "copybtn"];

/// What the attributes of a tag say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TagTraits<'a> {
    pub(crate) is_hidden: bool,
    /// What the attribute `role` makes of the element.
    pub(crate) role: Option<ElementRole>,
    pub(crate) class: &'a str,
    pub(crate) href: Option<&'a str>,
    /// Whether a table only arranges its content.
    pub(crate) is_presentation: bool,
}

impl<'a> TagTraits<'a> {
    pub(crate) fn read(attributes: &'a str) -> Self {
        let mut traits = Self::default();
        for (name, value) in TagAttributes::new(attributes) {
            // The length tells most names apart.
            match name.len() {
                4 if name.eq_ignore_ascii_case("href") => {
                    traits.href.get_or_insert(value);
                }
                4 if name.eq_ignore_ascii_case("role") => traits.read_role(value),
                5 if name.eq_ignore_ascii_case("class") => traits.class = value,
                5 if name.eq_ignore_ascii_case("style") => traits.is_hidden |= hides(value),
                6 if name.eq_ignore_ascii_case("hidden") => {
                    // Browsers show what is hidden `until-found` to those who search for it.
                    traits.is_hidden |= !value.eq_ignore_ascii_case("until-found");
                }
                11 if name.eq_ignore_ascii_case("aria-hidden") => {
                    traits.is_hidden |= value.eq_ignore_ascii_case("true");
                }
                _ => {}
            }
        }
        if !traits.is_hidden && traits.class.len() >= 7 {
            let mut classes = traits.class.split_ascii_whitespace();
            traits.is_hidden = classes.any(|class| HIDDEN_CLASSES.contains(&class));
        }
        traits
    }

    fn read_role(&mut self, value: &str) {
        match value {
            "main" => self.role = Some(ElementRole::Main),
            "navigation" => self.role = Some(ElementRole::Nav),
            "banner" => self.role = Some(ElementRole::Header),
            "contentinfo" => self.role = Some(ElementRole::Footer),
            "complementary" => self.role = Some(ElementRole::Aside),
            "article" => self.role = Some(ElementRole::Article),
            "presentation" | "none" => self.is_presentation = true,
            _ => {}
        }
    }

    /// Returns the language that a class names, as `language-rust` does.
    pub(crate) fn code_language(&self) -> Option<&'a str> {
        const PREFIXES: [&str; 5] =
            ["language-", "lang-", "highlight-source-", "highlight-text-", "highlight-"];
        let classes = self.class.split_ascii_whitespace().take(10);
        let named = |class: &'a str| PREFIXES.iter().find_map(|prefix| class.strip_prefix(prefix));
        let mut names = classes.filter_map(named);
        names.find(|name| {
            let is_plain = |byte: u8| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'#' | b'-' | b'_')
            };
            (1..=20).contains(&name.len())
                && name.bytes().all(is_plain)
                && !matches!(*name, "default" | "none")
        })
    }
}

/// Whether a `style` hides the element.
fn hides(style: &str) -> bool {
    let bytes = style.as_bytes();
    if memchr::memmem::find(bytes, b"none").is_none()
        && memchr::memmem::find(bytes, b"hidden").is_none()
    {
        return false;
    }
    let plain: String = style.chars().filter(|letter| !letter.is_whitespace()).collect();
    plain.split(';').any(|rule| {
        let rule = rule.strip_suffix("!important").unwrap_or(rule);
        matches!(rule, "display:none" | "visibility:hidden")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_hide_elements() {
        for (attributes, expected) in [
            ("", false),
            (" hidden", true),
            (" hidden=''", true),
            (" hidden='until-found'", false),
            (" aria-hidden='true'", true),
            (" aria-hidden=false", false),
            (" style='color: red; display : none'", true),
            (" style='visibility:hidden'", true),
            (" style='display:none !important'", true),
            (" style='background: none; overflow: hidden'", false),
            (" class='a mw-editsection'", true),
            (" class='hidden-xs'", false),
        ] {
            assert_eq!(TagTraits::read(attributes).is_hidden, expected, "{attributes}");
        }
    }

    #[test]
    fn classes_name_the_language_of_code() {
        for (class, expected) in [
            ("language-rust", Some("rust")),
            ("x lang-c++ y", Some("c++")),
            ("highlight highlight-source-python", Some("python")),
            ("highlight-default notranslate", None),
            ("language-`x`", None),
            ("rust", None),
        ] {
            let traits = TagTraits { class, ..TagTraits::default() };
            assert_eq!(traits.code_language(), expected, "{class}");
        }
    }
}
