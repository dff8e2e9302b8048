//! The net: the port through which tools reach hosts.

use std::time::Duration;

use crate::cancel::Cancel;
use crate::command::HostTraffic;
use crate::error::{ErrorKind, ToolError};

/// Fetches from hosts.
pub trait Net: Send + Sync {
    /// Sends one request and returns the reply, whatever its status. A redirect to the same host is followed. One to
    /// another host is the reply: whoever wants to follow it makes another call, which is decided anew.
    fn fetch(&self, request: &FetchRequest, cancel: &Cancel) -> Result<FetchReply, ToolError>;
}

/// A request to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    /// The method.
    pub method: FetchMethod,
    /// The URL, as the caller wrote it.
    pub url: String,
    /// The headers, by name.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<String>,
    /// The time in which the reply must be there, redirects, waits and retries included.
    pub time: Duration,
    /// The most bytes of the reply's body after it was decompressed. The rest is not read.
    pub most_bytes: usize,
    /// Which manners apply.
    pub politeness: Politeness,
    /// Whether an earlier reply may answer.
    pub reuse: Reuse,
    /// Which addresses may be connected to.
    pub addresses: AllowedAddresses,
}

/// Returns the host of a URL without its port. An address in brackets keeps its port.
pub fn host_of_url(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = &rest[..rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len())];
    let host = authority.rsplit('@').next()?;
    if host.starts_with('[') {
        return Some(host);
    }
    host.split(':').next().filter(|host| !host.is_empty())
}

impl FetchRequest {
    /// Makes a request that reads `url`: 30 seconds, 1 MiB, no cache, hosts of the open internet, and no manners beyond
    /// those of a program that calls an API.
    pub fn get(url: impl Into<String>) -> Self {
        Self {
            method: FetchMethod::Get,
            url: url.into(),
            headers: Vec::new(),
            body: None,
            time: Duration::from_secs(30),
            most_bytes: 1 << 20,
            politeness: Politeness::Api,
            reuse: Reuse::Never,
            addresses: AllowedAddresses::OpenInternet,
        }
    }

    /// Returns what went to and from the host, for the account of a call. A request that failed without a reply counts as
    /// refused, and one that is wrong in itself does not count.
    pub fn traffic(&self, outcome: &Result<FetchReply, ToolError>) -> Option<HostTraffic> {
        let sent = self.body.as_ref().map_or(0, String::len) + self.url.len();
        let host = |url: &str| host_of_url(url).unwrap_or_default().to_owned();
        match outcome {
            Ok(reply) => Some(HostTraffic {
                host: host(&reply.url),
                connections: u64::from(reply.attempts),
                bytes_up: sent as u64,
                bytes_down: reply.encoded_bytes,
                refused: 0,
            }),
            Err(err) if err.kind == ErrorKind::BadArgs => None,
            Err(_) => {
                Some(HostTraffic { host: host(&self.url), refused: 1, ..HostTraffic::default() })
            }
        }
    }
}

/// Which manners apply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Politeness {
    /// Those of a program that calls an API: none beyond waiting when the host says so.
    Api,
    /// Those of an agent that reads pages: the host's robots.txt is obeyed, and requests to one host keep a distance.
    Page,
}

/// Whether an earlier reply may answer a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reuse {
    /// Every request goes to the host.
    Never,
    /// A reply to the same request may answer, if it was stored in the same partition.
    Cached {
        /// Whose replies these are, such as a principal's name. Partitions share nothing.
        partition: String,
    },
}

/// Which addresses a request may connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllowedAddresses {
    /// Those of the open internet, at the ports that the settings allow.
    OpenInternet,
    /// Every address and port, because the operator named this host in the settings. The URL must not come from an
    /// agent. Redirects are followed only within the same scheme, host and port.
    Operator,
}

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchMethod {
    /// Reads.
    Get,
    /// Reads the headers alone.
    Head,
    /// Sends a body.
    Post,
    /// Puts a body in the place of another.
    Put,
    /// Changes a part.
    Patch,
    /// Deletes.
    Delete,
}

/// The reply of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchReply {
    /// The URL that answered.
    pub url: String,
    /// The status.
    pub status: u16,
    /// The headers, by name in lower case. If the body was decompressed, `content-encoding` and `content-length` are
    /// left out, because they say nothing about `body`.
    pub headers: Vec<(String, String)>,
    /// The body, decompressed, as far as it was read.
    pub body: Vec<u8>,
    /// The bytes of the body that came over the net, before it was decompressed.
    pub encoded_bytes: u64,
    /// Whether the body is longer.
    pub is_cut: bool,
    /// Where the reply leads, if it is a redirect that was not followed.
    pub redirect: Option<String>,
    /// How often the request was sent, retries included. 0 if nothing was sent.
    pub attempts: u32,
    /// Where the body comes from.
    pub origin: ReplyOrigin,
}

impl FetchReply {
    /// Returns the value of the first header with this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }
}

/// Where the body of a reply comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyOrigin {
    /// The host sent it.
    #[default]
    Host,
    /// It was stored, and the host says that it still holds.
    Revalidated,
    /// It was stored, and the host was not asked.
    Stored,
}

impl FetchMethod {
    /// Returns the method as HTTP spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// Reaches no host.
#[derive(Clone, Copy, Debug)]
pub struct NoNet;

impl Net for NoNet {
    fn fetch(&self, _: &FetchRequest, _: &Cancel) -> Result<FetchReply, ToolError> {
        Err(ToolError::new(ErrorKind::Unavailable, "there is no net here"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url_is_found() {
        for (url, expect) in [
            ("https://a.example/x?y", Some("a.example")),
            ("https://a.example:443", Some("a.example")),
            ("http://[::1]:80/", Some("[::1]:80")),
            ("http://user@a.example/", Some("a.example")),
            ("https://", None),
            ("a.example", None),
        ] {
            assert_eq!(host_of_url(url), expect, "{url}");
        }
    }

    #[test]
    fn requests_are_accounted_also_if_they_fail() {
        let request =
            FetchRequest { body: Some("ab".to_owned()), ..FetchRequest::get("http://a.example/") };
        let reply = FetchReply {
            url: "http://b.example/".to_owned(),
            status: 500,
            attempts: 2,
            encoded_bytes: 7,
            ..FetchReply::default()
        };
        let traffic = |host: &str, [connections, bytes_up, bytes_down, refused]: [u64; 4]| {
            HostTraffic { host: host.to_owned(), connections, bytes_up, bytes_down, refused }
        };
        assert_eq!(request.traffic(&Ok(reply)), Some(traffic("b.example", [2, 19, 7, 0])));
        let failed = |kind| request.traffic(&Err(ToolError::new(kind, "x")));
        assert_eq!(failed(ErrorKind::Timeout), Some(traffic("a.example", [0, 0, 0, 1])));
        assert_eq!(failed(ErrorKind::BadArgs), None);
    }
}
