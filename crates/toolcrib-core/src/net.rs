//! The net: the port through which tools reach hosts.

use std::time::Duration;

use crate::cancel::Cancel;
use crate::error::ToolError;

/// Fetches from hosts on the open internet.
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
    /// The time in which the reply must be there, redirects included.
    pub time: Duration,
    /// The most bytes of the reply's body. The rest is not read.
    pub most_bytes: usize,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchReply {
    /// The URL that answered.
    pub url: String,
    /// The status.
    pub status: u16,
    /// The headers, by name in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, as far as it was read.
    pub body: Vec<u8>,
    /// Whether the body is longer.
    pub is_cut: bool,
    /// Where the reply leads, if it is a redirect that was not followed.
    pub redirect: Option<String>,
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
        Err(ToolError::new(crate::error::ErrorKind::Unavailable, "there is no net here"))
    }
}
