//! An answer of the API.

use toolcrib_core::net::FetchReply;

/// An answer of the API.
#[derive(Clone, Debug, Default)]
pub(super) struct ApiAnswer {
    pub(super) body: Vec<u8>,
    /// Whether the body is longer.
    pub(super) is_cut: bool,
    /// The URL of the next page, if there is one.
    pub(super) next: Option<String>,
    /// Where it leads beyond the API.
    pub(super) redirect: Option<String>,
}

impl From<FetchReply> for ApiAnswer {
    fn from(reply: FetchReply) -> Self {
        let next = reply.header("link").and_then(next_page);
        Self { next, body: reply.body, is_cut: reply.is_cut, redirect: reply.redirect }
    }
}

/// Returns the URL of the next page, which the header `Link` names.
fn next_page(link: &str) -> Option<String> {
    link.split(',').find_map(|link| {
        let (url, terms) = link.trim().strip_prefix('<')?.split_once('>')?;
        let mut terms = terms.split(';').map(str::trim);
        terms.any(|term| matches!(term, "rel=\"next\"" | "rel=next")).then(|| url.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::next_page;

    #[test]
    fn the_next_page_is_the_one_that_the_header_calls_so() {
        let link = "<https://a/x?page=1>; rel=\"prev\", <https://a/x?page=3>; rel=\"next\", \
                    <https://a/x?page=9>; rel=\"last\"";
        assert_eq!(next_page(link).as_deref(), Some("https://a/x?page=3"));
        assert_eq!(next_page("<https://a/x?page=1>; rel=\"first\""), None);
        assert_eq!(next_page("garbage, <x"), None);
    }
}
