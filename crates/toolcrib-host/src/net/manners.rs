//! How the net behaves towards hosts.

use std::time::Duration;

use toolcrib_core::{ErrorKind, ToolError};

/// What the net calls itself if nobody says otherwise.
const USER_AGENT: &str = concat!("toolcrib/", env!("CARGO_PKG_VERSION"));

/// The distance between two requests for pages of one host, if nobody says otherwise.
const DEFAULT_CRAWL_DELAY: Duration = Duration::from_millis(200);

/// The most bytes of stored replies, if nobody says otherwise.
const DEFAULT_CACHE_BYTES: u64 = 16 << 20;

/// The manners of the net, as the operator set them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetManners {
    /// What the net calls itself. Its first word is what a robots.txt knows it by.
    pub user_agent: String,
    /// The least time between the beginnings of two requests for pages of one host.
    pub crawl_delay: Duration,
    /// Whether the robots.txt of a host is obeyed when an agent reads pages.
    pub robots: bool,
    /// The most bytes of stored replies. 0 stores none.
    pub cache_bytes: u64,
}

impl Default for NetManners {
    fn default() -> Self {
        Self {
            user_agent: USER_AGENT.to_owned(),
            crawl_delay: DEFAULT_CRAWL_DELAY,
            robots: true,
            cache_bytes: DEFAULT_CACHE_BYTES,
        }
    }
}

impl NetManners {
    /// Returns the manners with another name for the net.
    pub fn with_user_agent(self, user_agent: &str) -> Result<Self, ToolError> {
        let is_plain = user_agent.bytes().all(|it| (0x20..0x7f).contains(&it));
        if !is_plain || user_agent.trim().is_empty() || user_agent.len() > 256 {
            let message = "the user agent must be 1 to 256 characters of ASCII text";
            return Err(ToolError::new(ErrorKind::BadArgs, message).with("reason", "user_agent"));
        }
        Ok(Self { user_agent: user_agent.trim().to_owned(), ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_agent_is_one_line_of_text() {
        let named = |name: &str| NetManners::default().with_user_agent(name);
        assert_eq!(
            named("crib/1 (+https://a.example)").unwrap().user_agent,
            "crib/1 (+https://a.example)"
        );
        for name in ["", " ", "a\r\nX: y", "\u{e9}", &"x".repeat(257)] {
            assert!(named(name).is_err(), "{name:?}");
        }
    }
}
